/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_op_queue.h"
#include "plx_op_shared.h"

#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include <rte_memory.h>

#define DEPTH 6 /* not a power of two */

static struct plx_op_queue q __rte_cache_aligned;
static struct plx_op ops[DEPTH];
static unsigned int nb_told;
static struct plx_op *told[DEPTH];
static struct plx_op_list over; /* unsignaled ops that ended */

static void
overtaken(struct plx_op_queue *queue, struct plx_op *op)
{
	told[nb_told++] = op;
}

/* A queue that has been in use for a while: `posts` so far, all over. */
static void
start_at(uint32_t posts)
{
	q.head = q.tail = posts;
	q.overtaken = overtaken;
	q.in_error = false;
	nb_told = 0;
	memset(ops, 0, sizeof(ops));
	memset(&over, 0, sizeof(over));
	for (unsigned int i = 0; i < DEPTH; i++) {
		ops[i].wr.wr_id = i + 1;
		ops[i].wr.flags = PLX_WR_SIGNALED;
	}
}

static int
create(void **state)
{
	int err = plx_op_queue_init(&q, DEPTH, SOCKET_ID_ANY);

	start_at(0);
	return err;
}

static int
destroy(void **state)
{
	plx_op_queue_fini(&q);
	return 0;
}

/* What a post does to the books. */
static void
post(struct plx_op *op)
{
	op->seq = q.head;
	q.slots[q.head++ & q.mask] = op;
}

static void
post_n(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		post(&ops[i]);
}

static bool
retire(struct plx_op *op)
{
	return plx_op_queue_retire(&q, op, &over);
}

static void
room_is_the_depth_less_what_is_posted(void **state)
{
	assert_int_equal(plx_op_queue_room(&q), DEPTH);
	for (unsigned int i = 0; i < DEPTH; i++) {
		post(&ops[i]);
		assert_int_equal(plx_op_queue_room(&q), DEPTH - 1 - i);
	}
	retire(&ops[0]);
	assert_int_equal(plx_op_queue_room(&q), 1);
}

static void
no_more_fit_than_ever_were_posted_until_that_is_noted(void **state)
{
	assert_false(plx_op_queue_fits(&q, 1)); /* the slow path moves the limit */
	post_n(4);
	plx_op_queue_note_most(&q);
	q.limit = q.most;
	assert_int_equal(q.most, 4);
	assert_false(plx_op_queue_fits(&q, 1));
	retire(&ops[0]);
	retire(&ops[1]);
	assert_true(plx_op_queue_fits(&q, 2));
	assert_false(plx_op_queue_fits(&q, 3));
	plx_op_queue_note_most(&q);
	assert_int_equal(q.most, 4);
	q.limit = 0; /* or somebody is before us */
	assert_false(plx_op_queue_fits(&q, 1));
}

static void
queue_is_idle_when_all_is_over(void **state)
{
	assert_true(plx_op_queue_idle(&q));
	post_n(2);
	assert_false(plx_op_queue_idle(&q));
	retire(&ops[0]);
	assert_false(plx_op_queue_idle(&q));
	retire(&ops[1]);
	assert_true(plx_op_queue_idle(&q));
	assert_int_equal(q.nb_lost, 0);
}

/* contract 4.3: a later completion frees the slots of those whose own did not come */
static void
completion_overtakes_the_ops_before_it(void **state)
{
	post_n(5);
	retire(&ops[0]);
	retire(&ops[3]);
	assert_int_equal(plx_op_queue_room(&q), DEPTH - 1);
	assert_int_equal(q.nb_lost, 2);
	assert_int_equal(nb_told, 2);
	assert_ptr_equal(told[0], &ops[1]);
	assert_ptr_equal(told[1], &ops[2]);
	retire(&ops[4]);
	assert_false(plx_op_queue_idle(&q)); /* the lost ones are not settled */
}

/* Its place in the queue is a 32-bit number, and the queue goes on for ever. */
static void
lost_op_is_known_however_many_posts_ago_it_was(void **state)
{
	static const uint32_t laps[] = {100, INT32_MAX, INT32_MAX + UINT32_C(4), UINT32_MAX - 2};

	for (unsigned int i = 0; i < sizeof(laps) / sizeof(laps[0]); i++) {
		start_at(0);
		q.nb_lost = q.nb_recovered = 0;
		post_n(2);
		retire(&ops[1]);
		assert_ptr_equal(q.lost, &ops[0]);
		q.head = q.tail += laps[i];
		for (unsigned int k = 2; k < 5; k++)
			post(&ops[k]);
		retire(&ops[0]);
		assert_int_equal(q.nb_recovered, 1);
		assert_int_equal(q.nb_lost, 1);
		assert_null(q.lost);
		assert_int_equal(plx_op_queue_room(&q), DEPTH - 3);
	}
}

