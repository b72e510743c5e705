/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "recv_pool_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "plx_log.h"
#include "plx_srq.h"

/**
 * @file
 * The SRQ of a receive pool is filled: from the top of the stack, as many as it has room for.
 *
 *      unposted: [ a b c d ]  --burst of up to PLX_POST_BURST: d c b-->  [ SRQ ]  posted = head - tail <= depth
 *                    '--- what a post does not take is a stack still
 *
 * The device refuses one: the group's next turn tries again. Some device may have it after all, and fill its buffer once
 * more while the application reads it. So that one goes to the bottom, where it serves again when there is no other, or
 * when the device has been through a whole queue since:
 *
 *      unposted: [ doubted | sound ... top ]
 */

bool
recv_pool_refused(struct plx_recv_pool *pool, int code)
{
	if (code == -EAGAIN || code == -ENOTCONN || code == -ECONNABORTED)
		return false; /* with the next that comes back; its connection closes */
	if (!__atomic_load_n(&pool->group->cq_lost, __ATOMIC_RELAXED) && !recv_pool_is_lost(pool))
		conn_group_tell(pool->group, GROUP_TOLD_POOL);
	if (pool->stats.post_errors++ == 0)
		PLX_LOG(ERR, "receive pool %s: the device refuses a receive: error %d; tried again each turn, and counted",
			pool->conf.name, -code);
	return true;
}

void
recv_pool_doubt(struct plx_recv_pool *pool)
{
	struct plx_op **top = &pool->unposted[pool->nb_unposted - 1], **bottom = &pool->unposted[pool->nb_doubted];
	struct plx_op *op = *top;

	if (pool->nb_doubted == pool->nb_unposted)
		return; /* it is already */
	*top = *bottom;
	*bottom = op;
	pool->nb_doubted++;
	pool->doubted_until = pool->shared.queue.head + pool->depth;
}

/** How many of the stack may be posted to the SRQ. */
static uint32_t
nb_sound(struct plx_recv_pool *pool)
{
	bool last = pool->nb_doubted == pool->nb_unposted && recv_pool_posted(pool) == 0;

	if (last || (int32_t)(pool->shared.queue.tail - pool->doubted_until) >= 0)
		pool->nb_doubted = 0;
	return pool->nb_unposted - pool->nb_doubted;
}

/** As when submit takes an op, but for a queue of no order. */
static void
op_arm(struct plx_recv_pool *pool, struct plx_op *op)
{
	plx_op_posted(op, (uint16_t)pool->group->dispatcher->owner);
	op->queue = &pool->shared.queue;
	plx_op_arm(op);
}

/** Post @p n of those on top of the stack. 0, or why the device did not take all. */
static int
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
		plx_op_renew(top[n - 1 - i]); /* what the device may have after all is stale */
		plx_op_prepared_again(top[n - 1 - i]);
	}
	pool->stats.refills++;
	if (done == n)
		return 0;
	err = err == 0 ? -EIO : -abs(err);
	recv_pool_refused(pool, err);
	recv_pool_doubt(pool);
	return err;
}

int
recv_pool_srq_fill(struct plx_recv_pool *pool)
{
	int err = 0;

	while (err == 0) {
		uint32_t n = RTE_MIN(nb_sound(pool), pool->depth - recv_pool_posted(pool));

		if (n == 0)
			break;
		err = srq_post(pool, (uint16_t)RTE_MIN(n, (uint32_t)PLX_POST_BURST));
	}
	pool->retry = err != 0;
	return err;
}

void
recv_pool_refill(struct plx_recv_pool *pool)
{
	recv_pool_srq_fill(pool);
	if (__builtin_expect(pool->to_arm, 0))
		recv_pool_arm_if_due(pool);
}
