/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef RECV_POOL_INTERNAL_H
#define RECV_POOL_INTERNAL_H

/**
 * @file
 * A receive pool: its struct, what the rest of the room does with it, and what its own files share.
 *
 *      recv_pool.c -- made, destroyed
 *         recv_pool_fill.c    the SRQ is filled from the stack      recv_pool_limit.c   its event
 *         recv_pool_back.c    ops come back                         recv_pool_conns.c   connections come, lack some, go
 *
 * On the owner lcore unless it says otherwise.
 */

#include <errno.h>

#include "conn_internal.h"
#include "plx_op_shared.h"
#include "plx_recv_pool.h"

/** A connection that is gone, while ops that came on it are not given back: its number is not another's until then. */
struct recv_pool_dead {
	uint32_t qp_num;
	uint32_t nb_held;
};

/** Arming the limit, on its way: it may outlive the pool, which then forgets it. */
struct recv_pool_arm {
	struct plx_control_req req;
	struct plx_recv_pool *pool; /**< NULL: gone; the answer frees this */
};

/** A receive pool. */
struct plx_recv_pool {
	struct plx_recv_pool_conf conf; /**< its name is the one below */
	char name[32];
	struct plx_conn_group *group;
	struct plx_srq *srq;	    /**< NULL: receives of each QP's own */
	uint32_t limit;		    /**< of the event; 0: refill goes by count alone */
	uint32_t depth;		    /**< posted at most: of the SRQ, or per connection */
	struct plx_region *memory;
	struct plx_op **ops;	    /**< all of them */
	uint32_t nb_ops;
	uint32_t nb_cqes;	    /**< reserved in the CQ for the SRQ */
	uint32_t nb_conns;	    /**< under the group's lock */
	uint32_t told;		    /**< atomic: the limit event came */
	bool lost;		    /**< atomic: the SRQ is in error, or was destroyed */
	LIST_ENTRY(plx_recv_pool) in_group;
	bool unmade;		    /**< it was not made after all, and could not be unmade: it goes with the group */

	/* The owner's. */
	struct plx_op **unposted;   /**< a stack */
	uint32_t nb_unposted;
	uint32_t nb_doubted;	    /**< of these, at the bottom: refused by a device that may have them (recv_pool_fill.c) */
	uint32_t doubted_until;	    /**< tail of the SRQ's queue */
	bool retry;		    /**< the device refused the last post to the SRQ */
	bool arming;		    /**< the control thread is at it */
	bool to_arm;		    /**< the event came: the limit is armed again once there are enough */
	struct recv_pool_arm *arm;
	struct plx_recv_pool_stats stats;
	struct plx_op_shared shared; /**< without an SRQ each QP's nb_held are those that it has, posted or held */

	struct recv_pool_dead *dead; /**< under the group's lock */
	uint32_t nb_dead;

	/* Without an SRQ, under the group's lock: connections that have fewer receives than depth, the first first. */
	struct plx_conn **lacking;
	uint32_t nb_lacking;
	struct plx_op_list parked; /**< COMPLETED, given back while the lane to the owner was full */
};

/* ---- for the rest of the room ---- */

/** Control thread, under the group's lock: @p event, of an SRQ. Whether it is this pool's. */
bool recv_pool_tell(struct plx_recv_pool *pool, const struct plx_event *event);

/** Whether the SRQ of @p pool, which may be NULL, is in error. Any thread. */
static inline bool
recv_pool_is_lost(const struct plx_recv_pool *pool)
{
	return pool != NULL && __atomic_load_n(&pool->lost, __ATOMIC_RELAXED);
}

