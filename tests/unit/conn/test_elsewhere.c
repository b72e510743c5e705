/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <pthread.h>

#include "rig.h"

/**
 * @file
 * Submitting from other lcores and from threads that EAL does not know (contract 4.2).
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
	conn = rig_conn(&rig, 8, WORKER, true);
	count = (struct rig_count){.rig = &rig};
	err = (struct plx_submit_err){0};
	plx_test_as_lcore(WORKER);
	return 0;
}

static int
unmake(void **state)
{
	plx_test_as_lcore(OWNER);
	rig_close(&rig, conn);
	rig_break(&rig);
	return 0;
}

static void
taken_means_queued_and_the_owner_posts(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 4, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 4, &err), 4);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 0);
	rig_turn(&rig);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 4);
	assert_int_equal(fake_qp(conn->qp)->largest_post, 4);
	fake_complete(conn->qp, false, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 0); /* not on the owner */
	rig_home_turn(&rig, WORKER);
	assert_int_equal(count.calls, 4);
	assert_int_equal(count.lcore, WORKER);
}

static void
without_credit_ops_wait_at_the_owner_in_order(void **state)
{
	uint64_t ids[20];

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 20, &count);
	for (unsigned int i = 0; i < 20; i++)
		ids[i] = plx_op_id(ops[i]);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 20, &err), 20);
	for (unsigned int done = 0; done < 20; done += 4) {
		rig_turn(&rig);
		assert_true(fake_qp(conn->qp)->sq.head - fake_qp(conn->qp)->sq.tail <= 8);
		fake_complete(conn->qp, false, 4, PLX_ST_SUCCESS);
	}
	rig_turn(&rig);
	rig_home_turn(&rig, WORKER);
	assert_int_equal(count.calls, 20);
	assert_memory_equal(fake_qp(conn->qp)->sq.wr_ids, ids, sizeof(ids));
	assert_memory_equal(count.ids, ids, sizeof(ids));
}

static void
the_owner_does_not_overtake_ops_that_wait(void **state)
{
	struct plx_op *own;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 12, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 12, &err), 12);
	rig_turn(&rig);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	plx_test_as_lcore(OWNER);
	rig_ops(&rig, PLX_OPCODE_SEND, &own, 1, &count);
	assert_int_equal(plx_conn_submit(conn, own), -EAGAIN);
	plx_op_put(own);
}

static void
the_sge_list_may_go_when_submit_returns(void **state)
{
	struct plx_sge list[2] = {{.addr = 1, .length = 3}, {.addr = 2, .length = 4}};

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	plx_op_set_sges(ops[0], list, 2);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	list[0] = list[1] = (struct plx_sge){.addr = 99, .length = 99};
	rig_turn(&rig);
	assert_int_equal(fake_qp(conn->qp)->last_sges[0].length, 3);
	assert_int_equal(fake_qp(conn->qp)->last_sges[1].addr, 2);
}

static void
the_sge_list_of_a_receive_travels_too(void **state)
{
	struct plx_sge list[3] = {{.addr = 1, .length = 3}, {.addr = 2, .length = 4}, {.addr = 3, .length = 5}};

	rig_ops(&rig, PLX_OPCODE_RECV, ops, 2, &count);
	plx_op_set_sges(ops[0], list, 2);
	plx_op_set_sges(ops[1], list, 3);
	assert_int_equal(plx_conn_recv_burst(conn, ops, 2, &err), 1);
	assert_int_equal(err.code, -E2BIG);
	assert_int_equal(err.index, 1);
	assert_int_equal(err.got, 3);
	assert_int_equal(err.limit, 2);
	list[0] = list[1] = (struct plx_sge){.addr = 99, .length = 99};
	rig_turn(&rig);
	assert_int_equal(fake_qp(conn->qp)->last.num_sge, 2);
	assert_int_equal(fake_qp(conn->qp)->last_sges[0].length, 3);
	assert_int_equal(fake_qp(conn->qp)->last_sges[1].addr, 2);
	plx_op_put(ops[1]);
}

static void
a_list_that_the_op_cannot_take_along_is_e2big(void **state)
{
	struct plx_sge list[PLX_OP_SGES + 1] = {[0 ... PLX_OP_SGES] = {.length = 1}};

	conn->cap.send_sge = PLX_OP_SGES + 1;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	plx_op_set_sges(ops[0], list, PLX_OP_SGES + 1);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 1, &err), 0);
	assert_int_equal(err.code, -E2BIG);
	assert_int_equal(err.got, PLX_OP_SGES + 1);
	assert_int_equal(err.limit, PLX_OP_SGES);
	plx_op_put(ops[0]);
}

static void
inline_ops_travel_and_are_checked_at_once(void **state)
{
	static char payload[64];

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 2, &count);
	plx_op_add_flags(ops[0], PLX_WR_INLINE);
	plx_op_prep_send(ops[1], payload, 33, 0, rig_done, &count);
	plx_op_add_flags(ops[1], PLX_WR_INLINE);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 2, &err), 1);
	assert_int_equal(err.code, -ENOBUFS);
	assert_int_equal(err.index, 1);
	assert_int_equal(err.got, 33);
	assert_int_equal(err.limit, 32);
	rig_turn(&rig);
	assert_true(fake_qp(conn->qp)->last.flags & PLX_WR_INLINE);
	plx_op_put(ops[1]);
}

