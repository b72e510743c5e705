/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include "conn_internal.h"
#include "plx_clock.h"
#include "plx_log.h"
#include "recv_pool_internal.h"

/**
 * @file
 * Closing, step by step, on the owner:
 *
 *      STOP ---------> TO_ERROR ----> DRAIN ----------------> DESTROY ----> EMPTY ----------> EARLY, CALLBACKS -> closed
 *      ops without     control: QP    until flushed,          control:      until the CQ      until every op is on
 *      a post: STOPPED to ERR         or the deadline         the QP goes   was seen empty,   its way home, and its
 *                                                                           rest: CONN_LOST   callback has returned
 *
 * A drain goes as far as DRAIN, waits in QUIET and TELL as EARLY and CALLBACKS do, tells, and rests until a close
 * comes. Where the device has not flushed all by then it goes on like a close, and rests with its QP gone.
 *
 * Unsignaled ops at the end of the send queue that had succeeded would say nothing. So DRAIN posts a signaled op behind
 * them, which is flushed.
 *
 * What never completed is settled only when the QP is gone and every completion that was in the CQ then has been seen.
 * A QP that cannot be destroyed is tried again and again: until it is gone the device may touch its ops' buffers.
 */

#define RETRY_MS 10 /* between two attempts to destroy a QP */

enum close_step { STOP, TO_ERROR, TO_ERROR_ASKED, DRAIN, QUIET, TELL, DESTROY, DESTROY_ASKED, EMPTY, EARLY, CALLBACKS };

static uint64_t
deadline_after_ms(unsigned int ms)
{
	return plx_clock_monotonic_ns() + ms * UINT64_C(1000000);
}

static bool
deadline_passed(const struct plx_conn *conn)
{
	return plx_clock_monotonic_ns() >= conn->deadline;
}

/* ---- the two verbs that block, on the control thread ------------------------------------- */

static int
control_to_error(struct plx_control_req *req)
{
	return plx_qp_to_error(plx_container_of(req, struct plx_conn, control)->qp);
}

static int
control_destroy(struct plx_control_req *req)
{
	struct plx_conn *conn = plx_container_of(req, struct plx_conn, control);
	int err = plx_qp_destroy(conn->qp);

	if (err == 0)
		conn->qp_id = 0; /* events that are read from now on are late */
	return err;
}

static void
control_done(struct plx_control_req *req)
{
	struct plx_conn *conn = plx_container_of(req, struct plx_conn, control);

	if (conn->close_step == TO_ERROR_ASKED) {
		if (req->result != 0)
			PLX_LOG(ERR, "QP %u: cannot be taken to ERR: error %d", conn->sq.qp_num, -req->result);
		conn->in_error = req->result == 0;
		conn->deadline = deadline_after_ms(conn->drain_ms);
		conn->close_step = DRAIN;
		return;
	}
	if (req->result != 0) {
		if (!conn->destroy_failed)
			PLX_LOG(ERR, "QP %u: cannot be destroyed: error %d; tried again every %u ms", conn->sq.qp_num,
				-req->result, RETRY_MS);
		conn->destroy_failed = true;
		conn->deadline = deadline_after_ms(RETRY_MS);
		conn->close_step = DESTROY;
		return;
	}
	conn->qp = NULL;
	conn->seen_empty = conn->group->cq->nb_empty;
	conn->seen_polled = conn->group->cq->nb_polled;
	conn->deadline = deadline_after_ms(conn->drain_ms);
	conn->close_step = EMPTY;
}

/** Ask the control thread; when its queue is full the next turn asks again. */
static void
ask(struct plx_conn *conn, plx_control_fn_t fn, enum close_step asked)
{
	conn->control.fn = fn;
	conn->control.done = control_done;
	if (plx_control_submit(conn->group->control, &conn->control) == 0)
		conn->close_step = (uint8_t)asked;
}

/* ---- steps --------------------------------------------------------------------------------- */

