/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef CONN_INTERNAL_H
#define CONN_INTERNAL_H

/**
 * @file
 * What the files of this room share. Everything here runs on the owner lcore unless it says so.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

#include <sys/queue.h>

#include "plx_conn.h"
#include "plx_conn_events.h"
#include "plx_lane.h"

/** Connections in one of the group's lists; each is in a list at most once (in_waiters, in_closing). */
struct conn_list {
	struct plx_conn *first;
	struct plx_conn *last;
};

struct plx_conn_group {
	struct plx_dispatcher *dispatcher;
	struct plx_cq *cq;
	struct plx_control *control;
	struct plx_lane *lane; /**< lane_op(), lane_close() and lane_cancel() words from other threads */
	struct conn_list waiters; /**< linked by next_waiter */
	struct conn_list closing; /**< linked by next_closing */
	struct plx_conn *failed;  /**< linked by next_failed */
	bool turning;		  /**< plx_conn_group_once() is running */
	uint32_t told;		  /**< atomic: GROUP_TOLD_*, by the control thread */
	bool cq_lost;		  /**< completions of the CQ are lost; owner writes, atomic */
	bool lost;		  /**< the device is; likewise */
	bool cq_told;		  /**< an error of the CQ has been counted; under the events' lock */
	uint32_t nb_conns;	  /**< atomic */
	struct plx_conn_events *events;
	pthread_mutex_t lock; /**< of the two lists: who creates and destroys, the control thread, the owner when it was told */
	LIST_HEAD(, plx_conn) conns;
	LIST_HEAD(, plx_recv_pool) pools;
	LIST_ENTRY(plx_conn_group) in_events;
	char name[32];
};

/* What the control thread has to tell a group, and a connection of it. */
#define GROUP_TOLD_CONN 0x1 /**< a connection has been told something */
#define GROUP_TOLD_POOL 0x2 /**< a pool */
#define GROUP_TOLD_CQ	0x4 /**< completions are lost */
#define GROUP_TOLD_LOST 0x8 /**< the device is */

#define CONN_TOLD_FATAL	   0x1
#define CONN_TOLD_LAST_WQE 0x2
#define CONN_TOLD_KEPT	   0x4 /**< conn_keep(): whose closing flag is set */

/* ---- conn_events.c ---- */
void conn_events_join(struct plx_conn_events *events, struct plx_conn_group *group);
void conn_events_leave(struct plx_conn_events *events, struct plx_conn_group *group);
bool conn_events_fit(const struct plx_conn_events *events, const struct plx_device *dev, const struct plx_control *control);
/** Whether @p event concerns @p group, which then has been told. Control thread. */
bool conn_group_hear(struct plx_conn_group *group, const struct plx_event *event);
/** Have the owner heed what has been noted for it, GROUP_TOLD_*, in its next turn. Any thread. */
static inline void
conn_group_tell(struct plx_conn_group *group, uint32_t what)
{
	/* Release: partner is the acquire in conn_group_heed(). */
	__atomic_fetch_or(&group->told, what, __ATOMIC_RELEASE);
}

/**
 * @p conn is not closing after all. What came meanwhile was in vain: the owner of @p group, which is its, looks once
 * more.
 */
static inline void
conn_close_take_back(struct plx_conn *conn, struct plx_conn_group *group)
{
	__atomic_store_n(&conn->closing, false, __ATOMIC_RELEASE); /* it may be gone behind this */
	conn_group_tell(group, GROUP_TOLD_CONN);
}

/** Act on what the control thread has told. Returns how many things it did. */
unsigned int conn_group_heed(struct plx_conn_group *group);

/**
 * The lane carries pointers; the lowest bit says that it is a connection to close, not an op to post, the highest
 * neither.
 */
static inline uintptr_t
lane_op(struct plx_op *op)
{
	return (uintptr_t)op;
}

static inline uintptr_t
lane_close(struct plx_conn *conn)
{
	return (uintptr_t)conn | 1;
}

/** Likewise, to be drained. */
static inline uintptr_t
lane_drain(struct plx_conn *conn)
{
	return (uintptr_t)conn | 2;
}

#define LANE_CANCEL (UINT64_C(1) << 63)

/** The op with @p id is to be cancelled: slot and generation have room, the pool is known. */
static inline uint64_t
lane_cancel(uint64_t id)
{
	return LANE_CANCEL | id >> 32 << 24 | (id & 0xffffff);
}

