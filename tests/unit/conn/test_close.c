/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <stdlib.h>

#include "rig.h"

/**
 * @file
 * Closing: from callbacks, twice, with completions lost, with callbacks still on their way; every op settled once.
 */

static struct rig rig;
static struct rig_count count;
static struct plx_op *ops[64];
static struct plx_submit_err err;

static unsigned int nb_lost;

static void
lost(struct plx_conn *conn, const struct plx_op *op, void *arg)
{
	assert_ptr_equal(arg, &rig);
	assert_ptr_equal(plx_op_conn(op), conn);
	assert_int_equal(op->state, PLX_OP_POSTED);
	nb_lost++;
}

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){.lost_cb = lost});
	count = (struct rig_count){.rig = &rig};
	return 0;
}

static int
unmake(void **state)
{
	rig_break(&rig);
	return 0;
}

static void
what_is_in_flight_is_flushed_and_then_the_connection_is_closed(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 10, &count);
	rig_ops(&rig, PLX_OPCODE_RECV, ops + 10, 10, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 10, &err), 10);
	assert_int_equal(plx_conn_recv_burst(conn, ops + 10, 10, &err), 10);
	rig_close(&rig, conn);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 20);
	assert_int_equal(count.calls, 20);
}

static void
verbs_run_on_the_control_thread_only(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true);

	assert_false(pthread_equal(rig.dev->verb_thread, pthread_self()));
	rig.dev->verb_thread = pthread_self();
	rig_close(&rig, conn);
	assert_false(pthread_equal(rig.dev->verb_thread, pthread_self()));
	assert_int_equal(rig.dev->nb_to_error, 1);
}

static void
nothing_is_taken_once_closing(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	assert_int_equal(plx_conn_close(conn), 0);
	assert_int_equal(plx_conn_submit(conn, ops[0]), -ENOTCONN);
	assert_int_equal(plx_conn_destroy(conn), -EBUSY);
	plx_op_put(ops[0]);
	rig_turns_until_closed(&rig, 1);
}

struct closer {
	struct plx_conn *conns[16];
	struct rig_count count;
	unsigned int nb_conns;
	unsigned int closes;
};

/** Close the op's own connection and, at random, one other; count the op. */
static void
close_some(struct plx_op *op, void *arg)
{
	struct closer *closer = arg;
	struct plx_conn *victims[2] = {plx_op_conn(op), closer->conns[(unsigned int)rand() % closer->nb_conns]};

	for (unsigned int i = 0; i < 2; i++) {
		if (victims[i] != NULL && plx_conn_close(victims[i]) == 0)
			closer->closes++;
	}
	rig_done(op, &closer->count);
}

/* case 2.1 */
static void
an_error_completion_whose_callback_closes_inside_the_batch(void **state)
{
	struct closer closer = {.nb_conns = 1};
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true);

	closer.conns[0] = conn;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 8, &count);
	for (unsigned int i = 0; i < 8; i++) {
		ops[i]->cb = close_some;
		ops[i]->arg = &closer;
	}
	assert_int_equal(plx_conn_submit_burst(conn, ops, 8, &err), 8);
	fake_complete(conn->qp, false, 1, PLX_ST_REM_ACCESS_ERR);
	fake_complete(conn->qp, false, 7, PLX_ST_WR_FLUSH_ERR);
	rig_turn(&rig);
	assert_int_equal(rig_nb_destroyed(&rig), 0); /* only marked: nothing goes inside the batch */
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(closer.closes, 1);
	assert_int_equal(closer.count.calls, 8);
	assert_int_equal(closer.count.by_status[PLX_ST_REM_ACCESS_ERR], 1);
	assert_int_equal(closer.count.by_status[PLX_ST_WR_FLUSH_ERR], 7);
}

/* case 2.14 */
static void
connections_that_close_each_other_from_their_callbacks(void **state)
{
	unsigned long rounds = plx_test_scale() / 1000;

	for (unsigned long round = 0; round < rounds; round++) {
		struct closer closer = {.nb_conns = 16};
		unsigned int before = rig.nb_closed;

		srand((unsigned int)round);
		rig.handles = closer.conns;
		rig.nb_handles = 16;
		for (unsigned int i = 0; i < 16; i++) {
			closer.conns[i] = rig_conn(&rig, 8, OWNER, true);
			assert_non_null(closer.conns[i]);
			rig_ops(&rig, PLX_OPCODE_SEND, ops, 8, &count);
			for (unsigned int k = 0; k < 8; k++) {
				ops[k]->cb = close_some;
				ops[k]->arg = &closer;
			}
			assert_int_equal(plx_conn_submit_burst(closer.conns[i], ops, 8, &err), 8);
		}
		for (unsigned int i = 0; i < 16; i++) /* all peers leave at once */
			fake_complete(closer.conns[i]->qp, false, 3, PLX_ST_RETRY_EXC_ERR);
		rig_turns_until_closed(&rig, before + 16);
		rig.nb_handles = 0;
		assert_int_equal(closer.closes, 16);
		assert_int_equal(closer.count.calls, 128);
	}
}

