/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The poller turn by turn.
 */

#include "fake_cq.h"

static void
turn_delivers_what_each_cq_has(void **state)
{
	struct fake_cq cqs[3] = {FAKE_CQ, FAKE_CQ, FAKE_CQ};
	unsigned int nb[3] = {0};

	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(plx_poller_add_cq(poller, &cqs[i].base, d), 0);
		post(&cqs[i], i * 5, count_and_put, &nb[i]);
	}
	assert_int_equal(plx_poller_once(poller), 15);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(nb[i], i * 5);
	assert_int_equal(plx_poller_once(poller), 0);
}

static void
budget_caps_what_one_cq_gives_in_one_turn(void **state)
{
	static const uint16_t budgets[] = {1, 16, 32, 33, 64, 100, 512, 0};

	for (unsigned int i = 0; i < NB_OF(budgets); i++) {
		unsigned int budget = budgets[i] != 0 ? budgets[i] : PLX_POLL_BURST, nb = 0, left = 1500;
		struct fake_cq cq = FAKE_CQ;

		remake(budgets[i]);
		plx_poller_add_cq(poller, &cq.base, d);
		post(&cq, left, count_and_put, &nb);
		while (left != 0) {
			unsigned int now = left < budget ? left : budget;

			assert_int_equal(plx_poller_once(poller), now);
			left -= now;
			assert_int_equal(nb, 1500 - left);
		}
		assert_in_range(cq.most, 1, PLX_POLL_BURST);
	}
}

static void
cq_with_a_budget_of_its_own_leaves_the_others_alone(void **state)
{
	struct fake_cq cqs[3] = {FAKE_CQ, FAKE_CQ, FAKE_CQ};
	unsigned int nb[3] = {0};

	remake(16);
	for (unsigned int i = 0; i < 3; i++) {
		plx_poller_add_cq(poller, &cqs[i].base, d);
		post(&cqs[i], 400, count_and_put, &nb[i]);
	}
	assert_int_equal(plx_poller_set_budget(poller, &cqs[1].base, 100), 0);
	assert_int_equal(plx_poller_set_budget(poller, &cqs[2].base, 1), 0);
	assert_int_equal(plx_poller_set_budget(poller, &cqs[2].base, 513), -EINVAL);
	assert_int_equal(plx_poller_once(poller), 16 + 100 + 1);
	assert_int_equal(nb[0], 16);
	assert_int_equal(nb[1], 100);
	assert_int_equal(nb[2], 1);
	assert_int_equal(plx_poller_set_budget(poller, &cqs[1].base, 0), 0);
	assert_int_equal(plx_poller_once(poller), 16 + 16 + 1);
	/* A CQ that comes back has the poller's. */
	plx_poller_remove_cq(poller, &cqs[2].base);
	assert_int_equal(plx_poller_set_budget(poller, &cqs[2].base, 1), -ENOENT);
	plx_poller_add_cq(poller, &cqs[2].base, d);
	assert_int_equal(plx_poller_once(poller), 3 * 16);
	assert_int_equal(stats().full_polls, 9);
	while (plx_poller_once(poller) != 0)
		;
}

static void
widen_own_budget(struct plx_op *op, void *arg)
{
	struct fake_cq *cq = arg;

	plx_poller_set_budget(poller, &cq->base, 512);
	plx_op_put(op);
}

static void
budget_set_in_a_callback_counts_from_the_next_turn_on(void **state)
{
	struct fake_cq cq = FAKE_CQ;

	remake(16);
	plx_poller_add_cq(poller, &cq.base, d);
	post(&cq, 300, widen_own_budget, &cq);
	assert_int_equal(plx_poller_once(poller), 16);
	assert_int_equal(plx_poller_once(poller), 284);
}

static unsigned int
tick(void *arg)
{
	unsigned int *ticks = arg;

	++*ticks;
	return 0;
}

