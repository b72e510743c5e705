/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include <rte_errno.h>

#include "interpose.h"
#include "pool_rig.h"
#include "recv_pool_internal.h"

/**
 * @file
 * Receive pools on the fake device: what is made and what goes, when all is well and when verbs fail.
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
	interpose_fail_alloc_at = 0;
	rig_break(&rig);
	return 0;
}

/* ---- connections come and go ----------------------------------------------------------------- */

static void
no_connection(int code)
{
	uint32_t reserved = rig.cq->reserved;

	assert_null(rig_conn(&rig, 4, OWNER, false));
	assert_int_equal(rte_errno, code);
	assert_int_equal(rig.cq->reserved, reserved);
	assert_int_equal(plx_conn_group_nb_conns(rig.group), 0);
}

static void
a_connection_of_a_pool_whose_making_fails_leaves_nothing(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		struct plx_conn *conn;

		pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 4, .no_srq = srq == 0, .per_conn = 4, .max_conns = 1});
		rig.dev->fail_port = true;
		no_connection(ENOENT);
		rig.dev->fail_port = false;
		for (unsigned int k = 1; k <= 3; k++) { /* the connection, its send and its receive queue */
			interpose_fail_alloc_at = k;
			no_connection(ENOMEM);
		}
		interpose_fail_alloc_at = 0;
		assert_non_null(conn = rig_conn(&rig, 4, OWNER, true)); /* the place of the only one is free */
		rig_close(&rig, conn);
		pool_break(&rig);
	}
}

/** Each of its receives comes back flushed, and who lacks some is looked for each time. */
static void
a_connection_that_closes_lacks_nothing(void **state)
{
	struct plx_conn *conns[4];
	unsigned int nb_closed = 0;

	pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 16, .no_srq = true, .per_conn = 4, .max_conns = 4});
	for (unsigned int i = 0; i < 4; i++)
		conns[i] = rig_conn(&rig, 4, OWNER, true);
	fake_complete(conns[0]->qp, true, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(plx_conn_close(conns[1]), 0); /* four come back */
	rig_turns_until_closed(&rig, ++nb_closed);
	conns[1] = rig_conn(&rig, 4, OWNER, true); /* which this one has then */
	rig_turn(&rig);
	assert_int_equal(pool_stats(&rig).unposted, 0);
	assert_int_equal(plx_conn_close(conns[0]), 0); /* its four are held */
	rig_turns_until_closed(&rig, ++nb_closed);
	conns[0] = rig_conn(&rig, 4, OWNER, true);
	assert_int_equal(rig.recv_pool->nb_lacking, 1);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(plx_conn_close(conns[i]), 0);
	while (rig.nb_closed < nb_closed + 4) {
		rig_turn(&rig);
		assert_true(rig.recv_pool->nb_lacking <= 1);
		if (pool_stats(&rig).unposted != 0)
			assert_int_equal(rig.recv_pool->nb_lacking, 0);
	}
	pool_give(&rig, 4);
	pool_break(&rig);
}

/* ---- receives that the device refuses ---------------------------------------------------------- */

/** Messages for @p conn, @p n of them; all come. */
static void
messages(struct plx_conn *conn, unsigned int n)
{
	unsigned int before = rig.hand.nb;

	for (unsigned int i = 0; i < n; i++)
		assert_true(fake_arrive(conn->qp, PLX_ST_SUCCESS));
	rig_turn(&rig);
	assert_int_equal(rig.hand.nb, before + n);
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
	messages(conn, 1);
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
	messages(conn, 1);
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
	messages(conn, 4);
	refuse_one(true);
	pool_give(&rig, 4);
	for (unsigned int i = 0; i < 4; i++)
		rig_turn(&rig);
	no_buffer_is_posted_twice(conn);
	assert_int_equal(pool_stats(&rig).posted, 3);
	assert_int_equal(pool_stats(&rig).unposted, 1);
	assert_true(fake_arrive(conn->qp, PLX_ST_SUCCESS)); /* into the one that nobody waits for */
	for (unsigned int i = 0; i < 4; i++) {
		messages(conn, 1);
		no_buffer_is_posted_twice(conn);
		pool_give(&rig, 1);
	}
	assert_int_equal(pool_stats(&rig).posted, 4); /* the device has been through its queue: it serves again */
	messages(conn, 4);
	plx_dispatcher_stats(rig.d, &stats);
	assert_int_equal(stats.stale, 1);
	assert_int_equal(stats.duplicate, 0);
	pool_give(&rig, 4);
	rig_close(&rig, conn);
	pool_break(&rig);
}

static uint32_t
posted_on(struct plx_conn *conn)
{
	return fake_qp(conn->qp)->rq.head - fake_qp(conn->qp)->rq.tail;
}

static void
a_connection_gets_the_receives_that_its_device_refused_in_the_next_turn(void **state)
{
	struct plx_conn *conn;

	pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 4, .no_srq = true, .per_conn = 4, .max_conns = 1});
	refuse_one(false);
	conn = rig_conn(&rig, 4, OWNER, true);
	assert_int_equal(posted_on(conn), 0);
	rig_turn(&rig);
	assert_int_equal(posted_on(conn), 4);
	fake_complete(conn->qp, true, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(rig.hand.nb, 4);
	refuse_one(false);
	pool_give(&rig, 4);
	rig_turn(&rig);
	assert_int_equal(posted_on(conn), 4);
	assert_int_equal(pool_stats(&rig).post_errors, 2);
	rig_close(&rig, conn);
	pool_break(&rig);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(a_connection_of_a_pool_whose_making_fails_leaves_nothing),
	CASE(a_connection_that_closes_lacks_nothing),
	CASE(a_pool_whose_first_receives_are_refused_is_not_made),
	CASE(the_last_receive_is_offered_each_turn_until_the_device_takes_it),
	CASE(a_receive_that_a_device_has_though_it_refused_it_is_in_no_two_hands),
	CASE(a_connection_gets_the_receives_that_its_device_refused_in_the_next_turn),
};

PLX_TEST_SUITE(conn, recv_pool, tests, .lcores = 3);
