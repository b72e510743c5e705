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

static uint64_t
until(uint64_t wait_ns)
{
	return wait_ns == SOFT_TIMER_NEVER ? SOFT_TIMER_NEVER : plx_clock_monotonic_ns() + wait_ns;
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
	stall->until_ns = until(stall->rnr_ns);
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
	stall->until_ns = until(qp->ack_ns);
	return SOFT_OK;
}

enum soft_fault
loopback_stall(struct loopback_qp *qp, int verdict)
{
	return verdict == LOOPBACK_RNR ? stall_rnr(qp) : stall_silence(qp);
}

/** Execute what waits, as far as it goes. Returns whether some still waits. */
static bool
stalled_resume(struct loopback_qp *qp)
{
	while (soft_sq_stalled(&qp->sq)) {
		if (loopback_state(qp) != PLX_QP_RTS) {
			loopback_send_flush(qp);
			return false;
		}
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
		return plx_clock_monotonic_ns() < qp->stall.until_ns || stalled_resume(qp);
	case PLX_QP_ERR:
		loopback_send_flush(qp);
		return false;
	default:
		return false; /* being destroyed: hands off */
	}
}

/* ---- flushes ------------------------------------------------------------------------------- */

void
loopback_send_flush(struct loopback_qp *qp)
{
	for (; soft_sq_stalled(&qp->sq); qp->sq.first++)
		loopback_send_complete(qp, soft_sq_first(&qp->sq), qp->sq.first + 1, PLX_ST_WR_FLUSH_ERR, 0, 0);
}

/** Whether the peer may still be taking receives: a visit that began before it could see ERR. */
static bool
peer_may_pop(struct loopback_qp *qp)
{
	if (qp->peer == NULL || qp->peer == qp)
		return false; /* a QP connected to itself: this very thread */
	if (!qp->recv_flush_begun) {
		qp->recv_flush_begun = true;
		qp->recv_flush_visit = soft_gate_visit(&qp->peer->gate);
	}
	return !soft_gate_over(&qp->peer->gate, qp->recv_flush_visit);
}

bool
loopback_recv_turn(struct soft_chore *chore)
{
	struct loopback_qp *qp = plx_container_of(chore, struct loopback_qp, recv_chore);
	const struct soft_rqe *rqe;

	if (loopback_state(qp) != PLX_QP_ERR)
		return false;
	if (peer_may_pop(qp))
		return true;
	while ((rqe = soft_rq_peek(&qp->rq)) != NULL) {
		loopback_recv_flush(qp, rqe->wr_id);
		soft_rq_pop(&qp->rq);
	}
	qp->recv_flushed = true;
	return false;
}
