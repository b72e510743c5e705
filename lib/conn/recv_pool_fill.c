/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "recv_pool_internal.h"

#include "plx_srq.h"

/**
 * @file
 * The SRQ of a receive pool is filled: from the top of the stack, as many as it has room for.
 *
 *      unposted: [ a b c d ]  --burst of up to PLX_POST_BURST: d c b-->  [ SRQ ]  posted = head - tail <= depth
 *                    '--- what a post does not take is a stack still
 */

/** As when submit takes an op, but for a queue of no order. */
static void
op_arm(struct plx_recv_pool *pool, struct plx_op *op)
{
	plx_op_posted(op, (uint16_t)pool->group->dispatcher->owner);
	op->queue = &pool->shared.queue;
	plx_op_arm(op);
}

/** Post up to @p n of those on top of the stack. Returns how many it did. */
static uint16_t
srq_post(struct plx_recv_pool *pool, uint16_t n)
{
	const struct plx_wr *wrs[PLX_POST_BURST];
	struct plx_op **top = &pool->unposted[pool->nb_unposted - n];
	struct plx_dispatcher *d = pool->group->dispatcher;
	uint16_t done;
	int err = 0;

	for (uint16_t i = 0; i < n; i++) {
		/* From the top down, so that what is not taken is still a stack. */
		struct plx_op *op = top[n - 1 - i];

		op_arm(pool, op);
		wrs[i] = &op->wr;
	}
	plx_dispatcher_post_begin(d);
	done = plx_srq_post_recv(pool->srq, wrs, n, &err);
	plx_dispatcher_post_end(d);
	pool->shared.queue.head += done;
	pool->nb_unposted -= done;
	for (uint16_t i = done; i < n; i++) {
		plx_op_disarm(top[n - 1 - i]);
		plx_op_prepared_again(top[n - 1 - i]);
	}
	pool->stats.refills++;
	return done;
}

void
recv_pool_srq_fill(struct plx_recv_pool *pool)
{
	for (;;) {
		uint32_t n = RTE_MIN(pool->nb_unposted, pool->depth - recv_pool_posted(pool));

		n = RTE_MIN(n, (uint32_t)PLX_POST_BURST);
		if (n == 0 || srq_post(pool, (uint16_t)n) < n)
			return;
	}
}

void
recv_pool_refill(struct plx_recv_pool *pool)
{
	recv_pool_srq_fill(pool);
	if (__builtin_expect(pool->to_arm, 0))
		recv_pool_arm_if_due(pool);
}
