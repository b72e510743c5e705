/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "rig.h"

/**
 * @file
 * Admission to a shared CQ (contract 10.1): what does not fit is refused before its QP exists.
 */

static struct rig rig;
static struct rig_count count;

/* case 1.1 */
static void
a_connection_that_does_not_fit_is_refused_before_its_qp_exists(void **state)
{
	struct plx_conn *conns[4];
	struct plx_op *ops[4];

	rig_make(&rig, &(struct rig_conf){.nb_cqe = 64});
	count = (struct rig_count){.rig = &rig};
	for (unsigned int i = 0; i < 4; i++) {
		conns[i] = rig_conn(&rig, 8, OWNER, true); /* 8 sends and 8 receives: 16 CQEs */
		assert_non_null(conns[i]);
		rig_ops(&rig, PLX_OPCODE_SEND, &ops[i], 1, &count);
		assert_int_equal(plx_conn_submit(conns[i], ops[i]), 0);
	}
	assert_null(rig_conn(&rig, 8, OWNER, true));
	assert_int_equal(rte_errno, ENOSPC);
	assert_int_equal(rig.dev->nb_created, 4);
	assert_int_equal(rig.cq->reserved, 64);

	/* The four go on undisturbed, and what one of them gives back can be had again. */
	for (unsigned int i = 0; i < 4; i++)
		fake_complete(conns[i]->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 4);
	rig_close(&rig, conns[0]);
	conns[0] = rig_conn(&rig, 8, OWNER, true);
	assert_non_null(conns[0]);
	for (unsigned int i = 0; i < 4; i++)
		rig_close(&rig, conns[i]);
	rig_break(&rig);
}

/* case 1.2 */
static void
no_more_is_ever_in_flight_than_the_cq_holds_and_all_completes_once(void **state)
{
	struct plx_conn *conns[64];
	unsigned int submitted[64] = {0}, refused = 0;

	rig_make(&rig, &(struct rig_conf){.nb_cqe = 128, .nb_ops = 1200});
	count = (struct rig_count){.rig = &rig};
	for (unsigned int i = 0; i < 64; i++)
		assert_non_null(conns[i] = rig_conn(&rig, 1, OWNER, true));
	while (count.calls < 1024) {
		for (unsigned int i = 0; i < 64; i++) {
			struct plx_op *op;

			if (submitted[i] == 16)
				continue;
			rig_ops(&rig, PLX_OPCODE_SEND, &op, 1, &count);
			if (plx_conn_submit(conns[i], op) == 0) {
				submitted[i]++;
			} else {
				refused++;
				plx_op_put(op);
			}
		}
		for (unsigned int i = 0; i < 64; i++)
			fake_complete(conns[i]->qp, false,
				fake_qp(conns[i]->qp)->sq.head - fake_qp(conns[i]->qp)->sq.tail, PLX_ST_SUCCESS);
		rig_turn(&rig);
	}
	assert_true(refused > 0);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1024);
	for (unsigned int i = 0; i < 64; i++) {
		assert_int_equal(submitted[i], 16);
		assert_int_equal(plx_conn_close(conns[i]), 0);
	}
	rig_turns_until_closed(&rig, 64);
	rig_break(&rig);
}

static void
what_counts_is_what_was_granted(void **state)
{
	struct plx_conn *conn;

	rig_make(&rig, &(struct rig_conf){.nb_cqe = 64});
	rig.dev->grant_more.send_depth = 3;
	conn = rig_conn(&rig, 8, OWNER, true);
	assert_int_equal(conn->sq.depth, 11);
	assert_int_equal(plx_conn_cap(conn)->send_depth, 11);
	assert_int_equal(plx_conn_cap(conn)->recv_depth, 8);
	assert_int_equal(fake_qp(plx_conn_qp(conn))->state, PLX_QP_RTS);
	assert_int_equal(rig.cq->reserved, 19);
	rig.dev->grant_more.send_depth = 40; /* 48 + 8 more: found out only when the QP is there */
	assert_null(rig_conn(&rig, 8, OWNER, true));
	assert_int_equal(rte_errno, ENOSPC);
	assert_int_equal(rig.cq->reserved, 19);
	assert_int_equal(rig.dev->nb_destroyed, 1);
	rig_close(&rig, conn);
	rig_break(&rig);
}