/* case 13.1: one hot CQ, one quiet one, a timer; in turns, since time here is the machine's own */
static void
hot_cq_starves_neither_a_quiet_one_nor_a_timer(void **state)
{
	static const uint16_t budgets[] = {16, 64, 512, 0};

	for (unsigned int i = 0; i < NB_OF(budgets); i++) {
		struct fake_cq hot = FAKE_CQ, quiet = FAKE_CQ;
		unsigned int nb = 0, ticks = 0;

		remake(budgets[i]);
		hot.endless = true;
		plx_poller_add_cq(poller, &hot.base, d);
		plx_poller_add_cq(poller, &quiet.base, d);
		plx_poller_add_hook(poller, tick, &ticks);
		for (unsigned int turn = 1; turn <= 100; turn++) {
			if (turn % 10 == 0)
				post(&quiet, 1, count_and_put, &nb);
			plx_poller_once(poller);
			assert_int_equal(nb, turn / 10); /* within the turn, as it would be alone */
			assert_int_equal(ticks, turn);
		}
	}
}

static char trace[16];
static char a[] = "a", b[] = "b", c[] = "c", e[] = "e", z[] = "z";

static unsigned int
note(void *arg)
{
	strncat(trace, arg, 1);
	return 1;
}

static unsigned int
note_and_remove_a(void *arg)
{
	plx_poller_remove_hook(poller, note, a);
	return note(arg);
}

static unsigned int
note_and_remove_c(void *arg)
{
	plx_poller_remove_hook(poller, note, c);
	return note(arg);
}

static unsigned int
note_and_go(void *arg)
{
	plx_poller_remove_hook(poller, note_and_go, arg);
	return note(arg);
}

static unsigned int
note_and_add_z(void *arg)
{
	plx_poller_add_hook(poller, note, z);
	return note(arg);
}

static void
hooks_are_called_in_order_whatever_they_remove_and_add(void **state)
{
	static const struct {
		plx_hook_t second_hook;
		const char *first, *second; /* turn */
	} rows[] = {
		{note, "abce", "abce"},
		{note_and_remove_a, "abce", "bce"}, /* behind */
		{note_and_remove_c, "abe", "abe"},  /* ahead */
		{note_and_go, "abce", "ace"},	    /* itself */
		{note_and_add_z, "abcez", "abcez"},
	};

	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		remake(0);
		plx_poller_add_hook(poller, note, a);
		plx_poller_add_hook(poller, rows[i].second_hook, b);
		plx_poller_add_hook(poller, note, c);
		plx_poller_add_hook(poller, note, e);
		trace[0] = '\0';
		assert_int_equal(plx_poller_once(poller), strlen(rows[i].first));
		assert_string_equal(trace, rows[i].first);
		trace[0] = '\0';
		plx_poller_once(poller);
		assert_string_equal(trace, rows[i].second);
	}
}

static void
hooks_come_after_the_cqs(void **state)
{
	struct fake_cq cq = FAKE_CQ;
	unsigned int nb = 0;

	plx_poller_add_hook(poller, note, e);
	plx_poller_add_cq(poller, &cq.base, d);
	post(&cq, 1, count_and_put, &nb);
	trace[0] = '\0';
	assert_int_equal(plx_poller_once(poller), 2);
	assert_int_equal(nb, 1);
	assert_string_equal(trace, "e");
}

/* Callback of the middle one of three CQs: remove the one in question. */
static void
remove_cq(struct plx_op *op, void *arg)
{
	int err = plx_poller_remove_cq(poller, arg);

	assert_true(err == 0 || err == -ENOENT);
	plx_op_put(op);
}

/** case 5.5 */
static void
callback_may_remove_any_cq_its_own_included(void **state)
{
	/* polls of each CQ in two turns; the middle one has three bursts, and a budget for them */
	static const unsigned int polls[3][3] = {{1, 5, 2}, {2, 1, 2}, {2, 5, 0}};

	for (unsigned int victim = 0; victim < 3; victim++) {
		struct fake_cq cqs[3] = {FAKE_CQ, FAKE_CQ, FAKE_CQ};

		remake(512);
		for (unsigned int i = 0; i < 3; i++)
			plx_poller_add_cq(poller, &cqs[i].base, d);
		post(&cqs[1], 3 * PLX_POLL_BURST, remove_cq, &cqs[victim]);
		plx_poller_once(poller);
		plx_poller_once(poller);
		for (unsigned int i = 0; i < 3; i++)
			assert_int_equal(cqs[i].nb_polls, polls[victim][i]);
		/* what had been polled was delivered all the same */
		assert_int_equal(cqs[1].nb, victim == 1 ? 2 * PLX_POLL_BURST : 0);
		assert_int_equal(plx_op_pool_in_use(d->pool), cqs[1].nb);
		while (cqs[1].nb != 0) {
			plx_poller_add_cq(poller, &cqs[1].base, d);
			plx_poller_once(poller);
		}
		assert_int_equal(plx_op_pool_in_use(d->pool), 0);
	}
}

