/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Post and poll: is the WR legal, execute it, complete it.
 *
 * Threads: the QP's owner.
 */

#include "loopback.h"

#include <errno.h>

#include <rte_prefetch.h>

#include "soft_atomic.h"
#include "soft_sge.h"

/* ---- sends --------------------------------------------------------------------------------- */

/** The kinds that bring data here have room for their answers; none of these has a payload to inline. */
static bool
fetch_or_local_ok(const struct loopback_qp *qp, const struct plx_wr *wr)
{
	if (wr->flags & PLX_WR_INLINE)
		return false;
	switch (wr->opcode) {
	case PLX_OPCODE_READ:
		return qp->rd_atomic != 0;
	case PLX_OPCODE_CMP_SWAP:
	case PLX_OPCODE_FETCH_ADD:
		return qp->rd_atomic != 0 && wr->remote_addr % SOFT_ATOMIC_LEN == 0 &&
		       soft_sge_len(wr->sg_list, wr->num_sge) == SOFT_ATOMIC_LEN;
	default:
		return wr->num_sge == 0;
	}
}

/** What a provider refuses while posting; the WR is not taken. */
static inline int
send_check(const struct loopback_qp *qp, const struct plx_wr *wr, uint32_t state)
{
	if (unlikely(state == PLX_QP_INIT))
		return -EINVAL;
	if (unlikely(wr->opcode >= PLX_OPCODE_RECV || !(qp->base.dev->caps.kinds & PLX_KIND(wr->opcode))))
		return -ENOTSUP;
	if (unlikely(wr->num_sge > qp->sq.max_sge))
		return -EINVAL;
	if ((wr->flags & PLX_WR_INLINE) && soft_sge_len(wr->sg_list, wr->num_sge) > qp->sq.max_inline)
		return -EINVAL;
	if (unlikely(wr->opcode >= PLX_OPCODE_READ && !fetch_or_local_ok(qp, wr)))
		return -EINVAL;
	return unlikely(soft_sq_full(&qp->sq)) ? -ENOMEM : 0;
}

void
loopback_send_complete(struct loopback_qp *qp, const struct plx_wr *wr, uint64_t position, uint8_t status,
	uint32_t fault, uint32_t len)
{
	struct plx_wc *wc = soft_cq_add_local(loopback_cq(qp->base.send_cq), qp->sq.done, position);

	if (unlikely(wc == NULL))
		return;
	*wc = (struct plx_wc){
		.wr_id = wr->wr_id,
		.byte_len = len,
		.qp_num = qp->base.qp_num,
		.vendor_err = fault,
		.raw_status = status,
		.status = status,
		.opcode = wr->opcode,
	};
}

bool
loopback_send(struct loopback_qp *qp, const struct plx_wr *wr, uint64_t position)
{
	uint32_t len = 0;
	int verdict = loopback_execute(qp, wr, &len);
	uint8_t status;

	if (unlikely(verdict < 0)) {
		verdict = loopback_stall(qp, verdict);
		if (verdict == SOFT_OK)
			return false;
	} else if (likely(verdict == SOFT_OK)) {
		if (wr->flags & PLX_WR_SIGNALED)
			loopback_send_complete(qp, wr, position, PLX_ST_SUCCESS, 0, len);
		return true;
	}
	/* A failed WR completes whether it asked to or not, and nothing behind it executes. */
	status = soft_fault_status(qp->status, verdict);
	loopback_send_complete(qp, wr, position, status, verdict, 0);
	loopback_qp_fail(qp);
	return true;
}

static inline int
send_post(struct loopback_qp *qp, const struct plx_wr *wr)
{
	uint32_t state = loopback_state(qp);
	int err = send_check(qp, wr, state);

	if (unlikely(err != 0))
		return err;
	qp->sq.posted++;
	if (likely(state == PLX_QP_RTS && qp->sq.first + 1 == qp->sq.posted &&
		    loopback_send(qp, wr, qp->sq.posted))) {
		qp->sq.first = qp->sq.posted;
		return 0;
	}
	soft_sq_keep(&qp->sq, wr);
	if (state != PLX_QP_ERR || loopback_send_flush(qp))
		soft_chores_add(&loopback_cq(qp->base.send_cq)->chores, &qp->send_chore);
	return 0;
}

uint16_t
plx_loopback_post_send(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct loopback_qp *qp = loopback_qp(base);
	uint16_t i;

	/* The gate's fence would have these misses one after the other. */
	rte_prefetch0(&qp->sq);
	rte_prefetch0(&qp->life);
	soft_gate_enter(&qp->gate);
	for (i = 0; i < n; i++) {
		int refused = send_post(qp, wrs[i]);

		if (unlikely(refused != 0)) {
			*err = refused;
			break;
		}
	}
	soft_gate_leave(&qp->gate);
	return i;
}

/* ---- receives ------------------------------------------------------------------------------ */

void
loopback_recv_flush(struct loopback_qp *qp, uint64_t wr_id)
{
	struct plx_wc wc = {
		.wr_id = wr_id,
		.qp_num = qp->base.qp_num,
		.raw_status = PLX_ST_WR_FLUSH_ERR,
		.status = PLX_ST_WR_FLUSH_ERR,
		.opcode = PLX_OPCODE_RECV,
	};

	soft_cq_push_local(loopback_cq(qp->base.recv_cq), &wc, NULL, 0);
}

static int
recv_post(struct loopback_qp *qp, const struct plx_wr *wr)
{
	int err;

	if (likely(qp->flush.step != LOOPBACK_FLUSH_DONE)) {
		err = soft_rq_push(&qp->rq, wr);
		return unlikely(err != 0) && qp->srq != NULL ? -EINVAL : err; /* it has no queue of its own */
	}
	if (qp->srq != NULL || wr->num_sge > qp->rq.max_sge)
		return -EINVAL;
	loopback_recv_flush(qp, wr->wr_id);
	return 0;
}

uint16_t
plx_loopback_post_recv(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct loopback_qp *qp = loopback_qp(base);

	for (uint16_t i = 0; i < n; i++) {
		int refused = recv_post(qp, wrs[i]);

		if (unlikely(refused != 0)) {
			*err = refused;
			return i;
		}
	}
	return n;
}

uint16_t
plx_loopback_post_srq_recv(struct plx_srq *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct soft_srq *srq = loopback_srq(base);

	for (uint16_t i = 0; i < n; i++) {
		int refused = soft_srq_push(srq, wrs[i]);

		if (unlikely(refused != 0)) {
			*err = refused;
			return i;
		}
	}
	return n;
}

/** Of a device whose CQs do not live through an overflow (IBA 10.2.3.3). */
static int
dying_poll_cq(struct plx_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	return soft_cq_dropped(loopback_cq(cq)) != 0 ? -EIO : soft_cq_poll(cq, wcs, n);
}

const struct plx_fast_ops *const loopback_fast = &plx_loopback_fast;

const struct plx_fast_ops loopback_fast_dying = {
	.post_send = plx_loopback_post_send,
	.post_recv = plx_loopback_post_recv,
	.post_srq_recv = plx_loopback_post_srq_recv,
	.poll_cq = dying_poll_cq,
	.kinds = PLX_LOOPBACK_KINDS,
};

int
plx_loopback_poll_cq(struct plx_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	return soft_cq_poll(cq, wcs, n);
}