/* case 2.15 */
static void
a_close_asked_for_again_and_again_is_queued_once(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true);

	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_close(conn), 0); /* travels over the lane */
	assert_int_equal(plx_conn_close(conn), -EALREADY);
	plx_test_as_lcore(OWNER);
	assert_int_equal(plx_conn_close(conn), -EALREADY);
	rig_turn(&rig);
	assert_int_equal(plx_conn_close(conn), -EALREADY);
	rig_turns_until_closed(&rig, 1);
	rig_turn(&rig);
	assert_int_equal(rig.nb_closed, 1);
	assert_int_equal(rig.dev->nb_to_error, 1);
	assert_int_equal(rig_nb_destroyed(&rig), 1);
}

/* case 2.4 */
static void
closed_comes_once_after_the_last_callback_at_the_worker(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, WORKER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 3, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 3, &err), 3);
	fake_complete(conn->qp, false, 3, PLX_ST_SUCCESS);
	rig_turn(&rig); /* the three are on their way to the worker */
	assert_int_equal(plx_conn_close(conn), 0);
	assert_int_equal(plx_conn_close(conn), -EALREADY);
	while (rig_nb_destroyed(&rig) == 0)
		rig_turn(&rig);
	for (unsigned int i = 0; i < 1000; i++)
		rig_turn(&rig);
	assert_int_equal(rig.nb_closed, 0); /* the worker has not run yet */
	assert_int_equal(count.calls, 0);
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(count.calls, 3);
	assert_int_equal(rig_nb_destroyed(&rig), 1);
}

static void
a_completion_that_never_comes_is_settled_after_the_qp_is_gone_and_the_cq_empty(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true);

	rig.dev->keep_flushes = true;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 4, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 4, &err), 4);
	assert_int_equal(plx_conn_close(conn), 0);
	while (rig_nb_destroyed(&rig) == 0) {
		assert_int_equal(count.calls, 0);
		rig_turn(&rig);
	}
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 4);
	assert_int_equal(rig.last.conn_lost, 4);
	assert_int_equal(rig.last.lost, 0); /* nothing overtook them */
	assert_int_equal(count.calls, 4);
}

static void
a_completion_left_in_the_cq_past_destroy_still_counts(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true);
	struct plx_wc wc = {.qp_num = conn->sq.qp_num, .status = PLX_ST_SUCCESS};

	rig.dev->keep_flushes = true;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 2, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 2, &err), 2);
	wc.wr_id = plx_op_id(ops[0]);
	assert_int_equal(plx_conn_close(conn), 0);
	while (rig_nb_destroyed(&rig) == 0) /* no poll meanwhile */
		plx_conn_group_once(rig.group);
	fake_cq_push(rig.cq, &wc);
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 1);
}

static void
a_busy_cq_that_is_never_empty_does_not_keep_a_connection_from_closing(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true), *busy = rig_conn(&rig, 64, OWNER, true);
	struct plx_wc foreign = {.wr_id = 0};
	unsigned int turns;

	assert_int_equal(plx_conn_close(conn), 0);
	conn->drain_ms = 1u << 30; /* no help from the clock */
	for (turns = 0; rig.nb_closed == 0 && turns < 10000000; turns++) {
		fake_cq_push(rig.cq, &foreign);
		rig_turn(&rig);
		fake_cq_push(rig.cq, &foreign);
	}
	assert_int_equal(rig.nb_closed, 1);
	assert_int_equal(rig.cq->nb_empty, 0);
	rig_close(&rig, busy);
}

static void
an_overtaken_op_gives_its_credit_back_and_is_settled_at_the_end(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_conn_stats stats;

	nb_lost = 0;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 6, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 4, &err), 4);
	fake_lose(conn->qp, false);
	fake_complete(conn->qp, false, 3, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 3);
	plx_conn_stats(conn, &stats);
	assert_int_equal(stats.lost, 1);
	assert_int_equal(nb_lost, 1);
	assert_int_equal(plx_op_queue_room(&conn->sq), 4); /* the queue does not wedge */
	assert_int_equal(plx_conn_submit_burst(conn, ops + 4, 2, &err), 2);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	rig_close(&rig, conn);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 1);
	assert_int_equal(rig.last.conn_lost, 1);
	assert_int_equal(count.calls, 6);
}

