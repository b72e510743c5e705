/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "world.h"

#include <errno.h>

/**
 * @file
 * OWNED: one lcore posts and delivers, another is home, a thread without lcore id forwards.
 */

static void
setup(void)
{
	world_setup(PLX_DISPATCHER_OWNED, 2, 4);
}

/* ---- hand-off ------------------------------------------------------------------------------ */

static void
post_and_deliver_two(void)
{
	for (unsigned int i = 0; i < 2; i++)
		explore_assert(post(i, WORKER, note_and_put));
	deliver(0);
	deliver(1);
}

static void
two_in_order(void)
{
	seen_once(0, WORKER);
	seen_once(1, WORKER);
	explore_assert(uses[0].order < uses[1].order);
	explore_equal(all_over(2, 0).handed, 2);
}

/** Five uses of two ops: the ring of two goes round, and every slot is used again. */
static void
post_and_deliver_five(void)
{
	for (unsigned int i = 0; i < 5; i++)
		if (post(i, WORKER, note_and_put))
			deliver(i);
}

static void
taken_ones_seen(void)
{
	unsigned int nb = 0;

	for (unsigned int i = 0; i < 5; i++)
		if (uses[i].id != 0) {
			seen_once(i, WORKER);
			nb++;
		}
	explore_assert(nb >= 2);
	explore_equal(all_over(nb, 0).pool_empty, 5 - nb);
}

/* ---- duplicates ---------------------------------------------------------------------------- */

/** The slot is used again, perhaps, when the old id comes again. */
static void
deliver_twice_over_a_reuse(void)
{
	explore_assert(post(0, WORKER, note_and_put));
	deliver(0);
	explore_assert(post(1, WORKER, note_and_put));
	deliver(0);
	deliver(1);
	deliver(0);
}

static void
two_seen_two_refused(void)
{
	seen_once(0, WORKER);
	seen_once(1, WORKER);
	all_over(2, 2);
}

/* ---- abandon ------------------------------------------------------------------------------- */

static void
post_and_deliver_one(void)
{
	explore_assert(post(0, WORKER, note_and_put));
	explore_signal(flag(0));
	deliver(0);
}

/** And the slot once more: what was meant for the first use must not meet the second. */
static void
post_and_deliver_one_and_another(void)
{
	post_and_deliver_one();
	if (post(1, WORKER, note_and_put))
		deliver(1);
}

static void
abandon_one(void)
{
	explore_await(flag(0));
	explore_equal(plx_dispatcher_abandon(d, uses[0].id, WORKER), 0);
}

static void
abandon_at_home(void)
{
	abandon_one();
	turn();
}

/** By the handle, which is the waiter's until it gives up; nobody is called, so it is his to look at. */
static void
post_one_without_callback(void)
{
	struct plx_op *op = prepare(0, WORKER, NULL);

	explore_equal(plx_dispatcher_posting(d, op), 0);
	plx_dispatcher_posted(d, op, true);
	explore_signal(flag(0));
	deliver(0);
}

static void
look_twice_then_give_up(void)
{
	struct plx_op *op;
	struct plx_result result;

	explore_await(flag(0));
	op = plx_op_find(d->pool, uses[0].id);
	turn();
	if (plx_op_is_done(op)) {
		plx_op_result(op, &result);
		explore_equal(result.byte_len, 100);
		nb_calls++;
		explore_equal(plx_op_put(op), 0);
		return;
	}
	explore_equal(plx_op_abandon(d, op), 0);
}

/* ---- a third thread looks on --------------------------------------------------------------- */

static void
look_from_outside(void)
{
	const struct plx_op *op;
	struct plx_result result;

	explore_await(flag(0));
	op = plx_op_find(d->pool, uses[0].id);
	if (plx_op_is_done(op)) {
		plx_op_result(op, &result);
		explore_equal(result.byte_len, 100);
	}
	explore_signal(flag(1));
}

/** Put it back, when the onlooker has gone. */
static unsigned int
turn_and_put(void)
{
	struct plx_op *op = plx_op_find(d->pool, uses[0].id);
	unsigned int did = turn();

	if (__atomic_load_n(flag(1), __ATOMIC_ACQUIRE) != 0 && plx_op_id(op) == uses[0].id && plx_op_is_done(op)) {
		explore_equal(plx_op_put(op), 0);
		nb_calls++;
	}
	return did;
}

static void
over_without_a_call(void)
{
	explore_equal(nb_calls, 1);
	all_over(1, 0);
}

static void
settled_or_dropped(void)
{
	explore_assert(nb_calls <= 1);
	all_over(1, 0);
}

static void
first_settled_or_dropped(void)
{
	struct plx_dispatcher_stats s;

	explore_assert(uses[0].calls <= 1);
	if (uses[1].id != 0)
		seen_once(1, WORKER);
	s = all_over(1 + (uses[1].id != 0), 0);
	explore_equal(s.abandoned_late, uses[0].calls);
}

/* ---- other threads deliver ----------------------------------------------------------------- */

static void
deliver_first_elsewhere(void)
{
	explore_await(flag(0));
	deliver(0);
}

