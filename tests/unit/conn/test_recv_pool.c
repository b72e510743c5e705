/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include <rte_errno.h>

#include "interpose.h"
#include "plx_event.h"
#include "pool_rig.h"
#include "recv_pool_internal.h"

/**
 * @file
 * Receive pools on the fake device: made, or not, and destroyed.
 */

static struct rig rig;

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	return 0;
}

static int
unmake(void **state)
{
	rig_break(&rig);
	return 0;
}

/** The limit fires, in a poll of the owner's: as when the control thread has the event. */
static void
limit_fires(struct plx_srq *srq)
{
	const struct plx_event event = {.type = PLX_EVENT_SRQ_LIMIT, .object = srq->id};

	assert_true(conn_group_hear(rig.group, &event));
}

static void
a_pool_goes_while_its_limit_is_being_armed(void **state)
{
	struct plx_conn *conn;

	rig.group->events = (struct plx_conn_events *)&rig; /* somebody is there: limit_fires() */
	rig.dev->on_limit = limit_fires;
	pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 4, .low_water = 2});
	conn = rig_conn(&rig, 4, OWNER, true);
	pool_messages(&rig, conn, 3);
	rig_close(&rig, conn);
	while (plx_control_nb_under_way(rig.control) != 0)
		rig_turn(&rig);
	assert_int_equal(pool_stats(&rig).limit_events, 1);
	pool_give(&rig, 3); /* there are enough: it is armed */
	assert_int_equal(plx_control_nb_under_way(rig.control), 1);
	pool_break(&rig);
	while (plx_control_nb_under_way(rig.control) != 0)
		rig_turn(&rig);
	rig.group->events = NULL;
}

static void
an_srq_in_error_closes_the_connections_of_its_pool_and_no_other(void **state)
{
	struct plx_event event = {.type = PLX_EVENT_SRQ_ERROR, .object = UINT64_MAX};
	struct plx_conn *other = rig_conn(&rig, 4, OWNER, true), *conns[2];
	struct plx_conn_error error;

	pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 4, .low_water = 4});
	for (unsigned int i = 0; i < 2; i++)
		conns[i] = rig_conn(&rig, 4, i == 0 ? OWNER : WORKER, true);
	pool_messages(&rig, conns[0], 1);
	assert_false(conn_group_hear(rig.group, &event));
	event.object = conns[0]->qp->srq->id;
	assert_true(conn_group_hear(rig.group, &event));
	assert_true(conn_group_hear(rig.group, &event)); /* once more */
	rig_turn(&rig);
	for (unsigned int i = 0; i < 2; i++) {
		plx_conn_first_error(conns[i], &error);
		assert_int_equal(error.status, PLX_ST_EVENT);
		assert_int_equal(error.event, PLX_EVENT_SRQ_ERROR);
	}
	rig_turns_until_closed(&rig, 2);
	assert_int_equal(plx_conn_state(other), PLX_CONN_READY);
	assert_null(rig_conn(&rig, 4, OWNER, true));
	assert_int_equal(rte_errno, EIO);
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = -EIO;
	pool_give(&rig, 1); /* nobody tries for ever */
	assert_int_equal(pool_stats(&rig).post_errors, 1);
	assert_int_equal(rig.group->told, 0);
	pool_break(&rig);
	rig_close(&rig, other);
}

static void
a_pool_that_is_not_made_goes_with_its_group_if_its_queue_does_not(void **state)
{
	const struct plx_conn_group_conf conf = {.name = "rig", .dispatcher = rig.d, .cq = rig.cq, .control = rig.control};

	rig.dev->fail_post_at = 3;
	rig.dev->fail_post_errno = -EIO;
	rig.dev->fail_srq_destroys = 2;
	assert_null(pool_try(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 8}));
	assert_int_equal(rte_errno, EIO);
	rig_turn(&rig);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 8); /* the device may write there yet */
	assert_int_equal(plx_conn_group_destroy(rig.group), -EBUSY);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 8);
	assert_int_equal(plx_conn_group_destroy(rig.group), 0);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	assert_non_null(rig.group = plx_conn_group_create(&conf));
}

