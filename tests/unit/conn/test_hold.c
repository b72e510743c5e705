/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <string.h>

#include "rig.h"

/**
 * @file
 * Hold and flush beside everything else that posts: other lcores, callbacks, a QP in ERR, a close.
 */

static struct rig rig;
static struct plx_conn *conn;
static struct rig_count count;
static struct plx_op *ops[64];
static struct plx_submit_err err;

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	conn = rig_conn(&rig, 8, OWNER, true);
	count = (struct rig_count){.rig = &rig};
	memset(&err, 0x5a, sizeof(err));
	return 0;
}

static int
unmake(void **state)
{
	rig_close(&rig, conn);
	rig_break(&rig);
	return 0;
}

static void
err_is(int code, uint16_t index, uint64_t got, uint64_t limit)
{
	assert_int_equal(err.code, code);
	assert_int_equal(err.index, index);
	assert_int_equal(err.got, got);
	assert_int_equal(err.limit, limit);
}

static void
err_is_untouched(void)
{
	struct plx_submit_err never;

	memset(&never, 0x5a, sizeof(never));
	assert_memory_equal(&err, &never, sizeof(err));
}

static void
held_ops_keep_their_credit_whoever_posts_before_the_flush(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 14, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 6, &err), 6);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 6, 8, &err), 8);
	plx_test_as_lcore(OWNER);
	rig_turn(&rig);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 2);
	assert_int_equal(plx_conn_flush(conn), 0);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 8); /* one flush is enough */
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(fake_qp(conn->qp)->sq.wr_ids[2 + i], plx_op_id(ops[i]));
	fake_complete(conn->qp, false, 8, PLX_ST_SUCCESS);
	rig_turn(&rig);
	fake_complete(conn->qp, false, 6, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 14);
}

static void
the_sge_list_may_go_when_hold_returns(void **state)
{
	struct plx_sge list[2] = {{.addr = 1, .length = 3}, {.addr = 2, .length = 4}};

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	plx_op_set_sges(ops[0], list, 2);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 1, &err), 1);
	list[0] = list[1] = (struct plx_sge){.addr = 99, .length = 99};
	assert_int_equal(plx_conn_flush(conn), 0);
	assert_int_equal(fake_qp(conn->qp)->last_sges[0].length, 3);
	assert_int_equal(fake_qp(conn->qp)->last_sges[1].addr, 2);
}

static void
a_list_that_the_op_cannot_take_along_is_not_held_but_can_be_submitted_behind_held_ones(void **state)
{
	struct plx_sge list[PLX_OP_SGES + 1] = {[0 ... PLX_OP_SGES] = {.length = 1}};

	conn->cap.send_sge = PLX_OP_SGES + 1;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 3, &count);
	plx_op_set_sges(ops[1], list, PLX_OP_SGES + 1);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 3, &err), 1);
	err_is(-E2BIG, 1, PLX_OP_SGES + 1, PLX_OP_SGES);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 1, 2, &err), 2);
	assert_int_equal(fake_qp(conn->qp)->largest_post, 3);
}

static void
what_was_taken_whole_leaves_no_reason(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 7, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 2, &err), 2);
	err_is_untouched();
	assert_int_equal(plx_conn_submit_burst(conn, ops + 2, 2, &err), 2);
	err_is_untouched();
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 4, 3, &err), 3);
	plx_test_as_lcore(OWNER);
	err_is_untouched();
}

static void
what_was_taken_whole_in_two_chains_leaves_no_reason(void **state)
{
	struct plx_conn *deep = rig_conn(&rig, 64, OWNER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 40, &count);
	assert_int_equal(plx_conn_hold_burst(deep, ops, 20, &err), 20);
	assert_int_equal(plx_conn_submit_burst(deep, ops + 20, 20, &err), 20);
	err_is_untouched();
	assert_int_equal(fake_qp(deep->qp)->nb_posts, 2);
	for (unsigned int i = 0; i < 40; i++)
		assert_int_equal(fake_qp(deep->qp)->sq.wr_ids[i], plx_op_id(ops[i]));
	rig_close(&rig, deep);
}

