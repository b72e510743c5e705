/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include <rte_errno.h>

#include "conn_internal.h"
#include "interpose.h"
#include "pool_rig.h"

/**
 * @file
 * Who has a connection: the thread that makes it, the owner that closes it, who destroys it, and an event that comes at
 * the worst moment of each.
 */

static struct rig rig;
static struct plx_conn *conn;
static struct rig_count count;
static struct plx_op *ops[1];

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	return 0;
}

static int
unmake(void **state)
{
	plx_test_as_lcore(OWNER);
	rig_break(&rig);
	return 0;
}

/* ---- destroy meets closed_cb ----------------------------------------------------------------- */

static void
destroy_elsewhere(void)
{
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_destroy(conn), 0);
	plx_test_as_lcore(OWNER);
}

/** That of a connection which another destroys. */
static void
only_count(struct plx_conn *c, void *arg)
{
	assert_ptr_equal(c, conn);
	assert_ptr_equal(arg, &rig);
	assert_ptr_equal(plx_conn_arg(c), &rig);
	assert_int_equal(plx_conn_state(c), PLX_CONN_CLOSED);
	rig.nb_closed++;
}

static void
tell_who_destroys(struct plx_conn *c, void *arg)
{
	destroy_elsewhere();
	only_count(c, arg); /* it is not gone while its callback runs */
}

static void
a_thread_that_sees_closed_and_destroys_takes_nothing_from_the_owner(void **state)
{
	conn = rig_conn(&rig, 8, OWNER, true);
	conn->closed_cb = only_count;
	interpose_when_closed = destroy_elsewhere;
	rig_close(&rig, conn);
	assert_int_equal(plx_conn_group_nb_conns(rig.group), 0);
	conn = rig_conn(&rig, 8, OWNER, true);
	conn->closed_cb = NULL;
	interpose_when_closed = destroy_elsewhere;
	assert_int_equal(plx_conn_close(conn), 0);
	while (plx_conn_group_nb_conns(rig.group) != 0)
		rig_turn(&rig);
}

static void
who_was_told_by_closed_may_destroy_before_it_returns(void **state)
{
	conn = rig_conn(&rig, 8, OWNER, true);
	conn->closed_cb = tell_who_destroys;
	rig_close(&rig, conn);
	assert_int_equal(plx_conn_group_nb_conns(rig.group), 0);
}

/* ---- an event meets a close that is taken back ----------------------------------------------- */

/** As the control thread tells of the QP, and the owner's turn that heeds it. */
static void
fail_the_qp(void)
{
	plx_test_as_lcore(OWNER);
	__atomic_fetch_or(&conn->told, CONN_TOLD_FATAL, __ATOMIC_RELAXED);
	conn_group_tell(rig.group, GROUP_TOLD_CONN);
	rig_turn(&rig);
}

static void
lose_the_device(void)
{
	plx_test_as_lcore(OWNER);
	conn_group_tell(rig.group, GROUP_TOLD_LOST);
	rig_turn(&rig);
}

static void (*const events[])(void) = {fail_the_qp, lose_the_device};

static void
an_event_during_a_destroy_that_fails_closes_the_connection(void **state)
{
	for (unsigned int i = 0; i < NB_OF(events); i++) {
		conn = rig_conn(&rig, 8, OWNER, false);
		rig.dev->fail_destroys = 1;
		interpose_before_sync = events[i];
		assert_int_equal(plx_conn_destroy(conn), -EIO);
		rig_turns_until_closed(&rig, i + 1);
	}
}

static void
an_event_during_a_close_that_finds_the_lane_full_closes_the_connection(void **state)
{
	uint64_t id;

	count = (struct rig_count){.rig = &rig};
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	id = plx_op_id(ops[0]);
	plx_op_put(ops[0]);
	for (unsigned int i = 0; i < NB_OF(events); i++) {
		conn = rig_conn(&rig, 8, OWNER, true);
		plx_test_as_lcore(LCORE_ID_ANY);
		while (plx_conn_cancel(conn, id) == 0) /* of nothing: they fill the lane */
			;
		interpose_after_send = events[i];
		assert_int_equal(plx_conn_close(conn), -EAGAIN);
		assert_null(interpose_after_send);
		plx_test_as_lcore(OWNER);
		rig_turns_until_closed(&rig, i + 1);
	}
}

/* ---- create meets an event ------------------------------------------------------------------- */

