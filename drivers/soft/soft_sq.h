/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_SQ_H
#define SOFT_SQ_H

/**
 * @file
 * The send queue: how many WRs are posted and not yet known done, and a place for those that must wait.
 *
 *        done        first             posted            positions count up for ever
 *      ---+------------+------------------+---->
 *         | executed,  | stalled: copies  |
 *         | CQE not    | of the WR, its   |
 *         | polled     | SGEs, its inline |
 *         |            | payload          |
 *
 * A WR that can execute while it is posted is never copied. Its slot is taken all the same, until a CQE of it or of
 * one behind it has been polled (which is how a device learns that software knows): a queue of `depth` refuses the
 * next post.
 *
 * `done` lives with the CQ (struct soft_sq_done), since CQEs outlive their QP and the thread that polls them must not
 * touch a QP that is gone. Only that thread writes it, and it only grows; the next QP that is given the word starts its
 * positions where the last one stopped, so a late CQE of the last one changes nothing.
 *
 * Threads: the QP's owner, which is the thread that polls its send CQ.
 */

#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>
#include <sys/queue.h>

#include "plx_fast.h"

/** Positions below `retired` are free again. */
struct soft_sq_done {
	uint64_t retired; /**< the polling thread's */
	uint64_t base;	  /**< where the next user starts; under the list's lock */
	SLIST_ENTRY(soft_sq_done) link;
};

SLIST_HEAD(soft_sq_done_list, soft_sq_done);

/** The words of one CQ: made in blocks, handed out again, freed with the CQ. */
struct soft_sq_dones {
	pthread_mutex_t lock;
	struct soft_sq_done_list unused;
	struct soft_sq_done_block *blocks;
};

void soft_sq_dones_init(struct soft_sq_dones *dones);
void soft_sq_dones_fini(struct soft_sq_dones *dones);

static inline void
soft_sq_done_advance(struct soft_sq_done *done, uint64_t position)
{
	if (position > done->retired)
		done->retired = position;
}

struct soft_sq {
	struct soft_sq_done *done;
	uint64_t base;
	uint64_t first;
	uint64_t posted;
	uint32_t depth;
	uint32_t max_sge;
	uint32_t max_inline;
	uint32_t stride;
	uint8_t *slots;
};

/** 0 or -ENOMEM. @p dones are of the send CQ. */
int soft_sq_init(struct soft_sq *sq, const struct plx_qp_cap *cap, struct soft_sq_dones *dones);
void soft_sq_fini(struct soft_sq *sq, struct soft_sq_dones *dones);

static inline bool
soft_sq_full(const struct soft_sq *sq)
{
	uint64_t done = sq->done->retired > sq->base ? sq->done->retired : sq->base;

	return sq->posted - done >= sq->depth;
}

static inline bool
soft_sq_stalled(const struct soft_sq *sq)
{
	return sq->first != sq->posted;
}

/** Keep a copy of @p wr, which has position posted - 1, for later. Inline payload is copied too. */
void soft_sq_keep(struct soft_sq *sq, const struct plx_wr *wr);

/** The oldest WR that was kept. */
const struct plx_wr *soft_sq_first(const struct soft_sq *sq);

#endif
