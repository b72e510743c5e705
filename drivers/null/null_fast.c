/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Post and poll of the null device.
 */

#include "null.h"

#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#define WHAT(qp_num, status, opcode) ((uint64_t)(qp_num) << 16 | (uint64_t)(status) << 8 | (opcode))

static inline uint64_t
cq_room(const struct null_cq *cq)
{
	return cq->mask + UINT64_C(1) - (cq->head - cq->tail);
}

static inline void
cq_push(struct null_cq *cq, uint64_t wr_id, uint64_t what)
{
	struct null_cqe *cqe = &cq->ring[cq->head++ & cq->mask];

	cqe->wr_id = wr_id;
	cqe->what = what;
}

/* ---- post ---------------------------------------------------------------------------------- */

/** In ERR every WR completes, and as flushed. */
static uint64_t
send_flush(struct null_qp *qp, struct null_cq *cq, uint64_t head, const struct plx_wr *wr)
{
	struct null_cqe *cqe = &cq->ring[head & cq->mask];

	cqe->wr_id = wr->wr_id;
	cqe->what = WHAT(qp->base.qp_num, PLX_ST_WR_FLUSH_ERR, wr->opcode);
	return head + 1;
}

static uint16_t
null_post_send(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct null_qp *qp = null_qp(base);
	struct null_cq *cq = null_cq(base->send_cq);
	uint32_t state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);
	uint64_t room = cq_room(cq);
	uint64_t what = WHAT(base->qp_num, PLX_ST_SUCCESS, 0);
	uint64_t head = cq->head;
	uint16_t fit = RTE_MIN(room, (uint64_t)n);

	if (unlikely(state == PLX_QP_INIT)) {
		*err = -EINVAL;
		return 0;
	}
	if (unlikely(fit < n))
		*err = -ENOMEM;
	for (uint16_t i = 0; i < fit; i++) {
		struct null_cqe *cqe = &cq->ring[head & cq->mask];

		if (unlikely(state == PLX_QP_ERR)) {
			head = send_flush(qp, cq, head, wrs[i]);
			continue;
		}
		/* Written in any case; an unsignaled one is written over by the next. */
		cqe->wr_id = wrs[i]->wr_id;
		cqe->what = what | wrs[i]->opcode;
		head += wrs[i]->flags & PLX_WR_SIGNALED;
	}
	cq->head = head;
	return fit;
}

static uint16_t
null_post_recv(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct null_qp *qp = null_qp(base);

	for (uint16_t i = 0; i < n; i++) {
		if (unlikely(qp->nb_recvs == base->cap.recv_depth)) {
			*err = -ENOMEM;
			return i;
		}
		qp->recvs[qp->nb_recvs++] = wrs[i]->wr_id;
	}
	/* To ERR has passed already, or will find these: its flag is looked at by the next poll either way. */
	if (unlikely(__atomic_load_n(&qp->state, __ATOMIC_RELAXED) == PLX_QP_ERR))
		__atomic_store_n(&null_cq(base->recv_cq)->flush, 1, __ATOMIC_RELAXED);
	return n;
}

/* ---- poll ---------------------------------------------------------------------------------- */

static bool
recvs_flush(struct null_qp *qp, struct null_cq *cq)
{
	uint32_t fit = RTE_MIN(cq_room(cq), (uint64_t)qp->nb_recvs);

	for (uint32_t i = 0; i < fit; i++)
		cq_push(cq, qp->recvs[i], WHAT(qp->base.qp_num, PLX_ST_WR_FLUSH_ERR, PLX_OPCODE_RECV));
	for (uint32_t i = fit; i < qp->nb_recvs; i++)
		qp->recvs[i - fit] = qp->recvs[i];
	qp->nb_recvs -= fit;
	return qp->nb_recvs == 0;
}

/** Cold: some QP of this CQ went to ERR. Never waits for the control thread. */
static void
cq_flush(struct null_cq *cq)
{
	struct null_qp *qp;
	bool all = true;

	if (pthread_mutex_trylock(&cq->lock) != 0)
		return;
	/* Acquire: partner is the release in null_qp_to_error(); a flag set behind this is seen next time. */
	__atomic_exchange_n(&cq->flush, 0, __ATOMIC_ACQUIRE);
	TAILQ_FOREACH(qp, &cq->qps, link) {
		if (__atomic_load_n(&qp->state, __ATOMIC_RELAXED) == PLX_QP_ERR)
			all &= recvs_flush(qp, cq);
	}
	if (!all)
		__atomic_store_n(&cq->flush, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cq->lock);
}

static int
null_poll_cq(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct null_cq *cq = null_cq(base);
	uint16_t got;

	if (unlikely(__atomic_load_n(&cq->flush, __ATOMIC_RELAXED)))
		cq_flush(cq);
	got = RTE_MIN(cq->head - cq->tail, (uint64_t)n);
	for (uint16_t i = 0; i < got; i++) {
		const struct null_cqe *cqe = &cq->ring[(cq->tail + i) & cq->mask];
		uint8_t status = cqe->what >> 8;

		wcs[i] = (struct plx_wc){
			.wr_id = cqe->wr_id,
			.qp_num = cqe->what >> 16,
			.raw_status = status,
			.status = status,
			.opcode = (uint8_t)cqe->what,
		};
	}
	cq->tail += got;
	/* Empty: begin at the first slot again, so that a large CQ touches no more lines than are in flight. */
	if (cq->tail == cq->head)
		cq->head = cq->tail = 0;
	return got;
}

const struct plx_fast_ops null_fast = {
	.post_send = null_post_send,
	.post_recv = null_post_recv,
	.poll_cq = null_poll_cq,
};
