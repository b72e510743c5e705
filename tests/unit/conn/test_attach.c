/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_log.h>

#include "plx_conn_attach.h"
#include "rig.h"

/**
 * @file
 * Connections over queue pairs of the test's own, on the dispatcher of a rig: what is refused, who may, and what detach
 * settles. The backend keeps the ids that it was given; the test delivers them, or does not.
 */

#define DEPTH 8

struct own {
	struct plx_qp base;
	uint64_t ids[4 * DEPTH];
	unsigned int nb;
};

static struct rig rig;
static struct rig_count count;
static struct plx_op *ops[64];
static struct plx_submit_err err;
static struct own own;
static struct plx_conn *conn;

static uint16_t
own_post(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *code)
{
	for (uint16_t i = 0; i < n; i++)
		own.ids[own.nb++ % NB_OF(own.ids)] = wrs[i]->wr_id;
	return n;
}

static const struct plx_fast_ops own_fast = {.post_send = own_post, .post_recv = own_post};

static struct plx_conn_attach_conf
conf(void)
{
	return (struct plx_conn_attach_conf){.qp = &own.base, .dispatcher = rig.d, .home = PLX_HOME_ANY,
		.kinds = PLX_KIND(PLX_OPCODE_SEND) | PLX_KIND(PLX_OPCODE_CMP_SWAP), .arg = &rig};
}

static int
make(void **state)
{
	struct plx_conn_attach_conf plain;

	rig_make(&rig, &(struct rig_conf){0});
	count = (struct rig_count){.rig = &rig};
	own = (struct own){.base = {.fast = &own_fast, .qp_num = 77,
		.cap = {.send_depth = DEPTH, .recv_depth = DEPTH, .send_sge = 1, .recv_sge = 1}}};
	plain = conf();
	conn = plx_conn_attach(&plain);
	return conn == NULL;
}

static int
unmake(void **state)
{
	plx_test_as_lcore(OWNER);
	if (conn != NULL)
		assert_int_equal(plx_conn_detach(conn), 0);
	rig_break(&rig);
	return 0;
}

/** The backend is done with its @p at-th WR. */
static unsigned int
deliver(unsigned int at)
{
	struct plx_wc wc = {.wr_id = own.ids[at], .qp_num = 77};

	return plx_dispatcher_deliver_burst(rig.d, &wc, 1);
}

static void
what_is_missing_in_the_conf_is_einval(void **state)
{
	struct plx_conn_attach_conf bad = conf();
	struct own none = own;

#define REFUSED()                                                                                            \
	do {                                                                                                 \
		rte_errno = 0;                                                                               \
		assert_null(plx_conn_attach(&bad));                                                          \
		assert_int_equal(rte_errno, EINVAL);                                                         \
		bad = conf();                                                                                \
		none = own;                                                                                  \
	} while (0)
	bad.qp = NULL;
	REFUSED();
	bad.dispatcher = NULL;
	REFUSED();
	bad.home = 3; /* an lcore, but no home */
	REFUSED();
	bad.home = RTE_MAX_LCORE;
	REFUSED();
	bad.qp = &none.base;
	none.base.fast = NULL;
	REFUSED();
	bad.qp = &none.base;
	none.base.cap.send_depth = 0;
	REFUSED();
	bad.qp = &none.base;
	none.base.cap.send_sge = 0;
	REFUSED();
}

static void
a_depth_beyond_all_queues_is_einval_and_the_log_has_it(void **state)
{
	struct plx_conn_attach_conf bad = conf();
	FILE *before = rte_log_get_stream(), *log;
	struct own deep = own;
	size_t len;
	char *text;

	bad.qp = &deep.base;
	deep.base.cap.send_depth = UINT32_MAX;
	log = open_memstream(&text, &len);
	assert_non_null(log);
	rte_openlog_stream(log);
	rte_errno = 0;
	assert_null(plx_conn_attach(&bad));
	rte_openlog_stream(before);
	fclose(log);
	assert_int_equal(rte_errno, EINVAL);
	assert_non_null(strstr(text, "QP 77: no queue of 4294967295 ops, 2^24 at most"));
	free(text);
}

static void
a_shared_dispatcher_is_einval(void **state)
{
	struct plx_conn_attach_conf bad = conf();
	struct plx_dispatcher *d = plx_dispatcher_create(&(struct plx_dispatcher_conf){
		.name = "shared", .mode = PLX_DISPATCHER_SHARED, .pool = {.nb_ops = 16, .socket_id = SOCKET_ID_ANY}});

	assert_non_null(d);
	bad.dispatcher = d;
	assert_null(plx_conn_attach(&bad));
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(plx_dispatcher_destroy(d), 0);
}

static void
only_the_owner_submits_and_detaches(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit(conn, ops[0]), -EPERM);
	assert_int_equal(plx_conn_detach(conn), -EPERM);
	plx_test_as_lcore(OWNER);
	assert_int_equal(plx_conn_state(conn), PLX_CONN_READY);
	assert_int_equal(own.nb, 0);
	assert_int_equal(plx_op_put(ops[0]), 0);
}

static void
a_connection_of_a_group_is_not_detached(void **state)
{
	struct plx_conn *other = rig_conn(&rig, 4, OWNER, true);

	assert_int_equal(plx_conn_detach(other), -ENOTSUP);
	rig_close(&rig, other);
}

static int detached;

static void
detach_inside(struct plx_op *op, void *arg)
{
	detached = plx_conn_detach(conn);
	plx_op_put(op);
}