/* case 3.5 */
static void
an_error_completion_with_a_garbage_wr_id_harms_nobody_and_all_is_settled(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true), *other = rig_conn(&rig, 16, OWNER, true);
	struct plx_dispatcher_stats stats;
	struct plx_op *theirs;
	uint64_t garbage[4];

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 8, &count);
	rig_ops(&rig, PLX_OPCODE_SEND, &theirs, 1, &count);
	garbage[0] = 0;				  /* NULL */
	garbage[1] = UINT64_C(0xdeadbeefdeadbeef); /* unaligned nonsense */
	garbage[2] = plx_op_id(ops[7]) - (UINT64_C(1) << 32); /* a node's former life */
	garbage[3] = plx_op_id(theirs);		  /* another QP's node */
	assert_int_equal(plx_conn_submit(other, theirs), 0);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 8, &err), 8);
	for (unsigned int i = 0; i < 4; i++) {
		struct plx_wc wc = {
			.wr_id = garbage[i], .qp_num = conn->sq.qp_num, .status = PLX_ST_LOC_PROT_ERR};

		fake_lose(conn->qp, false);
		fake_cq_push(rig.cq, &wc);
	}
	rig_turn(&rig);
	plx_dispatcher_stats(rig.d, &stats);
	assert_int_equal(stats.foreign, 2);
	assert_int_equal(stats.stale, 1);
	assert_int_equal(stats.misrouted, 1);
	assert_int_equal(count.calls, 0);
	assert_int_equal(theirs->state, PLX_OP_POSTED);
	rig_close(&rig, conn);
	assert_int_equal(count.calls, 8);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 4);
	rig_close(&rig, other);
}

static void
an_idle_connection_that_never_had_an_op_is_just_destroyed(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, false);

	assert_int_equal(plx_conn_destroy(conn), 0);
	assert_int_equal(rig.nb_closed, 0);
}

static void
a_group_with_connections_is_not_destroyed(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true);

	assert_int_equal(plx_conn_group_nb_conns(rig.group), 1);
	assert_int_equal(plx_conn_group_destroy(rig.group), -EBUSY);
	rig_close(&rig, conn);
}

/* Its closed callback destroys it: what the result says of it is a pointer, never a look into it. */
static void
results_can_be_read_when_the_connection_is_gone(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, true);
	struct plx_result res;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 2, NULL);
	rig_ops(&rig, PLX_OPCODE_RECV, ops + 2, 1, NULL);
	for (unsigned int i = 0; i < 3; i++)
		ops[i]->cb = plx_op_polled;
	assert_int_equal(plx_conn_submit_burst(conn, ops, 2, &err), 2);
	assert_int_equal(plx_conn_recv_burst(conn, ops + 2, 1, &err), 1);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_close(&rig, conn);
	for (unsigned int i = 0; i < 3; i++) {
		assert_true(plx_op_is_done(ops[i]));
		plx_op_result(ops[i], &res);
		assert_int_equal(res.status, i == 0 ? PLX_ST_SUCCESS : PLX_ST_WR_FLUSH_ERR);
		assert_ptr_equal(res.conn, conn);
		assert_ptr_equal(plx_op_conn(ops[i]), conn);
	}
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops, 3), 3);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(what_is_in_flight_is_flushed_and_then_the_connection_is_closed),
	CASE(verbs_run_on_the_control_thread_only),
	CASE(nothing_is_taken_once_closing),
	CASE(an_error_completion_whose_callback_closes_inside_the_batch),
	CASE(connections_that_close_each_other_from_their_callbacks),
	CASE(a_close_asked_for_again_and_again_is_queued_once),
	CASE(closed_comes_once_after_the_last_callback_at_the_worker),
	CASE(a_completion_that_never_comes_is_settled_after_the_qp_is_gone_and_the_cq_empty),
	CASE(a_completion_left_in_the_cq_past_destroy_still_counts),
	CASE(a_busy_cq_that_is_never_empty_does_not_keep_a_connection_from_closing),
	CASE(an_overtaken_op_gives_its_credit_back_and_is_settled_at_the_end),
	CASE(an_error_completion_with_a_garbage_wr_id_harms_nobody_and_all_is_settled),
	CASE(an_idle_connection_that_never_had_an_op_is_just_destroyed),
	CASE(results_can_be_read_when_the_connection_is_gone),
	CASE(a_group_with_connections_is_not_destroyed),
};

PLX_TEST_SUITE(conn, close, tests, .lcores = 3);
