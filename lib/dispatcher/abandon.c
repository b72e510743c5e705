/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_dispatcher.h"

#include <errno.h>

#include "dispatcher_internal.h"

/**
 * @file
 * Giving up on a posted op. The home lcore alone writes an op's state after the post, so that a completion and an
 * abandonment meet on one thread and the first one wins.
 */

/**
 * The state of an op that may be put at this very moment, or be in the pool already (an id can be guessed). Out of
 * ASan's sight, since the answer is then not used for anything that touches the op.
 */
static __attribute__((noinline, no_sanitize_address)) uint8_t
peek_state(const struct plx_op *op)
{
	return __atomic_load_n(&op->state, __ATOMIC_RELAXED);
}

static void
abandon_at_home(struct plx_dispatcher *d, struct plx_home *home, uint64_t id)
{
	struct plx_op *op = plx_op_find(d->pool, id);
	uint8_t state = op != NULL && plx_op_id(op) == id ? peek_state(op) : PLX_OP_FREE;

	/* Another home's op is not ours to touch. */
	if (state != PLX_OP_FREE && op->home != home->lcore && !(op->home == PLX_HOME_ANY && home == d->own))
		state = PLX_OP_FREE;
	if (state == PLX_OP_POSTED) {
		plx_op_set_state(op, PLX_OP_ORPHANED);
		return;
	}
	count(&home->nb_abandoned_late, 1);
	/* Completed before the word came. With a callback it has been seen; without one nobody will. */
	if (state == PLX_OP_KEPT)
		home_drop_kept(home, op);
	else if (state == PLX_OP_COMPLETED && op->cb == plx_op_polled)
		plx_op_put(op);
}

unsigned int
home_take_abandons(struct plx_dispatcher *d, struct plx_home *home)
{
	uint64_t ids[PLX_POLL_BURST];
	unsigned int got = plx_lane_recv(home->abandons, ids, PLX_POLL_BURST);

	for (unsigned int i = 0; i < got; i++)
		abandon_at_home(d, home, ids[i]);
	return got;
}

int
plx_dispatcher_abandon(struct plx_dispatcher *d, uint64_t id, unsigned int home)
{
	if (home == PLX_HOME_ANY)
		home = d->owner;
	if (home >= RTE_MAX_LCORE || d->home_of[home] == NULL)
		return -EINVAL;
	if (home == rte_lcore_id()) {
		abandon_at_home(d, d->home_of[home], id);
		return 0;
	}
	return plx_lane_send(d->home_of[home]->abandons, &id, 1) == 1 ? 0 : -EAGAIN;
}

int
plx_op_abandon(struct plx_dispatcher *d, struct plx_op *op)
{
	if (!(__atomic_load_n(&op->state, __ATOMIC_RELAXED) & PLX_OP_IN_CUSTODY))
		return plx_op_put(op);
	return plx_dispatcher_abandon(d, plx_op_id(op), op->home);
}

bool
plx_dispatcher_in_device(const struct plx_dispatcher *d, uint64_t id)
{
	const struct plx_op *op = plx_op_find(d->pool, id);
	uint8_t state = op != NULL && plx_op_id(op) == id ? peek_state(op) : PLX_OP_FREE;

	return state == PLX_OP_POSTED || state == PLX_OP_ORPHANED;
}
