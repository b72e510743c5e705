/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Contract 1.9: a completion that arrives while its post call is still running is kept until that has returned.
 */

#include "fixture.h"

/* Post an op whose device completes it before the post call returns. */
static struct plx_op *
post_and_complete(unsigned int home, plx_op_cb_t cb, bool taken)
{
	struct plx_op *op = prepare(home, cb, NULL);
	unsigned int before = nb_called;

	assert_int_equal(plx_dispatcher_posting(d, op), 0);
	deliver_as(OWNER, plx_op_id(op));
	once_as(OWNER);
	once_as(WORKER);
	assert_int_equal(nb_called, before);
	assert_false(plx_op_is_done(op));
	plx_dispatcher_posted(d, op, taken);
	return op;
}

static void
early_completion_waits_until_the_post_has_returned(void **state)
{
	struct plx_op *op = post_and_complete(PLX_HOME_ANY, on_done, true);

	once_as(OWNER);
	assert_int_equal(nb_called, 1);
	assert_ptr_equal(called[0], op);
	plx_op_put(op);
}

/* Or the worker could put the op, and another lcore post it, while the first post still looks at it. */
static void
early_completion_of_another_home_waits_as_well(void **state)
{
	struct plx_op *op = post_and_complete(WORKER, on_done, true);

	once_as(OWNER);
	once_as(WORKER);
	assert_int_equal(nb_called, 1);
	assert_int_equal(called_on[0], WORKER);
	plx_op_put(op);
}

static void
early_completions_run_in_their_order_and_before_later_ones(void **state)
{
	struct plx_op *ops[4];

	for (unsigned int i = 0; i < 3; i++)
		ops[i] = prepare(i == 1 ? OWNER : PLX_HOME_ANY, on_done, NULL);
	plx_dispatcher_post_begin(d);
	for (unsigned int i = 0; i < 3; i++) {
		plx_op_set_state(ops[i], PLX_OP_POSTED);
		plx_op_arm(ops[i]);
	}
	deliver_as(OWNER, plx_op_id(ops[2]));
	deliver_as(OWNER, plx_op_id(ops[0]));
	deliver_as(OWNER, plx_op_id(ops[1]));
	plx_dispatcher_post_end(d);
	assert_int_equal(nb_called, 0);
	ops[3] = prepare(PLX_HOME_ANY, on_done, NULL);
	plx_op_set_state(ops[3], PLX_OP_POSTED);
	plx_op_arm(ops[3]);
	deliver_as(OWNER, plx_op_id(ops[3]));
	assert_int_equal(nb_called, 4);
	assert_ptr_equal(called[0], ops[2]);
	assert_ptr_equal(called[1], ops[0]);
	assert_ptr_equal(called[2], ops[1]);
	assert_ptr_equal(called[3], ops[3]);
	plx_op_put_bulk(d->pool, ops, 4);
}

/* "The next deliver", whatever is delivered there. */
static void
early_completion_runs_in_a_deliver_that_is_refused(void **state)
{
	struct plx_op *op = post_and_complete(PLX_HOME_ANY, on_done, true);

	deliver_as(OWNER, 12345);
	assert_int_equal(nb_called, 1);
	plx_op_put(op);
}

static void
early_completion_of_an_op_that_the_device_did_not_take_settles_it(void **state)
{
	struct plx_op *op = post_and_complete(PLX_HOME_ANY, on_done, false);

	once_as(OWNER);
	assert_int_equal(nb_called, 1);
	assert_int_equal(op->state, PLX_OP_COMPLETED);
	plx_op_put(op);
}

static void
early_completion_of_an_orphan_gives_the_node_back(void **state)
{
	struct plx_op *op = prepare(PLX_HOME_ANY, on_done, NULL);

	plx_dispatcher_posting(d, op);
	assert_int_equal(plx_op_abandon(d, op), 0);
	deliver_as(OWNER, plx_op_id(op));
	plx_dispatcher_posted(d, op, true);
	once_as(OWNER);
	assert_int_equal(nb_called, 0);
	assert_int_equal(stats().orphans, 1);
}

static unsigned int depth, deepest, rounds;

/* The device completes inside the post, and the callback posts again. */
static void
post_again(struct plx_op *op, void *arg)
{
	if (++depth > deepest)
		deepest = depth;
	rounds++;
	plx_op_again(op);
	assert_int_equal(plx_dispatcher_posting(d, op), 0);
	deliver_as(OWNER, plx_op_id(op));
	plx_dispatcher_posted(d, op, true);
	depth--;
}

static void
synchronous_device_neither_recurses_nor_holds_the_loop(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, post_again, NULL);

	depth = deepest = rounds = 0;
	deliver_as(OWNER, plx_op_id(op));
	for (unsigned int turn = 0; turn < 1000; turn++)
		assert_int_equal(once_as(OWNER), 1);
	assert_int_equal(deepest, 1);
	assert_in_range(rounds, 1000, 1002);
	plx_op_abandon(d, op);
	once_as(OWNER);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
}

/* SHARED: whoever comes second, poster or deliverer, calls back. */
static void
shared_early_completion_is_called_back_by_the_poster(void **state)
{
	struct plx_op *op = prepare(PLX_HOME_ANY, on_done, NULL);

	plx_dispatcher_posting(d, op);
	deliver_as(ALIEN, plx_op_id(op));
	assert_int_equal(nb_called, 0);
	plx_dispatcher_posted(d, op, true);
	assert_int_equal(nb_called, 1);
	assert_int_equal(called_on[0], OWNER);
	plx_op_put(op);
}

static void
shared_early_completion_of_another_home_goes_there_after_the_post(void **state)
{
	struct plx_op *op = prepare(WORKER, on_done, NULL);

	plx_dispatcher_posting(d, op);
	deliver_as(WORKER, plx_op_id(op));
	once_as(WORKER);
	assert_int_equal(nb_called, 0);
	plx_dispatcher_posted(d, op, true);
	assert_int_equal(nb_called, 0);
	once_as(WORKER);
	assert_int_equal(nb_called, 1);
	plx_op_put(op);
}

static void
shared_op_that_the_device_completed_but_did_not_take_is_settled_once(void **state)
{
	struct plx_op *op = prepare(PLX_HOME_ANY, on_done, NULL);

	plx_dispatcher_posting(d, op);
	deliver_as(ALIEN, plx_op_id(op));
	plx_dispatcher_posted(d, op, false);
	assert_int_equal(nb_called, 1);
	plx_op_put(op);
}

#define OWNED(name)  cmocka_unit_test_setup_teardown(name, owned, destroy)
#define SHARED(name) cmocka_unit_test_setup_teardown(name, shared, destroy)
static const struct CMUnitTest tests[] = {
	OWNED(early_completion_waits_until_the_post_has_returned),
	OWNED(early_completion_of_another_home_waits_as_well),
	OWNED(early_completions_run_in_their_order_and_before_later_ones),
	OWNED(early_completion_of_an_op_that_the_device_did_not_take_settles_it),
	OWNED(early_completion_runs_in_a_deliver_that_is_refused),
	OWNED(early_completion_of_an_orphan_gives_the_node_back),
	OWNED(synchronous_device_neither_recurses_nor_holds_the_loop),
	SHARED(shared_early_completion_is_called_back_by_the_poster),
	SHARED(shared_early_completion_of_another_home_goes_there_after_the_post),
	SHARED(shared_op_that_the_device_completed_but_did_not_take_is_settled_once),
};

PLX_TEST_SUITE(dispatcher, early, tests, .lcores = 4);