/** As the control thread tells of a device that is lost, and turns of the owner that heed it, and close what it had. */
static void
lose_the_device_and_close_all(void)
{
	if (plx_conn_group_nb_conns(rig.group) == 0) {
		interpose_after_unlock = lose_the_device_and_close_all; /* not in the list yet */
		return;
	}
	plx_test_as_lcore(OWNER);
	conn_group_tell(rig.group, GROUP_TOLD_LOST);
	while (rig_nb_destroyed(&rig) == 0)
		rig_turn(&rig);
	for (unsigned int i = 0; i < 100; i++)
		rig_turn(&rig);
	assert_int_equal(rig.nb_closed, 0);
	plx_test_as_lcore(WORKER);
}

static void
a_connection_that_an_event_closes_at_once_is_there_when_create_returns(void **state)
{
	plx_test_as_lcore(WORKER);
	interpose_after_unlock = lose_the_device_and_close_all;
	conn = rig_conn(&rig, 8, OWNER, false);
	assert_null(interpose_after_unlock);
	assert_non_null(conn);
	assert_int_equal(plx_conn_state(conn), PLX_CONN_DRAINING);
	assert_int_equal(rig.nb_closed, 0);
	plx_test_as_lcore(OWNER);
	rig_turns_until_closed(&rig, 1);
}

/* ---- a making that cannot be undone ---------------------------------------------------------- */

/** The connection that has what could not be destroyed goes by itself, once it can. */
static void
turns_until_conns(unsigned int n)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(10000000000);

	while (plx_conn_group_nb_conns(rig.group) != n && plx_clock_monotonic_ns() < end)
		rig_turn(&rig);
	assert_int_equal(plx_conn_group_nb_conns(rig.group), n);
}

static void
create_fails_and_is_kept(int code)
{
	rig.dev->fail_destroys = 2;
	plx_test_as_lcore(WORKER);
	assert_null(rig_conn(&rig, 8, OWNER, true));
	assert_int_equal(rte_errno, code);
	plx_test_as_lcore(OWNER);
	assert_int_equal(rig.cq->reserved, 16);
	assert_int_equal(plx_conn_group_nb_conns(rig.group), 1);
	assert_int_equal(plx_conn_group_destroy(rig.group), -EBUSY);
	turns_until_conns(0);
	assert_int_equal(rig.dev->nb_created, rig.dev->nb_destroyed);
	assert_int_equal(rig.cq->reserved, 0);
	assert_int_equal(rig.nb_closed, 0);
}

static void
a_qp_whose_making_fails_and_that_cannot_be_destroyed_is_kept_until_it_can(void **state)
{
	rig.dev->fail_port = true;
	create_fails_and_is_kept(ENOENT);
	rig.dev->fail_port = false;
	interpose_fail_alloc_at = 2; /* a queue */
	create_fails_and_is_kept(ENOMEM);
}

static void
a_qp_that_a_pool_does_not_fit_and_that_cannot_be_destroyed_is_kept_until_it_can(void **state)
{
	pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 8, .max_conns = 1});
	conn = rig_conn(&rig, 8, OWNER, true);
	rig.dev->fail_destroys = 2;
	assert_null(rig_conn(&rig, 8, OWNER, true));
	assert_int_equal(rte_errno, ENOSPC);
	turns_until_conns(1);
	rig_close(&rig, conn);
	pool_break(&rig);
}

static void
a_qp_in_the_way_of_its_number_that_cannot_be_destroyed_is_kept_until_it_can(void **state)
{
	struct plx_conn *other;

	pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 8});
	conn = rig_conn(&rig, 8, OWNER, true);
	rig.dev->next_qp_num = conn->sq.qp_num;
	rig.dev->fail_destroys = 2;
	assert_non_null(other = rig_conn(&rig, 8, OWNER, true));
	assert_int_equal(other->sq.qp_num, conn->sq.qp_num + 1);
	assert_int_equal(plx_conn_group_nb_conns(rig.group), 3);
	turns_until_conns(2);
	rig_close(&rig, conn);
	rig_close(&rig, other);
	pool_break(&rig);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(a_thread_that_sees_closed_and_destroys_takes_nothing_from_the_owner),
	CASE(who_was_told_by_closed_may_destroy_before_it_returns),
	CASE(an_event_during_a_destroy_that_fails_closes_the_connection),
	CASE(an_event_during_a_close_that_finds_the_lane_full_closes_the_connection),
	CASE(a_connection_that_an_event_closes_at_once_is_there_when_create_returns),
	CASE(a_qp_whose_making_fails_and_that_cannot_be_destroyed_is_kept_until_it_can),
	CASE(a_qp_that_a_pool_does_not_fit_and_that_cannot_be_destroyed_is_kept_until_it_can),
	CASE(a_qp_in_the_way_of_its_number_that_cannot_be_destroyed_is_kept_until_it_can),
};

PLX_TEST_SUITE(conn, life, tests, .lcores = 3);
