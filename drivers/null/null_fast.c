/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The cold end of the null device's poll: QPs in ERR.
 */

#include "null.h"

#include <rte_common.h>

static inline void
cq_push(struct plx_null_cq *cq, uint64_t wr_id, uint64_t what)
{
	struct plx_null_cqe *cqe = &cq->ring[cq->head++ & cq->mask];

	cqe->wr_id = wr_id;
	cqe->what = what;
}

static bool
recvs_flush(struct plx_null_qp *qp, struct plx_null_cq *cq)
{
	uint32_t fit = RTE_MIN(plx_null_room(cq), (uint64_t)qp->nb_recvs);

	for (uint32_t i = 0; i < fit; i++)
		cq_push(cq, qp->recvs[i], PLX_NULL_WHAT(qp->base.qp_num, PLX_ST_WR_FLUSH_ERR, PLX_OPCODE_RECV));
	for (uint32_t i = fit; i < qp->nb_recvs; i++)
		qp->recvs[i - fit] = qp->recvs[i];
	qp->nb_recvs -= fit;
	return qp->nb_recvs == 0;
}

void
plx_null_flush(struct plx_null_cq *cq)
{
	struct plx_null_qp *qp;
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