static void
replace_cq(struct plx_op *op, void *arg)
{
	struct fake_cq *cqs = arg;

	plx_poller_remove_cq(poller, &cqs[0].base);
	plx_poller_add_cq(poller, &cqs[1].base, d);
	plx_op_put(op);
}

/* The new CQ takes over the slot of the old one, of which one burst is not the last. */
static void
callback_may_put_another_cq_in_the_place_of_its_own(void **state)
{
	struct fake_cq cqs[2] = {FAKE_CQ, FAKE_CQ};
	unsigned int nb = 0;

	remake(512);
	plx_poller_add_cq(poller, &cqs[0].base, d);
	post(&cqs[0], 2 * PLX_POLL_BURST, replace_cq, cqs);
	cqs[1].endless = true;
	plx_poller_once(poller);
	assert_int_equal(cqs[0].nb_polls, 1);
	assert_int_equal(cqs[1].nb_polls, 512 / PLX_POLL_BURST); /* in the same turn: it was added behind */
	plx_poller_remove_cq(poller, &cqs[1].base);
	plx_poller_add_cq(poller, &cqs[0].base, d);
	plx_poller_once(poller); /* the other burst; each callback finds nothing to replace */
	plx_poller_remove_cq(poller, &cqs[1].base);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
	assert_int_equal(nb, 0);
}

static void
dead_cq_is_counted_once_and_polled_no_more(void **state)
{
	struct fake_cq dead = FAKE_CQ, other = FAKE_CQ;
	unsigned int nb = 0;

	remake(64);
	dead.err = -EIO;
	plx_poller_add_cq(poller, &dead.base, d);
	plx_poller_add_cq(poller, &other.base, d);
	post(&dead, PLX_POLL_BURST, count_and_put, &nb); /* and then it fails, in the same turn */
	for (unsigned int turn = 0; turn < 5; turn++)
		plx_poller_once(poller);
	assert_int_equal(nb, PLX_POLL_BURST);
	assert_int_equal(dead.nb_polls, 2);
	assert_int_equal(other.nb_polls, 5);
	assert_int_equal(stats().cq_errors, 1);
	assert_int_equal(stats().completions, PLX_POLL_BURST);
	assert_int_equal(plx_poller_remove_cq(poller, &dead.base), 0);
	dead.err = 0;
	assert_int_equal(plx_poller_add_cq(poller, &dead.base, d), 0); /* a new life */
	plx_poller_once(poller);
	assert_int_equal(dead.nb_polls, 3);
}

static void
turn_inside(struct plx_op *op, void *arg)
{
	unsigned int *did = arg;

	*did += plx_poller_once(poller);
	plx_op_put(op);
}

/* It would deliver the second burst of the CQ before the rest of the first. */
static void
turn_inside_a_callback_does_nothing(void **state)
{
	struct fake_cq cq = FAKE_CQ;
	unsigned int did = 0;

	plx_poller_add_cq(poller, &cq.base, d);
	post(&cq, 3 * PLX_POLL_BURST, turn_inside, &did);
	for (unsigned int turn = 0; turn < 3; turn++)
		assert_int_equal(plx_poller_once(poller), PLX_POLL_BURST);
	assert_int_equal(did, 0);
	assert_int_equal(stats().turns, 3);
}

static unsigned int next_in_order;

static void
expect_next(struct plx_op *op, void *arg)
{
	unsigned int *bad = arg;

	*bad += plx_op_id(op) != ids[next_in_order++];
	plx_op_put(op);
}

