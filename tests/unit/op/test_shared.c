/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_op_shared.h"

#include "plx_test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_memory.h>

/**
 * @file
 * Who is who on an SRQ, and the books of what is posted there. Numbers that are SIZE apart have their first place in common:
 *
 *      place:  3        4        5        6
 *              3 ...    3+SIZE   5        3+2*SIZE
 *              first    +1       first    +3: found past 3, 4 and 5, so that none of them may say "nobody, look no further"
 */

#define QPS  8u
#define SIZE (2 * QPS) /* places */

static struct plx_op_shared shared;
static struct plx_op_queue queues[SIZE] __rte_cache_aligned;
static unsigned int nb_asked;
static const struct plx_op_shared_who *asked_of;
static bool answer;

static bool
low(struct plx_op_shared *of, struct plx_op *op, struct plx_op_shared_who *who)
{
	nb_asked++;
	asked_of = who;
	return answer;
}

static int
create(void **state)
{
	nb_asked = 0;
	answer = false;
	return plx_op_shared_init(&shared, QPS, low);
}

static int
destroy(void **state)
{
	plx_op_shared_fini(&shared);
	return 0;
}

static void
join(uint32_t qp_num)
{
	assert_int_equal(plx_op_shared_join(&shared, qp_num, &queues[0], PLX_HOME_ANY), 0);
}

static unsigned int
places(uint32_t what)
{
	unsigned int nb = 0;

	for (uint32_t i = 0; i <= shared.mask; i++)
		nb += shared.who[i].qp_num == what;
	return nb;
}

static bool
is_there(uint32_t qp_num)
{
	const struct plx_op_shared_who *who = plx_op_shared_find(&shared, qp_num);

	assert_true(who == NULL || who->qp_num == qp_num);
	return who != NULL;
}

/* ---- who is who ---------------------------------------------------------------------------- */

static void
numbers_of_qps_that_make_no_sense_are_refused(void **state)
{
	struct plx_op_shared other;

	assert_int_equal(plx_op_shared_init(&other, 0, low), -EINVAL);
	assert_int_equal(plx_op_shared_init(&other, (1u << 23) + 1, low), -EINVAL);
}

static void
each_qp_is_found_with_what_it_joined_with(void **state)
{
	for (uint32_t i = 0; i < QPS; i++)
		assert_int_equal(plx_op_shared_join(&shared, 1000 + 3 * i, &queues[i], (uint16_t)i), 0);
	for (uint32_t i = 0; i < QPS; i++) {
		const struct plx_op_shared_who *who = plx_op_shared_find(&shared, 1000 + 3 * i);

		assert_non_null(who);
		assert_ptr_equal(who->queue, &queues[i]);
		assert_int_equal(who->home, i);
		assert_int_equal(who->nb_held, 0);
		assert_false(is_there(1001 + 3 * i));
	}
}

static void
a_number_is_there_once(void **state)
{
	join(7);
	join(7 + SIZE);
	assert_int_equal(plx_op_shared_join(&shared, 7, &queues[1], 0), -EEXIST);
	assert_int_equal(plx_op_shared_join(&shared, 7 + SIZE, &queues[1], 0), -EEXIST);
	plx_op_shared_leave(&shared, 7);
	join(7);
	assert_ptr_equal(plx_op_shared_find(&shared, 7)->queue, &queues[0]);
}

static void
as_many_join_as_there_are_places(void **state)
{
	for (uint32_t i = 0; i < SIZE; i++)
		join(50 + i);
	assert_int_equal(plx_op_shared_join(&shared, 50 + SIZE, &queues[0], 0), -ENOSPC);
	assert_false(is_there(50 + SIZE));
	plx_op_shared_leave(&shared, 55);
	join(50 + SIZE);
	assert_true(is_there(50 + SIZE));
	assert_false(is_there(55));
}

static void
who_is_not_there_may_leave(void **state)
{
	join(3);
	plx_op_shared_leave(&shared, 4);
	plx_op_shared_leave(&shared, 3 + SIZE);
	assert_true(is_there(3));
	assert_int_equal(places(PLX_OP_SHARED_FREE), SIZE - 1);
}

/* ---- what those that left leave behind ----------------------------------------------------- */

/** Ten times as many as there are places, some of them there at a time. */
static void
numbers_that_came_and_went_make_no_look_up_longer(void **state)
{
	for (uint32_t num = 100; num < 100 + 10 * SIZE; num++) {
		join(num);
		if (num >= 100 + QPS)
			plx_op_shared_leave(&shared, num - QPS);
		assert_int_equal(places(PLX_OP_SHARED_LEFT), 0);
	}
}

