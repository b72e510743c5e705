/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_RQ_H
#define SOFT_RQ_H

/**
 * @file
 * The receive queue: a ring of receives, posted by the QP's owner, consumed by whoever brings messages.
 *
 *      owner --push--> [ seq | wr_id | SGEs ][ seq | ... ] --peek, pop--> the connected requester
 *
 * A slot is there when its seq says so, so the consumer reads no index of the producer: between two lcores one
 * line moves per receive.
 *
 * Threads: one producer, one consumer at a time. After the QP is in ERR and the requester's gate has been seen
 * over, the owner consumes too (flush).
 */

#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "plx_wr.h"

struct soft_rqe {
	uint32_t seq; /**< position + 1 once the receive is in */
	uint32_t num_sge;
	uint64_t wr_id;
	struct plx_sge sges[];
};

struct soft_rq {
	/* Set at creation. */
	uint8_t *slots;
	uint32_t mask; /**< slots - 1 */
	uint32_t stride;
	uint32_t depth;
	uint32_t max_sge;
	/* The producer's. */
	uint32_t head;
	uint32_t tail_seen; /**< the consumer's tail as last looked at */
	/* The consumer's, on a line that the producer reads once per lap. */
	uint32_t tail __rte_cache_aligned;
};

/** 0 or -ENOMEM. */
int soft_rq_init(struct soft_rq *rq, uint32_t depth, uint32_t max_sge);
void soft_rq_fini(struct soft_rq *rq);

/** 0, -ENOMEM: full, or -EINVAL: more SGEs than granted. */
int soft_rq_push(struct soft_rq *rq, const struct plx_wr *wr);

static inline struct soft_rqe *
soft_rq_slot(const struct soft_rq *rq, uint32_t position)
{
	return (struct soft_rqe *)(rq->slots + (size_t)(position & rq->mask) * rq->stride);
}

/** The oldest receive, or NULL. It stays valid until soft_rq_pop(). */
static inline const struct soft_rqe *
soft_rq_peek(const struct soft_rq *rq)
{
	const struct soft_rqe *rqe = soft_rq_slot(rq, rq->tail);

	/* Acquire: partner is the release in soft_rq_push(). */
	return __atomic_load_n(&rqe->seq, __ATOMIC_ACQUIRE) == rq->tail + 1 ? rqe : NULL;
}

static inline void
soft_rq_pop(struct soft_rq *rq)
{
	/* Release: the slot has been read before the producer fills it again (acquire in soft_rq_push()). */
	__atomic_store_n(&rq->tail, rq->tail + 1, __ATOMIC_RELEASE);
}

#endif
