/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include "rig.h"

/**
 * @file
 * Ops whose deadline passes wherever they are: in the device, overtaken, waiting, held, on their way from another lcore.
 * A deadline is long past or far away: no test waits for the clock.
 */

#define PAST 1u
#define FAR  (UINT64_MAX - 1)

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
	assert_int_equal(rig.d->deadlines.nb, 0);
	rig_break(&rig);
	return 0;
}

static struct plx_dispatcher_stats
stats(void)
{
	struct plx_dispatcher_stats s;

	plx_dispatcher_stats(rig.d, &s);
	return s;
}

static struct plx_op *
op_with_deadline(enum plx_opcode opcode, uint64_t ns)
{
	struct plx_op *op;

	rig_ops(&rig, opcode, &op, 1, &count);
	plx_op_set_deadline(op, ns);
	return op;
}

/** An op in the device's hands with its deadline passed and told; left to the test if @p keep. */
static struct plx_op *
timed_out(struct plx_conn *conn, enum plx_opcode opcode, bool keep)
{
	struct plx_op *op = op_with_deadline(opcode, PAST);
	unsigned int calls = count.by_status[PLX_ST_TIMED_OUT];

	count.keep = keep;
	assert_int_equal(plx_conn_submit(conn, op), 0);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_TIMED_OUT], calls + 1);
	return op;
}

static void
completion_before_the_deadline_is_one_like_any_other(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_op *op = op_with_deadline(PLX_OPCODE_SEND, FAR);

	assert_int_equal(plx_conn_submit(conn, op), 0);
	assert_int_equal(rig.d->deadlines.nb, 1);
	rig_turn(&rig);
	assert_int_equal(count.calls, 0);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1);
	assert_int_equal(rig.d->deadlines.nb, 0);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	rig_close(&rig, conn);
}

static void
late_completion_and_put_give_the_node_back_whichever_is_first(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);

	for (unsigned int put_first = 0; put_first < 2; put_first++) {
		struct plx_op *op = timed_out(conn, put_first ? PLX_OPCODE_SEND : PLX_OPCODE_RECV, true);
		uint64_t id = plx_op_id(op);

		assert_true(plx_op_in_device(op));
		assert_true(plx_dispatcher_in_device(rig.d, id));
		assert_int_equal(plx_op_again(op), -EBUSY);
		if (put_first)
			assert_int_equal(plx_op_put(op), 0);
		assert_int_equal(plx_op_pool_in_use(rig.d->pool), 1);
		assert_true(plx_dispatcher_in_device(rig.d, id));
		fake_complete(conn->qp, !put_first, 1, PLX_ST_SUCCESS);
		rig_turn(&rig);
		assert_false(plx_dispatcher_in_device(rig.d, id));
		assert_int_equal(plx_op_pool_in_use(rig.d->pool), !put_first);
		if (!put_first) {
			assert_int_equal(op->status, PLX_ST_TIMED_OUT); /* nothing has been written over it */
			assert_int_equal(op->byte_len, 0);
			assert_int_equal(plx_op_put(op), 0);
		}
		assert_int_equal(stats().late, put_first + 1);
	}
	assert_int_equal(count.calls, 2);
	assert_int_equal(stats().delivered, 0);
	assert_int_equal(stats().duplicate + stats().stale, 0);
	rig_close(&rig, conn);
}

static void
op_is_used_again_only_when_the_device_is_done(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_op *op = timed_out(conn, PLX_OPCODE_SEND, true);

	plx_op_prep_send(op, NULL, 0, 0, rig_done, &count); /* does nothing, and submit says so */
	assert_int_equal(op->state, PLX_OP_COMPLETED);
	assert_int_equal(plx_conn_submit(conn, op), -EBUSY);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_false(plx_op_in_device(op));
	assert_int_equal(plx_op_again(op), 0);
	assert_int_equal(op->deadline, 0); /* it was of that use */
	count.keep = false;
	assert_int_equal(plx_conn_submit(conn, op), 0);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1);
	rig_close(&rig, conn);
}

static void
bulk_put_takes_what_the_device_still_has(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 4, &count);
	ops[1] = (plx_op_put(ops[1]), timed_out(conn, PLX_OPCODE_SEND, true));
	assert_int_equal(plx_conn_submit(conn, ops[3]), 0);
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops, 4), 3); /* not the posted one */
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 2);
	count.keep = false;
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	rig_close(&rig, conn);
}