static void
a_home_that_the_dispatcher_does_not_have_is_refused(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	assert_null(rig_conn(&rig, 8, 3, true));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(rig_conn(&rig, 8, 0, true)); /* left out of a conf: lcore 0, which is neither */
	assert_int_equal(rte_errno, EINVAL);
	rig_break(&rig);
}

static void
a_path_that_was_never_filled_in_is_refused(void **state)
{
	struct plx_conn_conf conf = {.home = OWNER};

	rig_make(&rig, &(struct rig_conf){0});
	conf.group = rig.group;
	conf.pd = rig.pd;
	assert_null(plx_conn_create(&conf));
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(rig.dev->nb_created, 0);
	rig_break(&rig);
}

static void
a_port_that_the_device_does_not_have_is_refused_and_logged_once(void **state)
{
	FILE *before = rte_log_get_stream(), *log;
	struct plx_conn_conf conf = {.home = OWNER};
	char *text, *end;
	size_t len;

	rig_make(&rig, &(struct rig_conf){0});
	plx_qp_path_default(&conf.path);
	conf.group = rig.group;
	conf.pd = rig.pd;
	conf.path.port = 9;
	log = open_memstream(&text, &len);
	assert_non_null(log);
	rte_openlog_stream(log);
	assert_null(plx_conn_create(&conf));
	rte_openlog_stream(before);
	fclose(log);
	assert_int_equal(rte_errno, EINVAL);
	assert_non_null(strstr(text, "port 9 asked, 1 ports, no such port"));
	end = strchr(text, '\n');
	assert_true(end != NULL && end[1] == '\0');
	free(text);
	rig_break(&rig);
}

static void
what_is_missing_in_a_conf_is_refused(void **state)
{
	struct plx_conn_group_conf group = {.name = "incomplete"};
	struct plx_conn_conf conn = {.home = OWNER};

	rig_make(&rig, &(struct rig_conf){0});
	plx_qp_path_default(&conn.path);
	for (unsigned int missing = 0; missing < 3; missing++) {
		group.dispatcher = missing != 0 ? rig.d : NULL;
		group.cq = missing != 1 ? rig.cq : NULL;
		group.control = missing != 2 ? rig.control : NULL;
		rte_errno = 0;
		assert_null(plx_conn_group_create(&group));
		assert_int_equal(rte_errno, EINVAL);
	}
	group.name = plx_test_long_name();
	group.dispatcher = NULL;
	plx_test_refusal((intptr_t)plx_conn_group_create(&group), 0, "n: no dispatcher in its conf");
	conn.pd = rig.pd;
	rte_errno = 0;
	assert_null(plx_conn_create(&conn));
	assert_int_equal(rte_errno, EINVAL);
	conn.group = rig.group;
	conn.pd = NULL;
	rte_errno = 0;
	assert_null(plx_conn_create(&conn));
	assert_int_equal(rte_errno, EINVAL);
	rig_break(&rig);
}

static void
the_control_thread_stays_while_a_group_needs_it(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	assert_int_equal(plx_control_destroy(rig.control), -EBUSY);
	rig_break(&rig);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_missing_in_a_conf_is_refused),
	cmocka_unit_test(the_control_thread_stays_while_a_group_needs_it),
	cmocka_unit_test(a_connection_that_does_not_fit_is_refused_before_its_qp_exists),
	cmocka_unit_test(no_more_is_ever_in_flight_than_the_cq_holds_and_all_completes_once),
	cmocka_unit_test(what_counts_is_what_was_granted),
	cmocka_unit_test(a_path_that_was_never_filled_in_is_refused),
	cmocka_unit_test(a_port_that_the_device_does_not_have_is_refused_and_logged_once),
	cmocka_unit_test(a_home_that_the_dispatcher_does_not_have_is_refused),
};

PLX_TEST_SUITE(conn, admission, tests, .lcores = 3);