static void
deliver_first_and_garbage_elsewhere(void)
{
	explore_await(flag(0));
	explore_equal(deliver(0), 0);
	explore_equal(plx_dispatcher_deliver(d, 12345, PLX_ST_SUCCESS, 0, 0, 0), 0);
}

static void
post_one_deliver_another(void)
{
	explore_assert(post(0, OWNER, note_and_put));
	explore_assert(post(1, OWNER, note_and_put));
	explore_signal(flag(0));
	turn();
	deliver(1);
	turn();
}

static void
both_seen_one_refused(void)
{
	seen_once(0, OWNER);
	seen_once(1, OWNER);
	explore_equal(all_over(2, 1).forwarded, 2);
}

static void
one_seen_one_refused(void)
{
	seen_once(0, WORKER);
	all_over(1, 1);
}

static void
one_of_several_seen(void)
{
	seen_once(0, WORKER);
	explore_equal(all_over(1, 2).forwarded, 2);
}

/* ---- a completion inside the post ---------------------------------------------------------- */

static void
deliver_inside_the_post(void)
{
	struct plx_op *op = prepare(0, PLX_HOME_ANY, note_and_put);

	explore_equal(plx_dispatcher_posting(d, op), 0);
	posting = true;
	deliver(0);
	posting = false;
	plx_dispatcher_posted(d, op, true);
	explore_equal(nb_calls, 0);
}

static void
seen_by_the_owner(void)
{
	seen_once(0, OWNER);
	all_over(1, 0);
}

/* ---- kept for a burst ---------------------------------------------------------------------- */

static void
post_kept(void)
{
	struct plx_op *op = prepare(0, WORKER, plx_dispatcher_keep);

	op->arg = d;
	explore_equal(plx_dispatcher_posting(d, op), 0);
	plx_dispatcher_posted(d, op, true);
	explore_signal(flag(0));
	deliver(0);
}

static unsigned int
turn_and_take(void)
{
	struct plx_op *op;
	unsigned int did = turn();

	if (plx_dispatcher_take_burst(d, &op, 1) == 0)
		return did;
	explore_equal(plx_op_id(op), uses[0].id);
	uses[0].calls++;
	nb_calls++;
	explore_equal(plx_op_put(op), 0);
	return did + 1;
}

static void
take_kept(void)
{
	turn_and_take();
	turn_and_take();
}

static void
taken_or_dropped(void)
{
	struct plx_dispatcher_stats s;

	plx_dispatcher_stats(d, &s);
	explore_equal(plx_op_pool_in_use(d->pool), 0);
	explore_equal(s.delivered, 1);
	explore_equal(s.orphans + s.abandoned_late, 1);
	explore_assert(uses[0].calls <= s.abandoned_late);
}

#define OWNS(fn)   {"owner", OWNER, fn, turn}
#define WORKS(fn)  {"worker", WORKER, fn, turn}
#define ALIEN_(fn) {"alien", ALIEN, fn, NULL}
#define CASE(text, end, ...) {.name = text, .setup = setup, .begin = world_begin, .check = end, .actors = {__VA_ARGS__}}

const struct explore_scenario explore_dispatcher[] = {
	CASE("two_ops_are_handed_over", two_in_order, OWNS(post_and_deliver_two), WORKS(two_turns)),
	CASE("ring_of_two_goes_round", taken_ones_seen, OWNS(post_and_deliver_five), WORKS(two_turns)),
	CASE("duplicate_meets_the_next_use", two_seen_two_refused, OWNS(deliver_twice_over_a_reuse), WORKS(two_turns)),
	CASE("abandon_at_home", first_settled_or_dropped, OWNS(post_and_deliver_one_and_another), WORKS(abandon_at_home)),
	CASE("waiter_gives_up", settled_or_dropped, OWNS(post_one_without_callback), WORKS(look_twice_then_give_up)),
	CASE("onlooker_reads_a_result", over_without_a_call, OWNS(post_one_without_callback),
		{"worker", WORKER, turn_once, turn_and_put}, ALIEN_(look_from_outside)),
	CASE("abandon_by_an_alien", first_settled_or_dropped, OWNS(post_and_deliver_one_and_another), WORKS(two_turns),
		ALIEN_(abandon_one)),
	CASE("completes_inside_the_post", seen_by_the_owner, OWNS(deliver_inside_the_post), WORKS(turn_once)),
	CASE("abandon_of_a_kept_op", taken_or_dropped, OWNS(post_kept), {"worker", WORKER, take_kept, turn_and_take},
		ALIEN_(abandon_one)),
	CASE("alien_delivers_while_the_owner_polls", both_seen_one_refused, OWNS(post_one_deliver_another),
		ALIEN_(deliver_first_and_garbage_elsewhere)),
	CASE("alien_and_owner_deliver_the_same", one_seen_one_refused, OWNS(post_and_deliver_one), WORKS(two_turns),
		ALIEN_(deliver_first_elsewhere)),
	CASE("two_aliens_and_the_owner_deliver_the_same", one_of_several_seen, OWNS(post_and_deliver_one),
		{"worker", WORKER, NULL, turn}, ALIEN_(deliver_first_elsewhere), ALIEN_(deliver_first_elsewhere)),
	{.name = NULL},
};
