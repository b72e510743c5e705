/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "world.h"

/**
 * @file
 * SHARED: no owner; any thread posts, any thread delivers, and the completion may come before the post has returned. That it came
 * orders nothing: an id may come from anywhere, and the op's own words must do.
 */

static void
setup(void)
{
	world_setup(PLX_DISPATCHER_SHARED, 2, 0);
}

/** Everybody knows the id before the post call has returned; somebody, if @p early, before it began. */
static void
post_for(unsigned int home, bool early)
{
	struct plx_op *op = prepare(0, home, note_and_put);

	if (early)
		explore_signal(flag(0));
	explore_equal(plx_dispatcher_posting(d, op), 0);
	if (!early)
		explore_signal(flag(0));
	explore_signal(flag(1));
	posting = true;
	plx_dispatcher_in_device(d, uses[0].id); /* a step, while the call runs */
	posting = false;
	plx_dispatcher_posted(d, op, true);
}

static void post_for_worker(void) { post_for(WORKER, false); }
static void post_early_for_worker(void) { post_for(WORKER, true); }
static void post_for_anybody(void) { post_for(PLX_HOME_ANY, true); }

static void
deliver_by_first_flag(void)
{
	explore_await_unordered(flag(0));
	deliver(0);
}

static void
deliver_by_second_flag(void)
{
	explore_await_unordered(flag(1));
	deliver(0);
}

static void
abandon_by_second_flag(void)
{
	explore_await_unordered(flag(1)); /* the id could be guessed as well */
	explore_equal(plx_dispatcher_abandon(d, uses[0].id, WORKER), 0);
	turn();
}

static void
post_again(void)
{
	post_for(WORKER, false);
	if (post(1, WORKER, note_and_put))
		deliver(1);
}

static void
seen_once_by_worker(void)
{
	seen_once(0, WORKER);
	all_over(1, 1);
}

static void
seen_once_by_somebody(void)
{
	seen_once(0, OTHER + 1);
	all_over(1, 1);
}

static void
seen_or_dropped(void)
{
	explore_assert(uses[0].calls <= 1);
	all_over(1, 0);
}

static void
second_use_untouched(void)
{
	seen_once(0, WORKER);
	if (uses[1].id != 0)
		seen_once(1, WORKER);
	all_over(1 + (uses[1].id != 0), 1);
}

/** The device refused the post, says the poster; no completion will come. */
static void
post_in_vain_then_again(void)
{
	struct plx_op *op = prepare(0, WORKER, note_and_put);

	explore_equal(plx_dispatcher_posting(d, op), 0);
	plx_dispatcher_posted(d, op, false);
	explore_equal(op->state, PLX_OP_PREPARED);
	uses[0].id = plx_op_id(op);
	explore_equal(plx_dispatcher_posting(d, op), 0);
	explore_signal(flag(0));
	plx_dispatcher_posted(d, op, true);
}

static void
seen_once_none_refused(void)
{
	seen_once(0, WORKER);
	all_over(1, 0);
}

#define POSTS(fn)  {"poster", OTHER, fn, turn}
#define WORKS(fn)  {"worker", WORKER, fn, turn}
#define LCORE(fn)  {"lcore", 0, fn, turn}
#define ALIEN_(fn) {"alien", ALIEN, fn, NULL}
#define CASE(text, end, ...) {.name = text, .setup = setup, .begin = world_begin, .check = end, .actors = {__VA_ARGS__}}

const struct explore_scenario explore_shared[] = {
	CASE("shared_two_deliver_the_same", seen_once_by_somebody, POSTS(post_for_anybody), LCORE(deliver_by_first_flag),
		ALIEN_(deliver_by_second_flag)),
	CASE("shared_two_deliver_the_same_to_a_home", seen_once_by_worker, POSTS(post_early_for_worker),
		LCORE(deliver_by_first_flag), ALIEN_(deliver_by_second_flag), WORKS(turn_once)),
	CASE("shared_duplicate_meets_the_next_use", second_use_untouched, POSTS(post_again), LCORE(deliver_by_first_flag),
		ALIEN_(deliver_by_second_flag), {"worker", WORKER, NULL, turn}),
	CASE("shared_abandon_at_home", seen_or_dropped, POSTS(post_for_worker), LCORE(deliver_by_first_flag),
		WORKS(abandon_by_second_flag)),
	CASE("shared_post_not_taken", seen_once_none_refused, POSTS(post_in_vain_then_again),
		LCORE(deliver_by_first_flag), WORKS(two_turns)),
	{.name = NULL},
};
