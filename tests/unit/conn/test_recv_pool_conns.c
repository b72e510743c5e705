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
 * Connections of a receive pool on the fake device: how they come and go, and which of them gets receives of its own first.
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

static const struct plx_recv_pool_conf two_of_four = {.nb_recvs = 8, .no_srq = true, .per_conn = 4, .max_conns = 2};

/** A connection whose receives are all with the application closes: @p n more lack theirs then, and are returned. */
static void
lacking_all(struct plx_conn **conns, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		conns[i] = rig_conn(&rig, 4, OWNER, true);
		assert_int_equal(pool_posted_on(conns[i]), 4);
		fake_complete(conns[i]->qp, true, 4, PLX_ST_SUCCESS);
		rig_turn(&rig);
	}
	assert_int_equal(rig.hand.nb, 4 * n);
	for (unsigned int i = 0; i < n; i++)
		rig_close(&rig, conns[i]);
	for (unsigned int i = 0; i < n; i++) {
		conns[i] = rig_conn(&rig, 4, OWNER, true);
		assert_int_equal(pool_posted_on(conns[i]), 0);
	}
}

static void
close_all(struct plx_conn **conns, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		rig_close(&rig, conns[i]);
	pool_break(&rig);
}

static void
who_lacks_receives_first_gets_them_first(void **state)
{
	struct plx_conn *conns[2];

	pool_make(&rig, &two_of_four);
	lacking_all(conns, 2);
	pool_give(&rig, 3);
	assert_int_equal(pool_posted_on(conns[0]), 3);
	assert_int_equal(pool_posted_on(conns[1]), 0);
	pool_give(&rig, 3);
	assert_int_equal(pool_posted_on(conns[0]), 4);
	assert_int_equal(pool_posted_on(conns[1]), 2);
	pool_give(&rig, 2);
	assert_int_equal(pool_posted_on(conns[1]), 4);
	assert_int_equal(rig.recv_pool->nb_lacking, 0);
	close_all(conns, 2);
}

static void
who_goes_while_it_lacks_receives_is_forgotten(void **state)
{
	struct plx_conn *conns[2];

	pool_make(&rig, &two_of_four);
	lacking_all(conns, 2);
	rig_close(&rig, conns[0]);
	assert_int_equal(rig.recv_pool->nb_lacking, 1);
	pool_give(&rig, 8);
	assert_int_equal(pool_posted_on(conns[1]), 4);
	assert_int_equal(pool_stats(&rig).unposted, 4);
	close_all(&conns[1], 1);
}

static void
there_are_no_more_connections_than_receives_for_them(void **state)
{
	struct plx_conn *conns[2];

	pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 11, .no_srq = true, .per_conn = 4, .max_conns = 8});
	for (unsigned int i = 0; i < 2; i++)
		conns[i] = rig_conn(&rig, 4, OWNER, true);
	assert_null(rig_conn(&rig, 4, OWNER, true));
	assert_int_equal(rte_errno, ENOSPC);
	rig_close(&rig, conns[0]);
	assert_int_equal(pool_stats(&rig).unposted, 7); /* three that nobody gets, four that were flushed */
	conns[0] = rig_conn(&rig, 4, OWNER, true);
	assert_int_equal(pool_posted_on(conns[0]), 4);
	close_all(conns, 2);
}

static void
a_connection_that_is_made_elsewhere_gets_its_receives_in_the_owners_turn(void **state)
{
	struct plx_conn *conn;

	pool_make(&rig, &two_of_four);
	plx_test_as_lcore(WORKER);
	conn = rig_conn(&rig, 4, OWNER, true);
	plx_test_as_lcore(OWNER);
	assert_int_equal(pool_posted_on(conn), 0);
	rig_turn(&rig);
	assert_int_equal(pool_posted_on(conn), 4);
	close_all(&conn, 1);
}

/** The device numbers its QPs anew: which of the two a message that comes back was for nobody could say. */
static void
a_number_is_not_anothers_while_messages_of_its_last_bearer_are_held(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		struct plx_recv_pool_conf conf = two_of_four;
		struct plx_conn *conn;

		conf.no_srq = srq == 0;
		rig.dev->next_qp_num = 500;
		pool_make(&rig, &conf);
		conn = rig_conn(&rig, 4, OWNER, true);
		if (srq != 0)
			pool_messages(&rig, conn, 1);
		else
			fake_complete(conn->qp, true, 1, PLX_ST_SUCCESS);
		rig_close(&rig, conn);
		assert_int_equal(rig.hand.nb, 1);
		rig.dev->next_qp_num = 500;
		conn = rig_conn(&rig, 4, OWNER, true);
		assert_int_equal(conn->sq.qp_num, 501);
		pool_give(&rig, 1);
		rig_close(&rig, conn);
		rig.dev->next_qp_num = 500;
		conn = rig_conn(&rig, 4, OWNER, true);
		assert_int_equal(conn->sq.qp_num, 500);
		close_all(&conn, 1);
	}
}

