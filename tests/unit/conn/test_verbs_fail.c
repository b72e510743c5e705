/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include <rte_errno.h>

#include "interpose.h"
#include "plx_conn_events.h"
#include "rig.h"

/**
 * @file
 * When verbs, polls and allocations fail: every op is settled once, nothing leaks, and it ends.
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
	interpose_fail_alloc_at = 0;
	rig_break(&rig);
	return 0;
}

/* ---- create ---------------------------------------------------------------------------------- */

static void
create_fails_and_leaves_nothing(int code)
{
	unsigned int out = rig.dev->nb_created - rig.dev->nb_destroyed;
	uint32_t reserved = rig.cq->reserved, nb_conns = plx_conn_group_nb_conns(rig.group);

	assert_null(rig_conn(&rig, 8, OWNER, true));
	assert_int_equal(rte_errno, code);
	assert_int_equal(rig.cq->reserved, reserved);
	assert_int_equal(plx_conn_group_nb_conns(rig.group), nb_conns);
	assert_int_equal(rig.dev->nb_created - rig.dev->nb_destroyed, out);
}

static void
a_connection_whose_making_fails_at_any_allocation_leaves_nothing(void **state)
{
	struct plx_conn *other = rig_conn(&rig, 8, OWNER, true), *conn;

	for (unsigned int k = 1; k <= 3; k++) { /* the connection, its send and its receive queue */
		interpose_fail_alloc_at = k;
		create_fails_and_leaves_nothing(ENOMEM);
	}
	interpose_fail_alloc_at = 4;
	assert_non_null(conn = rig_conn(&rig, 8, OWNER, true));
	assert_int_equal(interpose_fail_alloc_at, 1);
	interpose_fail_alloc_at = 0;
	rig_close(&rig, conn);
	rig_close(&rig, other);
}

static void
a_connection_whose_making_fails_at_any_verb_leaves_nothing(void **state)
{
	struct plx_conn *other = rig_conn(&rig, 8, OWNER, true);
	const struct {
		bool *fail;
		int code;
	} verbs[] = {{&rig.dev->fail_limits, EIO}, {&rig.dev->fail_create, EIO}, {&rig.dev->fail_port, ENOENT}};

	for (unsigned int i = 0; i < NB_OF(verbs); i++) {
		*verbs[i].fail = true;
		create_fails_and_leaves_nothing(verbs[i].code);
		*verbs[i].fail = false;
	}
	rig_close(&rig, other);
}

static void
an_owner_that_the_control_thread_does_not_serve_makes_no_group(void **state)
{
	static const unsigned int worker = WORKER;
	struct plx_control *control = plx_control_create(&(struct plx_control_conf){.lcores = &worker, .nb_lcores = 1});
	struct plx_conn_group_conf conf = {.name = "g", .dispatcher = rig.d, .cq = rig.cq, .control = control};

	assert_null(plx_conn_group_create(&conf));
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(plx_control_destroy(control), 0);
}

/* ---- close ----------------------------------------------------------------------------------- */

static void
a_qp_that_cannot_be_destroyed_keeps_its_ops_and_cqes_until_it_can(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 8, WORKER, true);
	uint64_t end;

	rig.dev->keep_flushes = true;
	rig.dev->fail_destroys = UINT32_MAX;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 4, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 4, &err), 4);
	assert_int_equal(plx_conn_close(conn), 0);
	while (__atomic_load_n(&rig.dev->nb_destroy_tries, __ATOMIC_RELAXED) == 0)
		rig_turn(&rig);
	end = plx_clock_monotonic_ns() + 50 * UINT64_C(1000000);
	while (plx_clock_monotonic_ns() < end) {
		rig_turn(&rig);
		rig_home_turn(&rig, WORKER);
	}
	assert_true(__atomic_load_n(&rig.dev->nb_destroy_tries, __ATOMIC_RELAXED) <= 8); /* at leisure */
	assert_int_equal(count.calls, 0);
	assert_int_equal(rig.cq->reserved, 16);
	assert_int_equal(plx_conn_destroy(conn), -EBUSY);
	__atomic_store_n(&rig.dev->fail_destroys, 0, __ATOMIC_RELAXED);
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 4);
}