static void
no_credit_to_hold_with_says_how_many_did_not_fit_where(void **state)
{
	struct plx_conn *deep = rig_conn(&rig, 64, OWNER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 35, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 10, &err), 8);
	err_is(-EAGAIN, 8, 2, 8);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 8, 2, &err), 0); /* posts what is held */
	err_is(-EAGAIN, 0, 2, 8);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 8);
	fake_complete(conn->qp, false, 8, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops + 8, 27), 27);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 35, &count);
	assert_int_equal(plx_conn_hold_burst(deep, ops, 35, &err), 32);
	err_is(-EAGAIN, 32, 3, PLX_POST_BURST);
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops + 32, 3), 3);
	rig_close(&rig, deep);
}

/* Who waits for room with the loop alone waits for ever: it is his own ops that take it. */
static void
no_room_to_hold_wants_a_flush_and_no_turn_alone_makes_any(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 9, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 8, &err), 8);
	for (int turn = 0; turn < 100; turn++) {
		rig_turn(&rig);
		assert_int_equal(plx_conn_hold_burst(conn, &ops[8], 1, &err), 0);
		err_is(-EAGAIN, 0, 1, 8);
	}
	assert_int_equal(plx_conn_flush(conn), 0);
	assert_int_equal(plx_conn_hold_burst(conn, &ops[8], 1, &err), 0); /* then progress, as ever */
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(plx_conn_hold_burst(conn, &ops[8], 1, &err), 1);
	assert_int_equal(plx_conn_flush(conn), 0);
	fake_complete(conn->qp, false, 8, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 9);
}

static void
a_refused_op_behind_held_ones_is_told_by_its_place_and_what_was_before_it_is_posted(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 6, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 2, &err), 2);
	ops[4]->attention |= PLX_OP_BAD_RIGHTS;
	assert_int_equal(plx_conn_submit_burst(conn, ops + 2, 4, &err), 2);
	err_is(-EACCES, 2, 0, 0);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 4);
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops + 4, 2), 2);
}

static void
hold_again(struct plx_op *op, void *arg)
{
	rig_done(op, &count);
	rig_ops(&rig, PLX_OPCODE_SEND, &op, 1, &count);
	assert_int_equal(plx_conn_hold_burst(conn, &op, 1, &err), 1);
}

static void
callbacks_of_a_batch_may_hold_and_one_flush_posts_one_chain(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 5, &count);
	for (unsigned int i = 0; i < 5; i++)
		ops[i]->cb = hold_again;
	assert_int_equal(plx_conn_submit_burst(conn, ops, 5, &err), 5);
	fake_complete(conn->qp, false, 5, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, 1);
	assert_int_equal(plx_conn_flush(conn), 0);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, 2);
	assert_int_equal(fake_qp(conn->qp)->largest_post, 5);
}

static void
a_flush_on_a_qp_in_error_flushes_each_held_op_once(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 5, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 5, &err), 5);
	assert_int_equal(plx_qp_to_error(conn->qp), 0); /* the peer is gone, say */
	assert_int_equal(plx_conn_flush(conn), 0);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 5);
	assert_int_equal(conn->sq.head, conn->sq.tail);
	assert_int_equal(plx_conn_state(conn), PLX_CONN_FAILED);
}

static void
a_close_completes_held_ops_as_stopped(void **state)
{
	struct plx_conn *other = rig_conn(&rig, 8, OWNER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 5, &count);
	assert_int_equal(plx_conn_hold_burst(other, ops, 5, &err), 5);
	rig_close(&rig, other);
	assert_int_equal(count.by_status[PLX_ST_STOPPED], 5);
	assert_int_equal(count.calls, 5);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(held_ops_keep_their_credit_whoever_posts_before_the_flush),
	CASE(the_sge_list_may_go_when_hold_returns),
	CASE(a_list_that_the_op_cannot_take_along_is_not_held_but_can_be_submitted_behind_held_ones),
	CASE(what_was_taken_whole_leaves_no_reason),
	CASE(what_was_taken_whole_in_two_chains_leaves_no_reason),
	CASE(no_credit_to_hold_with_says_how_many_did_not_fit_where),
	CASE(no_room_to_hold_wants_a_flush_and_no_turn_alone_makes_any),
	CASE(a_refused_op_behind_held_ones_is_told_by_its_place_and_what_was_before_it_is_posted),
	CASE(callbacks_of_a_batch_may_hold_and_one_flush_posts_one_chain),
	CASE(a_flush_on_a_qp_in_error_flushes_each_held_op_once),
	CASE(a_close_completes_held_ops_as_stopped),
};

PLX_TEST_SUITE(conn, hold, tests, .lcores = 3);