/** Whether a QP may still take receives from an SRQ: they are not flushed, and who destroys it now may lose one. */
static bool
takes_receives(const struct plx_conn *conn)
{
	return conn->recv_pool != NULL && conn->recv_pool->srq != NULL && conn->recv_pool->conf.last_wqe && !conn->last_wqe;
}

/** Whether the device may still flush something; what was overtaken it will not, nor what was lost. */
static bool
flushed(const struct plx_conn *conn)
{
	if (conn->cq_lost)
		return true;
	return conn->sq.head == conn->sq.tail && conn->rq.head == conn->rq.tail && !takes_receives(conn);
}

/** Whether a drain can be told of without the QP being destroyed: what was overtaken is settled by that alone. */
static bool
drained(const struct plx_conn *conn)
{
	return conn->drain_wanted && plx_op_queue_idle(&conn->sq) && plx_op_queue_idle(&conn->rq);
}

/** Whether every completion that was in the CQ when the QP went has been seen, or the CQ is dead. */
static bool
cq_seen_through(const struct plx_conn *conn)
{
	const struct plx_cq *cq = conn->group->cq;

	return conn->group->lost || cq->nb_empty != conn->seen_empty || cq->nb_polled - conn->seen_polled >= cq->nb_cqe ||
	       deadline_passed(conn);
}

/**
 * Whether no submit on another lcore can queue an op any more, nor a drain itself. Such a one counts itself, then looks
 * at the state, or at closing; these were set, then this looks at the counts. All sequential: one of the two sees the
 * other.
 */
static bool
submitters_gone(const struct plx_conn *conn)
{
	return __atomic_load_n(&conn->nb_queued, __ATOMIC_SEQ_CST) == 0 && __atomic_load_n(&conn->nb_words, __ATOMIC_SEQ_CST) == 0;
}

/** One by one: a callback may cancel others of @p list. */
static void
fail_waiting(struct plx_conn *conn, struct plx_op_list *list)
{
	struct plx_op *op;

	while ((op = plx_op_list_take(list)) != NULL) {
		conn_unqueue(conn, 1);
		plx_dispatcher_fail(conn->dispatcher, op, PLX_ST_STOPPED, 0);
	}
}

void
conn_fail_unposted(struct plx_conn *conn)
{
	fail_waiting(conn, &conn->waiting[0]);
	fail_waiting(conn, &conn->waiting[1]);
	fail_list(conn, &conn->held, PLX_ST_STOPPED);
}

static void
step_empty(struct plx_conn *conn)
{
	fail_unsettled(conn, &conn->sq);
	fail_unsettled(conn, &conn->rq);
	if (conn->recv_pool != NULL)
		recv_pool_leave(conn->recv_pool, conn, conn->sq.qp_num);
	conn_cqes_release(conn);
	conn->close_step = EARLY;
}

/** What is handed over from here on is not ours: the marks are exact. */
static void
step_early(struct plx_conn *conn, enum close_step next)
{
	if (early_has(conn) || !submitters_gone(conn))
		return;
	plx_dispatcher_mark(conn->dispatcher, conn->marks);
	conn->close_step = (uint8_t)next;
}

/** The drain is over; @p next is what a close does then. True: nobody asked for one yet. */
static bool
step_tell(struct plx_conn *conn, enum close_step next)
{
	bool rests = !conn->close_wanted;

	conn->drain_told = true;
	conn->close_step = (uint8_t)next;
	conn->in_closing = !rests;
	if (conn->drained_cb != NULL)
		conn->drained_cb(conn, conn->arg);
	return rests;
}

static bool
step_callbacks(struct plx_conn *conn)
{
	if (!plx_dispatcher_passed(conn->dispatcher, conn->marks))
		return false;
	if (conn->drain_wanted && !conn->drain_told)
		return step_tell(conn, CALLBACKS);
	conn_hold(conn); /* who sees it CLOSED may destroy it */
	conn_state_change(conn, PLX_CONN_CLOSED);
	if (conn->closed_cb != NULL)
		conn->closed_cb(conn, conn->arg);
	conn_let_go(conn);
	return true;
}

