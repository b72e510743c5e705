/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include "rig.h"

/**
 * @file
 * A list that submit replaces, since some of its SGEs have no bytes or the op travels: it is the caller's again afterwards.
 */

static struct rig rig;
static struct plx_conn *conn;
static struct rig_count count;
static struct plx_op *ops[2];
static struct plx_sge list[3];
static struct plx_submit_err err;
static char bytes[64];

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	conn = rig_conn(&rig, 8, OWNER, true);
	count = (struct rig_count){.rig = &rig, .keep = true};
	return 0;
}

static int
unmake(void **state)
{
	plx_test_as_lcore(OWNER);
	plx_op_put(ops[0]);
	rig_close(&rig, conn);
	rig_break(&rig);
	return 0;
}

/** The list: @p nb with bytes, from @p at on, around one without. */
static void
list_set(unsigned int nb, unsigned int at)
{
	for (unsigned int i = 0; i < 3; i++)
		list[i] = (struct plx_sge){
			.addr = (uintptr_t)&bytes[at + i], .length = i == 1 || i > nb ? 0 : 4 + i, .lkey = 1};
	if (nb == 3)
		list[1].length = 5;
}

static void
op_with_list(void)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	plx_op_set_sges(ops[0], list, 3);
}

static void
posted_from(unsigned int at, unsigned int nb)
{
	assert_int_equal(fake_qp(conn->qp)->last.num_sge, nb);
	assert_int_equal(fake_qp(conn->qp)->last_sges[0].addr, (uintptr_t)&bytes[at]);
	assert_int_equal(fake_qp(conn->qp)->last_sges[nb - 1].addr, (uintptr_t)&bytes[at + 2]);
}

static void
completes(void)
{
	unsigned int calls = count.calls;

	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, calls + 1);
}

static void
submit_here(void)
{
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
}

static void
submit_elsewhere(void)
{
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	plx_test_as_lcore(OWNER);
	rig_turn(&rig);
}

static void
hold_and_flush(void)
{
	assert_int_equal(plx_conn_hold_burst(conn, ops, 1, &err), 1);
	list_set(2, 32); /* is not looked at any more */
	assert_int_equal(plx_conn_flush(conn), 0);
}

static void
an_op_that_is_used_again_reads_its_list_again(void **state)
{
	static void (*const submits[])(void) = {submit_here, submit_elsewhere, hold_and_flush};

	for (unsigned int i = 0; i < NB_OF(submits); i++) {
		for (unsigned int nb = 2; nb <= 3; nb++) {
			list_set(nb, 0);
			op_with_list();
			submits[i]();
			posted_from(0, nb);
			completes();
			assert_int_equal(plx_op_again(ops[0]), 0);
			list_set(nb, 16);
			submits[i]();
			posted_from(16, nb);
			completes();
			assert_int_equal(plx_op_put(ops[0]), 0);
		}
	}
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
}

/* What it was given, and no more than that: the id alone tells what the device may have from what is submitted next. */
static void
an_op_that_a_post_refuses_is_as_it_was_but_for_its_id(void **state)
{
	uint64_t id;

	list_set(2, 0);
	op_with_list();
	id = plx_op_id(ops[0]);
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = -ENOMEM;
	assert_int_equal(plx_conn_submit(conn, ops[0]), -ENOMEM);
	assert_ptr_equal(ops[0]->wr.sg_list, list);
	assert_int_equal(ops[0]->wr.num_sge, 3);
	assert_int_not_equal(plx_op_id(ops[0]), id);
	list_set(2, 16);
	submit_here();
	posted_from(16, 2);
	completes();
}

static void
an_op_that_finds_the_lane_full_is_as_it_was(void **state)
{
	uint64_t id;

	list_set(3, 0);
	op_with_list();
	id = plx_op_id(ops[0]);
	plx_test_as_lcore(WORKER);
	while (plx_conn_cancel(conn, id) == 0) /* of nothing yet: they fill the lane */
		;
	assert_int_equal(plx_conn_submit(conn, ops[0]), -EAGAIN);
	assert_ptr_equal(ops[0]->wr.sg_list, list);
	assert_int_equal(ops[0]->wr.num_sge, 3);
	assert_int_equal(plx_op_id(ops[0]), id);
	plx_test_as_lcore(OWNER);
	for (unsigned int i = 0; i < 100; i++)
		rig_turn(&rig);
	list_set(3, 16);
	submit_here();
	posted_from(16, 3);
	completes();
}

static void
an_op_that_is_prepared_anew_forgets_the_list(void **state)
{
	list_set(2, 0);
	op_with_list();
	submit_here();
	completes();
	plx_op_prep_send(ops[0], bytes, 9, 1, rig_done, &count);
	plx_op_set_deadline(ops[0], plx_clock_monotonic_ns() + UINT64_C(3600000000000)); /* rare, too */
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = -ENOMEM;
	assert_int_equal(plx_conn_submit(conn, ops[0]), -ENOMEM);
	assert_ptr_equal(ops[0]->wr.sg_list, &ops[0]->sge);
	submit_here();
	assert_int_equal(fake_qp(conn->qp)->last_sges[0].length, 9);
	completes();
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(an_op_that_is_used_again_reads_its_list_again),
	CASE(an_op_that_a_post_refuses_is_as_it_was_but_for_its_id),
	CASE(an_op_that_finds_the_lane_full_is_as_it_was),
	CASE(an_op_that_is_prepared_anew_forgets_the_list),
};

PLX_TEST_SUITE(conn, list, tests, .lcores = 3);
