/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include "rig.h"

/**
 * @file
 * Submitting from the owner: one chain, credit, partial chains, hold and flush.
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
	conn = rig_conn(&rig, 40, OWNER, true);
	count = (struct rig_count){.rig = &rig};
	err = (struct plx_submit_err){0};
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
put_all(unsigned int from, unsigned int to)
{
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops + from, to - from), to - from);
}

static void
one_burst_is_one_chained_post(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 32, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 32, &err), 32);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, 1);
	assert_int_equal(fake_qp(conn->qp)->largest_post, 32);
	fake_complete(conn->qp, false, 32, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 32);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 32);
}

static void
a_longer_burst_is_posted_in_pieces_and_in_order(void **state)
{
	uint64_t ids[40];

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 40, &count);
	for (unsigned int i = 0; i < 40; i++)
		ids[i] = plx_op_id(ops[i]);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 40, &err), 40);
	assert_memory_equal(fake_qp(conn->qp)->sq.wr_ids, ids, sizeof(ids));
}

static void
nothing_to_submit_is_nothing_done(void **state)
{
	assert_int_equal(plx_conn_submit_burst(conn, ops, 0, &err), 0);
	assert_int_equal(err.code, 0);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 0);
}

static void
beyond_the_granted_depth_is_not_taken_until_something_completes(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 50, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 50, &err), 40);
	assert_int_equal(err.code, -EAGAIN);
	assert_int_equal(err.index, 40);
	assert_int_equal(err.got, 10);
	assert_int_equal(err.limit, 40);
	assert_int_equal(ops[40]->state, PLX_OP_PREPARED);
	fake_complete(conn->qp, false, 3, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 40, 10, &err), 3);
	put_all(43, 50);
}

static void
a_partial_chain_is_accounted_exactly(void **state)
{
	rig.dev->fail_post_at = 6;
	rig.dev->fail_post_errno = -ENOMEM;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 16, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 16, &err), 5);
	assert_int_equal(err.code, -ENOMEM);
	assert_int_equal(err.index, 5);
	for (unsigned int i = 5; i < 16; i++) {
		assert_int_equal(ops[i]->state, PLX_OP_PREPARED);
		assert_int_equal(ops[i]->device_word, 0);
	}
	/* The rest can be submitted unchanged, and credit is exact: 35 fit. */
	assert_int_equal(plx_conn_submit_burst(conn, ops + 5, 11, &err), 11);
	assert_int_equal(plx_op_queue_room(&conn->sq), 24);
	fake_complete(conn->qp, false, 16, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 16);
}

/* Whatever way a backend has of saying it; on the owner, and queued. */
static void
a_post_that_fails_is_told_as_minus_errno(void **state)
{
	static const struct {
		int said, with_errno, told;
	} ways[] = {{-EIO, 0, -EIO}, {EIO, 0, -EIO}, {-1, ENOSPC, -ENOSPC}, {-1, 0, -EPERM}, {0, 0, -EIO}};

	for (unsigned int i = 0; i < NB_OF(ways); i++) {
		rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
		for (int held = 0; held < 2; held++) {
			rig.dev->fail_post_at = 1;
			rig.dev->fail_post_errno = ways[i].said;
			errno = ways[i].with_errno;
			if (held == 0) {
				assert_int_equal(plx_conn_submit_burst(conn, ops, 1, &err), 0);
				assert_int_equal(err.code, ways[i].told);
			} else {
				assert_int_equal(plx_conn_hold_burst(conn, ops, 1, &err), 1);
				assert_int_equal(plx_conn_flush(conn), ways[i].told);
			}
		}
	}
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_POST_FAILED], NB_OF(ways));
}

/* case 2.12: the provider says no, and has the WR all the same; and the op is submitted again at once */
static void
a_refused_op_has_another_id_than_what_the_device_may_have(void **state)
{
	uint64_t denied;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	denied = plx_op_id(ops[0]);
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = -EIO;
	assert_int_equal(plx_conn_submit(conn, ops[0]), -EIO);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	assert_int_not_equal(plx_op_id(ops[0]), denied);
	plx_dispatcher_deliver(rig.d, denied, PLX_ST_SUCCESS, 0, 0, 0);
	assert_int_equal(count.calls, 0); /* its own has not come */
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 1);
}

