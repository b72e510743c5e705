/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * SHARED: no owner loop, any thread posts and delivers.
 */

#include "fixture.h"

static void
any_thread_delivers_and_calls_back_there(void **state)
{
	static const unsigned int from[] = {OWNER, WORKER, 0, ALIEN};

	for (unsigned int i = 0; i < NB_OF(from); i++) {
		struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);

		assert_int_equal(deliver_as(from[i], plx_op_id(op)), 0);
		assert_int_equal(nb_called, i + 1);
		assert_int_equal(called_on[i], from[i]);
		plx_op_put(op);
	}
	assert_int_equal(stats().delivered, NB_OF(from));
	assert_int_equal(stats().forwarded, 0);
}

static void
any_thread_posts(void **state)
{
	static const unsigned int from[] = {WORKER, 0, ALIEN};

	for (unsigned int i = 0; i < NB_OF(from); i++) {
		struct plx_op *op;

		plx_test_as_lcore(from[i]);
		op = post(OTHER, on_done, NULL);
		deliver_as(OWNER, plx_op_id(op));
		once_as(OTHER);
		assert_int_equal(nb_called, i + 1);
		plx_op_put(op);
	}
}

static void
op_with_a_home_completes_there_whoever_delivers(void **state)
{
	static const unsigned int from[] = {OWNER, OTHER, 0, ALIEN, WORKER};

	for (unsigned int i = 0; i < NB_OF(from); i++) {
		struct plx_op *op = post(WORKER, on_done, NULL);

		deliver_as(from[i], plx_op_id(op));
		assert_int_equal(nb_called, i + (from[i] == WORKER));
		once_as(WORKER);
		assert_int_equal(nb_called, i + 1);
		assert_int_equal(called_on[i], WORKER);
		plx_op_put(op);
	}
	assert_int_equal(stats().handed, NB_OF(from) - 1);
}

static void
stale_duplicate_and_foreign_are_refused(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);
	uint64_t id = plx_op_id(op);

	deliver_as(ALIEN, id - (UINT64_C(1) << 32));
	deliver_as(ALIEN, id);
	deliver_as(WORKER, id);
	deliver_as(ALIEN, 0);
	assert_int_equal(nb_called, 1);
	plx_op_put(op);
	deliver_as(OWNER, id);
	assert_int_equal(nb_called, 1);
	assert_int_equal(stats().stale, 2);
	assert_int_equal(stats().duplicate, 1);
	assert_int_equal(stats().foreign, 1);
}

static void
post_that_was_not_taken_leaves_the_op_prepared(void **state)
{
	struct plx_op *op = prepare(WORKER, on_done, NULL);

	plx_dispatcher_posting(d, op);
	plx_dispatcher_posted(d, op, false);
	assert_int_equal(op->state, PLX_OP_PREPARED);
	assert_int_equal(plx_dispatcher_posting(d, op), 0);
	plx_dispatcher_posted(d, op, true);
	deliver_as(ALIEN, plx_op_id(op));
	once_as(WORKER);
	assert_int_equal(nb_called, 1);
	plx_op_put(op);
}

/** With an SGE list the op looks twice at whether somebody else has it still. */
static void
post_of_a_list_that_was_not_taken_leaves_the_op_to_its_holder(void **state)
{
	static const struct plx_sge list[2] = {{1, 8, 1}, {2, 8, 1}};
	struct plx_op *op = prepare(WORKER, on_done, NULL);

	plx_op_set_sges(op, list, 2);
	plx_dispatcher_posting(d, op);
	plx_dispatcher_posted(d, op, false);
	plx_op_prep_recv(op, NULL, 0, 0, NULL, NULL);
	assert_int_equal(op->wr.opcode, PLX_OPCODE_RECV);
	plx_op_set_sges(op, list, 2);
	plx_dispatcher_posting(d, op);
	plx_dispatcher_posted(d, op, false);
	assert_int_equal(plx_op_put(op), 0);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
}

static void
op_without_a_home_cannot_be_abandoned_or_kept(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);

	assert_int_equal(plx_op_abandon(d, op), -EINVAL);
	assert_int_equal(plx_dispatcher_abandon(d, plx_op_id(op), WORKER), 0); /* not its home, says the lane */
	once_as(WORKER);
	assert_int_equal(stats().abandoned_late, 1);
	deliver_as(ALIEN, plx_op_id(op));
	assert_int_equal(nb_called, 1);
	plx_op_put(op);

	op = prepare(PLX_HOME_ANY, plx_dispatcher_keep, d);
	assert_int_equal(plx_dispatcher_posting(d, op), -EINVAL);
	plx_op_put(op);
}

static void
late_completion_gives_an_orphan_back(void **state)
{
	struct plx_op *op = post(WORKER, on_done, NULL);

	assert_int_equal(plx_op_abandon(d, op), 0); /* from elsewhere */
	once_as(WORKER);
	assert_int_equal(op->state, PLX_OP_ORPHANED);
	deliver_as(WORKER, plx_op_id(op));
	op = post(WORKER, on_done, NULL);
	plx_op_abandon(d, op);
	once_as(WORKER);
	deliver_as(ALIEN, plx_op_id(op));
	once_as(WORKER);
	assert_int_equal(nb_called, 0);
	assert_int_equal(stats().orphans, 2);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
}

/* case 14.12, where each producer has a ring of its own */
static void
hand_off_takes_every_op_of_the_pool_from_any_thread(void **state)
{
	static const unsigned int from[] = {OWNER, ALIEN};

	for (unsigned int f = 0; f < NB_OF(from); f++) {
		struct plx_op *ops[NB_OPS];

		nb_called = 0;
		for (unsigned int i = 0; i < NB_OPS; i++)
			ops[i] = post(WORKER, on_done, NULL);
		for (unsigned int i = 0; i < NB_OPS; i++)
			deliver_as(from[f], plx_op_id(ops[i]));
		while (once_as(WORKER) != 0)
			;
		for (unsigned int i = 0; i < NB_OPS; i++)
			assert_ptr_equal(called[i], ops[i]);
		plx_op_put_bulk(d->pool, ops, NB_OPS);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, shared, destroy)
static const struct CMUnitTest tests[] = {
	TEST(any_thread_delivers_and_calls_back_there),
	TEST(any_thread_posts),
	TEST(op_with_a_home_completes_there_whoever_delivers),
	TEST(stale_duplicate_and_foreign_are_refused),
	TEST(post_that_was_not_taken_leaves_the_op_prepared),
	TEST(post_of_a_list_that_was_not_taken_leaves_the_op_to_its_holder),
	TEST(op_without_a_home_cannot_be_abandoned_or_kept),
	TEST(late_completion_gives_an_orphan_back),
	TEST(hand_off_takes_every_op_of_the_pool_from_any_thread),
};

PLX_TEST_SUITE(dispatcher, shared, tests, .lcores = 4);