static void
a_qp_that_cannot_be_taken_to_error_is_destroyed_after_the_drain(void **state)
{
	struct plx_conn *conn = rig_conn(&rig, 8, WORKER, true);

	rig.dev->fail_to_error = true;
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 4, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 4, &err), 4);
	rig_close(&rig, conn);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 4);
}

static void
connections_of_a_cq_that_dies_close_in_bounded_time(void **state)
{
	struct plx_conn *conns[8];
	uint64_t start;

	for (unsigned int i = 0; i < 8; i++) {
		conns[i] = rig_conn(&rig, 8, i % 2 != 0 ? OWNER : WORKER, true);
		rig_ops(&rig, PLX_OPCODE_SEND, ops, 4, &count);
		assert_int_equal(plx_conn_submit_burst(conns[i], ops, 4, &err), 4);
	}
	start = plx_clock_monotonic_ns();
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(plx_conn_close(conns[i]), 0);
		if (i == 3)
			rig_turn(&rig);
	}
	plx_container_of(rig.cq, struct fake_cq, base)->dead = true;
	rig_turns_until_closed(&rig, 8); /* twice drain_ms, and what the machine takes */
	assert_true(plx_clock_monotonic_ns() - start < UINT64_C(5000000000));
	assert_int_equal(count.calls, 32);
	plx_container_of(rig.cq, struct fake_cq, base)->tail = plx_container_of(rig.cq, struct fake_cq, base)->head;
}

static void
connections_close_one_after_the_other_when_the_control_thread_takes_one_request(void **state)
{
	struct plx_conn *conns[16];

	rig_break(&rig);
	rig_make(&rig, &(struct rig_conf){.nb_reqs = 1});
	for (unsigned int i = 0; i < 16; i++) {
		conns[i] = rig_conn(&rig, 8, WORKER, true);
		rig_ops(&rig, PLX_OPCODE_RECV, ops, 4, &count);
		assert_int_equal(plx_conn_recv_burst(conns[i], ops, 4, &err), 4);
	}
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(plx_conn_close(conns[i]), 0);
	rig_turns_until_closed(&rig, 16);
	assert_int_equal(rig.dev->nb_to_error, 16);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 64);
}

/* ---- events -------------------------------------------------------------------------------- */

static int
nothing(void *arg)
{
	return 0;
}

static void
events_that_cannot_be_read_are_not_read_again_and_again(void **state)
{
	const struct plx_conn_events_conf conf = {.dev = &rig.dev->base, .control = rig.control};
	struct plx_conn_events *events;

	assert_true((rig.dev->event_fd = eventfd(1, EFD_NONBLOCK)) > 0); /* readable for ever */
	rig.dev->event_err = -EIO;
	assert_non_null(events = plx_conn_events_create(&conf));
	while (__atomic_load_n(&rig.dev->nb_event_reads, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(plx_control_sync(rig.control, nothing, NULL), 0);
	assert_int_equal(rig.dev->nb_event_reads, 1);
	assert_int_equal(plx_conn_events_destroy(events), 0);
	close(rig.dev->event_fd);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(a_connection_whose_making_fails_at_any_allocation_leaves_nothing),
	CASE(a_connection_whose_making_fails_at_any_verb_leaves_nothing),
	CASE(an_owner_that_the_control_thread_does_not_serve_makes_no_group),
	CASE(a_qp_that_cannot_be_destroyed_keeps_its_ops_and_cqes_until_it_can),
	CASE(a_qp_that_cannot_be_taken_to_error_is_destroyed_after_the_drain),
	CASE(connections_of_a_cq_that_dies_close_in_bounded_time),
	CASE(connections_close_one_after_the_other_when_the_control_thread_takes_one_request),
	CASE(events_that_cannot_be_read_are_not_read_again_and_again),
};

PLX_TEST_SUITE(conn, verbs_fail, tests, .lcores = 3);
