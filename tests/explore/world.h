/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef WORLD_H
#define WORLD_H

/**
 * @file
 * What the scenarios of the dispatcher and above share: a dispatcher, and what became of each use of an op.
 *
 * A use is one post of an op, known by its number here. Its callback notes that it ran; at the end each has been settled
 * once: by one callback, or as an orphan by none. What is noted is nobody's memory: the explorer does not see it.
 */

#include <string.h>

#include <rte_lcore.h>

#include "explore.h"
#include "plx_dispatcher.h"

#define OWNER  1u
#define WORKER 2u
#define OTHER  3u
#define ALIEN  LCORE_ID_ANY

#define MAX_USES 8

struct use {
	uint64_t id;
	unsigned int calls;
	unsigned int lcore;
	unsigned int order; /**< of the callbacks */
	struct plx_result result;
};

static struct plx_dispatcher *d;
static struct use uses[MAX_USES];
static unsigned int nb_calls;
static bool posting; /**< a call that posts is running: no callback may */

/** Words that actors wait for; in the arena. */
static uint32_t *flags;

__rte_unused static void
world_begin(void)
{
	memset(uses, 0, sizeof(uses));
	nb_calls = 0;
	posting = false;
}

__rte_unused static void
world_setup(enum plx_dispatcher_mode mode, unsigned int nb_ops, unsigned int nb_inbox)
{
	static const unsigned int homes[] = {WORKER, OTHER};
	struct plx_dispatcher_conf conf = {
		.name = "explore",
		.mode = mode,
		.owner = OWNER,
		.homes = homes,
		.nb_homes = 1 + (mode == PLX_DISPATCHER_SHARED),
		.nb_inbox = nb_inbox,
		.pool = {.nb_ops = nb_ops, .socket_id = SOCKET_ID_ANY},
	};
	struct plx_lane *lane;

	flags = explore_alloc(8 * MAX_USES);
	d = plx_dispatcher_create(&conf);
	explore_assert(d != NULL);
	for (unsigned int i = 0; i < d->nb_homes; i++) {
		lane = d->homes[i].abandons;
		explore_allow_plain_load(&lane->alien->rts_prod.tail, 8);
		lane = d->homes[i].ops;
		if (lane != NULL && lane->alien != NULL)
			explore_allow_plain_load(&lane->alien->rts_prod.tail, 8);
	}
	if (d->inbox != NULL)
		explore_allow_plain_load(&d->inbox->alien->rts_prod.tail, 8);
}

__rte_unused static uint32_t *
flag(unsigned int i)
{
	return &flags[2 * i]; /* words are told apart by 8 bytes */
}

/** The callback of use @p arg: noted. */
__rte_unused static void
note_done(struct plx_op *op, void *arg)
{
	struct use *use = &uses[(uintptr_t)arg];

	explore_assert(!posting);
	explore_equal(plx_op_id(op), use->id);
	explore_equal(op->state, PLX_OP_COMPLETED);
	use->calls++;
	use->lcore = rte_lcore_id();
	use->order = nb_calls++;
	plx_op_result(op, &use->result);
}

__rte_unused static void
note_and_put(struct plx_op *op, void *arg)
{
	note_done(op, arg);
	explore_equal(plx_op_put(op), 0);
}

/** An op for use @p i, if there is one. */
__rte_unused static struct plx_op *
prepare(unsigned int i, unsigned int home, plx_op_cb_t cb)
{
	struct plx_op *op = plx_op_get(d->pool);

	if (op == NULL)
		return NULL;
	plx_op_prep_send(op, NULL, 0, 0, cb, (void *)(uintptr_t)i);
	if (home != PLX_HOME_ANY)
		plx_op_set_home(op, home);
	uses[i].id = plx_op_id(op);
	return op;
}

/** Get, prepare and post use @p i by hand; false: the pool is empty. */
__rte_unused static bool
post(unsigned int i, unsigned int home, plx_op_cb_t cb)
{
	struct plx_op *op = prepare(i, home, cb);

	if (op == NULL)
		return false;
	explore_equal(plx_dispatcher_posting(d, op), 0);
	plx_dispatcher_posted(d, op, true);
	return true;
}

/** Deliver use @p i, with a result that is its own. 0, or -EAGAIN. */
__rte_unused static int
deliver(unsigned int i)
{
	return plx_dispatcher_deliver(d, uses[i].id, PLX_ST_SUCCESS, 100 + i, ~i, PLX_WC_WITH_IMM);
}

/** Use @p i was seen by its callback once, on @p lcore (or anywhere: OTHER + 1), with its own result. */
__rte_unused static void
seen_once(unsigned int i, unsigned int lcore)
{
	explore_equal(uses[i].calls, 1);
	explore_equal(uses[i].result.status, PLX_ST_SUCCESS);
	explore_equal(uses[i].result.byte_len, 100 + i);
	explore_equal(uses[i].result.imm, ~i);
	if (lcore <= OTHER)
		explore_equal(uses[i].lcore, lcore);
}

/** All ops are back, and so many completions settled one, so many were refused. */
__rte_unused static struct plx_dispatcher_stats
all_over(unsigned int delivered, unsigned int refused)
{
	struct plx_dispatcher_stats s;

	plx_dispatcher_stats(d, &s);
	explore_equal(plx_op_pool_in_use(d->pool), 0);
	explore_equal(s.delivered, delivered);
	explore_equal(s.stale + s.duplicate + s.foreign + s.misrouted, refused);
	explore_equal(nb_calls + s.orphans, delivered);
	for (uint32_t i = 0; i < d->pool->nb_slots; i++) {
		const struct plx_op *op = (const struct plx_op *)(d->pool->base + (uintptr_t)i * d->pool->stride);

		explore_equal(op->state, PLX_OP_FREE);
		explore_equal(op->device_word, 0);
	}
	return s;
}

__rte_unused static unsigned int
turn(void)
{
	return plx_dispatcher_once(d);
}

__rte_unused static void
turn_once(void)
{
	turn();
}

__rte_unused static void
two_turns(void)
{
	turn();
	turn();
}

#endif
