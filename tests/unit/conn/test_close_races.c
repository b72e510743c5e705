/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include <rte_errno.h>

#include "conn_internal.h"
#include "interpose.h"
#include "rig.h"

/**
 * @file
 * A close meets whatever else is on its way: a bring-up, a submit on another lcore, a post call, callbacks.
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

/** Turns of the owner alone until the QP of a connection is gone. */
static void
turns_until_destroyed(void)
{
	while (rig_nb_destroyed(&rig) == 0)
		plx_conn_group_once(rig.group);
}

/* ---- bring-up ------------------------------------------------------------------------------ */

static void
close_until_the_qp_is_gone(void)
{
	assert_int_equal(plx_conn_close(conn), 0);
	turns_until_destroyed();
}

static void
a_bring_up_that_comes_behind_a_close_does_not_touch_the_qp(void **state)
{
	struct plx_qp_addr addr;

	conn = rig_conn(&rig, 8, OWNER, false);
	assert_int_equal(plx_conn_local_attr(conn, &addr), 0);
	interpose_before_sync = close_until_the_qp_is_gone;
	assert_int_equal(plx_conn_bring_up(conn, &addr), -EISCONN);
	assert_int_equal(plx_conn_state(conn), PLX_CONN_DRAINING);
	rig_turns_until_closed(&rig, 1);
}

static void
the_address_of_a_connection_whose_qp_may_be_gone_is_not_asked_for(void **state)
{
	struct plx_qp_addr addr;

	conn = rig_conn(&rig, 8, OWNER, true);
	close_until_the_qp_is_gone(); /* the owner has not been told yet, perhaps */
	assert_int_equal(plx_conn_local_attr(conn, &addr), -ENOTCONN);
	rig_turns_until_closed(&rig, 1);
}

/* ---- submit elsewhere ------------------------------------------------------------------------ */

static void
close_all_the_way_if_possible(void)
{
	plx_test_as_lcore(OWNER);
	assert_int_equal(plx_conn_close(conn), 0);
	while (rig_nb_destroyed(&rig) == 0)
		rig_turn(&rig);
	for (unsigned int i = 0; i < 100; i++) {
		rig_turn(&rig);
		rig_home_turn(&rig, WORKER);
	}
	assert_int_equal(rig.nb_closed, 0);
	plx_test_as_lcore(WORKER);
}

static void
a_connection_is_not_closed_while_a_submit_elsewhere_is_about_to_queue(void **state)
{
	conn = rig_conn(&rig, 8, WORKER, true);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 3, &count);
	interpose_in_check = close_all_the_way_if_possible;
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 3, &err), 3);
	assert_int_equal(conn->nb_queued, 3);
	while (conn->nb_queued != 0)
		rig_turn(&rig);
	/* Handed to the worker, whose callbacks come before the end too. */
	for (unsigned int i = 0; i < 100; i++)
		rig_turn(&rig);
	assert_int_equal(rig.nb_closed, 0);
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(count.by_status[PLX_ST_STOPPED], 3);
}

static void
begin_to_close(void)
{
	plx_test_as_lcore(OWNER);
	assert_int_equal(plx_conn_close(conn), 0);
	plx_test_as_lcore(WORKER);
}

static void
queued_ops_are_counted_exactly_over_a_close(void **state)
{
	conn = rig_conn(&rig, 4, WORKER, true);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 20, &count);
	rig_ops(&rig, PLX_OPCODE_RECV, ops + 20, 10, &count);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 10, &err), 10);
	assert_int_equal(plx_conn_recv_burst(conn, ops + 20, 10, &err), 10);
	rig_turn(&rig);
	assert_int_equal(conn->nb_queued, 12); /* waiting on both queues */
	interpose_in_check = begin_to_close;
	assert_int_equal(plx_conn_submit_burst(conn, ops + 10, 10, &err), 10); /* looked at the state before */
	assert_int_equal(conn->nb_queued, 22);
	rig_turn(&rig);
	assert_int_equal(conn->nb_queued, 0);
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(count.by_status[PLX_ST_STOPPED], 22);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 8);
}

