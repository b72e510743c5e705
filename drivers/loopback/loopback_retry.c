/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The cold side of the data path: WRs that must wait, and what is left of a QP in ERR. Both are chores of a CQ.
 *
 * Threads: the QP's owner, inside the QP's gate.
 */

#include "loopback.h"

#include "plx_clock.h"
#include "soft_timer.h"

#define FOR_EVER 7 /* rnr_retry (IBA 9.7.5.2.8) */

/* ---- stalls -------------------------------------------------------------------------------- */

/** The time of the device. */
static uint64_t
now_ns(const struct loopback_qp *qp)
{
	return loopback_device(qp->base.dev)->tick_us != 0 ? qp->stall.ticked_ns : plx_clock_monotonic_ns();
}

static uint64_t
until(const struct loopback_qp *qp, uint64_t wait_ns)
{
	return wait_ns == SOFT_TIMER_NEVER ? SOFT_TIMER_NEVER : now_ns(qp) + wait_ns;
}

/** The peer said "not ready" at once, so the last NAK ends it. */
static enum soft_fault
stall_rnr(struct loopback_qp *qp)
{
	struct loopback_stall *stall = &qp->stall;

	if (qp->rnr_retry != FOR_EVER && stall->rnrs == qp->rnr_retry)
		return SOFT_FAULT_RNR;
	stall->rnrs++;
	stall->silences = 0;
	stall->until_ns = until(qp, stall->rnr_ns);
	return SOFT_OK;
}

/** Silence is known for what it is when the timer has run: each try waits, the last one too. */
static enum soft_fault
stall_silence(struct loopback_qp *qp)
{
	struct loopback_stall *stall = &qp->stall;

	if (stall->silences == qp->retry_cnt + 1u)
		return SOFT_FAULT_SILENCE;
	stall->silences++;
	stall->until_ns = until(qp, qp->ack_ns);
	return SOFT_OK;
}

enum soft_fault
loopback_stall(struct loopback_qp *qp, int verdict)
{
	if (verdict == LOOPBACK_RNR)
		return stall_rnr(qp);
	if (verdict == LOOPBACK_SILENCE)
		return stall_silence(qp);
	qp->stall.until_ns = 0; /* at the next poll: the peer stays for no longer than one post or poll */
	return SOFT_OK;
}

/** Execute what waits, as far as it goes. Returns whether some still waits. */
static bool
stalled_resume(struct loopback_qp *qp)
{
	while (soft_sq_stalled(&qp->sq)) {
		if (loopback_state(qp) != PLX_QP_RTS)
			return loopback_send_flush(qp);
		if (!loopback_send(qp, soft_sq_first(&qp->sq), qp->sq.first + 1))
			return true;
		qp->sq.first++;
		qp->stall.rnrs = 0;
		qp->stall.silences = 0;
	}
	return false;
}

bool
loopback_send_turn(struct soft_chore *chore)
{
	struct loopback_qp *qp = plx_container_of(chore, struct loopback_qp, send_chore);

	switch (loopback_state(qp)) {
	case PLX_QP_RTS:
		if (!soft_sq_stalled(&qp->sq))
			return false;
		qp->stall.ticked_ns += loopback_device(qp->base.dev)->tick_us * UINT64_C(1000);
		return now_ns(qp) < qp->stall.until_ns || stalled_resume(qp);
	case PLX_QP_ERR:
		return loopback_send_flush(qp);
	default:
		return false; /* being destroyed: hands off */
	}
}

/* ---- flushes ------------------------------------------------------------------------------- */

/** An invalidate that has taken place ends as what it is, also if the QP failed meanwhile. Whether it has ended. */
static bool
invalidate_finish(struct loopback_qp *qp)
{
	if (!qp->stall.invalidated)
		return true;
	if (!loopback_send(qp, soft_sq_first(&qp->sq), qp->sq.first + 1))
		return false;
	qp->sq.first++;
	return true;
}

bool
loopback_send_flush(struct loopback_qp *qp)
{
	if (!invalidate_finish(qp))
		return true;
	for (; soft_sq_stalled(&qp->sq); qp->sq.first++)
		loopback_send_complete(qp, soft_sq_first(&qp->sq), qp->sq.first + 1, PLX_ST_WR_FLUSH_ERR, 0, 0);
	return false;
}

static void
recvs_flush(struct loopback_qp *qp)
{
	const struct soft_rqe *rqe;

	while ((rqe = soft_rq_peek(&qp->rq)) != NULL) {
		loopback_recv_flush(qp, rqe->wr_id);
		soft_rq_pop(&qp->rq);
	}
}

/** The peer may have seen RTS just before, and be in here still. (A QP that is its own peer sees this very turn, and
 * that it is over in its next.) */
static uint32_t
peer_visit(const struct loopback_qp *qp)
{
	return qp->peer == NULL ? 0 : soft_gate_visit(&qp->peer->gate);
}

static bool
peer_out(const struct loopback_qp *qp)
{
	return qp->flush.visit == 0 || soft_gate_over(&qp->peer->gate, qp->flush.visit);
}

bool
loopback_recv_turn(struct soft_chore *chore)
{
	struct loopback_qp *qp = plx_container_of(chore, struct loopback_qp, recv_chore);
	struct soft_cq *cq = loopback_cq(qp->base.recv_cq);
	struct loopback_flush *flush = &qp->flush;

	if (loopback_state(qp) != PLX_QP_ERR)
		return false;
	switch (flush->step) {
	case LOOPBACK_FLUSH_NOT_BEGUN:
		flush->visit = peer_visit(qp);
		flush->step = LOOPBACK_FLUSH_PEER;
		/* fall through */
	case LOOPBACK_FLUSH_PEER:
		if (!peer_out(qp))
			return true;
		flush->mark = soft_cq_mark(cq);
		flush->step = LOOPBACK_FLUSH_FRONT;
		/* fall through */
	case LOOPBACK_FLUSH_FRONT:
		if (!soft_cq_taken(cq, flush->mark))
			return true;
		recvs_flush(qp);
		loopback_event_last_wqe(qp, false);
		flush->step = LOOPBACK_FLUSH_DONE;
		/* fall through */
	case LOOPBACK_FLUSH_DONE:
		break;
	}
	return false;
}
