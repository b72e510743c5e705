/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "conn_internal.h"
#include "rig.h"

/**
 * @file
 * Draining: every op settled once, then told, and the connection stays until it is closed.
 */

static struct rig rig;
static struct rig_count count;
static struct plx_op *ops[64];
static struct plx_submit_err err;
static unsigned int nb_drained, calls_when_drained;
static bool close_in_callback;

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	count = (struct rig_count){.rig = &rig};
	nb_drained = calls_when_drained = 0;
	close_in_callback = false;
	return 0;
}

static int
unmake(void **state)
{
	rig_break(&rig);
	return 0;
}

static void
drained(struct plx_conn *conn, void *arg)
{
	assert_int_equal(rte_lcore_id(), OWNER);
	assert_ptr_equal(arg, &rig);
	assert_int_equal(plx_conn_state(conn), PLX_CONN_DRAINING);
	nb_drained++;
	calls_when_drained = count.calls;
	if (close_in_callback)
		assert_int_equal(plx_conn_close(conn), 0);
}

static struct plx_conn *
conn_make(unsigned int home)
{
	struct plx_conn *conn = rig_conn(&rig, 16, home, true);

	conn->drained_cb = drained;
	return conn;
}

static void
turns_until_drained(void)
{
	while (nb_drained == 0) {
		rig_turn(&rig);
		rig_home_turn(&rig, WORKER);
		sched_yield();
	}
}

static void
post_eight_each_way(struct plx_conn *conn)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 8, &count);
	rig_ops(&rig, PLX_OPCODE_RECV, ops + 8, 8, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 8, &err), 8);
	assert_int_equal(plx_conn_recv_burst(conn, ops + 8, 8, &err), 8);
}

static void
all_is_flushed_then_told_and_a_close_ends_it(void **state)
{
	struct plx_conn *conn = conn_make(WORKER);

	post_eight_each_way(conn);
	assert_int_equal(plx_conn_drain(conn), 0);
	assert_int_equal(plx_conn_drain(conn), -EALREADY);
	turns_until_drained();
	assert_int_equal(calls_when_drained, 16); /* behind the last callback, on whichever lcore */
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 16);
	assert_int_equal(rig.dev->nb_to_error, 1);
	assert_int_equal(rig_nb_destroyed(&rig), 0);
	for (unsigned int i = 0; i < 100; i++)
		rig_turn(&rig);
	assert_int_equal(nb_drained, 1);
	assert_int_equal(rig.nb_closed, 0);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	assert_int_equal(plx_conn_submit(conn, ops[0]), -ENOTCONN);
	plx_op_put(ops[0]);
	rig_close(&rig, conn);
	assert_int_equal(rig.dev->nb_to_error, 1);
}

static void
drain_asked_for_elsewhere_meets_a_close(void **state)
{
	for (unsigned int when = 0; when < 8; when++) {
		struct plx_conn *conn = conn_make(OWNER);
		unsigned int closed = rig.nb_closed;

		nb_drained = 0;
		count.calls = 0;
		post_eight_each_way(conn);
		plx_test_as_lcore(WORKER);
		assert_int_equal(plx_conn_drain(conn), 0);
		plx_test_as_lcore(OWNER);
		for (unsigned int i = 0; i < when; i++)
			rig_turn(&rig);
		assert_int_equal(plx_conn_close(conn), 0);
		assert_int_equal(plx_conn_drain(conn), -EALREADY);
		rig_turns_until_closed(&rig, closed + 1);
		assert_int_equal(nb_drained, 1); /* asked for, so told, before the end */
		assert_int_equal(count.calls, 16);
	}
}

static void
callback_closes(void **state)
{
	struct plx_conn *conn = conn_make(OWNER);

	close_in_callback = true;
	post_eight_each_way(conn);
	assert_int_equal(plx_conn_drain(conn), 0);
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(nb_drained, 1);
	assert_int_equal(count.calls, 16);
}

