/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What a home keeps: ops for take_burst, and word of what is over.
 */

#include "fixture.h"

static uint16_t
take_as(unsigned int lcore, struct plx_op **ops, uint16_t n)
{
	unsigned int was = plx_test_as_lcore(lcore);
	uint16_t got = plx_dispatcher_take_burst(d, ops, n);

	plx_test_as_lcore(was);
	return got;
}

static void
kept_ops_are_taken_in_order_on_their_home(void **state)
{
	struct plx_op *ops[10], *got[10];

	for (unsigned int i = 0; i < 10; i++)
		ops[i] = post(WORKER, plx_dispatcher_keep, d);
	for (unsigned int i = 0; i < 10; i++)
		deliver_as(OWNER, plx_op_id(ops[i]));
	assert_int_equal(take_as(WORKER, got, 10), 0); /* not before its turn */
	once_as(WORKER);
	assert_int_equal(take_as(OWNER, got, 10), 0);
	assert_int_equal(take_as(0, got, 10), 0); /* no home */
	assert_int_equal(take_as(ALIEN, got, 10), 0);
	assert_int_equal(take_as(WORKER, got, 4), 4);
	assert_int_equal(take_as(WORKER, got + 4, 10), 6);
	assert_int_equal(take_as(WORKER, got, 10), 0);
	for (unsigned int i = 0; i < 10; i++) {
		assert_ptr_equal(got[i], ops[i]);
		assert_true(plx_op_is_done(got[i]));
	}
	assert_int_equal(plx_op_put_bulk(d->pool, got, 10), 10);
}

static void
owner_keeps_too(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, plx_dispatcher_keep, d), *got;

	deliver_as(OWNER, plx_op_id(op));
	assert_int_equal(take_as(OWNER, &got, 1), 1);
	assert_ptr_equal(got, op);
	plx_op_put(got);
}

/* It is linked: put or posted again, the list would lead into the pool. */
static void
kept_op_can_be_neither_put_nor_posted_before_it_is_taken(void **state)
{
	struct plx_op *op = post(WORKER, plx_dispatcher_keep, d), *got;

	deliver_as(OWNER, plx_op_id(op));
	once_as(WORKER);
	assert_int_equal(plx_op_put(op), -EBUSY);
	assert_int_equal(plx_op_again(op), -EBUSY);
	plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
	assert_int_equal(plx_dispatcher_posting(d, op), -EBUSY);
	assert_false(plx_dispatcher_in_device(d, plx_op_id(op)));
	assert_int_equal(take_as(WORKER, &got, 1), 1);
	assert_int_equal(plx_op_put(got), 0);
}

/* contract 1.3: the taker sees the op once or never */
static void
kept_op_that_is_abandoned_is_put_and_not_taken(void **state)
{
	struct plx_op *ops[4], *got[4];

	for (unsigned int i = 0; i < 4; i++)
		ops[i] = post(WORKER, plx_dispatcher_keep, d);
	for (unsigned int i = 0; i < 4; i++)
		deliver_as(OWNER, plx_op_id(ops[i]));
	once_as(WORKER);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_op_abandon(d, ops[1]), 0);
	assert_int_equal(plx_op_abandon(d, ops[3]), 0); /* the last */
	plx_test_as_lcore(OWNER);
	assert_int_equal(plx_op_pool_in_use(d->pool), 2);
	assert_int_equal(take_as(WORKER, got, 4), 2);
	assert_ptr_equal(got[0], ops[0]);
	assert_ptr_equal(got[1], ops[2]);
	assert_int_equal(stats().abandoned_late, 2);
	plx_op_put_bulk(d->pool, got, 2);
}

static uint64_t marks[8];
static bool passed_inside;

static void
ask_passed(struct plx_op *op, void *arg)
{
	passed_inside = plx_dispatcher_passed(d, marks);
	plx_op_put(op);
}

/* A connection is gone when the callbacks of all that was handed over have returned. */
static void
mark_is_passed_when_the_callbacks_have_returned(void **state)
{
	struct plx_op *op = post(WORKER, ask_passed, NULL);

	assert_in_range(d->nb_homes, 1, NB_OF(marks));
	plx_dispatcher_mark(d, marks);
	assert_true(plx_dispatcher_passed(d, marks)); /* nothing is on its way */
	deliver_as(OWNER, plx_op_id(op));
	plx_dispatcher_mark(d, marks);
	assert_false(plx_dispatcher_passed(d, marks));
	once_as(OTHER);
	assert_false(plx_dispatcher_passed(d, marks));
	passed_inside = true;
	once_as(WORKER);
	assert_false(passed_inside);
	assert_true(plx_dispatcher_passed(d, marks));
}

static void
mark_does_not_wait_for_what_comes_after_it(void **state)
{
	struct plx_op *first = post(WORKER, on_done, NULL), *second = post(OTHER, on_done, NULL);

	deliver_as(OWNER, plx_op_id(first));
	plx_dispatcher_mark(d, marks);
	deliver_as(OWNER, plx_op_id(second));
	once_as(WORKER);
	assert_true(plx_dispatcher_passed(d, marks));
	once_as(OTHER);
	plx_op_put(first);
	plx_op_put(second);
}

static void
orphans_pass_a_mark_as_well(void **state)
{
	struct plx_op *op = post(WORKER, on_done, NULL);

	plx_op_abandon(d, op);
	once_as(WORKER);
	deliver_as(OWNER, plx_op_id(op));
	plx_dispatcher_mark(d, marks);
	assert_false(plx_dispatcher_passed(d, marks));
	once_as(WORKER);
	assert_true(plx_dispatcher_passed(d, marks));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, owned, destroy)
static const struct CMUnitTest tests[] = {
	TEST(kept_ops_are_taken_in_order_on_their_home),
	TEST(owner_keeps_too),
	TEST(kept_op_can_be_neither_put_nor_posted_before_it_is_taken),
	TEST(kept_op_that_is_abandoned_is_put_and_not_taken),
	TEST(mark_is_passed_when_the_callbacks_have_returned),
	TEST(mark_does_not_wait_for_what_comes_after_it),
	TEST(orphans_pass_a_mark_as_well),
};

PLX_TEST_SUITE(dispatcher, home, tests, .lcores = 4);