static void
lost_op_whose_completion_comes_after_all_is_settled_then(void **state)
{
	post_n(4);
	retire(&ops[3]);
	retire(&ops[1]); /* from the middle */
	retire(&ops[2]); /* the last */
	assert_int_equal(q.nb_recovered, 2);
	assert_ptr_equal(q.lost, &ops[0]);
	retire(&ops[0]); /* the first */
	assert_int_equal(q.nb_recovered, 3);
	assert_true(plx_op_queue_idle(&q));
	assert_int_equal(plx_op_queue_room(&q), DEPTH);
	/* and the list is whole afterwards */
	post(&ops[4]);
	post(&ops[5]);
	retire(&ops[5]);
	assert_ptr_equal(plx_op_queue_take_unsettled(&q), &ops[4]);
	assert_null(plx_op_queue_take_unsettled(&q));
}

/* contract 1.6: what never completed, in the order in which it was posted */
static void
unsettled_ops_come_oldest_first_lost_ones_before_those_in_flight(void **state)
{
	static const unsigned int expected[] = {0, 1, 2, 4, 5};

	post_n(6);
	retire(&ops[3]);
	for (size_t i = 0; i < NB_OF(expected); i++)
		assert_ptr_equal(plx_op_queue_take_unsettled(&q), &ops[expected[i]]);
	assert_null(plx_op_queue_take_unsettled(&q));
	assert_true(plx_op_queue_idle(&q));
}

/* contract 4.4: what a later completion says of the unsignaled ones before it */
static void
unsignaled_ops_end_with_the_next_completion_in_order(void **state)
{
	post_n(5);
	for (unsigned int i = 0; i < 3; i++) {
		ops[i].wr.flags = PLX_OP_LATE_OK;
		ops[i].wr.opcode = PLX_OPCODE_WRITE;
		ops[i].byte_len = 7 + i; /* as the post left it */
		ops[i].status = ops[i].wc_flags = 0xff;
		plx_op_arm(&ops[i]);
	}
	q.qp_num = 9;
	assert_true(retire(&ops[3]));
	assert_int_equal(over.nb, 3);
	for (unsigned int i = 0; i < 3; i++) {
		struct plx_op *op = plx_op_list_take(&over);

		assert_ptr_equal(op, &ops[i]);
		assert_int_equal(op->device_word, 0);
		assert_int_equal(op->status, PLX_ST_SUCCESS);
		assert_int_equal(op->reported, PLX_OPCODE_WRITE);
		assert_int_equal(op->byte_len, 7 + i);
		assert_int_equal(op->wc_flags, 0);
		assert_int_equal(op->qp_num, 9);
	}
	assert_int_equal(q.nb_implied, 3);
	assert_int_equal(nb_told + q.nb_lost, 0);
	assert_false(retire(&ops[4]));
	assert_true(plx_op_queue_idle(&q));
}

static void
signaled_op_between_unsignaled_ones_is_lost_alone(void **state)
{
	post_n(4);
	ops[0].wr.flags = ops[2].wr.flags = 0;
	assert_true(retire(&ops[3]));
	assert_ptr_equal(plx_op_list_take(&over), &ops[0]);
	assert_ptr_equal(plx_op_list_take(&over), &ops[2]);
	assert_int_equal(nb_told, 1);
	assert_ptr_equal(q.lost, &ops[1]);
	assert_false(retire(&ops[1])); /* late: nothing else is over by that */
	assert_int_equal(q.nb_recovered, 1);
}

/* An error has a completion whatever was asked for (IBA 10.7.3.1), and so has each op behind it. */
static void
unsignaled_op_overtaken_behind_a_failed_one_is_lost(void **state)
{
	post_n(3);
	ops[0].wr.flags = ops[1].wr.flags = 0;
	assert_false(retire(&ops[0]));
	q.in_error = true;
	assert_false(retire(&ops[2]));
	assert_int_equal(over.nb, 0);
	assert_ptr_equal(q.lost, &ops[1]);
}

static void
receives_are_signaled_whatever_their_flags(void **state)
{
	post_n(2);
	ops[0].wr.opcode = ops[1].wr.opcode = PLX_OPCODE_RECV;
	ops[0].wr.flags = ops[1].wr.flags = PLX_OP_LATE_OK;
	assert_int_equal(plx_op_queue_unsignaled_tail(&q), 0);
	assert_false(retire(&ops[1]));
	assert_ptr_equal(q.lost, &ops[0]);
}