static void
ops_behind_a_refused_one_stay_the_callers(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 8, &count);
	ops[3]->attention |= PLX_OP_BAD_RIGHTS;
	assert_int_equal(plx_conn_submit_burst(conn, ops, 8, &err), 3);
	assert_int_equal(err.code, -EACCES);
	assert_int_equal(err.index, 3);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 3);
	put_all(3, 8);
}

static void
the_providers_error_of_an_earlier_op_goes_before_ours_of_a_later(void **state)
{
	rig.dev->fail_post_at = 2;
	rig.dev->fail_post_errno = -EIO;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 8, &count);
	ops[3]->attention |= PLX_OP_BAD_RIGHTS;
	assert_int_equal(plx_conn_submit_burst(conn, ops, 8, &err), 1);
	assert_int_equal(err.code, -EIO);
	assert_int_equal(err.index, 1);
	put_all(1, 8);
}

static void
complete_at_once(struct fake_qp *qp, uint64_t wr_id)
{
	plx_dispatcher_deliver(rig.d, wr_id, PLX_ST_SUCCESS, 0, 0, 0);
	qp->sq.tail++;
}

static void
a_completion_during_the_post_waits_until_submit_has_returned(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 4, &count);
	rig.dev->on_post = complete_at_once;
	assert_int_equal(plx_conn_submit_burst(conn, ops, 4, &err), 4);
	assert_int_equal(count.calls, 0);
	rig.dev->on_post = NULL;
	rig_turn(&rig);
	assert_int_equal(count.calls, 4);
	assert_int_equal(plx_op_queue_room(&conn->sq), 40);
}

static void
held_ops_are_posted_with_the_next_submit_as_one_chain(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 10, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 6, &err), 6);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, 0);
	assert_int_equal(plx_conn_submit(conn, ops[0]), -EBUSY); /* taken is taken */
	assert_int_equal(plx_conn_submit_burst(conn, ops + 6, 4, &err), 4);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, 1);
	assert_int_equal(fake_qp(conn->qp)->largest_post, 10);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(fake_qp(conn->qp)->sq.wr_ids[i], plx_op_id(ops[i]));
}

static void
flush_posts_what_is_held(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 6, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 6, &err), 6);
	assert_int_equal(plx_conn_flush(conn), 0);
	assert_int_equal(fake_qp(conn->qp)->largest_post, 6);
	assert_int_equal(plx_op_queue_room(&conn->sq), 34); /* the fast path is open again */
	assert_int_equal(plx_conn_flush(conn), 0);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, 1);
}

static void
no_more_is_held_than_one_chain(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 33, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 33, &err), 32);
	assert_int_equal(err.code, -EAGAIN);
	assert_int_equal(err.index, 32);
	/* A submit that finds the chain full posts it, and then its own. */
	assert_int_equal(plx_conn_submit_burst(conn, ops + 32, 1, &err), 1);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 33);
}

static void
a_held_op_whose_post_fails_has_a_status_of_its_own(void **state)
{
	struct plx_result res;

	count.keep = true;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 3, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 3, &err), 3);
	rig.dev->fail_post_at = 2;
	rig.dev->fail_post_errno = -ENOMEM;
	assert_int_equal(plx_conn_flush(conn), -ENOMEM);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_POST_FAILED], 2);
	plx_op_result(ops[2], &res);
	assert_int_equal(res.post_errno, -ENOMEM);
	assert_ptr_equal(res.conn, conn);
	put_all(1, 3);
	count.keep = false;
}

