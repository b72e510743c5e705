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
 * Home and state, in one look, of an op that may be posted or put at this very moment, or be in the pool already (an id
 * can be guessed). Out of ASan's sight, since the answer is then not used for anything that touches the op.
 */
static __attribute__((noinline, no_sanitize_address)) uint32_t
peek_custody(const struct plx_op *op)
{
	/* Acquire pairs with the release in plx_op_posted(): whoever posted the op has ended all use of these fields. */
	return __atomic_load_n(&op->custody, __ATOMIC_ACQUIRE);
}

/** The same of the use @p id of @p op, FREE if that is over. */
static uint32_t
custody_of(const struct plx_op *op, uint64_t id)
{
	return op != NULL && plx_op_id(op) == id ? peek_custody(op) : PLX_OP_CUSTODY(PLX_HOME_ANY, PLX_OP_FREE, 0);
}

static uint8_t
custody_state(uint32_t custody)
{
	return (uint8_t)(custody >> 16);
}

static bool
custody_is_at(uint32_t custody, const struct plx_dispatcher *d, const struct plx_home *home)
{
	uint16_t at = (uint16_t)custody;

	return at == home->lcore || (at == PLX_HOME_ANY && home == d->own);
}

static void
abandon_at_home(struct plx_dispatcher *d, struct plx_home *home, uint64_t id)
{
	struct plx_op *op = plx_op_find(d->pool, id);
	uint32_t custody = custody_of(op, id);
	/* Another home's op is not ours to touch. */
	uint8_t state = custody_is_at(custody, d, home) ? custody_state(custody) : PLX_OP_FREE;

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
	if (op->pool != d->pool)
		return -EINVAL;
	if (!(__atomic_load_n(&op->state, __ATOMIC_RELAXED) & PLX_OP_IN_CUSTODY))
		return plx_op_put(op);
	return plx_dispatcher_abandon(d, plx_op_id(op), op->home);
}

bool
plx_dispatcher_in_device(const struct plx_dispatcher *d, uint64_t id)
{
	const struct plx_op *op = plx_op_find(d->pool, id);
	uint8_t state = custody_state(custody_of(op, id));

	/* Acquire as in plx_op_in_device(). */
	return state == PLX_OP_POSTED || state == PLX_OP_ORPHANED ||
	       (op != NULL && __atomic_load_n(&op->device_word, __ATOMIC_ACQUIRE) == plx_op_watched(id));
}
