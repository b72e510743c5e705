/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_test.h"

#include <pthread.h>
#include <sched.h>

#include "conn_internal.h"

/** Every pair of states, and whether the one may become the other. */
static void
exactly_these_transitions_are_allowed(void **state)
{
	static const bool allowed[5][5] = {
		[PLX_CONN_IDLE] = {[PLX_CONN_READY] = true, [PLX_CONN_FAILED] = true, [PLX_CONN_DRAINING] = true},
		[PLX_CONN_READY] = {[PLX_CONN_FAILED] = true, [PLX_CONN_DRAINING] = true},
		[PLX_CONN_FAILED] = {[PLX_CONN_DRAINING] = true},
		[PLX_CONN_DRAINING] = {[PLX_CONN_CLOSED] = true},
	};

	for (unsigned int from = 0; from < 5; from++) {
		for (unsigned int to = 0; to < 5; to++) {
			struct plx_conn conn = {.state = (uint16_t)from};

			assert_int_equal(conn_state_change(&conn, (enum plx_conn_state)to), allowed[from][to]);
			assert_int_equal(conn.state, allowed[from][to] ? to : from);
		}
	}
}

static void
receives_may_be_posted_before_ready_and_nothing_after(void **state)
{
	static const bool sends[5] = {[PLX_CONN_READY] = true};
	static const bool recvs[5] = {[PLX_CONN_IDLE] = true, [PLX_CONN_READY] = true};

	for (unsigned int i = 0; i < 5; i++) {
		struct plx_conn conn = {.state = (uint16_t)i};

		assert_int_equal(conn_state_admits(&conn, &conn.sq), sends[i]);
		assert_int_equal(conn_state_admits(&conn, &conn.rq), recvs[i]);
	}
}

static struct plx_conn met;
static uint32_t round_of_close, round_closed;

/** Without giving the CPU away at first, so that the two really meet where there are two CPUs. */
static void
wait_for(const uint32_t *word, uint32_t value)
{
	for (unsigned int spins = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; spins++)
		if (spins > 2000)
			sched_yield();
}

/** The owner's half of each round. */
static void *
close_each_round(void *arg)
{
	uint32_t rounds = *(uint32_t *)arg;

	for (uint32_t round = 1; round <= rounds; round++) {
		wait_for(&round_of_close, round);
		conn_state_change(&met, PLX_CONN_DRAINING);
		__atomic_store_n(&round_closed, round, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void
a_close_that_meets_a_bring_up_is_not_forgotten(void **state)
{
	uint32_t rounds = (uint32_t)(plx_test_scale() / 50), forgotten = 0;
	pthread_t owner;

	assert_int_equal(pthread_create(&owner, NULL, close_each_round, &rounds), 0);
	for (uint32_t round = 1; round <= rounds; round++) {
		__atomic_store_n(&met.state, PLX_CONN_IDLE, __ATOMIC_RELAXED);
		__atomic_store_n(&round_of_close, round, __ATOMIC_RELEASE);
		for (volatile uint32_t i = 0; i < round % 128; i++)
			; /* as long as the other needs to notice, once in a while */
		conn_state_change(&met, PLX_CONN_READY);
		wait_for(&round_closed, round);
		forgotten += plx_conn_state(&met) != PLX_CONN_DRAINING;
	}
	assert_int_equal(pthread_join(owner, NULL), 0);
	assert_int_equal(forgotten, 0);
}

static void
each_state_has_a_name_and_others_do_not(void **state)
{
	assert_string_equal(plx_conn_state_name(PLX_CONN_FAILED), "failed");
	assert_string_equal(plx_conn_state_name(PLX_CONN_DRAINING), "draining");
	assert_string_equal(plx_conn_state_name(PLX_CONN_CLOSED + 1), "unknown");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(exactly_these_transitions_are_allowed),
	cmocka_unit_test(receives_may_be_posted_before_ready_and_nothing_after),
	cmocka_unit_test(a_close_that_meets_a_bring_up_is_not_forgotten),
	cmocka_unit_test(each_state_has_a_name_and_others_do_not),
};

PLX_TEST_SUITE(conn, state, tests);