static void
the_unsignaled_tail_ends_at_a_signaled_op_or_the_oldest_in_flight(void **state)
{
	start_at(UINT32_MAX - 2);
	post_n(5);
	assert_int_equal(plx_op_queue_unsignaled_tail(&q), 0);
	ops[4].wr.flags = ops[3].wr.flags = ops[1].wr.flags = 0;
	assert_int_equal(plx_op_queue_unsignaled_tail(&q), 2);
	ops[2].wr.flags = 0;
	retire(&ops[0]);
	assert_int_equal(plx_op_queue_unsignaled_tail(&q), 4);
	retire(&ops[4]);
	assert_int_equal(plx_op_queue_unsignaled_tail(&q), 0);
}

static void
counters_wrap_around(void **state)
{
	for (uint32_t before = 0; before <= 5; before++) {
		start_at(UINT32_MAX - before + 1);
		post_n(5);
		assert_int_equal(plx_op_queue_room(&q), DEPTH - 5);
		retire(&ops[0]);
		retire(&ops[3]); /* overtakes across the wrap */
		retire(&ops[1]); /* late across the wrap */
		retire(&ops[4]);
		assert_int_equal(plx_op_queue_room(&q), DEPTH);
		assert_int_equal(nb_told, 2);
		assert_ptr_equal(plx_op_queue_take_unsettled(&q), &ops[2]);
		assert_null(plx_op_queue_take_unsettled(&q));
	}
}

static void
list_is_first_in_first_out(void **state)
{
	struct plx_op_list list = {0};

	assert_null(plx_op_list_take(&list));
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < DEPTH; i++)
			plx_op_list_append(&list, &ops[i]);
		for (unsigned int i = 0; i < DEPTH; i++)
			assert_ptr_equal(plx_op_list_take(&list), &ops[i]);
		assert_null(plx_op_list_take(&list));
	}
}

static void
depth_that_makes_no_sense_is_refused(void **state)
{
	struct plx_op_queue other;

	assert_int_equal(plx_op_queue_init(&other, 0, SOCKET_ID_ANY), -EINVAL);
	assert_int_equal(plx_op_queue_init(&other, (1u << 24) + 1, SOCKET_ID_ANY), -EINVAL);
	assert_int_equal(plx_op_queue_init(&other, UINT32_MAX, SOCKET_ID_ANY), -EINVAL);
}

static void
queue_of_one_takes_one(void **state)
{
	struct plx_op_queue one;

	assert_int_equal(plx_op_queue_init(&one, 1, SOCKET_ID_ANY), 0);
	assert_int_equal(plx_op_queue_room(&one), 1);
	plx_op_queue_fini(&one);
}

static void
shared_queue_of_a_number_of_qps_that_makes_no_sense_is_refused(void **state)
{
	struct plx_op_shared shared;

	plx_test_refusal(plx_op_shared_init(&shared, 0, NULL), -EINVAL, "for 0 QPs; want 1 to 8388608");
	plx_test_refusal(plx_op_shared_init(&shared, (1u << 23) + 1, NULL), -EINVAL, "for 8388609 QPs; want 1 to 8388608");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
static const struct CMUnitTest tests[] = {
	TEST(room_is_the_depth_less_what_is_posted),
	TEST(no_more_fit_than_ever_were_posted_until_that_is_noted),
	TEST(queue_is_idle_when_all_is_over),
	TEST(completion_overtakes_the_ops_before_it),
	TEST(lost_op_is_known_however_many_posts_ago_it_was),
	TEST(lost_op_whose_completion_comes_after_all_is_settled_then),
	TEST(unsettled_ops_come_oldest_first_lost_ones_before_those_in_flight),
	TEST(unsignaled_ops_end_with_the_next_completion_in_order),
	TEST(signaled_op_between_unsignaled_ones_is_lost_alone),
	TEST(unsignaled_op_overtaken_behind_a_failed_one_is_lost),
	TEST(receives_are_signaled_whatever_their_flags),
	TEST(the_unsignaled_tail_ends_at_a_signaled_op_or_the_oldest_in_flight),
	TEST(counters_wrap_around),
	TEST(list_is_first_in_first_out),
	TEST(depth_that_makes_no_sense_is_refused),
	TEST(queue_of_one_takes_one),
	TEST(shared_queue_of_a_number_of_qps_that_makes_no_sense_is_refused),
};

PLX_TEST_SUITE(op, queue, tests, .lcores = 1);