static inline bool
lane_is_op(uintptr_t word)
{
	return !(word & (LANE_CANCEL | 3));
}

/**
 * Leave the SGEs of no bytes out of the list of @p op, which has passed plx_conn_check(): some providers take 0 for
 * 2^31.
 */
void conn_strip_sges(struct plx_op *op);

/** Change the state; false if the table does not allow it (conn_state.c). Any thread, one at a time. */
bool conn_state_change(struct plx_conn *conn, enum plx_conn_state to);

/** Whether queue @p q of @p conn may be posted to in the present state. Any thread. */
bool conn_state_admits(const struct plx_conn *conn, const struct plx_op_queue *q);

static inline struct plx_op_list *
conn_waiting(struct plx_conn *conn, const struct plx_op_queue *q)
{
	return &conn->waiting[q == &conn->rq];
}

/** Let submits take the fast path again, or not, by state, waiting and held ops. */
void conn_update_limit(struct plx_conn *conn, struct plx_op_queue *q);

/** Ops that a submit on the owner may post on @p q now, nobody being before it. */
uint32_t conn_room(struct plx_conn *conn, const struct plx_op_queue *q);

/** Bytes of all SGEs; 64 bits are enough for any list that has a 32-bit count. */
uint64_t conn_op_length(const struct plx_op *op);

/**
 * If unsignaled ops are the last on the send queue, whose QP is in ERR, post a signaled one behind them: it is flushed
 * when they are over, so that nothing waits for them in vain. -EAGAIN: no credit or no op now, ask again.
 */
int conn_signal_tail(struct plx_conn *conn);

/** Post @p n ops that were taken before, n <= room; what the post does not take completes with PLX_ST_POST_FAILED. */
int conn_post_taken(struct plx_conn *conn, struct plx_op_queue *q, struct plx_op **ops, uint16_t n);

/** Post waiting ops of @p q as far as there is credit. Returns how many. */
unsigned int conn_post_waiting(struct plx_conn *conn, struct plx_op_queue *q);

/** @p n ops from elsewhere are queued no longer. */
static inline void
conn_unqueue(struct plx_conn *conn, uint32_t n)
{
	__atomic_fetch_sub(&conn->nb_queued, n, __ATOMIC_RELAXED);
}

/**
 * A drain request on its way to the owner: counted before it is sent, until the owner has it or it was not sent after all.
 * It names the connection, which so is not CLOSED meanwhile (submitters_gone()). Nor is one whose making is counted.
 */
static inline void
conn_word_begin(struct plx_conn *conn)
{
	__atomic_fetch_add(&conn->nb_words, 1, __ATOMIC_SEQ_CST);
}

/** The last that is done with @p conn: it may be gone behind this. */
static inline void
conn_word_end(struct plx_conn *conn)
{
	/* Release: pairs with the load in submitters_gone(). */
	__atomic_fetch_sub(&conn->nb_words, 1, __ATOMIC_RELEASE);
}

/** One more has @p conn: it is not freed under his hands. */
static inline void
conn_hold(struct plx_conn *conn)
{
	__atomic_fetch_add(&conn->nb_holders, 1, __ATOMIC_RELAXED);
}

/** One less; the last one frees it (conn.c). */
void conn_let_go(struct plx_conn *conn);

/** Control thread: destroy the QP @p arg of a connection that is half made, or unused. What it said, and logged. */
int conn_unmake_qp(void *arg);

/** Reserve @p need CQEs of @p cq, of which *used are. 0; -ENOSPC, and nothing is reserved: they do not fit. Any thread. */
static inline int
conn_cq_reserve(struct plx_cq *cq, uint32_t need, uint32_t *used)
{
	*used = __atomic_fetch_add(&cq->reserved, need, __ATOMIC_RELAXED);
	if ((uint64_t)*used + need <= cq->nb_cqe)
		return 0;
	__atomic_fetch_sub(&cq->reserved, need, __ATOMIC_RELAXED);
	return -ENOSPC;
}

/** The other half. */
static inline void
conn_cq_release(struct plx_cq *cq, uint32_t nb)
{
	__atomic_fetch_sub(&cq->reserved, nb, __ATOMIC_RELAXED);
}

/** From here on events find @p conn (conn.c). */
void conn_group_insert(struct plx_conn_group *group, struct plx_conn *conn);

/** Give the CQEs of @p conn back to its CQ (conn.c). Owner, or the control thread before there is a connection. */
void conn_cqes_release(struct plx_conn *conn);

