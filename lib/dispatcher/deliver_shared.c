/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_dispatcher.h"

#include <errno.h>

#include <rte_debug.h>

#include "dispatcher_internal.h"

/**
 * @file
 * Delivery where there is no owner: any thread may post, any thread may deliver.
 *
 * Two things must have happened before the op goes home: its CQE came and was claimed, and its post
 * call returned. op->halves counts them down; whoever brings the second one routes the op.
 */

/** Send a settled op home, or call back here. The caller is the only one that has it. */
static void
shared_route(struct plx_dispatcher *d, struct plx_op *op)
{
	/* An op without a home cannot be abandoned, so that home is NULL only where nothing is counted. */
	struct plx_home *home = op->home != PLX_HOME_ANY ? d->home_of[op->home] : NULL;

	if (home == NULL || home->lcore == rte_lcore_id()) {
		if (!home_settle(op))
			count_shared(&home->nb_orphans, 1);
		return;
	}
	count_shared(&home->nb_handed, 1);
	if (plx_lane_send(home->ops, &op, 1) != 1)
		rte_panic("lane of %u ops is full\n", d->pool->nb_slots); /* it holds every op of the pool */
}

static void
shared_half_done(struct plx_dispatcher *d, struct plx_op *op)
{
	/* Each side releases what it wrote (poster: nothing more; deliverer: the result) and the
	 * second one acquires it. */
	if (__atomic_sub_fetch(&op->halves, 1, __ATOMIC_ACQ_REL) == 0)
		shared_route(d, op);
}

void
deliver_shared(struct plx_dispatcher *d, const struct plx_wc *wc)
{
	struct plx_op *op = plx_op_find(d->pool, wc->wr_id);

	if (op == NULL || !plx_op_claim_shared(op, wc->wr_id)) {
		deliver_refuse(d, op, wc->wr_id);
		return;
	}
	count_shared(&d->stats.delivered, 1);
	result_fill(op, wc);
	shared_half_done(d, op);
}

int
plx_dispatcher_posting(struct plx_dispatcher *d, struct plx_op *op)
{
	if (op->state != PLX_OP_PREPARED)
		return -EBUSY;
	if ((op->attention & PLX_OP_OWN_MORE) && op->deadline != 0)
		return -ENOTSUP;
	if ((op->attention & PLX_OP_OWN_HOME) && !plx_dispatcher_has_home(d, op->home))
		return -EINVAL;
	if (dispatcher_is_shared(d) && op->home == PLX_HOME_ANY && op->cb == plx_dispatcher_keep)
		return -EINVAL; /* nobody's list to keep it on */
	plx_op_leave_queue(op);
	plx_op_posted(op, dispatcher_is_shared(d) ? PLX_HOME_ANY : (uint16_t)d->owner);
	if (dispatcher_is_shared(d)) {
		__atomic_store_n(&op->halves, 2, __ATOMIC_RELAXED);
		/* Release pairs with the acquire in plx_op_claim_shared(). */
		__atomic_store_n(&op->device_word, op->wr.wr_id, __ATOMIC_RELEASE);
	} else {
		plx_op_arm(op);
		plx_dispatcher_post_begin(d);
	}
	return 0;
}

void
plx_dispatcher_posted(struct plx_dispatcher *d, struct plx_op *op, bool taken)
{
	bool undone = !taken && (dispatcher_is_shared(d) ? plx_op_claim_shared(op, op->wr.wr_id)
							  : plx_op_claim(op, op->wr.wr_id));

	if (undone) {
		__atomic_store_n(&op->halves, 0, __ATOMIC_RELAXED); /* nobody but the caller has it */
		plx_op_renew(op); /* some device may have it after all, and complete it under its old id */
		plx_op_prepared_again(op);
	}
	if (dispatcher_is_shared(d)) {
		if (!undone)
			shared_half_done(d, op);
		return;
	}
	plx_dispatcher_post_end(d);
}
