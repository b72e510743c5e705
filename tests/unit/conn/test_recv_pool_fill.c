/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include <rte_errno.h>

#include "pool_rig.h"

/**
 * @file
 * Receives that the device refuses: offered again, and in no two hands.
 */

static struct rig rig;

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	return 0;
}

static int
unmake(void **state)
{
	rig_break(&rig);
	return 0;
}

static void
refuse_one(bool deny)
{
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = -ENOMEM;
	rig.dev->deny_posts = deny;
}

static void
a_pool_whose_first_receives_are_refused_is_not_made(void **state)
{
	rig.dev->fail_post_at = 3;
	rig.dev->fail_post_errno = -EIO;
	assert_null(pool_try(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 8}));
	assert_int_equal(rte_errno, EIO);
	assert_int_equal(rig.cq->reserved, 0);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
}

static void
the_last_receive_is_offered_each_turn_until_the_device_takes_it(void **state)
{
	struct plx_conn *conn;

	pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 1});
	conn = rig_conn(&rig, 4, OWNER, true);
	pool_messages(&rig, conn, 1);
	refuse_one(false);
	pool_give(&rig, 1);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_int_equal(pool_stats(&rig).post_errors, i);
		assert_int_equal(pool_stats(&rig).posted, 0);
		if (i < 3)
			refuse_one(false);
		rig_turn(&rig);
	}
	assert_int_equal(pool_stats(&rig).posted, 1);
	pool_messages(&rig, conn, 1);
	pool_give(&rig, 1);
	rig_close(&rig, conn);
	pool_break(&rig);
}

/** No receive stands on the SRQ twice, under whatever id. */
static void
no_buffer_is_posted_twice(struct plx_conn *conn)
{
	const struct fake_queue *q = &fake_srq(conn->qp->srq)->q;

	for (uint32_t a = q->tail; a != q->head; a++)
		for (uint32_t b = q->tail; b != a; b++)
			assert_int_not_equal((uint32_t)q->wr_ids[a % FAKE_DEPTH], (uint32_t)q->wr_ids[b % FAKE_DEPTH]);
}

static void
a_receive_that_a_device_has_though_it_refused_it_is_in_no_two_hands(void **state)
{
	struct plx_dispatcher_stats stats;
	struct plx_conn *conn;

	pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 4, .low_water = 4});
	conn = rig_conn(&rig, 4, OWNER, true);
	pool_messages(&rig, conn, 4);
	refuse_one(true);
	pool_give(&rig, 4);
	for (unsigned int i = 0; i < 4; i++)
		rig_turn(&rig);
	no_buffer_is_posted_twice(conn);
	assert_int_equal(pool_stats(&rig).posted, 3);
	assert_int_equal(pool_stats(&rig).unposted, 1);
	assert_true(fake_arrive(conn->qp, PLX_ST_SUCCESS)); /* into the one that nobody waits for */
	for (unsigned int i = 0; i < 4; i++) {
		pool_messages(&rig, conn, 1);
		no_buffer_is_posted_twice(conn);
		pool_give(&rig, 1);
	}
	assert_int_equal(pool_stats(&rig).posted, 4); /* the device has been through its queue: it serves again */
	pool_messages(&rig, conn, 4);
	plx_dispatcher_stats(rig.d, &stats);
	assert_int_equal(stats.stale, 1);
	assert_int_equal(stats.duplicate, 0);
	pool_give(&rig, 4);
	rig_close(&rig, conn);
	pool_break(&rig);
}

static void
a_connection_gets_the_receives_that_its_device_refused_in_the_next_turn(void **state)
{
	struct plx_conn *conn;

	pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 4, .no_srq = true, .per_conn = 4, .max_conns = 1});
	refuse_one(false);
	conn = rig_conn(&rig, 4, OWNER, true);
	assert_int_equal(pool_posted_on(conn), 0);
	rig_turn(&rig);
	assert_int_equal(pool_posted_on(conn), 4);
	fake_complete(conn->qp, true, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(rig.hand.nb, 4);
	refuse_one(false);
	pool_give(&rig, 4);
	rig_turn(&rig);
	assert_int_equal(pool_posted_on(conn), 4);
	assert_int_equal(pool_stats(&rig).post_errors, 2);
	rig_close(&rig, conn);
	pool_break(&rig);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(a_pool_whose_first_receives_are_refused_is_not_made),
	CASE(the_last_receive_is_offered_each_turn_until_the_device_takes_it),
	CASE(a_receive_that_a_device_has_though_it_refused_it_is_in_no_two_hands),
	CASE(a_connection_gets_the_receives_that_its_device_refused_in_the_next_turn),
};

PLX_TEST_SUITE(conn, recv_pool_fill, tests, .lcores = 3);
