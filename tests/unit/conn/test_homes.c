/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <string.h>

#include "rig.h"

/**
 * @file
 * Where ops of a connection complete, and ops that their home gives up on wherever they are just then.
 */

static struct rig rig;
static struct rig_count count;
static struct plx_op *ops[64];
static struct plx_submit_err err;

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	count = (struct rig_count){.rig = &rig};
	return 0;
}

static int
unmake(void **state)
{
	plx_test_as_lcore(OWNER);
	rig_break(&rig);
	return 0;
}

static uint64_t
orphans(void)
{
	struct plx_dispatcher_stats stats;

	plx_dispatcher_stats(rig.d, &stats);
	return stats.orphans;
}

static void
an_op_with_a_home_of_its_own_completes_there_and_the_next_use_at_the_connections(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 8, OWNER, true);

	count.keep = true;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	plx_op_set_home(ops[0], WORKER);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 0);
	rig_home_turn(&rig, WORKER);
	assert_int_equal(count.lcore, WORKER);
	plx_op_prep_send(ops[0], NULL, 0, 0, rig_done, &count);
	count.keep = false;
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 2);
	assert_int_equal(count.lcore, OWNER);
	rig_close(&rig, conn);
}

static void
without_a_home_ops_of_all_lcores_complete_on_the_owner(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 8, PLX_HOME_ANY, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 4, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 2, &err), 2);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 2, 2, &err), 2);
	assert_int_equal(plx_op_abandon(rig.d, ops[3]), 0); /* forwarded to the owner */
	plx_test_as_lcore(OWNER);
	rig_turn(&rig);
	fake_complete(conn->qp, false, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 3);
	assert_int_equal(count.lcore, OWNER);
	assert_int_equal(orphans(), 1);
	rig_close(&rig, conn);
}

static void
the_same_op_submitted_on_two_connections_in_turn_counts_on_each(void **state)
{
	struct plx_conn *conns[2] = {rig_conn(&rig, 8, OWNER, true), rig_conn(&rig, 8, WORKER, true)};
	struct plx_result res;

	count.keep = true;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	for (unsigned int i = 0; i < 6; i++) {
		struct plx_conn *conn = conns[i % 2];

		if (i != 0)
			assert_int_equal(plx_op_again(ops[0]), 0);
		plx_test_as_lcore(i % 3 == 0 ? WORKER : OWNER);
		assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
		assert_int_equal(plx_conn_submit(conns[(i + 1) % 2], ops[0]), -EBUSY);
		plx_test_as_lcore(OWNER);
		rig_turn(&rig);
		assert_int_equal(plx_op_queue_room(&conn->sq), 7);
		fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
		rig_turn(&rig);
		rig_home_turn(&rig, WORKER);
		assert_int_equal(count.calls, i + 1);
		plx_op_result(ops[0], &res);
		assert_ptr_equal(res.conn, conn);
		assert_int_equal(res.qp_num, conn->sq.qp_num);
		assert_int_equal(plx_op_queue_room(&conn->sq), 8);
	}
	plx_op_put(ops[0]);
	rig_close(&rig, conns[0]);
	rig_close(&rig, conns[1]);
}

/* case 1.8 */
static void
an_op_in_the_lane_or_posted_is_refused_from_everywhere(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 8, WORKER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	rig_ops(&rig, PLX_OPCODE_SEND, ops + 2, 1, &count);
	ops[1] = ops[0]; /* twice in one burst */
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 3, &err), 1);
	assert_int_equal(err.code, -EBUSY);
	assert_int_equal(err.index, 1);
	assert_int_equal(err.got, PLX_OP_POSTED);
	for (unsigned int turn = 0; turn < 2; turn++) { /* in the lane, then posted */
		assert_int_equal(plx_conn_submit(conn, ops[0]), -EBUSY);
		plx_test_as_lcore(3);
		assert_int_equal(plx_conn_submit(conn, ops[0]), -EBUSY);
		plx_test_as_lcore(OWNER);
		assert_int_equal(plx_conn_submit(conn, ops[0]), -EBUSY);
		rig_turn(&rig);
		plx_test_as_lcore(WORKER);
	}
	assert_int_equal(fake_qp(conn->qp)->sq.head, 1);
	assert_int_equal(conn->nb_queued, 0);
	plx_op_put(ops[2]);
	plx_test_as_lcore(OWNER);
	rig_close(&rig, conn);
	assert_int_equal(count.calls, 1);
}

