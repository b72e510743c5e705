/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * From one lcore to another: completed ops to their homes, completions to their owner.
 */

#include "fixture.h"

static void
op_completes_on_its_home_and_nowhere_else(void **state)
{
	struct plx_op *op = post(WORKER, on_done, NULL);

	deliver_as(OWNER, plx_op_id(op));
	assert_int_equal(nb_called, 0);
	assert_int_equal(once_as(OWNER), 0);
	assert_int_equal(once_as(OTHER), 0);
	assert_int_equal(once_as(0), 0); /* no home of this dispatcher */
	assert_int_equal(once_as(ALIEN), 0);
	assert_int_equal(nb_called, 0);
	assert_int_equal(once_as(WORKER), 1);
	assert_int_equal(nb_called, 1);
	assert_int_equal(called_on[0], WORKER);
	assert_int_equal(stats().handed, 1);
	plx_op_put(op);
}

/* contract 3.4: and callbacks run inline keep their place in the order, too */
static void
completions_of_one_cq_reach_each_home_in_order(void **state)
{
	static const unsigned int homes[] = {WORKER, WORKER, OTHER, PLX_HOME_ANY, WORKER, OTHER, OWNER, WORKER};
	struct plx_op *ops[NB_OF(homes) * 6];
	struct plx_wc wcs[NB_OF(ops)];
	unsigned int seen = 0;

	memset(wcs, 0, sizeof(wcs));
	for (unsigned int i = 0; i < NB_OF(ops); i++) {
		ops[i] = post(homes[i % NB_OF(homes)], on_done, NULL);
		wcs[i].wr_id = plx_op_id(ops[i]);
	}
	assert_int_equal(plx_dispatcher_deliver_burst(d, wcs, NB_OF(ops)), NB_OF(ops));
	while (once_as(WORKER) + once_as(OTHER) != 0)
		;
	assert_int_equal(nb_called, NB_OF(ops));
	for (unsigned int lcore = OWNER; lcore <= OTHER; lcore++) {
		unsigned int at = 0;

		for (unsigned int i = 0; i < nb_called; i++) {
			if (called_on[i] != lcore)
				continue;
			while (at < NB_OF(ops) && ops[at] != called[i])
				at++;
			assert_in_range(at, 0, NB_OF(ops) - 1);
			seen++;
		}
	}
	assert_int_equal(seen, NB_OF(ops));
	plx_op_put_bulk(d->pool, ops, NB_OF(ops));
}

static uint64_t handed_at_call;

static void
note_handed(struct plx_op *op, void *arg)
{
	handed_at_call = stats().handed;
	plx_op_put(op);
}

/* What a callback marks, or fails, must not overtake what was handed over before it. */
static void
ops_are_handed_over_before_a_later_callback_runs(void **state)
{
	struct plx_op *first = post(WORKER, on_done, NULL), *second = post(OWNER, note_handed, NULL);
	struct plx_wc wcs[2];

	memset(wcs, 0, sizeof(wcs));
	wcs[0].wr_id = plx_op_id(first);
	wcs[1].wr_id = plx_op_id(second);
	handed_at_call = 0;
	plx_dispatcher_deliver_burst(d, wcs, 2);
	assert_int_equal(handed_at_call, 1);
	once_as(WORKER);
	plx_op_put(first);
}

#define MANY 10000

static unsigned int nb_in_order;

static void
expect_next(struct plx_op *op, void *arg)
{
	if ((uintptr_t)arg == nb_in_order)
		nb_in_order++;
	plx_op_put(op);
}

/* case 14.12: the worker sleeps while 10^4 completions pile up */
static void
no_completion_is_dropped_while_the_worker_sleeps(void **state)
{
	static struct plx_op *ops[MANY];

	plx_dispatcher_destroy(d);
	d = make(PLX_DISPATCHER_OWNED, MANY, 0);
	for (uintptr_t i = 0; i < MANY; i++)
		ops[i] = post(WORKER, expect_next, (void *)i);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(deliver_as(OWNER, plx_op_id(ops[i])), 0);
	assert_int_equal(stats().handed, MANY);
	nb_in_order = 0;
	while (once_as(WORKER) != 0)
		;
	assert_int_equal(nb_in_order, MANY);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
}

