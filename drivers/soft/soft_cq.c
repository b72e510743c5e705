/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_cq.h"

#include <errno.h>

#include "soft_mem.h"

int
soft_cq_init(struct soft_cq *cq, uint32_t nb_cqe)
{
	uint32_t nb_slots = rte_align32pow2(nb_cqe);

	cq->base.nb_cqe = nb_cqe;
	cq->mask = nb_slots - 1;
	cq->half = nb_cqe / 2;
	cq->local = soft_zalloc((size_t)nb_slots * sizeof(cq->local[0]));
	cq->remote = soft_zalloc((size_t)nb_slots * sizeof(cq->remote[0]));
	if (cq->local == NULL || cq->remote == NULL) {
		soft_free(cq->local);
		soft_free(cq->remote);
		return -ENOMEM;
	}
	soft_chores_init(&cq->chores);
	soft_sq_dones_init(&cq->dones);
	return 0;
}

void
soft_cq_fini(struct soft_cq *cq)
{
	soft_sq_dones_fini(&cq->dones);
	soft_chores_fini(&cq->chores);
	soft_free(cq->remote);
	soft_free(cq->local);
}

uint32_t
soft_cq_dropped(const struct soft_cq *cq)
{
	return __atomic_load_n(&cq->nb_local_dropped, __ATOMIC_RELAXED) +
		__atomic_load_n(&cq->nb_remote_dropped, __ATOMIC_RELAXED);
}

void
soft_cq_kill(struct soft_cq *cq)
{
	__atomic_store_n(&cq->dead, 1, __ATOMIC_RELAXED);
	soft_chores_alert(&cq->chores);
}

void
soft_cq_drop(struct soft_cq *cq, uint32_t *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&cq->told, 1, __ATOMIC_RELAXED))
		return;
	if (cq->overflowed != NULL)
		cq->overflowed(cq);
}

/* ---- push ---------------------------------------------------------------------------------- */

void
soft_cq_crowd(struct soft_cq *cq)
{
	cq->crowded = true;
	__atomic_store_n(&cq->local_crowded, 1, __ATOMIC_RELAXED);
}

static void
uncrowd(struct soft_cq *cq)
{
	cq->crowded = false;
	__atomic_store_n(&cq->local_crowded, 0, __ATOMIC_RELAXED);
}

/** CQEs in `local`, by another thread's reckoning: head and tail move meanwhile. */
static uint64_t
local_used(const struct soft_cq *cq)
{
	int64_t tail = __atomic_load_n(&cq->local_tail, __ATOMIC_RELAXED);
	int64_t used = (int64_t)__atomic_load_n(&cq->local_head, __ATOMIC_RELAXED) - tail;

	return RTE_MAX(used, 0);
}

/** Whether position @p head may not be taken; the exact count is made when the CQ may be more than half full. */
static bool
remote_full(struct soft_cq *cq, uint64_t head)
{
	/* Acquire: partner is the release below, by which another producer passes the tail on. */
	uint64_t tail = __atomic_load_n(&cq->remote_tail_seen, __ATOMIC_ACQUIRE);

	if (likely((int64_t)(head - tail) < (int64_t)cq->half &&
		   !__atomic_load_n(&cq->local_crowded, __ATOMIC_RELAXED)))
		return false;
	/* Acquire: the polling thread has read the slots before it moved the tail over them. */
	tail = __atomic_load_n(&cq->remote_tail, __ATOMIC_ACQUIRE);
	/* An older tail that overwrites a newer one only makes somebody look again. */
	__atomic_store_n(&cq->remote_tail_seen, tail, __ATOMIC_RELEASE);
	if ((int64_t)(head - tail) < 0)
		return false; /* head is out of date: the compare-and-swap will say so */
	return head - tail + local_used(cq) >= cq->base.nb_cqe;
}

void
soft_cq_push_remote(struct soft_cq *cq, const struct plx_wc *wc)
{
	uint64_t head = __atomic_load_n(&cq->remote_head, __ATOMIC_RELAXED);
	struct soft_cqe *cqe;

	do {
		if (unlikely(remote_full(cq, head))) {
			soft_cq_drop(cq, &cq->nb_remote_dropped);
			return;
		}
	} while (!__atomic_compare_exchange_n(&cq->remote_head, &head, head + 1, true, __ATOMIC_RELAXED,
		__ATOMIC_RELAXED));

	cqe = &cq->remote[head & cq->mask];
	cqe->wc = *wc;
	/* Release: the CQE and the payload that it reports, before the word that says so. Partner:
	 * remote_take(). */
	__atomic_store_n(&cqe->position, head + 1, __ATOMIC_RELEASE);
}

/* ---- poll ---------------------------------------------------------------------------------- */

static uint16_t
local_take(struct soft_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	uint64_t tail = cq->local_tail;
	uint16_t got = RTE_MIN(cq->local_head - tail, (uint64_t)n);

	if (got == 0)
		return 0;
	for (uint16_t i = 0; i < got; i++, tail++) {
		const struct soft_cqe *cqe = soft_cq_local_slot(cq, tail);

		wcs[i] = cqe->wc;
		if (cqe->done != NULL)
			soft_sq_done_advance(cqe->done, cqe->position);
	}
	__atomic_store_n(&cq->local_tail, tail, __ATOMIC_RELAXED); /* a count, in local_used() */
	if (tail == cq->local_head)
		cq->local_zero = tail;
	if (unlikely(cq->crowded && cq->local_head - tail <= cq->half))
		uncrowd(cq);
	return got;
}

static uint16_t
remote_take(struct soft_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	uint64_t tail = cq->remote_tail;
	uint16_t got = 0;

	for (; got < n; got++, tail++) {
		const struct soft_cqe *cqe = &cq->remote[tail & cq->mask];

		/* Acquire: partner is the release in soft_cq_push_remote(). */
		if (__atomic_load_n(&cqe->position, __ATOMIC_ACQUIRE) != tail + 1)
			break;
		wcs[got] = cqe->wc;
	}
	if (got > 0)
		/* Release: partner is the acquire in remote_full(). */
		__atomic_store_n(&cq->remote_tail, tail, __ATOMIC_RELEASE);
	return got;
}

int
soft_cq_poll(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct soft_cq *cq = plx_container_of(base, struct soft_cq, base);
	uint16_t got;

	if (soft_chores_any(&cq->chores)) {
		soft_chores_run(&cq->chores);
		if (__atomic_load_n(&cq->dead, __ATOMIC_RELAXED))
			return -EIO;
	}
	cq->remote_first ^= 1;
	if (cq->remote_first) {
		got = remote_take(cq, wcs, n);
		return got + local_take(cq, wcs + got, n - got);
	}
	got = local_take(cq, wcs, n);
	return got + remote_take(cq, wcs + got, n - got);
}
