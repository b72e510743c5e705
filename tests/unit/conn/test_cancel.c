/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include "rig.h"

#include "plx_op_shared.h"

/**
 * @file
 * Ops that are cancelled wherever they are, from the owner, from their home, and from a thread that has but their id.
 */

#define ALIEN LCORE_ID_ANY

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
	rig_break(&rig);
	return 0;
}

static int
cancel_as(unsigned int lcore, struct plx_conn *conn, uint64_t id)
{
	unsigned int was = plx_test_as_lcore(lcore);
	int code = plx_conn_cancel(conn, id);

	plx_test_as_lcore(was);
	return code;
}

static uint16_t
submit_as(unsigned int lcore, struct plx_conn *conn, struct plx_op **some, uint16_t n)
{
	unsigned int was = plx_test_as_lcore(lcore);
	uint16_t taken = plx_conn_submit_burst(conn, some, n, &err);

	plx_test_as_lcore(was);
	return taken;
}

static void
cancelled_op_is_told_once_and_not_inside_the_call(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_dispatcher_stats s;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	assert_int_equal(plx_conn_cancel(conn, plx_op_id(ops[0])), 0);
	assert_int_equal(plx_conn_cancel(conn, plx_op_id(ops[0])), 0);
	assert_int_equal(count.calls, 0);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_CANCELLED], 1);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 1);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 1);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	plx_dispatcher_stats(rig.d, &s);
	assert_int_equal(s.cancelled, 1);
	assert_int_equal(s.late, 1);
	rig_close(&rig, conn);
}

static void
completion_that_came_first_wins(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, WORKER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	assert_int_equal(submit_as(WORKER, conn, ops, 1), 1);
	rig_turn(&rig);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	assert_int_equal(cancel_as(WORKER, conn, plx_op_id(ops[0])), 0);
	rig_turn(&rig); /* polls first; then the op is on its way home */
	assert_int_equal(cancel_as(WORKER, conn, plx_op_id(ops[0])), 0);
	rig_turn(&rig);
	rig_home_turn(&rig, WORKER);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1);
	assert_int_equal(count.calls, 1);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	rig_close(&rig, conn);
}

static void
home_and_alien_cancel_through_the_owner(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, WORKER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 2, &count);
	assert_int_equal(submit_as(WORKER, conn, ops, 2), 2);
	assert_int_equal(cancel_as(WORKER, conn, plx_op_id(ops[0])), 0); /* behind its op: posted by then */
	rig_turn(&rig);
	assert_int_equal(cancel_as(ALIEN, conn, plx_op_id(ops[1])), 0);
	rig_turn(&rig);
	rig_home_turn(&rig, WORKER);
	assert_int_equal(count.by_status[PLX_ST_CANCELLED], 2);
	assert_int_equal(count.lcore, WORKER);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	rig_home_turn(&rig, WORKER);
	assert_int_equal(count.calls, 2);
	rig_close(&rig, conn);
}

static void
cancel_that_overtakes_its_op_meets_it_when_it_comes(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 3, &count);
	assert_int_equal(submit_as(WORKER, conn, ops, 3), 3);
	assert_int_equal(plx_conn_cancel(conn, plx_op_id(ops[1])), 0); /* still in the lane */
	rig_turn(&rig);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 2); /* it was not posted */
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_CANCELLED], 1);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 2);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 2);
	/* the mark was of that use */
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 3, &count);
	assert_int_equal(submit_as(WORKER, conn, ops, 3), 3);
	rig_turn(&rig);
	fake_complete(conn->qp, false, 3, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 5);
	rig_close(&rig, conn);
}

static void
waiting_and_held_ops_are_cancelled_and_never_posted(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 2, OWNER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 5, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 1, &err), 1);
	assert_int_equal(plx_conn_cancel(conn, plx_op_id(ops[0])), 0);
	assert_int_equal(submit_as(WORKER, conn, ops + 1, 4), 4);
	rig_turn(&rig);
	assert_int_equal(conn->waiting[0].nb, 2);
	assert_int_equal(plx_conn_cancel(conn, plx_op_id(ops[4])), 0);
	assert_int_equal(plx_conn_cancel(conn, plx_op_id(ops[3])), 0);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_CANCELLED], 3);
	assert_int_equal(conn->nb_queued, 0);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 2);
	assert_int_equal(plx_op_queue_room(&conn->sq), 2);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	rig_close(&rig, conn);
}

/** A cancel that comes when its op is on its way home cannot know that: what it leaves goes with the op's next use. */
static void
cancel_that_came_too_late_leaves_nothing(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, WORKER, true);

	count.keep = true;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	for (unsigned int i = 1; i <= 2; i++) {
		assert_int_equal(submit_as(WORKER, conn, ops, 1), 1);
		rig_turn(&rig);
		assert_int_equal(rig.d->nb_marked, 0);
		fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
		rig_turn(&rig);
		assert_int_equal(cancel_as(OWNER, conn, plx_op_id(ops[0])), 0);
		assert_int_equal(rig.d->nb_marked, 1);
		rig_home_turn(&rig, WORKER);
		assert_int_equal(count.by_status[PLX_ST_SUCCESS], i);
		assert_int_equal(plx_op_again(ops[0]), 0);
	}
	assert_int_equal(plx_op_put(ops[0]), 0);
	rig_close(&rig, conn);
}