/** A connection takes them like any other, and settles what never completes. */
static void
ops_of_another_pool_than_the_lane_was_made_for_wait_in_order(void **state)
{
	const struct plx_op_pool_conf conf = {.name = "other", .nb_ops = MANY, .socket_id = SOCKET_ID_ANY};
	struct plx_op_pool *other = plx_op_pool_create(&conf);
	struct plx_op *ours = post(WORKER, expect_next, (void *)(uintptr_t)MANY);
	struct plx_op *inline_one = post(OWNER, on_done, NULL);
	uint64_t marks[8];

	assert_non_null(other);
	nb_in_order = 0;
	for (uintptr_t i = 0; i < MANY; i++) {
		struct plx_op *op = plx_op_get(other);

		plx_op_prep_send(op, NULL, 0, 0, expect_next, (void *)i);
		plx_op_set_home(op, WORKER);
		assert_int_equal(plx_dispatcher_posting(d, op), 0);
		plx_dispatcher_posted(d, op, true);
		plx_dispatcher_fail(d, op, PLX_ST_CONN_LOST, 0);
	}
	assert_true(stats().handed >= NB_OPS && stats().handed < MANY); /* as many as find room */
	assert_int_equal(deliver_as(OWNER, plx_op_id(ours)), 0);
	assert_int_equal(deliver_as(OWNER, plx_op_id(inline_one)), 0);
	assert_int_equal(nb_called, 0); /* behind the others */
	while (nb_called == 0 || nb_in_order != MANY + 1) {
		unsigned int before = nb_in_order + nb_called;

		once_as(WORKER);
		once_as(OWNER);
		assert_true(nb_in_order + nb_called > before || d->early.nb < 2);
	}
	plx_dispatcher_mark(d, marks);
	assert_true(plx_dispatcher_passed(d, marks));
	assert_int_equal(d->detours, 0);
	assert_int_equal(stats().handed, MANY + 1);
	plx_op_put(inline_one);
	assert_int_equal(plx_op_pool_destroy(other), 0);
}

static void
other_threads_leave_completions_to_the_owner(void **state)
{
	static const unsigned int from[] = {WORKER, 0, ALIEN};

	for (unsigned int i = 0; i < NB_OF(from); i++) {
		struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);

		assert_int_equal(deliver_as(from[i], plx_op_id(op)), 0);
		assert_int_equal(nb_called, i);
		assert_int_equal(once_as(OWNER), 1);
		assert_int_equal(nb_called, i + 1);
		assert_int_equal(called_on[i], OWNER);
		plx_op_put(op);
	}
	assert_int_equal(stats().forwarded, NB_OF(from));
	assert_int_equal(stats().delivered, NB_OF(from));
}

static void
refusals_are_counted_on_the_owner_for_forwarded_ones_as_well(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);

	deliver_as(ALIEN, plx_op_id(op));
	deliver_as(WORKER, plx_op_id(op));
	deliver_as(ALIEN, 0);
	assert_int_equal(once_as(OWNER), 3);
	assert_int_equal(nb_called, 1);
	assert_int_equal(stats().duplicate, 1);
	assert_int_equal(stats().foreign, 1);
	plx_op_put(op);
}

static void
forwarded_result_arrives_whole(void **state)
{
	struct plx_op *op = post(WORKER, on_done, NULL);
	struct plx_wc wc = {
		.wr_id = plx_op_id(op), .byte_len = 1, .imm = 2, .inv_rkey = 3, .qp_num = 4, .flags = 3};

	plx_test_as_lcore(ALIEN);
	assert_int_equal(plx_dispatcher_deliver_burst(d, &wc, 1), 1);
	plx_test_as_lcore(OWNER);
	once_as(OWNER);
	once_as(WORKER);
	assert_int_equal(called_with[0].byte_len, 1);
	assert_int_equal(called_with[0].imm, 2);
	assert_int_equal(called_with[0].inv_rkey, 3);
	assert_int_equal(called_with[0].qp_num, 4);
	plx_op_put(op);
}