/* The moment inside plx_conn_close() on another lcore before it finds the lane full, and gives up. */
static void
a_close_that_finds_the_lane_full_has_not_harmed_anything(void **state)
{
	conn = rig_conn(&rig, 4, WORKER, true);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 8, &count);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 7, &err), 7);
	__atomic_store_n(&conn->closing, true, __ATOMIC_RELEASE);
	rig_turn(&rig);
	rig_turn(&rig);
	__atomic_store_n(&conn->closing, false, __ATOMIC_RELEASE);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 4);
	fake_complete(conn->qp, false, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 7); /* nobody was forgotten in the queue */
	plx_op_put(ops[7]);
	plx_test_as_lcore(OWNER);
	rig_close(&rig, conn);
	assert_int_equal(count.by_status[PLX_ST_STOPPED], 0);
}

static void
a_full_lane_is_told_to_who_submits_and_to_who_closes(void **state)
{
	struct plx_conn *other = rig_conn(&rig, 8, WORKER, true);
	uintptr_t again = (uintptr_t)other | 1;
	struct plx_lane_stats lane;

	/* The closes of a thousand connections fill it. Here one, whose later ones are nothing but words. */
	conn = rig_conn(&rig, 8, WORKER, true);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 3, &count);
	plx_lane_stats(rig.group->lane, &lane);
	plx_test_as_lcore(WORKER);
	for (unsigned int i = 0; i < lane.capacity - 1; i++)
		assert_int_equal(plx_lane_send(rig.group->lane, &again, 1), 1);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 3, &err), 1);
	assert_int_equal(err.code, -EAGAIN);
	assert_int_equal(err.index, 1);
	assert_int_equal(err.got, 2);
	assert_int_equal(err.limit, lane.capacity);
	assert_int_equal(ops[1]->state, PLX_OP_PREPARED);
	assert_int_equal(conn->nb_queued, 1);
	assert_int_equal(plx_conn_close(conn), -EAGAIN);
	for (unsigned int i = 0; i < lane.capacity - 1; i++)
		assert_int_equal(plx_lane_recv(rig.group->lane, &again, 1), 1);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 1, 2, &err), 2);
	assert_int_equal(plx_conn_close(conn), 0);
	plx_test_as_lcore(OWNER);
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 3);
	rig_close(&rig, other);
}

static unsigned int nb_drained;

static void
drained(struct plx_conn *c, void *arg)
{
	nb_drained++;
}

static int
nothing(void *arg)
{
	return 0;
}

/** The control thread has no part in how many these are. */
static void
turns(unsigned int n)
{
	while (n-- != 0) {
		rig_turn(&rig);
		assert_int_equal(plx_control_sync(rig.control, nothing, NULL), 0);
	}
}

static void
a_connection_is_not_closed_while_a_drain_is_on_its_way(void **state)
{
	uint64_t id;

	nb_drained = 0;
	conn = rig_conn(&rig, 8, OWNER, true);
	conn->drained_cb = drained;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	id = plx_op_id(ops[0]);
	plx_op_put(ops[0]);
	plx_test_as_lcore(WORKER);
	for (unsigned int i = 0; i < 20 * PLX_POST_BURST; i++) /* 20 turns are busy with what is before it */
		assert_int_equal(plx_conn_cancel(conn, id), 0);
	assert_int_equal(plx_conn_drain(conn), 0);
	plx_test_as_lcore(OWNER);
	assert_int_equal(plx_conn_close(conn), 0);
	turns(19);
	assert_int_equal(rig_nb_destroyed(&rig), 1);
	assert_int_equal(rig.nb_closed, 0);
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(nb_drained, 1); /* it was asked for, and told 0 */
}

static void
an_unused_connection_with_ops_on_their_way_is_not_destroyed(void **state)
{
	conn = rig_conn(&rig, 8, OWNER, false);
	rig_ops(&rig, PLX_OPCODE_RECV, ops, 2, &count);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_recv_burst(conn, ops, 2, &err), 2);
	plx_test_as_lcore(OWNER);
	assert_int_equal(plx_conn_destroy(conn), -EBUSY);
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = -EIO;
	plx_conn_group_once(rig.group);
	assert_int_equal(plx_conn_destroy(conn), -EBUSY); /* not posted, but not told yet either */
	rig_close(&rig, conn);
	assert_int_equal(count.by_status[PLX_ST_POST_FAILED], 2);
}