static void
a_pool_that_is_not_made_goes_with_its_group_if_its_buffers_do_not(void **state)
{
	const struct plx_conn_group_conf conf = {.name = "rig", .dispatcher = rig.d, .cq = rig.cq, .control = rig.control};

	rig.dev->fail_post_at = 3;
	rig.dev->fail_post_errno = -ENOSPC;
	rig.dev->fail_mr_deregisters = 2;
	assert_null(pool_try(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 8}));
	assert_int_equal(rte_errno, ENOSPC);
	rig_turn(&rig);
	assert_int_equal(plx_conn_group_destroy(rig.group), -EBUSY);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 8);
	assert_int_equal(plx_conn_group_destroy(rig.group), 0);
	assert_non_null(rig.group = plx_conn_group_create(&conf));
}

/** A limit that came, a post that was refused: nobody heeds them once the SRQ is gone. */
static void
leave_work(struct plx_srq *srq)
{
	struct plx_conn *conn = rig_conn(&rig, 4, OWNER, true);

	pool_messages(&rig, conn, 1);
	rig_close(&rig, conn);
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = -EIO;
	pool_give(&rig, 1);
	assert_true(rig.recv_pool->retry);
	limit_fires(srq);
}

static void
a_pool_whose_buffers_cannot_be_deregistered_stays_until_they_can(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		struct plx_conn *conn;

		pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 1, .no_srq = srq == 0});
		if (srq != 0)
			leave_work(rig.recv_pool->srq);
		rig.dev->fail_mr_deregisters = 1;
		assert_int_equal(plx_recv_pool_destroy(rig.recv_pool), -EIO);
		assert_int_equal(plx_op_pool_in_use(rig.d->pool), 1); /* the device may know the memory yet */
		for (int i = 0; i < 3; i++)
			rig_turn(&rig);
		conn = rig_conn(&rig, 4, OWNER, true);
		assert_int_equal(conn != NULL, srq == 0);
		if (conn != NULL)
			rig_close(&rig, conn);
		else
			assert_int_equal(rte_errno, EIO);
		pool_break(&rig);
		assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	}
}

static unsigned int nb_looked;

static void
nothing_is_reserved(void)
{
	assert_int_equal(rig.cq->reserved, 0);
	nb_looked++;
}

/** The SRQ is made; it is unmade next. */
static void
then_look(void)
{
	interpose_before_sync = nothing_is_reserved;
}

static void
a_pool_whose_cqes_do_not_fit_leaves_none_reserved(void **state)
{
	nb_looked = 0;
	interpose_before_sync = then_look;
	assert_null(pool_try(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 8, .depth = 1025}));
	assert_int_equal(nb_looked, 1); /* whoever comes meanwhile is not refused */
	assert_int_equal(rte_errno, ENOSPC);
	assert_int_equal(rig.cq->reserved, 0);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
}

static void
a_pool_keeps_a_name_of_its_own(void **state)
{
	char name[] = "mine";
	struct plx_recv_pool_conf conf = {.name = name, .nb_recvs = 1};

	pool_make(&rig, &conf);
	name[0] = 'l';
	assert_string_equal(rig.recv_pool->conf.name, "mine");
	pool_break(&rig);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(a_pool_goes_while_its_limit_is_being_armed),
	CASE(an_srq_in_error_closes_the_connections_of_its_pool_and_no_other),
	CASE(a_pool_that_is_not_made_goes_with_its_group_if_its_queue_does_not),
	CASE(a_pool_that_is_not_made_goes_with_its_group_if_its_buffers_do_not),
	CASE(a_pool_whose_buffers_cannot_be_deregistered_stays_until_they_can),
	CASE(a_pool_whose_cqes_do_not_fit_leaves_none_reserved),
	CASE(a_pool_keeps_a_name_of_its_own),
};

PLX_TEST_SUITE(conn, recv_pool, tests, .lcores = 3);
