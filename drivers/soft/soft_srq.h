/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_SRQ_H
#define SOFT_SRQ_H

/**
 * @file
 * The shared receive queue: a ring of receives, posted by one thread, taken by all that bring messages.
 *
 *      owner --push--> [ seq | wr_id | SGEs ][ seq | ... ] --take (a copy)--> requester of QP a
 *                                                     \----------------------> requester of QP b
 *
 * Who takes copies the receive first and then moves the tail over it by compare-and-swap: if that succeeds nobody
 * else had it, and if the copy was torn because the slot had been filled again, it fails. So a slot is free as soon as
 * it is taken, and a preempted requester keeps nobody waiting. All words of a slot are atomic for that reason.
 *
 * Threads: push by one at a time; take, arm and limit by any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "plx_fast.h"
#include "soft_rq.h"

struct soft_srq {
	struct plx_srq base;
	/* Set at creation. */
	uint64_t *slots; /**< each: seq, num_sge, wr_id, SGEs of two words */
	uint32_t mask;	 /**< slots - 1 */
	uint32_t words;	 /**< of a slot */
	/** The limit has fired; by whoever took the receive. May be NULL. */
	void (*limit_reached)(struct soft_srq *srq);
	/* The producer's. */
	uint64_t head __rte_cache_aligned; /**< read by who takes, when a limit is armed */
	uint64_t tail_seen;
	/* Those who take. */
	uint64_t tail __rte_cache_aligned;
	uint32_t limit; /**< armed, or 0 */
};

/** 0 or -ENOMEM. Fills base.depth and base.recv_sge. */
int soft_srq_init(struct soft_srq *srq, uint32_t depth, uint32_t recv_sge);
void soft_srq_fini(struct soft_srq *srq);

/** 0, -ENOMEM: full, or -EINVAL: more SGEs than granted. */
int soft_srq_push(struct soft_srq *srq, const struct plx_wr *wr);

/** Take the oldest receive into @p rqe, which has room for base.recv_sge SGEs. False: there is none. */
bool soft_srq_take(struct soft_srq *srq, struct soft_rqe *rqe);

/** Arm the limit; 0 disarms. */
void soft_srq_arm(struct soft_srq *srq, uint32_t limit);
/** The limit that is armed, or 0. */
uint32_t soft_srq_limit(const struct soft_srq *srq);

#endif