static void
nothing_at_all_can_be_submitted_when_the_qp_is_gone(void **state)
{
	conn = rig_conn(&rig, 8, OWNER, true);
	assert_int_equal(plx_conn_close(conn), 0);
	turns_until_destroyed();
	assert_int_equal(plx_conn_submit_burst(conn, ops, 0, &err), 0);
	assert_int_equal(plx_conn_recv_burst(conn, ops, 0, &err), 0);
	assert_int_equal(plx_conn_flush(conn), -ENOTCONN);
	rig_turns_until_closed(&rig, 1);
}

/* ---- events -------------------------------------------------------------------------------- */

/** As the control thread tells of a device that is lost, and the owner's turn that heeds it. */
static void
lose_the_device(void)
{
	__atomic_fetch_or(&rig.group->told, GROUP_TOLD_LOST, __ATOMIC_RELEASE);
	rig_turn(&rig);
}

static void
an_event_does_not_close_a_connection_that_is_being_destroyed(void **state)
{
	conn = rig_conn(&rig, 8, OWNER, false);
	interpose_before_sync = lose_the_device;
	assert_int_equal(plx_conn_destroy(conn), 0);
	turns(10);
	assert_int_equal(rig.dev->nb_to_error, 0);
	assert_int_equal(rig_nb_destroyed(&rig), 1);
	assert_int_equal(rig.nb_closed, 0);
}

static void
a_connection_is_not_made_on_a_cq_that_is_lost_meanwhile(void **state)
{
	interpose_before_sync = lose_the_device;
	assert_null(rig_conn(&rig, 8, OWNER, false));
	assert_int_equal(rte_errno, EIO);
	assert_int_equal(plx_conn_group_nb_conns(rig.group), 0);
}

static void
an_event_closes_a_connection_that_could_not_be_destroyed(void **state)
{
	conn = rig_conn(&rig, 8, OWNER, false);
	rig.dev->fail_destroys = 1;
	interpose_before_sync = lose_the_device;
	assert_int_equal(plx_conn_destroy(conn), -EIO);
	rig_turns_until_closed(&rig, 1);
}

static void
a_connection_that_an_event_has_closed_is_not_destroyed_as_unused(void **state)
{
	conn = rig_conn(&rig, 8, OWNER, false);
	lose_the_device();
	assert_int_equal(plx_conn_destroy(conn), -EBUSY);
	rig_turns_until_closed(&rig, 1);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* An op of this connection is settled in the very turn in which another's post fails, and so goes home later. */
static void
closed_waits_for_an_op_that_waits_for_a_post_call(void **state)
{
	struct plx_conn *other = rig_conn(&rig, 8, OWNER, true);
	unsigned int turn;

	conn = rig_conn(&rig, 8, WORKER, true);
	rig.dev->keep_flushes = true;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	assert_int_equal(plx_conn_close(conn), 0);
	turns_until_destroyed();
	for (turn = 0; conn->nb_cqes != 0 && turn < 100000; turn++) {
		rig_ops(&rig, PLX_OPCODE_SEND, &ops[1], 1, &count);
		plx_test_as_lcore(WORKER);
		assert_int_equal(plx_conn_submit(other, ops[1]), 0);
		plx_test_as_lcore(OWNER);
		rig.dev->fail_post_at = 1;
		rig.dev->fail_post_errno = -EIO;
		rig_turn(&rig);
	}
	assert_int_equal(conn->nb_cqes, 0);
	for (unsigned int i = 0; i < 100; i++)
		rig_turn(&rig);
	assert_int_equal(rig.nb_closed, 0); /* the worker has not had its turn */
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 0);
	rig_home_turn(&rig, WORKER);
	rig_turn(&rig);
	assert_int_equal(rig.nb_closed, 1);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 1);
	rig_close(&rig, other);
}

static void
complete_at_once(struct fake_qp *qp, uint64_t wr_id)
{
	plx_dispatcher_deliver(rig.d, wr_id, PLX_ST_SUCCESS, 0, 0, 0);
	qp->sq.tail++;
}