static void
before_ready_receives_are_taken_and_sends_are_not(void **state)
{
	struct plx_conn *idle = rig_conn(&rig, 8, OWNER, false);
	struct plx_qp_addr addr;

	rig_ops(&rig, PLX_OPCODE_RECV, ops, 1, &count);
	rig_ops(&rig, PLX_OPCODE_SEND, ops + 1, 1, &count);
	assert_int_equal(plx_conn_submit(idle, ops[0]), 0);
	assert_int_equal(plx_conn_submit(idle, ops[1]), -ENOTCONN);
	assert_int_equal(plx_conn_local_attr(idle, &addr), 0);
	assert_int_equal(plx_conn_bring_up(idle, &addr), 0);
	assert_int_equal(plx_conn_bring_up(idle, &addr), -EISCONN);
	assert_int_equal(plx_conn_submit(idle, ops[1]), 0);
	rig_close(&rig, idle);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 2);
}

/* case 1.10 */
static void
enomem_comes_from_a_full_queue_alone_and_the_op_can_be_retried(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 41, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 41, &err), 40);
	assert_int_equal(err.code, -EAGAIN); /* by our books; the provider was not even asked */
	assert_int_equal(fake_qp(conn->qp)->sq.head, 40);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(plx_conn_submit(conn, ops[40]), 0);
}

/** Let the counters of a queue stand where a few more posts wrap them; the slots are found by their low bits. */
static void
near_the_end(struct plx_op_queue *q, uint32_t left)
{
	q->head = q->tail = 0 - left;
}

static void
counters_that_wrap_change_nothing(void **state)
{
	struct plx_conn_stats stats;

	near_the_end(&conn->sq, 10);
	near_the_end(&conn->rq, 3);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 50, &count);
	rig.dev->fail_post_at = 16; /* the chain of 32 ends behind the wrap */
	rig.dev->fail_post_errno = -ENOMEM;
	assert_int_equal(plx_conn_submit_burst(conn, ops, 32, &err), 15);
	assert_int_equal(conn->sq.head, 5);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 15, 35, &err), 25);
	assert_int_equal(err.code, -EAGAIN);
	assert_int_equal(err.index, 25);
	assert_int_equal(err.got, 10);
	assert_int_equal(plx_op_queue_room(&conn->sq), 0);
	fake_complete(conn->qp, false, 8, PLX_ST_SUCCESS);
	fake_lose(conn->qp, false); /* the last but one before the wrap, overtaken behind it */
	fake_complete(conn->qp, false, 31, PLX_ST_SUCCESS);
	rig_turn(&rig);
	rig_turn(&rig);
	plx_conn_stats(conn, &stats);
	assert_int_equal(stats.lost, 1);
	assert_int_equal(stats.in_flight, 0);
	assert_int_equal(count.calls, 39);
	assert_int_equal(plx_op_queue_room(&conn->sq), 40);
	put_all(40, 50);
	rig_ops(&rig, PLX_OPCODE_RECV, ops, 8, &count);
	assert_int_equal(plx_conn_recv_burst(conn, ops, 8, &err), 8);
	fake_complete(conn->qp, true, 5, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 44);
	assert_int_equal(plx_op_queue_room(&conn->rq), 37);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(one_burst_is_one_chained_post),
	CASE(a_longer_burst_is_posted_in_pieces_and_in_order),
	CASE(nothing_to_submit_is_nothing_done),
	CASE(beyond_the_granted_depth_is_not_taken_until_something_completes),
	CASE(a_partial_chain_is_accounted_exactly),
	CASE(a_post_that_fails_is_told_as_minus_errno),
	CASE(a_refused_op_has_another_id_than_what_the_device_may_have),
	CASE(ops_behind_a_refused_one_stay_the_callers),
	CASE(the_providers_error_of_an_earlier_op_goes_before_ours_of_a_later),
	CASE(a_completion_during_the_post_waits_until_submit_has_returned),
	CASE(held_ops_are_posted_with_the_next_submit_as_one_chain),
	CASE(flush_posts_what_is_held),
	CASE(no_more_is_held_than_one_chain),
	CASE(a_held_op_whose_post_fails_has_a_status_of_its_own),
	CASE(before_ready_receives_are_taken_and_sends_are_not),
	CASE(counters_that_wrap_change_nothing),
	CASE(enomem_comes_from_a_full_queue_alone_and_the_op_can_be_retried),
};

PLX_TEST_SUITE(conn, submit, tests, .lcores = 3);