static void
ids_that_are_over_or_nobodys_harm_nobody(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	uint64_t id;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	id = plx_op_id(ops[0]);
	assert_int_equal(plx_conn_cancel(conn, id), 0); /* prepared: not submitted yet, and not cancelled */
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	assert_int_equal(plx_conn_cancel(conn, 0), -EINVAL);
	assert_int_equal(plx_conn_cancel(conn, UINT64_MAX), -EINVAL);
	assert_int_equal(plx_conn_cancel(conn, id - (UINT64_C(1) << 32)), 0);
	assert_int_equal(plx_conn_cancel(conn, id + (UINT64_C(1) << 32)), 0);
	assert_int_equal(cancel_as(WORKER, conn, id + (UINT64_C(1) << 32)), 0);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1);
	assert_int_equal(plx_conn_cancel(conn, id), 0); /* in the pool */
	rig_turn(&rig);
	assert_int_equal(count.calls, 1);
	rig_close(&rig, conn);
}

struct chain {
	struct plx_conn *conn;
	uint64_t ids[4];
	unsigned int calls;
};

/** Cancels all the others. */
static void
cancel_the_rest(struct plx_op *op, void *arg)
{
	struct chain *chain = arg;

	chain->calls++;
	for (unsigned int i = 0; i < NB_OF(chain->ids); i++)
		assert_int_equal(plx_conn_cancel(chain->conn, chain->ids[i]), 0);
	rig_done(op, &count);
}

/** Of a dispatcher's ops some are no connection's: their books are elsewhere, or nowhere. */
static void
ids_of_ops_that_are_no_connections_change_nothing(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_op_shared srq;
	uint64_t id;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	id = plx_op_id(ops[0]);
	assert_int_equal(plx_dispatcher_posting(rig.d, ops[0]), 0);
	plx_dispatcher_posted(rig.d, ops[0], true);
	assert_int_equal(plx_conn_cancel(conn, id), 0);
	rig_turn(&rig);
	assert_int_equal(count.calls, 0);
	assert_int_equal(plx_dispatcher_deliver(rig.d, id, PLX_ST_SUCCESS, 8, 0, 0), 0);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1);

	assert_int_equal(plx_op_shared_init(&srq, 1, NULL), 0);
	rig_ops(&rig, PLX_OPCODE_RECV, ops, 1, &count);
	plx_op_posted(ops[0], OWNER);
	ops[0]->queue = &srq.queue;
	plx_op_arm(ops[0]);
	assert_int_equal(plx_conn_cancel(conn, plx_op_id(ops[0])), 0);
	rig_turn(&rig);
	assert_int_equal(count.calls, 1);
	plx_dispatcher_fail(rig.d, ops[0], PLX_ST_STOPPED, 0);
	plx_op_shared_fini(&srq);
	rig_close(&rig, conn);
}

/** One that is late is sorted out, and cancels those of its burst that stay. */
static void
callback_may_cancel_what_came_from_elsewhere_beside_it(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct chain chain = {.conn = conn};

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 5, &count);
	for (unsigned int i = 0; i < 4; i++)
		chain.ids[i] = plx_op_id(ops[i]);
	ops[4]->cb = cancel_the_rest;
	ops[4]->arg = &chain;
	plx_op_set_deadline(ops[4], 1);
	assert_int_equal(submit_as(WORKER, conn, ops, 5), 5);
	rig_turn(&rig);
	rig_turn(&rig);
	rig_turn(&rig);
	assert_int_equal(chain.calls, 1);
	assert_int_equal(count.by_status[PLX_ST_TIMED_OUT], 1);
	assert_int_equal(count.by_status[PLX_ST_CANCELLED], 4);
	rig_close(&rig, conn);
}

static void
callback_may_cancel_what_a_close_is_about_to_settle(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 2, OWNER, true);
	struct chain chain = {.conn = conn};

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 6, &count);
	for (unsigned int i = 0; i < 6; i++) {
		ops[i]->cb = cancel_the_rest;
		ops[i]->arg = &chain;
		if (i >= 2)
			chain.ids[i - 2] = plx_op_id(ops[i]);
	}
	assert_int_equal(submit_as(WORKER, conn, ops, 6), 6);
	rig_turn(&rig);
	assert_int_equal(conn->waiting[0].nb, 4);
	rig_close(&rig, conn);
	assert_int_equal(chain.calls, 6);
	assert_int_equal(count.by_status[PLX_ST_STOPPED], 1);
	assert_int_equal(count.by_status[PLX_ST_CANCELLED], 3);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 2);
}

static void
full_lane_takes_no_cancel(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	unsigned int sent = 0;
	uint64_t id;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	id = plx_op_id(ops[0]);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	while (cancel_as(WORKER, conn, id) == 0)
		sent++;
	assert_true(sent > 0);
	assert_int_equal(cancel_as(WORKER, conn, id), -EAGAIN);
	while (plx_conn_group_once(rig.group) != 0)
		;
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_CANCELLED], 1);
	rig_close(&rig, conn);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(cancelled_op_is_told_once_and_not_inside_the_call),
	CASE(completion_that_came_first_wins),
	CASE(home_and_alien_cancel_through_the_owner),
	CASE(cancel_that_overtakes_its_op_meets_it_when_it_comes),
	CASE(waiting_and_held_ops_are_cancelled_and_never_posted),
	CASE(cancel_that_came_too_late_leaves_nothing),
	CASE(ids_that_are_over_or_nobodys_harm_nobody),
	CASE(ids_of_ops_that_are_no_connections_change_nothing),
	CASE(callback_may_cancel_what_came_from_elsewhere_beside_it),
	CASE(callback_may_cancel_what_a_close_is_about_to_settle),
	CASE(full_lane_takes_no_cancel),
};

PLX_TEST_SUITE(conn, cancel, tests, .lcores = 3);