/* contract 3.1: a poller that is not the owner; the inbox has room for 8 */
static void
full_inbox_holds_the_cq_back_and_loses_nothing(void **state)
{
	struct fake_cq cq = FAKE_CQ;
	unsigned int bad = 0, turns = 0;

	for (unsigned int i = 0; i < NB_OPS; i++)
		ids[i] = 0;
	post(&cq, NB_OPS, expect_next, &bad);
	next_in_order = 0;
	plx_poller_add_cq(poller, &cq.base, d);
	plx_test_as_lcore(2);
	plx_poller_once(poller);
	assert_int_equal(cq.nb_polls, 1);
	plx_poller_once(poller); /* still full: nothing done, nothing polled */
	assert_int_equal(cq.nb_polls, 1);
	assert_int_equal(stats().idle_turns, 1);
	assert_int_equal(plx_poller_remove_cq(poller, &cq.base), -EAGAIN);
	assert_int_equal(plx_poller_destroy(poller), -EBUSY);
	while (next_in_order < NB_OPS && turns++ < NB_OPS) {
		plx_test_as_lcore(OWNER);
		plx_dispatcher_once(d);
		plx_test_as_lcore(2);
		plx_poller_once(poller);
	}
	assert_int_equal(next_in_order, NB_OPS);
	assert_int_equal(bad, 0);
	assert_int_equal(plx_poller_remove_cq(poller, &cq.base), 0);
	assert_int_equal(stats().completions, NB_OPS);
}

static void
counters_say_what_happened(void **state)
{
	struct fake_cq cqs[2] = {FAKE_CQ, FAKE_CQ};
	struct plx_poller_stats s;
	unsigned int nb = 0;

	remake(16);
	plx_poller_add_cq(poller, &cqs[0].base, d);
	plx_poller_add_cq(poller, &cqs[1].base, d);
	post(&cqs[0], 20, count_and_put, &nb);
	plx_poller_once(poller); /* 16 of 20, and nothing */
	plx_poller_once(poller); /* 4, and nothing */
	plx_poller_once(poller); /* idle */
	s = stats();
	assert_int_equal(s.turns, 3);
	assert_int_equal(s.idle_turns, 1);
	assert_int_equal(s.polls, 6);
	assert_int_equal(s.empty_polls, 4);
	assert_int_equal(s.completions, 20);
	assert_int_equal(s.full_polls, 1);
	assert_int_equal(s.cq_errors, 0);
}

/* What others wait for (contract 1.6) is counted at the CQ. */
static void
empty_polls_are_counted_at_the_cq(void **state)
{
	struct fake_cq cq = FAKE_CQ;
	unsigned int nb = 0;

	plx_poller_add_cq(poller, &cq.base, d);
	plx_poller_once(poller);
	post(&cq, 3, count_and_put, &nb);
	plx_poller_once(poller);
	plx_poller_once(poller);
	assert_int_equal(cq.base.nb_empty, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
static const struct CMUnitTest tests[] = {
	TEST(turn_delivers_what_each_cq_has),
	TEST(budget_caps_what_one_cq_gives_in_one_turn),
	TEST(cq_with_a_budget_of_its_own_leaves_the_others_alone),
	TEST(budget_set_in_a_callback_counts_from_the_next_turn_on),
	TEST(hot_cq_starves_neither_a_quiet_one_nor_a_timer),
	TEST(hooks_are_called_in_order_whatever_they_remove_and_add),
	TEST(hooks_come_after_the_cqs),
	TEST(callback_may_remove_any_cq_its_own_included),
	TEST(callback_may_put_another_cq_in_the_place_of_its_own),
	TEST(dead_cq_is_counted_once_and_polled_no_more),
	TEST(turn_inside_a_callback_does_nothing),
	TEST(full_inbox_holds_the_cq_back_and_loses_nothing),
	TEST(counters_say_what_happened),
	TEST(empty_polls_are_counted_at_the_cq),
};

PLX_TEST_SUITE(poller, poller, tests, .lcores = 2);