/** Its receives are the pool's doing: they serve others then, who lack some. */
static void
a_connection_that_had_no_op_but_its_pools_is_destroyed(void **state)
{
	struct plx_conn *conns[2];

	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		pool_make(&rig, &two_of_four);
		lacking_all(conns, 2);
		assert_int_equal(plx_conn_destroy(conns[0]), -EBUSY); /* it is READY */
		rig_close(&rig, conns[0]);
		conns[0] = rig_conn(&rig, 4, OWNER, false);
		pool_give(&rig, 6);
		assert_int_equal(pool_posted_on(conns[1]), 4);
		assert_int_equal(pool_posted_on(conns[0]), 2);
		plx_test_as_lcore(elsewhere != 0 ? WORKER : OWNER);
		rig.dev->fail_destroys = 1;
		assert_int_equal(plx_conn_destroy(conns[0]), -EIO);
		plx_test_as_lcore(OWNER);
		pool_give(&rig, 1);
		assert_int_equal(pool_posted_on(conns[0]), 3); /* it is as it was */
		rig_close(&rig, conns[1]);
		conns[1] = rig_conn(&rig, 4, OWNER, true);
		plx_test_as_lcore(elsewhere != 0 ? WORKER : OWNER);
		assert_int_equal(plx_conn_destroy(conns[0]), 0);
		plx_test_as_lcore(OWNER);
		rig_turn(&rig);
		assert_int_equal(pool_stats(&rig).unposted, 3);
		pool_give(&rig, 1);
		close_all(&conns[1], 1);
	}
}

static void
who_lacks_receives_gets_those_of_one_that_is_destroyed(void **state)
{
	struct plx_conn *conns[2];

	pool_make(&rig, &two_of_four);
	conns[0] = rig_conn(&rig, 4, OWNER, true);
	fake_complete(conns[0]->qp, true, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	rig_close(&rig, conns[0]);
	conns[0] = rig_conn(&rig, 4, OWNER, false); /* has all that there are */
	conns[1] = rig_conn(&rig, 4, OWNER, true);
	assert_int_equal(pool_posted_on(conns[1]), 0);
	assert_int_equal(plx_conn_destroy(conns[0]), 0);
	assert_int_equal(pool_posted_on(conns[1]), 4);
	assert_int_equal(rig.recv_pool->nb_dead, 1); /* the one whose messages are held */
	pool_give(&rig, 4);
	close_all(&conns[1], 1);
}

/** Whether it has room or not, on the owner or elsewhere. */
static void
a_receive_of_ones_own_is_refused(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		struct plx_recv_pool_conf conf = two_of_four;
		struct rig_count count = {0};
		struct plx_conn *conn;
		struct plx_op *op;

		conf.no_srq = srq == 0;
		pool_make(&rig, &conf);
		conn = rig_conn(&rig, 4, OWNER, true);
		rig_ops(&rig, PLX_OPCODE_RECV, &op, 1, &count);
		assert_int_equal(plx_conn_submit(conn, op), -ENOTSUP);
		if (srq == 0)
			fake_complete(conn->qp, true, 1, PLX_ST_SUCCESS);
		rig_turn(&rig);
		assert_int_equal(plx_conn_submit(conn, op), -ENOTSUP);
		plx_test_as_lcore(WORKER);
		assert_int_equal(plx_conn_submit(conn, op), -ENOTSUP);
		plx_test_as_lcore(OWNER);
		pool_give(&rig, rig.hand.nb);
		rig_close(&rig, conn);
		plx_op_put(op);
		pool_break(&rig);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(a_connection_of_a_pool_whose_making_fails_leaves_nothing),
	CASE(a_connection_that_closes_lacks_nothing),
	CASE(who_lacks_receives_first_gets_them_first),
	CASE(who_goes_while_it_lacks_receives_is_forgotten),
	CASE(there_are_no_more_connections_than_receives_for_them),
	CASE(a_connection_that_is_made_elsewhere_gets_its_receives_in_the_owners_turn),
	CASE(a_number_is_not_anothers_while_messages_of_its_last_bearer_are_held),
	CASE(a_connection_that_had_no_op_but_its_pools_is_destroyed),
	CASE(who_lacks_receives_gets_those_of_one_that_is_destroyed),
	CASE(a_receive_of_ones_own_is_refused),
};

PLX_TEST_SUITE(conn, recv_pool_conns, tests, .lcores = 3);