/* case 2.8 */
static void
what_the_device_never_flushes_is_settled_without_its_qp(void **state)
{
	for (unsigned int closes = 0; closes < 2; closes++) {
		struct plx_conn *conn = conn_make(OWNER);

		nb_drained = 0;
		count = (struct rig_count){.rig = &rig};
		close_in_callback = closes;
		rig.dev->keep_flushes = true;
		post_eight_each_way(conn);
		plx_conn_cancel(conn, plx_op_id(ops[3])); /* settled early, and the device keeps it */
		assert_int_equal(plx_conn_drain(conn), 0);
		if (closes) {
			rig_turns_until_closed(&rig, rig.nb_closed + 1);
		} else {
			turns_until_drained();
			assert_int_equal(rig.dev->nb_created, rig_nb_destroyed(&rig)); /* by then it is gone */
			rig_close(&rig, conn);
		}
		assert_int_equal(nb_drained, 1);
		assert_int_equal(calls_when_drained, 16);
		assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 15);
		assert_int_equal(count.by_status[PLX_ST_CANCELLED], 1);
	}
}

/** Of two sends the first one's completion is lost: its QP is destroyed for it. */
static void
drain_with_one_overtaken(struct plx_conn *conn)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 2, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 2, &err), 2);
	fake_lose(conn->qp, false);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(plx_conn_drain(conn), 0);
	turns_until_drained();
}

static void
overtaken_op_is_settled_before_the_drain_is_told(void **state)
{
	struct plx_conn *conn = conn_make(OWNER);

	drain_with_one_overtaken(conn);
	assert_int_equal(calls_when_drained, 2);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 1);
	rig_close(&rig, conn);
}

/** Object 0 is a port, the device, or an object that is gone; no connection whose QP is gone. */
static void
event_of_what_is_gone_leaves_a_drained_connection_alone(void **state)
{
	static const enum plx_event_type types[] = {PLX_EVENT_QP_FATAL, PLX_EVENT_LAST_WQE};
	struct plx_conn *conn = conn_make(OWNER);

	drain_with_one_overtaken(conn);
	assert_null(conn->qp);
	for (unsigned int i = 0; i < NB_OF(types); i++)
		assert_false(conn_group_hear(rig.group, &(struct plx_event){.type = types[i]}));
	rig_turn(&rig);
	assert_false(conn->closing);
	rig_close(&rig, conn);
}

static void
idle_connection_drains_too(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, OWNER, false);

	conn->drained_cb = drained;
	assert_int_equal(plx_conn_drain(conn), 0);
	assert_int_equal(plx_conn_destroy(conn), -EBUSY);
	turns_until_drained();
	rig_close(&rig, conn);
	assert_int_equal(nb_drained, 1);
}

/** Stands for whatever the connection is part of. */
struct parent {
	unsigned int nb_freed;
	unsigned char *memory;
};

static struct parent parent;

static void
free_parent(struct plx_conn *conn, void *arg)
{
	struct parent *p = arg;

	assert_int_equal(plx_conn_destroy(conn), 0);
	free(p->memory); /* whatever still uses it is seen by ASan */
	p->memory = NULL;
	p->nb_freed++;
}

static void
use_parent(struct plx_op *op, void *arg)
{
	struct parent *p = arg;

	assert_non_null(p->memory);
	p->memory[0]++;
	plx_op_put(op);
}

/* case 2.11 */
static void
closed_is_the_last_that_is_heard_of_a_connection(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 16, WORKER, true);
	uint64_t turns = 0;

	parent = (struct parent){.memory = calloc(1, 64)};
	conn->closed_cb = free_parent;
	conn->arg = &parent;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 2, &count);
	for (unsigned int i = 0; i < 2; i++) {
		ops[i]->cb = use_parent;
		ops[i]->arg = &parent;
	}
	rig.dev->keep_flushes = true; /* one is never flushed */
	assert_int_equal(plx_conn_submit_burst(conn, ops, 2, &err), 2);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	assert_int_equal(plx_conn_close(conn), 0);
	for (; parent.nb_freed == 0; turns++) {
		rig_turn(&rig);
		rig_home_turn(&rig, WORKER);
		sched_yield();
	}
	for (unsigned int i = 0; i < 100; i++) {
		rig_turn(&rig);
		rig_home_turn(&rig, WORKER);
	}
	assert_int_equal(parent.nb_freed, 1);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(all_is_flushed_then_told_and_a_close_ends_it),
	CASE(drain_asked_for_elsewhere_meets_a_close),
	CASE(callback_closes),
	CASE(what_the_device_never_flushes_is_settled_without_its_qp),
	CASE(overtaken_op_is_settled_before_the_drain_is_told),
	CASE(event_of_what_is_gone_leaves_a_drained_connection_alone),
	CASE(idle_connection_drains_too),
	CASE(closed_is_the_last_that_is_heard_of_a_connection),
};

PLX_TEST_SUITE(conn, drain, tests, .lcores = 3);