/* contract 3.1: -EAGAIN when the lane is full; the caller keeps the CQE, nothing is lost */
static void
full_inbox_says_retry_and_loses_nothing(void **state)
{
	static const unsigned int from[] = {WORKER, ALIEN};
	struct plx_op *ops[10];
	struct plx_wc wcs[10];

	plx_dispatcher_destroy(d);
	d = make(PLX_DISPATCHER_OWNED, NB_OPS, 4);
	for (unsigned int f = 0; f < NB_OF(from); f++) {
		unsigned int sent = 0;

		nb_called = 0;
		memset(wcs, 0, sizeof(wcs));
		for (unsigned int i = 0; i < NB_OF(ops); i++) {
			ops[i] = post(PLX_HOME_ANY, on_done, NULL);
			wcs[i].wr_id = plx_op_id(ops[i]);
		}
		while (sent < NB_OF(ops)) {
			uint16_t rest = (uint16_t)(NB_OF(ops) - sent), taken;

			plx_test_as_lcore(from[f]);
			taken = plx_dispatcher_deliver_burst(d, wcs + sent, rest);
			assert_int_equal(taken, rest < 4 ? rest : 4);
			sent += taken;
			if (sent < NB_OF(ops))
				assert_int_equal(plx_dispatcher_deliver(d, wcs[sent].wr_id, 0, 0, 0, 0), -EAGAIN);
			plx_test_as_lcore(OWNER);
			once_as(OWNER);
			assert_int_equal(nb_called, sent);
		}
		for (unsigned int i = 0; i < NB_OF(ops); i++)
			assert_ptr_equal(called[i], ops[i]);
		plx_op_put_bulk(d->pool, ops, NB_OF(ops));
	}
	assert_int_equal(stats().inbox_full, 2 * 4); /* two short bursts, each with a retry, per thread */
	assert_int_equal(stats().delivered, 2 * NB_OF(ops));
}

static unsigned int nested;

static void
take_a_turn(struct plx_op *op, void *arg)
{
	nested += plx_dispatcher_once(d);
	on_done(op, arg);
}

/* It would settle later ops before the rest of its own batch. */
static void
turn_inside_a_callback_settles_nothing(void **state)
{
	struct plx_op *ops[40];

	nested = 0;
	for (unsigned int i = 0; i < NB_OF(ops); i++) {
		ops[i] = post(WORKER, take_a_turn, NULL);
		deliver_as(OWNER, plx_op_id(ops[i]));
	}
	while (once_as(WORKER) != 0)
		;
	assert_int_equal(nested, 0);
	assert_int_equal(nb_called, NB_OF(ops));
	for (unsigned int i = 0; i < NB_OF(ops); i++)
		assert_ptr_equal(called[i], ops[i]);
	plx_op_put_bulk(d->pool, ops, NB_OF(ops));
}

static void
home_that_was_not_declared_is_refused(void **state)
{
	static const unsigned int none[] = {0, RTE_MAX_LCORE - 1, RTE_MAX_LCORE, 0x7fff};

	for (unsigned int i = 0; i < NB_OF(none); i++) {
		struct plx_op *op = prepare(none[i], on_done, NULL);

		assert_false(plx_dispatcher_has_home(d, none[i]));
		assert_int_equal(plx_dispatcher_posting(d, op), -EINVAL);
		assert_int_equal(op->state, PLX_OP_PREPARED);
		assert_int_equal(plx_op_put(op), 0);
	}
	assert_true(plx_dispatcher_has_home(d, OWNER));
	assert_true(plx_dispatcher_has_home(d, WORKER));
	assert_true(plx_dispatcher_has_home(d, PLX_HOME_ANY));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, owned, destroy)
static const struct CMUnitTest tests[] = {
	TEST(op_completes_on_its_home_and_nowhere_else),
	TEST(completions_of_one_cq_reach_each_home_in_order),
	TEST(ops_are_handed_over_before_a_later_callback_runs),
	TEST(no_completion_is_dropped_while_the_worker_sleeps),
	TEST(ops_of_another_pool_than_the_lane_was_made_for_wait_in_order),
	TEST(other_threads_leave_completions_to_the_owner),
	TEST(refusals_are_counted_on_the_owner_for_forwarded_ones_as_well),
	TEST(forwarded_result_arrives_whole),
	TEST(full_inbox_says_retry_and_loses_nothing),
	TEST(turn_inside_a_callback_settles_nothing),
	TEST(home_that_was_not_declared_is_refused),
};

PLX_TEST_SUITE(dispatcher, handoff, tests, .lcores = 4);