/** Owner, under the group's lock: act on it, if it came, on what was parked and on what connections lack. */
void recv_pool_heed(struct plx_recv_pool *pool);
/** Owner: @p op, one of the pool's, was given back on another lcore. */
void recv_pool_back(struct plx_op *op);
/** Under the group's lock: @p conn, one that has receives of its own, has fewer than it should. */
void recv_pool_lacks(struct plx_recv_pool *pool, struct plx_conn *conn);
/** Serve who wants some: here on the owner, else in its next turn. */
void recv_pool_serve(struct plx_recv_pool *pool);
/** Whether the pool may still get completions, or ops back, of another QP with the number @p qp_num. Control thread. */
bool recv_pool_knows(struct plx_recv_pool *pool, uint32_t qp_num);
/** -ENOSPC: max_conns, or no receives for one more. With the number of @p conn's QP. Control thread. */
int recv_pool_join(struct plx_recv_pool *pool, struct plx_conn *conn);
/** All completions of @p conn's QP, which has or had number @p qp_num, have been seen. */
void recv_pool_leave(struct plx_recv_pool *pool, struct plx_conn *conn, uint32_t qp_num);
/** @p conn, which never had an op of the application's, is about to be destroyed: the owner posts no more there. */
void recv_pool_withhold(struct plx_recv_pool *pool, struct plx_conn *conn);
/** It was not: it is served again. */
void recv_pool_offer(struct plx_recv_pool *pool, struct plx_conn *conn);
/** It was: what it has not used serves others. */
void recv_pool_leave_unused(struct plx_recv_pool *pool, struct plx_conn *conn);

/** @p group is about to go: try again to destroy what is left of pools that were not made. */
void recv_pools_bury(struct plx_conn_group *group);

/* ---- among the pool's own files ---- */

/** Receives on the SRQ. */
static inline uint32_t
recv_pool_posted(const struct plx_recv_pool *pool)
{
	return pool->shared.queue.head - pool->shared.queue.tail;
}

/** @p op is PREPARED and waits to be posted. */
static inline void
recv_pool_keep(struct plx_recv_pool *pool, struct plx_op *op)
{
	pool->unposted[pool->nb_unposted++] = op;
}

/** A receive was not taken, for @p code. Whether by the device: the group's next turn tries again. */
bool recv_pool_refused(struct plx_recv_pool *pool, int code);
/** The op on top of the stack was refused, and the device may have it after all: the others go before it. */
void recv_pool_doubt(struct plx_recv_pool *pool);

/**
 * Give @p op to a connection that has receives of its own, and room for it: its nb_held says so. 0, or why it did not
 * take it. The limit is 0 for everybody else, so that a receive of the application's is seen, and refused, in the slow
 * path.
 */
static inline int
recv_pool_conn_post(struct plx_op_shared_who *who, struct plx_op *op)
{
	struct plx_op_queue *q = who->queue;
	struct plx_conn *conn = plx_op_queue_conn(q);
	struct plx_submit_err err;
	uint16_t posted;

	if (!conn_state_admits(conn, q))
		return -ENOTCONN;
	q->limit = q->depth;
	posted = plx_conn_recv_burst(conn, &op, 1, &err);
	q->limit = 0;
	plx_op_queue_note_most(q);
	return posted == 1 ? 0 : err.code;
}

/** Post what the SRQ has room for. 0, or why the device did not take it. */
int recv_pool_srq_fill(struct plx_recv_pool *pool);
/** The same, and arm the limit if that is due. */
void recv_pool_refill(struct plx_recv_pool *pool);
/** Arm the limit, once there are enough: an event that is due at once would go round in circles. */
void recv_pool_arm_if_due(struct plx_recv_pool *pool);
/** Act on the limit event, if it came. */
void recv_pool_heed_limit(struct plx_recv_pool *pool);
/** The pool goes, and its SRQ is gone. */
void recv_pool_arm_free(struct plx_recv_pool *pool);
/** Under the lock: what is kept goes to who lacks some, the first first. */
void recv_pool_serve_lacking(struct plx_recv_pool *pool);
/** A message came and few receives are left, or nobody knows from whom. Whether it is delivered. */
bool recv_pool_message_when_low(struct plx_op_shared *shared, struct plx_op *op, struct plx_op_shared_who *who);
/** The callback of all its ops: what was flushed is nobody's message and is given back. On the home of the connection. */
void recv_pool_completed(struct plx_op *op, void *pool);

#endif