/** In the lane, waiting for credit, posted: @p n ops of each, 8 posted. All at @p home. */
static struct plx_conn *
spread(unsigned int home)
{
	struct plx_conn *conn = rig_conn(&rig, 8, home, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 16, &count);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 12, &err), 12);
	rig_turn(&rig);
	assert_int_equal(conn->waiting[0].nb, 4);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 12, 4, &err), 4);
	return conn;
}

static void
abandon_every_other(void)
{
	for (unsigned int i = 0; i < 16; i += 2)
		assert_int_equal(plx_op_abandon(rig.d, ops[i]), 0);
}

static void
ops_given_up_in_the_lane_while_waiting_or_posted_come_back_once_with_their_completions(void **state)
{
	static const unsigned int homes[] = {WORKER, OWNER, PLX_HOME_ANY};

	for (unsigned int h = 0; h < NB_OF(homes); h++) {
		struct plx_conn *conn = spread(homes[h]);
		uint64_t before = orphans();

		count.calls = 0;
		abandon_every_other();
		for (unsigned int i = 0; i < 6; i++) {
			rig_turn(&rig);
			fake_complete(conn->qp, false, fake_qp(conn->qp)->sq.head - fake_qp(conn->qp)->sq.tail,
				PLX_ST_SUCCESS);
		}
		rig_home_turn(&rig, WORKER);
		assert_int_equal(count.calls, 8);
		assert_int_equal(orphans() - before, 8);
		assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
		plx_test_as_lcore(OWNER);
		rig_close(&rig, conn);
	}
}

static void
ops_given_up_and_then_closed_over_come_back_once(void **state)
{
	static const unsigned int homes[] = {WORKER, OWNER, PLX_HOME_ANY};

	for (unsigned int h = 0; h < NB_OF(homes); h++) {
		struct plx_conn *conn = spread(homes[h]);
		uint64_t before = orphans();

		count = (struct rig_count){.rig = &rig};
		abandon_every_other();
		plx_test_as_lcore(OWNER);
		rig_close(&rig, conn);
		assert_int_equal(count.calls, 8);
		assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR] + count.by_status[PLX_ST_STOPPED], 8);
		assert_int_equal(orphans() - before, 8);
	}
}

static void
held_ops_may_be_given_up(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 8, WORKER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 8, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 4, &err), 4);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_op_abandon(rig.d, ops[0]), 0);
	assert_int_equal(plx_op_abandon(rig.d, ops[3]), 0);
	plx_test_as_lcore(OWNER);
	assert_int_equal(plx_conn_flush(conn), 0);
	fake_complete(conn->qp, false, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	rig_home_turn(&rig, WORKER);
	assert_int_equal(count.calls, 2);
	assert_int_equal(orphans(), 2);
	assert_int_equal(plx_conn_hold_burst(conn, ops + 4, 4, &err), 4);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_op_abandon(rig.d, ops[5]), 0);
	plx_test_as_lcore(OWNER);
	rig_close(&rig, conn);
	assert_int_equal(count.by_status[PLX_ST_STOPPED], 3);
	assert_int_equal(orphans(), 3);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(an_op_with_a_home_of_its_own_completes_there_and_the_next_use_at_the_connections),
	CASE(without_a_home_ops_of_all_lcores_complete_on_the_owner),
	CASE(the_same_op_submitted_on_two_connections_in_turn_counts_on_each),
	CASE(an_op_in_the_lane_or_posted_is_refused_from_everywhere),
	CASE(ops_given_up_in_the_lane_while_waiting_or_posted_come_back_once_with_their_completions),
	CASE(ops_given_up_and_then_closed_over_come_back_once),
	CASE(held_ops_may_be_given_up),
};

PLX_TEST_SUITE(conn, homes, tests, .lcores = 3);