static void
ops_of_both_queues_in_one_lane_go_each_to_its_own(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 12, &count);
	rig_ops(&rig, PLX_OPCODE_RECV, ops + 12, 12, &count);
	for (unsigned int i = 0; i < 12; i++) {
		assert_int_equal(plx_conn_submit(conn, ops[i]), 0);
		assert_int_equal(plx_conn_submit(conn, ops[12 + i]), 0);
	}
	rig_turn(&rig);
	assert_int_equal(conn->waiting[0].nb, 4);
	assert_int_equal(conn->waiting[1].nb, 4);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(fake_qp(conn->qp)->sq.wr_ids[i], plx_op_id(ops[i]));
		assert_int_equal(fake_qp(conn->qp)->rq.wr_ids[i], plx_op_id(ops[12 + i]));
	}
	fake_complete(conn->qp, true, 8, PLX_ST_SUCCESS); /* one queue's credit is not the other's */
	rig_turn(&rig);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 8);
	assert_int_equal(fake_qp(conn->qp)->rq.head, 12);
}

static void
a_bad_op_is_told_at_once_and_not_queued(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 3, &count);
	ops[1]->attention |= PLX_OP_BAD_RANGE;
	assert_int_equal(plx_conn_submit_burst(conn, ops, 3, &err), 1);
	assert_int_equal(err.code, -ERANGE);
	assert_int_equal(err.index, 1);
	assert_int_equal(ops[1]->state, PLX_OP_PREPARED);
	plx_op_put_bulk(rig.d->pool, ops + 1, 2);
}

static void
a_post_that_fails_later_is_post_failed_with_the_errno(void **state)
{
	struct plx_result res;

	count.keep = true;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 2, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 2, &err), 2);
	rig.dev->fail_post_at = 2;
	rig.dev->fail_post_errno = -EIO;
	rig_turn(&rig);
	rig_turn(&rig); /* told in the turn after the post */
	rig_home_turn(&rig, WORKER);
	assert_int_equal(count.calls, 1);
	plx_op_result(ops[1], &res);
	assert_int_equal(res.status, PLX_ST_POST_FAILED);
	assert_int_equal(res.post_errno, -EIO);
	assert_int_equal(res.kind, PLX_OPCODE_SEND);
	plx_op_put(ops[1]);
	count.keep = false;
	assert_int_equal(plx_op_queue_room(&conn->sq), 7);
}

static void
close_completes_queued_and_waiting_ops_as_stopped(void **state)
{
	struct plx_conn *other = rig_conn(&rig, 8, WORKER, true);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 14, &count);
	assert_int_equal(plx_conn_submit_burst(other, ops, 12, &err), 12);
	rig_turn(&rig); /* 8 posted, 4 wait */
	assert_int_equal(plx_conn_close(other), 0);
	assert_int_equal(plx_conn_submit_burst(other, ops + 12, 2, &err), 2); /* behind the close, in the lane */
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(count.by_status[PLX_ST_STOPPED], 6);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 8);
	assert_int_equal(count.calls, 14);
	plx_test_as_lcore(WORKER);
}

static void *
alien(void *arg)
{
	struct plx_submit_err why;

	(void)arg;
	assert_int_equal(rte_lcore_id(), LCORE_ID_ANY);
	return (void *)(uintptr_t)plx_conn_submit_burst(conn, ops, 5, &why);
}

static void
a_thread_that_eal_does_not_know_may_submit(void **state)
{
	pthread_t thread;
	void *taken;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 5, &count);
	assert_int_equal(pthread_create(&thread, NULL, alien, NULL), 0);
	assert_int_equal(pthread_join(thread, &taken), 0);
	assert_int_equal((uintptr_t)taken, 5);
	rig_turn(&rig);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 5);
}

static void
no_more_are_queued_than_the_connection_allows(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 64, &count);
	conn->max_queued = 20;
	assert_int_equal(plx_conn_submit_burst(conn, ops, 30, &err), 20);
	assert_int_equal(err.code, -EAGAIN);
	assert_int_equal(err.index, 20);
	assert_int_equal(err.got, 10);
	assert_int_equal(err.limit, 20);
	assert_int_equal(ops[20]->state, PLX_OP_PREPARED);
	rig_turn(&rig); /* 8 posted: no longer queued */
	assert_int_equal(plx_conn_submit_burst(conn, ops + 20, 44, &err), 8);
	ops[28]->attention |= PLX_OP_BAD_RIGHTS;
	fake_complete(conn->qp, false, 8, PLX_ST_SUCCESS);
	rig_turn(&rig);
	/* A refused op and those behind it give their room back. */
	assert_int_equal(plx_conn_submit_burst(conn, ops + 28, 8, &err), 0);
	assert_int_equal(err.code, -EACCES);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 29, 35, &err), 8);
	plx_op_put(ops[28]);
	plx_op_put_bulk(rig.d->pool, ops + 37, 27);
}

static void
hold_and_flush_are_the_owners(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 1, &err), 0);
	assert_int_equal(err.code, -EPERM);
	assert_int_equal(plx_conn_flush(conn), -EPERM);
	plx_op_put(ops[0]);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(taken_means_queued_and_the_owner_posts),
	CASE(without_credit_ops_wait_at_the_owner_in_order),
	CASE(the_owner_does_not_overtake_ops_that_wait),
	CASE(the_sge_list_may_go_when_submit_returns),
	CASE(the_sge_list_of_a_receive_travels_too),
	CASE(a_list_that_the_op_cannot_take_along_is_e2big),
	CASE(inline_ops_travel_and_are_checked_at_once),
	CASE(ops_of_both_queues_in_one_lane_go_each_to_its_own),
	CASE(a_bad_op_is_told_at_once_and_not_queued),
	CASE(a_post_that_fails_later_is_post_failed_with_the_errno),
	CASE(close_completes_queued_and_waiting_ops_as_stopped),
	CASE(a_thread_that_eal_does_not_know_may_submit),
	CASE(no_more_are_queued_than_the_connection_allows),
	CASE(hold_and_flush_are_the_owners),
};

PLX_TEST_SUITE(conn, elsewhere, tests, .lcores = 3);
