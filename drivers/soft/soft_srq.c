/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_srq.h"

#include <errno.h>

#include <rte_branch_prediction.h>

#include "soft_mem.h"

enum { SEQ, NUM_SGE, WR_ID, SGES };

int
soft_srq_init(struct soft_srq *srq, uint32_t depth, uint32_t recv_sge)
{
	uint32_t nb_slots = rte_align32pow2(RTE_MAX(depth, 1u));
	uint32_t words = SGES + 2 * recv_sge;

	srq->base.depth = depth;
	srq->base.recv_sge = recv_sge;
	srq->mask = nb_slots - 1;
	/* On lines of its own, as in soft_rq.c. */
	srq->words = RTE_ALIGN(words * sizeof(uint64_t), RTE_CACHE_LINE_SIZE) / sizeof(uint64_t);
	srq->slots = soft_zalloc((size_t)nb_slots * srq->words * sizeof(uint64_t));
	return srq->slots == NULL ? -ENOMEM : 0;
}

void
soft_srq_fini(struct soft_srq *srq)
{
	soft_free(srq->slots);
	srq->slots = NULL;
}

static inline uint64_t *
slot_at(const struct soft_srq *srq, uint64_t position)
{
	return &srq->slots[(position & srq->mask) * srq->words];
}

/* Relaxed: seq, and the compare-and-swap of the tail, order what they surround. */

static inline void
put(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline uint64_t
get(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* ---- push ---------------------------------------------------------------------------------- */

static bool
srq_full(struct soft_srq *srq)
{
	if (srq->head - srq->tail_seen < srq->base.depth)
		return false;
	/* Acquire: who moved the tail has read the slot. Partner: the compare-and-swap in soft_srq_take(). */
	srq->tail_seen = __atomic_load_n(&srq->tail, __ATOMIC_ACQUIRE);
	return srq->head - srq->tail_seen >= srq->base.depth;
}

int
soft_srq_push(struct soft_srq *srq, const struct plx_wr *wr)
{
	uint64_t *slot = slot_at(srq, srq->head);

	if (unlikely(wr->num_sge > srq->base.recv_sge))
		return -EINVAL;
	if (unlikely(srq_full(srq)))
		return -ENOMEM;
	put(&slot[NUM_SGE], wr->num_sge);
	put(&slot[WR_ID], wr->wr_id);
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct plx_sge *sge = &wr->sg_list[i];

		put(&slot[SGES + 2 * i], sge->addr);
		put(&slot[SGES + 2 * i + 1], (uint64_t)sge->lkey << 32 | sge->length);
	}
	__atomic_store_n(&srq->head, srq->head + 1, __ATOMIC_RELAXED); /* a count, in limit_check() */
	/* Release: the receive is whole before its seq says so. Partner: slot_read(). */
	__atomic_store_n(&slot[SEQ], srq->head, __ATOMIC_RELEASE);
	return 0;
}

/* ---- take ---------------------------------------------------------------------------------- */

/** Copy what is at @p position. False: nothing is, or it is gone again. The copy may be torn. */
static inline bool
slot_read(const struct soft_srq *srq, uint64_t position, struct soft_rqe *rqe)
{
	const uint64_t *slot = slot_at(srq, position);
	uint64_t num_sge;

	/* Acquire: partner is the release in soft_srq_push(). */
	if (__atomic_load_n(&slot[SEQ], __ATOMIC_ACQUIRE) != position + 1)
		return false;
	num_sge = get(&slot[NUM_SGE]); /* of whatever receive: never above what was granted */
	rqe->num_sge = (uint32_t)num_sge;
	rqe->wr_id = get(&slot[WR_ID]);
	for (uint32_t i = 0; i < num_sge; i++) {
		uint64_t rest = get(&slot[SGES + 2 * i + 1]);

		rqe->sges[i] = (struct plx_sge){
			.addr = get(&slot[SGES + 2 * i]), .length = (uint32_t)rest, .lkey = (uint32_t)(rest >> 32)};
	}
	return true;
}

/** One-shot: whoever swaps the limit out has the event. @p tail is behind the receive that was taken. */
static void
limit_check(struct soft_srq *srq, uint64_t tail)
{
	uint32_t limit = __atomic_load_n(&srq->limit, __ATOMIC_RELAXED);

	if (limit == 0 || __atomic_load_n(&srq->head, __ATOMIC_RELAXED) - tail >= limit)
		return;
	if (__atomic_compare_exchange_n(&srq->limit, &limit, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
		srq->limit_reached != NULL)
		srq->limit_reached(srq);
}

bool
soft_srq_take(struct soft_srq *srq, struct soft_rqe *rqe)
{
	uint64_t tail = __atomic_load_n(&srq->tail, __ATOMIC_ACQUIRE), now;

	for (;;) {
		if (slot_read(srq, tail, rqe)) {
			/* Release: the slot has been read before it is filled again. Partner: srq_full(). */
			if (__atomic_compare_exchange_n(&srq->tail, &tail, tail + 1, false, __ATOMIC_RELEASE,
				    __ATOMIC_ACQUIRE))
				break;
			continue;
		}
		now = __atomic_load_n(&srq->tail, __ATOMIC_ACQUIRE);
		if (now == tail)
			return false;
		tail = now;
	}
	limit_check(srq, tail + 1);
	return true;
}

/* ---- limit --------------------------------------------------------------------------------- */

void
soft_srq_arm(struct soft_srq *srq, uint32_t limit)
{
	__atomic_store_n(&srq->limit, limit, __ATOMIC_RELAXED);
}

uint32_t
soft_srq_limit(const struct soft_srq *srq)
{
	return __atomic_load_n(&srq->limit, __ATOMIC_RELAXED);
}
