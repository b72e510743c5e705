/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

/**
 * @file
 * The completion queue: two rings, so that the common case pays for no other thread.
 *
 *      QPs that are posted to by the thread that polls --push_local--> [ local  ] --+
 *                                                                                   +--> poll
 *      QPs of other threads, bringing messages      --push_remote---> [ remote ] --+
 *
 * `local` is a plain ring, which begins at its first slot again whenever a poll leaves it empty: a CQ for thousands of
 * connections has room for all that they may have in flight, and touches as many lines as they do have. `remote` is
 * lock-free for any number of producers: one reserves a slot by compare-and-swap and says "in" in the slot's own seq,
 * so a preempted producer hides what is behind it but stops nobody.
 *
 * What is full: the two rings together hold nb_cqe. The polling thread always counts both. The others go by the remote
 * ring alone while that is at most half full and nobody has said that `local` is more than that, so they touch none of
 * the polling thread's lines. The limit is exact for one thread and may be passed by the pushes in flight with
 * several; each ring has nb_cqe slots and never overflows. A CQE that does not fit is dropped and counted, and the CQ
 * is in error; what is in it can still be polled, and what fits later is taken (as on rxe).
 *
 * Threads: poll and push_local by the polling thread, push_remote by any.
 */

#include <stdint.h>

#include <sys/queue.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "plx_fast.h"
#include "soft_chore.h"
#include "soft_sq.h"

struct soft_cqe {
	struct plx_wc wc;
	struct soft_sq_done *done; /**< local: the send queue that gets slots back, or NULL */
	uint64_t position;	   /**< local: up to there; remote: ring position + 1 once the CQE is in */
} __rte_cache_aligned; /* a remote one so moves between two lcores as one line */

struct soft_cq {
	struct plx_cq base;
	struct soft_cqe *local;
	struct soft_cqe *remote;
	uint32_t mask;
	uint32_t half;
	struct soft_chores chores;
	struct soft_sq_dones dones; /**< of the send queues that complete here */
	/** The first CQE was dropped; by whoever brought it. May be NULL. */
	void (*overflowed)(struct soft_cq *cq);
	uint32_t told; /**< atomic: it has been called */
	uint32_t dead; /**< atomic: it is over, polls fail; soft_cq_kill() */
	LIST_ENTRY(soft_cq) link; /**< the driver's */

	/* The polling thread's. */
	uint64_t local_head __rte_cache_aligned;
	uint64_t local_tail;
	uint64_t local_zero; /**< the position that slot 0 has */
	uint64_t remote_tail;
	uint32_t remote_first; /**< takes turns, so that neither ring starves */
	uint32_t nb_local_dropped;
	bool crowded;	       /**< what local_crowded says, without looking at it */

	/* The other producers'. */
	uint64_t remote_head __rte_cache_aligned;
	uint64_t remote_tail_seen;
	uint32_t local_crowded; /**< the polling thread's word to them: `local` is more than half full */
	uint32_t nb_remote_dropped;
};

/** 0 or -ENOMEM. Fills base.nb_cqe. */
int soft_cq_init(struct soft_cq *cq, uint32_t nb_cqe);
void soft_cq_fini(struct soft_cq *cq);

/** CQEs that found no room so far; above 0 the CQ is in error. Any thread. */
uint32_t soft_cq_dropped(const struct soft_cq *cq);

/** From here on polls fail. Any thread. */
void soft_cq_kill(struct soft_cq *cq);

/** Cold: a CQE is dropped; counted, and told the first time. */
void soft_cq_drop(struct soft_cq *cq, uint32_t *count);

/** Cold: `local` has passed half. */
void soft_cq_crowd(struct soft_cq *cq);

static inline struct soft_cqe *
soft_cq_local_slot(const struct soft_cq *cq, uint64_t position)
{
	return &cq->local[(position - cq->local_zero) & cq->mask];
}

/**
 * Whether the two rings together are full, with @p used CQEs in `local`: if they are, the remote ring's last slot that may
 * be used is, and its line stands still, which the producers' count does not. The polling thread.
 */
static inline bool
soft_cq_full(const struct soft_cq *cq, uint64_t used)
{
	uint64_t last = cq->remote_tail + cq->base.nb_cqe - used;

	/* Relaxed: a count; nothing in the slot is looked at. */
	return used >= cq->base.nb_cqe ||
	       __atomic_load_n(&cq->remote[(last - 1) & cq->mask].position, __ATOMIC_RELAXED) == last;
}

/**
 * Take a slot for a CQE of a queue that the polling thread owns, to be filled before the next poll; NULL: it is dropped.
 * To be written in place: a WC that is put together elsewhere and copied at once waits for its own stores.
 * @p done, @p position: soft_sq.h; NULL for a receive.
 */
static inline struct plx_wc *
soft_cq_add_local(struct soft_cq *cq, struct soft_sq_done *done, uint64_t position)
{
	struct soft_cqe *cqe = soft_cq_local_slot(cq, cq->local_head);
	uint64_t used = cq->local_head - cq->local_tail;

	if (unlikely(soft_cq_full(cq, used))) {
		soft_cq_drop(cq, &cq->nb_local_dropped);
		return NULL;
	}
	if (unlikely(used >= cq->half && !cq->crowded))
		soft_cq_crowd(cq);
	cqe->done = done;
	cqe->position = position;
	/* Relaxed: the other producers count with it, nobody else reads what it covers. */
	__atomic_store_n(&cq->local_head, cq->local_head + 1, __ATOMIC_RELAXED);
	return &cqe->wc;
}

/** The same with a WC that is there already. */
static inline void
soft_cq_push_local(struct soft_cq *cq, const struct plx_wc *wc, struct soft_sq_done *done, uint64_t position)
{
	struct plx_wc *slot = soft_cq_add_local(cq, done, position);

	if (likely(slot != NULL))
		*slot = *wc;
}

/** A CQE from any thread. */
void soft_cq_push_remote(struct soft_cq *cq, const struct plx_wc *wc);

/** A mark behind every CQE that other threads have brought so far, for soft_cq_taken(). The polling thread. */
static inline uint64_t
soft_cq_mark(const struct soft_cq *cq)
{
	/* Relaxed: whoever's CQEs matter has been seen out of its gate. */
	return __atomic_load_n(&cq->remote_head, __ATOMIC_RELAXED);
}

/** Whether all in front of @p mark has been polled: what is pushed locally now comes after it. */
static inline bool
soft_cq_taken(const struct soft_cq *cq, uint64_t mark)
{
	return cq->remote_tail >= mark;
}

/** Run chores, then take up to @p n CQEs. */
int soft_cq_poll(struct plx_cq *base, struct plx_wc *wcs, uint16_t n);

#endif
