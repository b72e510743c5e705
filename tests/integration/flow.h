/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FLOW_H
#define FLOW_H

/**
 * @file
 * Two connections that are each other's peers on one CQ, every queue as small as a test likes, stepped turn by turn on
 * one thread: the owner is lcore 1, the other home and submitter lcore 2.
 *
 *      flow_step():  a few sends, writes or reads, late or not, on one of the two
 *                      from the owner | from lcore 2 | held, and flushed sometime
 *      flow_turn():  poller, worker; receives; an acknowledgement for each message that came
 *
 * All of it is drawn from one seed. What was not taken is told from what was, and each taken op settles once.
 */

#include "plx_test.h"

#include "plx_conn.h"
#include "plx_fault.h"
#include "plx_memory.h"
#include "plx_poller.h"

#define OWNER  1
#define WORKER 2

struct flow_conf {
	const char *fault;    /**< script, or NULL */
	unsigned int send_depth, recv_depth;
	unsigned int max_queued;
	unsigned int nb_ops;  /**< of the pool; 0: enough for all that may be queued */
	unsigned int less_cqes; /**< than plx_conn_cqes() of the two */
	bool posts_fail;      /**< by the script: those are no error */
	unsigned int rnr_retry; /**< 0: for ever */
};

struct flow_end {
	struct plx_conn *conn;
	struct flow *flow;
	unsigned int recvs; /**< submitted and not settled */
	unsigned int nb_recvs; /**< ever submitted */
	unsigned int owed;  /**< acknowledgements to send yet */
};

struct flow {
	struct flow_conf conf;
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_region *region;
	struct plx_control *control;
	struct plx_dispatcher *d;
	struct plx_cq *cq;
	struct plx_conn_group *group;
	struct plx_poller *poller;
	struct flow_end ends[2];
	uint64_t seed;
	uint64_t taken, not_taken, settled, pool_empty;
	uint64_t by_status[PLX_NB_STATUS];
	uint64_t idle_turns; /**< in a row, with something in flight */
	unsigned int nb_closed;
	bool quiet; /**< no receives and acknowledgements from flow_turn() */
};

/** Make it on plx_test_device(). The connections are READY, or the second is NULL with rte_errno if it does not fit. */
void flow_make(struct flow *f, const struct flow_conf *conf);

/** One draw. Fails the test if an op is refused for anything but want of room. */
void flow_step(struct flow *f);

/** One turn of everything; fails the test if nothing has settled in too many of them. */
void flow_turn(struct flow *f);

/** Turns, with what is held flushed, until all that was taken is settled. */
void flow_drain(struct flow *f);

/** A send of @p len bytes on @p end, prepared; NULL: the pool is empty. */
struct plx_op *flow_send(struct flow_end *end, uint32_t len);

/** Submit @p op from lcore @p lcore; puts it if it is not taken. 0 or -errno. */
int flow_submit(struct flow_end *end, struct plx_op *op, unsigned int lcore);

/** Submit one receive on @p end from the owner. 0 or -errno. */
int flow_recv(struct flow_end *end);

/** Close both and let the ops settle. */
void flow_close(struct flow *f);

/** Assert that all that was taken settled once, and free everything. */
void flow_free(struct flow *f);

#endif