static void
who_is_found_past_one_that_left_stays_found(void **state)
{
	join(3);
	join(3 + SIZE);
	join(5);
	join(3 + 2 * SIZE);
	plx_op_shared_leave(&shared, 5);
	plx_op_shared_leave(&shared, 3);
	plx_op_shared_leave(&shared, 3 + SIZE);
	assert_int_equal(places(PLX_OP_SHARED_LEFT), 3);
	assert_true(is_there(3 + 2 * SIZE));
	plx_op_shared_leave(&shared, 3 + 2 * SIZE); /* and with it the last that crosses them */
	assert_int_equal(places(PLX_OP_SHARED_FREE), SIZE);
}

static void
a_place_before_the_first_of_the_last_is_free_at_once(void **state)
{
	join(3);
	join(4);
	join(4 + SIZE);
	plx_op_shared_leave(&shared, 3);
	assert_int_equal(places(PLX_OP_SHARED_LEFT), 0);
	plx_op_shared_leave(&shared, 4);
	assert_int_equal(places(PLX_OP_SHARED_LEFT), 1);
	assert_true(is_there(4 + SIZE));
}

/** Whether somebody is found past @p at: there for the model, by looking at each. */
static bool
is_crossed(uint32_t at)
{
	for (uint32_t i = 0; i < SIZE; i++) {
		uint32_t num = shared.who[i].qp_num;

		if (num < PLX_OP_SHARED_LEFT && ((i - num) & shared.mask) >= ((i - at) & shared.mask) && i != at)
			return true;
	}
	return false;
}

/** Any of 4 * SIZE numbers, up to all places full, in any order; those that are there are found, and left is what must be. */
static void
any_order_of_coming_and_going_keeps_each_found_and_no_more(void **state)
{
	const unsigned long rounds = plx_test_scale() / 100;
	bool there[4 * SIZE] = {false};
	unsigned int nb = 0;
	uint32_t seed = 1;

	for (unsigned long round = 0; round < rounds; round++) {
		uint32_t num = (seed = seed * 1664525 + 1013904223) >> 26;
		unsigned int most = round / 512 % 3 == 0 ? SIZE : QPS / 2; /* now full, now nearly empty */

		if (there[num])
			plx_op_shared_leave(&shared, num);
		else if (nb < most)
			join(num);
		else
			continue;
		nb += there[num] ? -1 : 1;
		there[num] = !there[num];
		for (uint32_t i = 0; i < 4 * SIZE; i++)
			assert_int_equal(is_there(i), there[i]);
		for (uint32_t i = 0; i < SIZE; i++)
			assert_true(shared.who[i].qp_num == PLX_OP_SHARED_LEFT ? is_crossed(i) :
				    shared.who[i].qp_num != PLX_OP_SHARED_FREE || !is_crossed(i));
	}
}

static bool stop;

/** Numbers come and go before 5 + SIZE * 2, all of which it is found past now and then. */
static void *
come_and_go(void *arg)
{
	static const uint32_t others[] = {5, 5 + SIZE, 4, 4 + SIZE, 6, 20, 21, 6 + SIZE};

	for (unsigned int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		uint32_t num = others[i * 5 % NB_OF(others)];

		if (plx_op_shared_join(&shared, num, &queues[0], 0) == -EEXIST)
			plx_op_shared_leave(&shared, num);
	}
	return NULL;
}

/** Those that stay are found, with all that is theirs, whatever happens around them. */
static void
an_owner_looks_up_while_others_come_and_go(void **state)
{
	const unsigned long rounds = plx_test_scale() / 10;
	unsigned long nb_wrong = 0;
	pthread_t thread;

	join(5);
	join(5 + SIZE);
	assert_int_equal(plx_op_shared_join(&shared, 5 + 2 * SIZE, &queues[2], 9), 0);
	plx_op_shared_leave(&shared, 5);
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, come_and_go, NULL), 0);
	for (unsigned long i = 0; i < rounds; i++) {
		struct plx_op_shared_who *who = plx_op_shared_find(&shared, 5 + 2 * SIZE);

		nb_wrong += who == NULL || who->queue != &queues[2] || who->home != 9 || who->nb_held++ != i;
		nb_wrong += plx_op_shared_find(&shared, 5 + 3 * SIZE) != NULL;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(nb_wrong, 0);
}

