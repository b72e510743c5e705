/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The loop on an lcore of its own: run, stop, reset.
 */

#include "fake_cq.h"

#include <sched.h>

#include <rte_launch.h>

static int
create_yielding(void **state)
{
	int err = create(state);

	assert_int_equal(plx_poller_destroy(poller), 0);
	make(0, true);
	plx_test_as_lcore(0);
	return err;
}

static void
launch(void)
{
	assert_int_equal(rte_eal_remote_launch(plx_poller_run, poller, OWNER), 0);
	while (stats().turns == 0)
		sched_yield();
}

/* EAL's own waiting is not instrumented: what the loop wrote is told to TSan by the end of `running`. */
static void
join(unsigned int lcore)
{
	assert_int_equal(rte_eal_wait_lcore(lcore), 0);
	assert_false(plx_poller_running(poller));
}

static void
loop_runs_on_its_lcore_until_stopped(void **state)
{
	assert_false(plx_poller_running(poller));
	assert_int_equal(plx_poller_lcore(poller), LCORE_ID_ANY);
	launch();
	assert_true(plx_poller_running(poller));
	assert_int_equal(plx_poller_lcore(poller), OWNER);
	plx_poller_stop(poller);
	join(OWNER);
	assert_int_equal(plx_poller_lcore(poller), OWNER);
}

static void
running_poller_is_neither_reset_nor_destroyed_nor_run_twice(void **state)
{
	launch();
	assert_int_equal(plx_poller_reset(poller), -EBUSY);
	assert_int_equal(plx_poller_destroy(poller), -EBUSY);
	assert_int_equal(plx_poller_run(poller), -EBUSY);
	assert_int_equal(plx_poller_lcore(poller), OWNER);
	plx_poller_stop(poller);
	join(OWNER);
}

static void
stopped_poller_runs_again_after_a_reset_only(void **state)
{
	uint64_t turns;

	plx_poller_stop(poller);
	assert_int_equal(plx_poller_run(poller), 0); /* ends at once */
	assert_int_equal(stats().turns, 0);
	assert_int_equal(plx_poller_reset(poller), 0);
	launch();
	plx_poller_stop(poller);
	join(OWNER);
	turns = stats().turns;
	assert_int_equal(plx_poller_run(poller), 0);
	assert_int_equal(stats().turns, turns);
	plx_poller_once(poller); /* by hand it always turns */
	assert_int_equal(stats().turns, turns + 1);
}

static void
stop_here(struct plx_op *op, void *arg)
{
	plx_poller_stop(poller);
	plx_op_put(op);
}

/* contract 17: between the CQs of one turn; what had been polled is delivered, hooks have their last call */
static void
stop_from_a_callback_ends_the_loop_before_the_next_cq(void **state)
{
	struct fake_cq cqs[3] = {FAKE_CQ, FAKE_CQ, FAKE_CQ};

	plx_test_as_lcore(OWNER);
	for (unsigned int i = 0; i < 3; i++)
		plx_poller_add_cq(poller, &cqs[i].base, d);
	post(&cqs[1], 5, stop_here, NULL);
	plx_test_as_lcore(0);
	assert_int_equal(rte_eal_remote_launch(plx_poller_run, poller, OWNER), 0);
	join(OWNER);
	assert_int_equal(cqs[0].nb_polls, 1);
	assert_int_equal(cqs[1].nb_polls, 1);
	assert_int_equal(cqs[2].nb_polls, 0);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
	assert_int_equal(stats().turns, 1);
}

static unsigned int
stop_in_third_turn(void *arg)
{
	unsigned int *calls = arg;

	if (++*calls == 3)
		plx_poller_stop(poller);
	return 1; /* never idle */
}

static void
stop_from_a_hook_ends_the_loop_after_that_turn(void **state)
{
	unsigned int calls = 0;

	plx_poller_add_hook(poller, stop_in_third_turn, &calls);
	assert_int_equal(plx_poller_run(poller), 0);
	assert_int_equal(calls, 3);
	assert_int_equal(stats().turns, 3);
	assert_int_equal(stats().idle_turns, 0);
}

static void
loop_without_work_yields_its_cpu_and_counts_idle_turns(void **state)
{
	struct plx_poller_stats s;

	launch();
	while (stats().idle_turns < 100)
		sched_yield(); /* on one CPU: the loop comes to run only when it yields in its turn */
	plx_poller_stop(poller);
	join(OWNER);
	s = stats();
	assert_int_equal(s.idle_turns, s.turns);
}

/* A worker: a loop of hooks alone, which settles what a poller elsewhere hands over. */
static void
worker_loop_runs_the_callbacks_of_its_home(void **state)
{
	static const unsigned int worker = 2;
	struct plx_dispatcher_conf conf = {
		.name = "worker",
		.owner = OWNER,
		.homes = &worker,
		.nb_homes = 1,
		.pool = {.nb_ops = NB_OPS, .socket_id = SOCKET_ID_ANY},
	};
	unsigned int nb = 0;

	assert_int_equal(plx_dispatcher_destroy(d), 0);
	d = plx_dispatcher_create(&conf);
	assert_int_equal(plx_poller_add_hook(poller, plx_dispatcher_hook, d), 0);
	plx_test_as_lcore(OWNER);
	for (unsigned int i = 0; i < 1000; i++) {
		struct plx_op *op = plx_op_get(d->pool);

		plx_op_prep_send(op, NULL, 0, 0, count_and_put, &nb);
		plx_op_set_home(op, worker);
		assert_int_equal(plx_dispatcher_posting(d, op), 0);
		plx_dispatcher_posted(d, op, true);
		ids[i] = plx_op_id(op);
	}
	plx_test_as_lcore(0);
	assert_int_equal(rte_eal_remote_launch(plx_poller_run, poller, worker), 0);
	plx_test_as_lcore(OWNER);
	for (unsigned int i = 0; i < 1000; i++)
		plx_dispatcher_deliver(d, ids[i], PLX_ST_SUCCESS, 0, 0, 0);
	plx_test_as_lcore(0);
	while (plx_op_pool_in_use(d->pool) != 0)
		sched_yield();
	plx_poller_stop(poller);
	join(worker);
	assert_int_equal(nb, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create_yielding, destroy)
static const struct CMUnitTest tests[] = {
	TEST(loop_runs_on_its_lcore_until_stopped),
	TEST(running_poller_is_neither_reset_nor_destroyed_nor_run_twice),
	TEST(stopped_poller_runs_again_after_a_reset_only),
	TEST(stop_from_a_callback_ends_the_loop_before_the_next_cq),
	TEST(stop_from_a_hook_ends_the_loop_after_that_turn),
	TEST(loop_without_work_yields_its_cpu_and_counts_idle_turns),
	TEST(worker_loop_runs_the_callbacks_of_its_home),
};

PLX_TEST_SUITE(poller, loop, tests, .lcores = 3);