static void
worker_is_told_at_home_and_puts_there(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, WORKER, true);
	struct plx_op *op = op_with_deadline(PLX_OPCODE_SEND, PAST);

	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit(conn, op), 0);
	plx_test_as_lcore(OWNER);
	op = op_with_deadline(PLX_OPCODE_SEND, PAST);
	assert_int_equal(plx_conn_submit(conn, op), 0);
	rig_turn(&rig);
	assert_int_equal(count.calls, 0);
	rig_home_turn(&rig, WORKER);
	assert_int_equal(count.by_status[PLX_ST_TIMED_OUT], 2);
	assert_int_equal(count.lcore, WORKER);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, 1); /* the one that came too late was not posted at all */
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 1);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	rig_close(&rig, conn);
}

static void
abandoned_op_times_out_as_an_orphan(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_op *op = op_with_deadline(PLX_OPCODE_SEND, PAST);

	assert_int_equal(plx_conn_submit(conn, op), 0);
	assert_int_equal(plx_op_abandon(rig.d, op), 0);
	rig_turn(&rig);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 1);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	assert_int_equal(count.calls, 0);
	assert_int_equal(stats().orphans, 1);
	rig_close(&rig, conn);
}

static void
kept_op_is_taken_in_its_burst(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_op *op = op_with_deadline(PLX_OPCODE_SEND, PAST), *taken;

	op->cb = plx_dispatcher_keep;
	op->arg = rig.d;
	assert_int_equal(plx_conn_submit(conn, op), 0);
	rig_turn(&rig);
	/* overtaken meanwhile: its link is the list's that it is kept on */
	fake_lose(conn->qp, false);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(plx_dispatcher_take_burst(rig.d, &taken, 1), 1);
	assert_ptr_equal(taken, op);
	assert_int_equal(op->status, PLX_ST_TIMED_OUT);
	assert_false(plx_op_in_device(op)); /* a later one of the queue came: the device is done */
	assert_int_equal(plx_op_put(op), 0);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	rig_close(&rig, conn);
}

static void
overtaken_op_times_out_and_is_its_holders_alone(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_op *op = op_with_deadline(PLX_OPCODE_SEND, FAR);
	struct plx_wc wc = {.wr_id = plx_op_id(op), .qp_num = conn->sq.qp_num};
	struct plx_conn_stats s;

	count.keep = true;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	assert_int_equal(plx_conn_submit(conn, op), 0);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	fake_lose(conn->qp, false);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	plx_conn_stats(conn, &s);
	assert_int_equal(s.lost, 1);
	op->deadline = PAST; /* it is the only one: order is kept */
	rig_turn(&rig);
	plx_conn_stats(conn, &s);
	assert_int_equal(s.lost, 0);
	assert_int_equal(count.by_status[PLX_ST_TIMED_OUT], 1);
	assert_false(plx_op_in_device(op));
	fake_cq_push(rig.cq, &wc);
	rig_turn(&rig);
	assert_int_equal(stats().duplicate, 1);
	assert_int_equal(plx_op_put(op), 0);
	fake_cq_push(rig.cq, &wc);
	rig_turn(&rig);
	assert_int_equal(stats().stale, 1);
	assert_int_equal(plx_op_put(ops[0]), 0);
	rig_close(&rig, conn);
}

static void
ops_that_wait_for_credit_time_out_and_are_never_posted(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 2, OWNER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 6, &count);
	plx_op_set_deadline(ops[2], FAR);
	plx_op_set_deadline(ops[4], FAR);
	plx_op_set_deadline(ops[5], FAR);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 6, &err), 6);
	plx_test_as_lcore(OWNER);
	rig_turn(&rig);
	assert_int_equal(conn->waiting[0].nb, 4);
	assert_int_equal(rig.d->deadlines.nb, 3);
	ops[4]->deadline = PAST; /* in the middle, then the last, and as a heap in order */
	plx_op_deadlines_remove(&rig.d->deadlines, ops[4]);
	plx_op_deadlines_add(&rig.d->deadlines, ops[4]);
	rig_turn(&rig);
	ops[5]->deadline = PAST;
	plx_op_deadlines_remove(&rig.d->deadlines, ops[5]);
	plx_op_deadlines_add(&rig.d->deadlines, ops[5]);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_TIMED_OUT], 2);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 4); /* no device has those two */
	assert_int_equal(conn->waiting[0].nb, 2);
	assert_int_equal(conn->nb_queued, 2);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(conn->waiting[0].nb, 0);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 4);
	rig_close(&rig, conn);
}

static void
held_op_times_out_and_makes_room(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 2, OWNER, true);

	ops[0] = op_with_deadline(PLX_OPCODE_SEND, PAST);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 1, &err), 1);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_TIMED_OUT], 1);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	assert_int_equal(plx_op_queue_room(&conn->sq), 2);
	assert_int_equal(plx_conn_flush(conn), 0);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, 0);
	rig_close(&rig, conn);
}