bool
conn_close_once(struct plx_conn *conn)
{
	switch ((enum close_step)conn->close_step) {
	case STOP:
		conn_fail_unposted(conn);
		conn->close_step = TO_ERROR;
		/* fall through */
	case TO_ERROR:
		ask(conn, control_to_error, TO_ERROR_ASKED);
		return false;
	case DRAIN:
		if (conn->in_error)
			conn_signal_tail(conn); /* each turn, until it could */
		if (!flushed(conn) && !deadline_passed(conn))
			return false;
		conn->close_step = drained(conn) ? QUIET : DESTROY;
		return false;
	case QUIET:
		step_early(conn, TELL);
		return false;
	case TELL:
		return plx_dispatcher_passed(conn->dispatcher, conn->marks) && step_tell(conn, DESTROY);
	case DESTROY:
		if (!conn->destroy_failed || deadline_passed(conn))
			ask(conn, control_destroy, DESTROY_ASKED);
		return false;
	case EMPTY:
		if (cq_seen_through(conn) && submitters_gone(conn))
			step_empty(conn);
		return false;
	case EARLY:
		step_early(conn, CALLBACKS);
		return false;
	case CALLBACKS:
		return step_callbacks(conn);
	case TO_ERROR_ASKED:
	case DESTROY_ASKED:
		return false;
	}
	return false;
}

static void
kept_closed(struct plx_conn *conn, void *arg)
{
	plx_conn_destroy(conn);
}

void
conn_keep(struct plx_conn *conn)
{
	struct plx_conn_group *group = conn->group;

	conn->closed_cb = kept_closed;
	conn->lost_cb = NULL;
	conn->failed_cb = NULL;
	conn->drained_cb = NULL;
	conn->sq.qp_num = conn->qp->qp_num;
	conn->closing = true;
	conn->destroy_failed = true;
	conn->deadline = deadline_after_ms(RETRY_MS);
	conn->close_step = DESTROY;
	conn->told = CONN_TOLD_KEPT;
	conn_group_insert(group, conn);
	conn_word_end(conn);
	conn_group_tell(group, GROUP_TOLD_CONN);
}

int
plx_conn_drain(struct plx_conn *conn)
{
	uintptr_t word = lane_drain(conn);
	int err = 0;

	if (conn->group == NULL)
		return -ENOTSUP;
	conn_word_begin(conn); /* before the look at closing: submitters_gone() */
	if (__atomic_load_n(&conn->closing, __ATOMIC_SEQ_CST) || __atomic_exchange_n(&conn->draining, true, __ATOMIC_ACQ_REL)) {
		err = -EALREADY;
	} else if (rte_lcore_id() == conn->owner) {
		conn_drain_begin(conn);
	} else if (plx_lane_send(conn->group->lane, &word, 1) == 1) {
		return 0; /* counted until it is taken */
	} else {
		__atomic_store_n(&conn->draining, false, __ATOMIC_RELEASE);
		err = -EAGAIN;
	}
	conn_word_end(conn);
	return err;
}

int
plx_conn_close(struct plx_conn *conn)
{
	uintptr_t word = lane_close(conn);

	if (conn->group == NULL)
		return -ENOTSUP; /* plx_conn_detach() */
	/* One caller wins; the others are told so. Sequential: submitters_gone(). */
	if (__atomic_exchange_n(&conn->closing, true, __ATOMIC_SEQ_CST))
		return -EALREADY;
	if (rte_lcore_id() == conn->owner) {
		conn_close_begin(conn);
		return 0;
	}
	if (plx_lane_send(conn->group->lane, &word, 1) == 1)
		return 0;
	conn_close_take_back(conn, conn->group);
	return -EAGAIN;
}