static void
a_callback_that_detach_runs_is_told_again(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	plx_op_prep_send(ops[0], NULL, 0, 0, detach_inside, NULL);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	detached = 0;
	assert_int_equal(plx_conn_detach(conn), 0);
	conn = NULL;
	assert_int_equal(detached, -EAGAIN);
}

static void
the_callback_of_a_delivered_op_may_detach(void **state)
{
	struct plx_wc wcs[2];

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 2, &count);
	plx_op_prep_send(ops[0], NULL, 0, 0, detach_inside, NULL);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 2, &err), 2);
	wcs[0] = (struct plx_wc){.wr_id = own.ids[0], .qp_num = 77};
	wcs[1] = (struct plx_wc){.wr_id = own.ids[1], .qp_num = 77};
	plx_dispatcher_deliver_burst(rig.d, wcs, 2); /* the second comes too late */
	assert_int_equal(detached, 0);
	conn = NULL;
	assert_int_equal(count.calls, 1);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 1);
}

static void
what_is_out_is_lost_once_and_its_completion_stale(void **state)
{
	struct plx_dispatcher_stats before, after;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 4, &count);
	rig_ops(&rig, PLX_OPCODE_RECV, ops + 4, 3, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 4, &err), 4);
	assert_int_equal(plx_conn_recv_burst(conn, ops + 4, 3, &err), 3);
	assert_int_equal(deliver(0), 1);
	assert_int_equal(plx_conn_detach(conn), 0);
	conn = NULL;
	assert_int_equal(count.calls, 7);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 6);
	plx_dispatcher_stats(rig.d, &before);
	deliver(1);
	deliver(6);
	plx_dispatcher_stats(rig.d, &after);
	assert_int_equal(after.stale - before.stale, 2);
	assert_int_equal(count.calls, 7);
}

static void
held_ops_end_as_stopped(void **state)
{
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 2, &count);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 2, &err), 2);
	assert_int_equal(plx_conn_detach(conn), 0);
	conn = NULL;
	assert_int_equal(own.nb, 0);
	assert_int_equal(count.by_status[PLX_ST_STOPPED], 2);
}

static void
another_home_is_waited_for(void **state)
{
	struct plx_conn_attach_conf there = conf();
	struct plx_conn *far;

	there.home = WORKER;
	far = plx_conn_attach(&there);
	assert_non_null(far);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 2, &count);
	assert_int_equal(plx_conn_submit_burst(far, ops, 2, &err), 2);
	assert_int_equal(deliver(0), 1);
	assert_int_equal(plx_conn_detach(far), -EAGAIN);
	assert_int_equal(count.calls, 0);
	assert_int_equal(plx_conn_detach(far), -EAGAIN);
	rig_ops(&rig, PLX_OPCODE_SEND, ops + 2, 1, &count);
	assert_int_equal(plx_conn_submit(far, ops[2]), -ENOTCONN);
	assert_int_equal(plx_op_put(ops[2]), 0);
	rig_home_turn(&rig, WORKER);
	rig_home_turn(&rig, WORKER);
	assert_int_equal(plx_conn_detach(far), 0);
	assert_int_equal(count.calls, 2);
	assert_int_equal(count.lcore, WORKER);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 1);
}

static void
empty_slots_refuse(void **state)
{
	static const struct plx_fast_ops nothing;
	struct own none = own;
	struct plx_conn_attach_conf bare = conf();
	struct plx_conn *empty;

	none.base.fast = &nothing;
	bare.qp = &none.base;
	empty = plx_conn_attach(&bare);
	assert_non_null(empty);
	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	rig_ops(&rig, PLX_OPCODE_RECV, ops + 1, 1, &count);
	assert_int_equal(plx_conn_submit(empty, ops[0]), -ENOTSUP);
	assert_int_equal(plx_conn_submit(empty, ops[1]), -ENOTSUP);
	assert_int_equal(plx_op_put(ops[0]), 0);
	assert_int_equal(plx_op_put(ops[1]), 0);
	assert_int_equal(plx_conn_detach(empty), 0);
	assert_int_equal(count.calls, 0);
}

static void
kinds_that_the_table_lacks_are_refused(void **state)
{
	static const struct plx_fast_ops sends = {
		.post_send = own_post, .post_recv = own_post, .kinds = PLX_KIND(PLX_OPCODE_SEND)};
	struct own one = own;
	struct plx_conn_attach_conf both = conf();
	struct plx_conn *sender;

	one.base.fast = &sends;
	both.qp = &one.base;
	sender = plx_conn_attach(&both);
	assert_non_null(sender);
	rig_ops(&rig, PLX_OPCODE_CMP_SWAP, ops, 1, &count);
	assert_int_equal(plx_conn_submit(sender, ops[0]), -ENOTSUP);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0); /* its table does not say */
	assert_int_equal(deliver(0), 1);
	assert_int_equal(plx_conn_detach(sender), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(what_is_missing_in_the_conf_is_einval),
	CASE(a_depth_beyond_all_queues_is_einval_and_the_log_has_it),
	CASE(a_shared_dispatcher_is_einval),
	CASE(only_the_owner_submits_and_detaches),
	CASE(a_connection_of_a_group_is_not_detached),
	CASE(a_callback_that_detach_runs_is_told_again),
	CASE(the_callback_of_a_delivered_op_may_detach),
	CASE(what_is_out_is_lost_once_and_its_completion_stale),
	CASE(held_ops_end_as_stopped),
	CASE(another_home_is_waited_for),
	CASE(empty_slots_refuse),
	CASE(kinds_that_the_table_lacks_are_refused),
};

PLX_TEST_SUITE(conn, attach, tests, .lcores = 3);
