/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef STACK_H
#define STACK_H

/**
 * @file
 * The whole stack with real threads: a poller on lcore 1 that owns pairs of connections on one CQ, a worker on lcore 2
 * where their callbacks run, the control thread, and as many other threads as a test starts.
 *
 *      lcore 1: CQ -> dispatcher, group, refill of receives        lcore 2: dispatcher
 *
 * Every op carries a slot: how often it was settled, and how. That is what the tests count.
 */

#include <pthread.h>

#include "plx_test.h"

#include "plx_conn.h"
#include "plx_fault.h"
#include "plx_memory.h"
#include "plx_poller.h"
#include "plx_prep.h"

#define POLLER	  1
#define WORKER	  2
#define MAX_PAIRS 64
#define MSG_LEN	  64

struct stack_conf {
	const char *fault;     /**< script, or NULL */
	unsigned int nb_pairs;
	unsigned int depth;    /**< of each queue */
	unsigned int nb_ops;   /**< of the pool */
	unsigned int home;     /**< POLLER or WORKER */
	unsigned int spare_recvs; /**< the receive queue is deeper by this: no send ever waits for a receive */
	bool own_recvs;	       /**< the test posts the receives itself */
	bool late;	       /**< every other send may complete late */
	bool busy;	       /**< the loops never yield: no system call of theirs */
};

/** One side of a pair. */
struct stack_conn {
	struct plx_conn *conn;
	struct stack *stack;
	uint32_t nb_recvs; /**< receives posted and neither done nor overtaken; the poller's, and the callbacks' */
	bool closing;	   /**< atomic */
};

/** What became of all ops, counted where their callbacks ran; read when the loops have ended. */
struct stack_count {
	uint64_t submitted; /**< atomic: taken by submit, receives included */
	uint64_t settled;
	uint64_t by_status[PLX_NB_STATUS];
	uint64_t twice;	   /**< an op whose use had been settled before */
	uint64_t elsewhere; /**< callbacks on another thread than the home's */
};

struct stack {
	struct stack_conf conf;
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_region *region;
	struct plx_control *control;
	struct plx_dispatcher *d;
	struct plx_cq *cq;
	struct plx_conn_group *group;
	struct plx_poller *poller, *worker;
	struct stack_conn from[MAX_PAIRS], to[MAX_PAIRS];
	struct stack_count count;
	uint32_t nb_closed; /**< atomic */
	pthread_t home_thread;
	bool home_known;
};

/** Make it on @p device. Fails the test on any error. */
void stack_make(struct stack *s, const char *device, const struct stack_conf *conf);

/** Start its loops. */
void stack_launch(struct stack *s);

/** Both. */
void stack_start(struct stack *s, const char *device, const struct stack_conf *conf);

/** Submit one send on pair @p i from the calling thread, whatever it is. 0, or -EAGAIN: pool or queue. */
int stack_send(struct stack *s, unsigned int i);

/** The two halves of it: a prepared send, NULL if the pool is empty; and its submit, which puts it when it is not taken. */
struct plx_op *stack_take(struct stack *s);
int stack_submit(struct stack *s, unsigned int i, struct plx_op *op);

/** The same with @p n sends in one submit, at most PLX_POST_BURST. Returns how many were taken. */
unsigned int stack_send_burst(struct stack *s, unsigned int i, unsigned int n);

/** Ask for the close of both sides of pair @p i; from any thread, again and again. */
void stack_close_pair(struct stack *s, unsigned int i);

/** Close what is open, wait until all ops are settled, end the loops. Nobody may submit any more. */
void stack_stop(struct stack *s);

/** Assert that each op was settled exactly once, and free the rest: no op may be out. */
void stack_check_and_free(struct stack *s);

/** Give the CPU away until @p count, an atomic counter, has reached @p least; fails the test after 60 s. */
void stack_wait(const uint64_t *count, uint64_t least, const char *what);

#endif
