/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_dispatcher.h"

#include "dispatcher_internal.h"

/**
 * Fetch the line of @p op that completing it reads and writes, to write: with a plain load the other lcore would be asked
 * twice for it. Where the instruction is not known it does nothing.
 */
static inline void
op_fetch(const struct plx_op *op)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(op->sge));
#else
	__builtin_prefetch(&op->sge, 1);
#endif
}

/** Settle what was handed over to this lcore, in its order. */
static unsigned int
home_take_ops(struct plx_home *home)
{
	struct plx_op *ops[PLX_POLL_BURST];
	unsigned int got = plx_lane_recv(home->ops, ops, PLX_POLL_BURST);

	if (got == 0)
		return 0;
	for (unsigned int i = 0; i < got; i++)
		op_fetch(ops[i]);
	for (unsigned int i = 0; i < got; i++) {
		if (!home_settle(ops[i]))
			count(&home->nb_orphans, 1);
	}
	/* Release pairs with the acquire in plx_dispatcher_passed(): the callbacks have returned. */
	__atomic_store_n(&home->nb_settled, home->nb_settled + got, __ATOMIC_RELEASE);
	return got;
}

unsigned int
home_once(struct plx_dispatcher *d, struct plx_home *home)
{
	unsigned int did = home->ops != NULL ? home_take_ops(home) : 0;

	return did + home_take_abandons(d, home);
}

void
plx_dispatcher_keep(struct plx_op *op, void *arg)
{
	struct plx_dispatcher *d = arg;

	/* Linked, so not the application's to put: it may abandon it still. */
	plx_op_set_state(op, PLX_OP_KEPT);
	plx_op_list_append(&d->home_of[rte_lcore_id()]->done, op);
}

/* A walk, oldest first; but few ops are given up after they completed and before somebody looked. */
void
home_drop_kept(struct plx_home *home, struct plx_op *op)
{
	struct plx_op_list left = {0};
	struct plx_op *kept;

	while ((kept = plx_op_list_take(&home->done)) != NULL)
		if (kept != op)
			plx_op_list_append(&left, kept);
	home->done = left;
	home_drop(op);
}

uint16_t
plx_dispatcher_take_burst(struct plx_dispatcher *d, struct plx_op **ops, uint16_t n)
{
	unsigned int lcore = rte_lcore_id();
	struct plx_home *home = lcore < RTE_MAX_LCORE ? d->home_of[lcore] : NULL;
	uint16_t got = 0;

	while (home != NULL && got < n && home->done.nb != 0) {
		ops[got] = plx_op_list_take(&home->done);
		plx_op_set_state(ops[got++], PLX_OP_COMPLETED);
	}
	return got;
}

void
plx_dispatcher_mark(const struct plx_dispatcher *d, uint64_t *marks)
{
	for (unsigned int i = 0; i < d->nb_homes; i++)
		marks[i] = counted(&d->homes[i].nb_handed);
}

bool
plx_dispatcher_passed(const struct plx_dispatcher *d, const uint64_t *marks)
{
	for (unsigned int i = 0; i < d->nb_homes; i++) {
		if (__atomic_load_n(&d->homes[i].nb_settled, __ATOMIC_ACQUIRE) < marks[i])
			return false;
	}
	return true;
}