static void
refused_post_leaves_no_deadline_behind(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_op *op = op_with_deadline(PLX_OPCODE_SEND, FAR);

	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = -EIO;
	assert_int_equal(plx_conn_submit(conn, op), -EIO);
	assert_int_equal(rig.d->deadlines.nb, 0);
	assert_int_equal(op->deadline, FAR); /* it is as it was */
	assert_int_equal(plx_conn_submit(conn, op), 0);
	assert_int_equal(rig.d->deadlines.nb, 1);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1);
	rig_close(&rig, conn);
}

static void
close_settles_what_has_timed_out_and_what_has_not_once_each(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 8, OWNER, true);

	rig.dev->keep_flushes = true;
	timed_out(conn, PLX_OPCODE_SEND, false);
	timed_out(conn, PLX_OPCODE_RECV, true);
	count.keep = false;
	ops[0] = op_with_deadline(PLX_OPCODE_SEND, FAR);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 3);
	rig_close(&rig, conn);
	assert_int_equal(count.by_status[PLX_ST_TIMED_OUT], 2);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 1);
	assert_int_equal(count.calls, 3);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 1); /* the one that we kept */
	plx_op_put(plx_op_find(rig.d->pool, count.ids[1]));
	assert_int_equal(stats().late, 0);
}

static void
deadline_of_an_op_that_is_posted_or_was_put_is_no_matter(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_op *op = op_with_deadline(PLX_OPCODE_SEND, PAST);

	assert_int_equal(plx_op_put(op), 0); /* prepared, and not wanted */
	rig_ops(&rig, PLX_OPCODE_SEND, &op, 1, &count);
	assert_int_equal(op->deadline, 0);
	assert_int_equal(plx_conn_submit(conn, op), 0);
	plx_op_set_deadline(op, PAST);
	assert_int_equal(op->deadline, 0);
	rig_turn(&rig);
	assert_int_equal(count.calls, 0);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1);
	rig_close(&rig, conn);
}

static unsigned int nb_again;

/** Submits itself again, late already. */
static void
late_again(struct plx_op *op, void *arg)
{
	struct plx_conn *conn = plx_op_conn(op);

	if (nb_again++ >= 3 || plx_op_again(op) != 0) {
		plx_op_put(op);
		return;
	}
	plx_op_set_deadline(op, PAST);
	plx_conn_hold_burst(conn, &op, 1, &err);
}

static void
op_that_is_late_again_and_again_gets_one_callback_a_turn(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);

	nb_again = 0;
	ops[0] = op_with_deadline(PLX_OPCODE_SEND, PAST);
	ops[0]->cb = late_again;
	assert_int_equal(plx_conn_hold_burst(conn, ops, 1, &err), 1);
	for (unsigned int i = 1; i <= 4; i++) {
		rig_turn(&rig);
		assert_int_equal(nb_again, i);
	}
	rig_close(&rig, conn);
}

/** The owner's heap has room for the ops of its pool, no more. */
static void
op_of_another_pool_has_no_deadline_here(void **state)
{
	struct plx_op_pool_conf conf = {.name = "other", .nb_ops = 1, .socket_id = -1};
	struct plx_op_pool *other = plx_op_pool_create(&conf);
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);
	struct plx_op *op;

	assert_non_null(other);
	assert_non_null(op = plx_op_get(other));
	plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
	plx_op_set_deadline(op, FAR);
	assert_int_equal(plx_conn_submit(conn, op), -EINVAL);
	assert_int_equal(rig.d->deadlines.nb, 0);
	assert_int_equal(plx_op_put(op), 0);
	assert_int_equal(plx_op_pool_destroy(other), 0);
	rig_close(&rig, conn);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(completion_before_the_deadline_is_one_like_any_other),
	CASE(late_completion_and_put_give_the_node_back_whichever_is_first),
	CASE(op_is_used_again_only_when_the_device_is_done),
	CASE(bulk_put_takes_what_the_device_still_has),
	CASE(worker_is_told_at_home_and_puts_there),
	CASE(abandoned_op_times_out_as_an_orphan),
	CASE(kept_op_is_taken_in_its_burst),
	CASE(overtaken_op_times_out_and_is_its_holders_alone),
	CASE(ops_that_wait_for_credit_time_out_and_are_never_posted),
	CASE(held_op_times_out_and_makes_room),
	CASE(refused_post_leaves_no_deadline_behind),
	CASE(close_settles_what_has_timed_out_and_what_has_not_once_each),
	CASE(deadline_of_an_op_that_is_posted_or_was_put_is_no_matter),
	CASE(op_that_is_late_again_and_again_gets_one_callback_a_turn),
	CASE(op_of_another_pool_has_no_deadline_here),
};

PLX_TEST_SUITE(conn, deadline, tests, .lcores = 3);