/* ---- the books ----------------------------------------------------------------------------- */

/** @p op is posted, one of @p nb. */
static void
posted(struct plx_op *op, uint32_t nb)
{
	memset(op, 0, sizeof(*op));
	op->custody = PLX_OP_CUSTODY(1, PLX_OP_POSTED, 0);
	op->queue = &shared.queue;
	shared.queue.head = shared.queue.tail + nb;
}

static void
the_books_are_known_by_the_address_of_their_queue(void **state)
{
	assert_true(plx_op_queue_is_shared(&shared.queue));
	assert_false(plx_op_queue_is_none(&shared.queue));
	assert_ptr_equal(plx_op_shared_of(&shared.queue), &shared);
}

static void
an_op_that_arrives_becomes_its_senders(void **state)
{
	struct plx_op op;

	assert_int_equal(plx_op_shared_join(&shared, 4, &queues[3], 6), 0);
	assert_int_equal(plx_op_shared_join(&shared, 5, &queues[4], PLX_HOME_ANY), 0);
	posted(&op, 2);
	assert_true(plx_op_shared_arrived(&shared, &op, true, 4));
	assert_ptr_equal(op.queue, &queues[3]);
	assert_int_equal(op.custody, PLX_OP_CUSTODY(6, PLX_OP_POSTED, 0));
	assert_int_equal(plx_op_shared_find(&shared, 4)->nb_held, 1);
	assert_int_equal(shared.queue.head - shared.queue.tail, 1);
	posted(&op, 1);
	assert_true(plx_op_shared_arrived(&shared, &op, true, 5)); /* whose home is as the op says */
	assert_int_equal(op.custody, PLX_OP_CUSTODY(1, PLX_OP_POSTED, 0));
	assert_int_equal(plx_op_shared_find(&shared, 5)->nb_held, 1);
	assert_int_equal(nb_asked, 0);
}

static void
with_fewer_posted_than_low_it_is_asked_whether(void **state)
{
	struct plx_op op;

	join(4);
	shared.low = 3;
	posted(&op, 4);
	assert_true(plx_op_shared_arrived(&shared, &op, true, 4));
	assert_int_equal(nb_asked, 0);
	posted(&op, 3); /* and two are left */
	assert_false(plx_op_shared_arrived(&shared, &op, true, 4));
	assert_int_equal(nb_asked, 1);
	assert_int_equal(asked_of->qp_num, 4);
	assert_ptr_equal(op.queue, &shared.queue);
	assert_int_equal(plx_op_shared_find(&shared, 4)->nb_held, 1);
	assert_int_equal(shared.queue.head - shared.queue.tail, 2); /* it came, even so */
	answer = true;
	posted(&op, 3);
	assert_true(plx_op_shared_arrived(&shared, &op, true, 4));
	assert_ptr_equal(op.queue, &queues[0]);
}

static void
an_op_of_no_qp_that_is_there_is_refused(void **state)
{
	struct plx_op op;

	join(4);
	posted(&op, 9);
	assert_false(plx_op_shared_arrived(&shared, &op, true, 5));
	assert_int_equal(nb_asked, 1);
	assert_null(asked_of);
	posted(&op, 9);
	assert_false(plx_op_shared_arrived(&shared, &op, false, 4)); /* the completion does not say */
	assert_int_equal(nb_asked, 2);
	assert_null(asked_of);
	assert_int_equal(plx_op_shared_find(&shared, 4)->nb_held, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
static const struct CMUnitTest tests[] = {
	TEST(numbers_of_qps_that_make_no_sense_are_refused),
	TEST(each_qp_is_found_with_what_it_joined_with),
	TEST(a_number_is_there_once),
	TEST(as_many_join_as_there_are_places),
	TEST(who_is_not_there_may_leave),
	TEST(numbers_that_came_and_went_make_no_look_up_longer),
	TEST(who_is_found_past_one_that_left_stays_found),
	TEST(a_place_before_the_first_of_the_last_is_free_at_once),
	TEST(any_order_of_coming_and_going_keeps_each_found_and_no_more),
	TEST(an_owner_looks_up_while_others_come_and_go),
	TEST(the_books_are_known_by_the_address_of_their_queue),
	TEST(an_op_that_arrives_becomes_its_senders),
	TEST(with_fewer_posted_than_low_it_is_asked_whether),
	TEST(an_op_of_no_qp_that_is_there_is_refused),
};

PLX_TEST_SUITE(op, shared, tests, .lcores = 1);