static void
a_device_that_completes_in_post_all_the_time_does_not_keep_others_from_closing(void **state)
{
	struct plx_conn *busy = rig_conn(&rig, 8, OWNER, true);
	unsigned int turns;

	conn = rig_conn(&rig, 8, OWNER, true);
	rig.dev->on_post = complete_at_once;
	assert_int_equal(plx_conn_close(conn), 0);
	for (turns = 0; rig.nb_closed == 0 && turns < 1000000; turns++) {
		assert_int_equal(plx_cq_poll(rig.cq, NULL, 0), 0);
		plx_dispatcher_once(rig.d);
		rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
		assert_int_equal(plx_conn_submit(busy, ops[0]), 0); /* as a hook between the two does */
		plx_conn_group_once(rig.group);
	}
	assert_int_equal(rig.nb_closed, 1);
	rig_turn(&rig);
	rig.dev->on_post = NULL;
	rig_close(&rig, busy);
}

struct late {
	struct plx_conn *other;
	unsigned int calls, turns;
};

/** As an op's callback: close another connection, submit to it, to the own, and turn the group. */
static void
do_everything(struct plx_op *op, void *arg)
{
	struct late *late = arg;
	struct plx_op *more;

	late->calls++;
	assert_int_equal(plx_conn_close(plx_op_conn(op)), -EALREADY);
	rig_ops(&rig, PLX_OPCODE_SEND, &more, 1, &count);
	assert_int_equal(plx_conn_submit(plx_op_conn(op), more), -ENOTCONN);
	if (plx_conn_submit(late->other, more) != 0)
		plx_op_put(more);
	if (late->calls == 3)
		assert_int_equal(plx_conn_close(late->other), 0);
	if (op->status == PLX_ST_STOPPED) /* told by the group, not by the batch */
		late->turns += plx_conn_group_once(rig.group);
	assert_int_equal(plx_conn_group_destroy(rig.group), -EBUSY);
	plx_op_put(op);
}

static void
callbacks_in_the_groups_turn_may_close_and_submit_and_do_not_turn_it_again(void **state)
{
	struct late late = {.other = rig_conn(&rig, 8, OWNER, true)};

	conn = rig_conn(&rig, 2, OWNER, true);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 12, &count);
	for (unsigned int i = 0; i < 12; i++) {
		ops[i]->cb = do_everything;
		ops[i]->arg = &late;
	}
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 6, &err), 6); /* two posted, four wait */
	rig_turn(&rig);
	interpose_in_check = begin_to_close;
	assert_int_equal(plx_conn_submit_burst(conn, ops + 6, 6, &err), 6); /* fail in take_run(), four in the list */
	plx_test_as_lcore(OWNER);
	rig_turns_until_closed(&rig, 2);
	assert_int_equal(late.calls, 12);
	assert_int_equal(late.turns, 0);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], count.calls); /* what the other took before its close */
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(a_bring_up_that_comes_behind_a_close_does_not_touch_the_qp),
	CASE(the_address_of_a_connection_whose_qp_may_be_gone_is_not_asked_for),
	CASE(a_connection_is_not_closed_while_a_submit_elsewhere_is_about_to_queue),
	CASE(queued_ops_are_counted_exactly_over_a_close),
	CASE(a_close_that_finds_the_lane_full_has_not_harmed_anything),
	CASE(a_full_lane_is_told_to_who_submits_and_to_who_closes),
	CASE(a_connection_is_not_closed_while_a_drain_is_on_its_way),
	CASE(an_unused_connection_with_ops_on_their_way_is_not_destroyed),
	CASE(nothing_at_all_can_be_submitted_when_the_qp_is_gone),
	CASE(an_event_does_not_close_a_connection_that_is_being_destroyed),
	CASE(a_connection_is_not_made_on_a_cq_that_is_lost_meanwhile),
	CASE(an_event_closes_a_connection_that_could_not_be_destroyed),
	CASE(a_connection_that_an_event_has_closed_is_not_destroyed_as_unused),
	CASE(closed_waits_for_an_op_that_waits_for_a_post_call),
	CASE(a_device_that_completes_in_post_all_the_time_does_not_keep_others_from_closing),
	CASE(callbacks_in_the_groups_turn_may_close_and_submit_and_do_not_turn_it_again),
};

PLX_TEST_SUITE(conn, close_races, tests, .lcores = 3);