/** conn_arm() of an op that has or may have a deadline (conn_give_up.c). */
void conn_arm_more(struct plx_conn *conn, struct plx_op *op);

/** The device gets @p op, in the post call that follows. */
static inline void
conn_arm(struct plx_conn *conn, struct plx_op *op)
{
	if (__builtin_expect(op->attention & PLX_OP_OWN_MORE, 0))
		conn_arm_more(conn, op);
	else
		plx_op_arm(op);
}

/** @p op was taken and waits on @p list until it can be posted. */
void conn_enqueue(struct plx_conn *conn, struct plx_op_list *list, struct plx_op *op);

/** Of @p n ops that came from elsewhere settle those that are late or cancelled already. Returns how many are left. */
unsigned int conn_sort_out(struct plx_conn *conn, struct plx_op **ops, unsigned int n);

/** Cancel the op that @p word, of lane_cancel(), names, if it is not over. */
void conn_group_cancel(struct plx_conn_group *group, uint64_t word);

/** Settle ops whose deadline has passed. Returns how many. */
unsigned int conn_group_expire(struct plx_conn_group *group);

/** Start to close @p conn, whose closing flag the caller has set; moved on by conn_close_once(). */
void conn_close_begin(struct plx_conn *conn);

/**
 * Keep @p conn, whose making has failed and whose QP cannot be destroyed, in its group: it is the caller's no longer, and
 * closes until the QP is gone. Any thread.
 */
void conn_keep(struct plx_conn *conn);

/** Start to drain @p conn, whose draining flag the caller has set; likewise. */
void conn_drain_begin(struct plx_conn *conn);

/** Move a connection on that closes or drains. True once that is over and its callback has run; it may be gone then. */
bool conn_close_once(struct plx_conn *conn);

/** Settle what was taken and not posted. */
void conn_fail_unposted(struct plx_conn *conn);

/** READY or IDLE -> FAILED, if it may; conn_fail_once() comes in the group's turn (conn_error.c). */
void conn_set_failed(struct plx_conn *conn);

/** Whether the first error of @p conn may give way to another: there is none, or it is a flush. */
static inline bool
conn_lacks_cause(const struct plx_conn *conn)
{
	return conn->error.status == PLX_ST_SUCCESS || conn->error.status == PLX_ST_WR_FLUSH_ERR;
}

/** op_queue's failed. */
void conn_failed(struct plx_op_queue *q, const struct plx_op *op, const struct plx_wc *wc);

/** Tell what conn_failed() or an event has noted; what that event ends is closed then. */
void conn_fail_once(struct plx_conn *conn);

/** op_queue's overtaken, for connections that have a lost_cb. */
static inline void
conn_overtaken(struct plx_op_queue *q, struct plx_op *op)
{
	struct plx_conn *conn = plx_op_queue_conn(q);

	conn->lost_cb(conn, op, conn->arg);
}

/* ---- what a close and a detach both do ---- */

/** Settle the ops of @p list, which were never posted. */
static inline void
fail_list(struct plx_conn *conn, struct plx_op_list *list, enum plx_status status)
{
	struct plx_op *op;

	while ((op = plx_op_list_take(list)) != NULL)
		plx_dispatcher_fail(conn->dispatcher, op, status, 0);
}

/** End @p op, which goes with its connection. */
static inline void
fail_lost(struct plx_conn *conn, struct plx_op *op)
{
	conn->nb_conn_lost++;
	plx_dispatcher_fail(conn->dispatcher, op, PLX_ST_CONN_LOST, 0);
}

/** Settle what is posted on @p q and will not complete. */
static inline void
fail_unsettled(struct plx_conn *conn, struct plx_op_queue *q)
{
	struct plx_op *op;

	while ((op = plx_op_queue_take_unsettled(q)) != NULL) {
		if (plx_op_is_split(op))
			plx_op_device_done(op);
		else
			fail_lost(conn, op);
	}
}

/** Whether an op of @p conn is over, and waits for a post call to return before it is sent home. */
static inline bool
early_has(const struct plx_conn *conn)
{
	const struct plx_op_list *early = &conn->dispatcher->early;
	const struct plx_op *op = early->first;

	for (uint32_t nb = early->nb; nb != 0; nb--, op = op->next)
		if (plx_op_conn(op) == conn)
			return true;
	return false;
}

#endif
