/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FARM_H
#define FARM_H

/**
 * @file
 * Many clients, and as many server connections that take their messages from one receive pool; on one CQ of a real device,
 * stepped by hand on one thread.
 *
 *      client i --send { i, count }--> server i --\
 *      client j --send { j, count }--> server j ----> receive pool --> arrived(): who sent is who says so
 */

#include <stdbool.h>
#include <stdint.h>

#include "plx_test.h"

#include "plx_conn.h"
#include "plx_conn_events.h"
#include "plx_memory.h"
#include "plx_recv_pool.h"

#define FARM_OWNER  1
#define FARM_WORKER 2
#define FARM_MAX    1000

struct farm_conf {
	const char *device;   /**< NULL: plx_test_device() */
	const char *fault;    /**< NULL, or what plx_fault_wrap() is to do */
	unsigned int nb_pairs;
	unsigned int nb_cqe;  /**< 0: as many as all can need */
	unsigned int depth;   /**< sends of a client; 0: 4 */
	unsigned int home;    /**< 0: the owner */
	unsigned int drain_ms; /**< 0: 100 */
	bool no_events;
	struct plx_recv_pool_conf pool; /**< nb_recvs 0: no pool, and one receive per server that nobody posts */
};

struct farm_pair {
	struct plx_conn *client, *server; /**< NULL: closed and destroyed */
	uint64_t sent, sent_ok, sent_failed;
	uint64_t arrived;
};

struct farm {
	struct farm_conf conf;
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_cq *cq;
	struct plx_region *region;
	struct plx_control *control;
	struct plx_conn_events *events;
	struct plx_dispatcher *d;
	struct plx_conn_group *group;
	struct plx_recv_pool *pool;
	struct farm_pair pairs[FARM_MAX];
	unsigned int nb_closed;
	uint64_t arrived, wrong; /**< messages; of those: not from whom they say, or failed */
	uint64_t by_status[PLX_NB_STATUS]; /**< of sends */
	bool hold;			   /**< keep what arrives */
	struct plx_op *held[4096];
	unsigned int nb_held;
	bool cq_dead;
	uint64_t nb_events; /**< told to the callback; atomic */
	struct plx_event last; /**< of these */
};

/** Make it, with all pairs connected. Fails the test on any error. */
void farm_make(struct farm *farm, const struct farm_conf *conf);
/** Close what is open, and everything goes; fails the test if an op is left or an object refuses. */
void farm_break(struct farm *farm);

/** Pair @p i anew: both ends made and connected. False: a connection was refused, rte_errno says why. */
bool farm_connect(struct farm *farm, unsigned int i);
/** Ask for the close of both ends. */
void farm_close(struct farm *farm, unsigned int i);

/** One message of client @p i. 0 or -errno. */
int farm_send(struct farm *farm, unsigned int i);
/** A turn of the owner and of the worker. */
void farm_turn(struct farm *farm);
/** Poll, deliver, nothing else. */
void farm_poll(struct farm *farm);
/** Give back all that is held. */
void farm_give(struct farm *farm);

/** Turns until @p cond, which is looked at after each; fails the test after 30 s. */
#define farm_until(farm, cond)                                                                               \
	do {                                                                                                 \
		uint64_t farm_end_ = farm_deadline();                                                        \
		while (!(cond)) {                                                                            \
			if (farm_late(farm_end_))                                                            \
				fail_msg("never came: %s", #cond);                                           \
			farm_turn(farm);                                                                     \
		}                                                                                            \
	} while (0)
uint64_t farm_deadline(void);
bool farm_late(uint64_t deadline);

/** Counters of the pool. */
struct plx_recv_pool_stats farm_stats(const struct farm *farm);
/** Events that named nobody. */
uint64_t farm_nb_unclaimed(const struct farm *farm);

/** Whether the test device is loopback; "loopback0" and @p args, or NULL on another device. */
const char *farm_loopback(const char *args);

#endif
