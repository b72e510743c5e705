/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_rq.h"

#include <errno.h>
#include <string.h>

#include "soft_mem.h"

int
soft_rq_init(struct soft_rq *rq, uint32_t depth, uint32_t max_sge)
{
	uint32_t nb_slots = rte_align32pow2(RTE_MAX(depth, 1u));

	/* A receive for itself: its neighbours are posted while a sender looks at it. */
	*rq = (struct soft_rq){
		.mask = nb_slots - 1,
		.stride = RTE_ALIGN(sizeof(struct soft_rqe) + max_sge * sizeof(struct plx_sge), RTE_CACHE_LINE_SIZE),
		.depth = depth,
		.max_sge = max_sge,
	};
	rq->slots = soft_zalloc((size_t)nb_slots * rq->stride);
	return rq->slots == NULL ? -ENOMEM : 0;
}

void
soft_rq_fini(struct soft_rq *rq)
{
	soft_free(rq->slots);
	rq->slots = NULL;
}

static bool
rq_full(struct soft_rq *rq)
{
	if (rq->head - rq->tail_seen < rq->depth)
		return false;
	/* Acquire: partner is soft_rq_pop(). */
	rq->tail_seen = __atomic_load_n(&rq->tail, __ATOMIC_ACQUIRE);
	return rq->head - rq->tail_seen >= rq->depth;
}

int
soft_rq_push(struct soft_rq *rq, const struct plx_wr *wr)
{
	struct soft_rqe *rqe = soft_rq_slot(rq, rq->head);

	if (wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (rq_full(rq))
		return -ENOMEM;
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	for (uint32_t i = 0; i < wr->num_sge; i++)
		rqe->sges[i] = wr->sg_list[i];
	rq->head++;
	/* Release: the receive is whole before its seq says that it is there. Partner: soft_rq_peek(). */
	__atomic_store_n(&rqe->seq, rq->head, __ATOMIC_RELEASE);
	return 0;
}
