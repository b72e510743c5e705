/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

#include "rig.h"

/**
 * @file
 * A connection whose QP fails: the first real error is kept, told and logged once; flushes are counted; each op is settled.
 */

static struct rig rig;
static struct rig_count count;
static struct plx_op *ops[256];
static struct plx_submit_err err;
static FILE *log_file;
static char *log_text;
static size_t log_len;

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){.nb_cqe = 2048, .nb_ops = 2048});
	count = (struct rig_count){.rig = &rig};
	log_file = open_memstream(&log_text, &log_len);
	return rte_openlog_stream(log_file);
}

static int
unmake(void **state)
{
	rte_openlog_stream(NULL);
	fclose(log_file);
	free(log_text);
	rig_break(&rig);
	return 0;
}

/** Lines that were logged so far. */
static unsigned int
nb_logged(void)
{
	unsigned int lines = 0;

	fflush(log_file);
	for (const char *at = log_text; at != NULL && (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	return lines;
}

static struct told {
	unsigned int nb;
	struct plx_conn_error error;
} told;

static void
tell(struct plx_conn *conn, const struct plx_conn_error *error, void *arg)
{
	assert_int_equal(rte_lcore_id(), OWNER);
	assert_int_equal(plx_conn_state(conn), PLX_CONN_FAILED);
	assert_ptr_equal(arg, &rig);
	told.nb++;
	told.error = *error;
}

static struct plx_conn *
conn_that_tells(unsigned int depth)
{
	struct plx_conn *conn = rig_conn(&rig, depth, OWNER, true);

	assert_non_null(conn);
	conn->failed_cb = tell;
	told = (struct told){0};
	return conn;
}

static void
push(struct plx_conn *conn, const struct plx_op *op, enum plx_status status)
{
	struct plx_wc wc = {.wr_id = plx_op_id(op), .qp_num = conn->sq.qp_num, .status = (uint8_t)status,
		.vendor_err = 0x51, .raw_status = status};

	fake_cq_push(rig.cq, &wc);
}

static void
first_real_error_is_kept_told_and_logged_once(void **state)
{
	struct plx_conn *conn = conn_that_tells(8);
	struct plx_conn_error first;
	struct plx_conn_stats s;

	plx_conn_first_error(conn, &first);
	assert_int_equal(first.status, PLX_ST_SUCCESS);
	rig_ops(&rig, PLX_OPCODE_READ, ops, 8, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 8, &err), 8);
	push(conn, ops[0], PLX_ST_WR_FLUSH_ERR); /* a flush in front does not pass for the cause */
	push(conn, ops[1], PLX_ST_REM_ACCESS_ERR);
	push(conn, ops[2], PLX_ST_LOC_PROT_ERR); /* nor does what comes behind it */
	for (unsigned int i = 3; i < 8; i++)
		push(conn, ops[i], PLX_ST_WR_FLUSH_ERR);
	first.wr_id = plx_op_id(ops[1]);
	rig_turn(&rig);
	rig_turn(&rig);
	assert_int_equal(told.nb, 1);
	assert_int_equal(told.error.status, PLX_ST_REM_ACCESS_ERR);
	assert_int_equal(told.error.kind, PLX_OPCODE_READ);
	assert_int_equal(told.error.wr_id, first.wr_id);
	assert_int_equal(told.error.vendor_err, 0x51);
	assert_int_equal(told.error.qp_num, conn->sq.qp_num);
	assert_int_equal(nb_logged(), 1);
	assert_non_null(strstr(log_text, "REM_ACCESS_ERR"));
	plx_conn_first_error(conn, &first);
	assert_int_equal(first.status, PLX_ST_REM_ACCESS_ERR);
	plx_conn_stats(conn, &s);
	assert_int_equal(s.flushed, 6);
	assert_int_equal(count.calls, 8);
	fake_qp(conn->qp)->sq.tail = fake_qp(conn->qp)->sq.head;
	rig_close(&rig, conn);
	assert_int_equal(nb_logged(), 1);
}

/* case 2.13 */
static void
submits_to_a_failed_connection_get_one_clear_error_and_no_log(void **state)
{
	struct plx_conn *conn = conn_that_tells(8);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 3, &count);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	fake_complete(conn->qp, false, 1, PLX_ST_RETRY_EXC_ERR);
	rig_turn(&rig);
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(plx_conn_submit(conn, ops[1]), -ECONNABORTED);
		plx_test_as_lcore(WORKER);
		assert_int_equal(plx_conn_submit(conn, ops[1]), -ECONNABORTED);
		plx_test_as_lcore(OWNER);
		assert_int_equal(plx_conn_hold_burst(conn, ops + 1, 1, &err), 0);
		assert_int_equal(err.code, -ECONNABORTED);
		assert_int_equal(err.got, PLX_CONN_FAILED);
		ops[2]->wr.opcode = PLX_OPCODE_RECV;
		assert_int_equal(plx_conn_recv_burst(conn, ops + 2, 1, &err), 0);
		assert_int_equal(err.code, -ECONNABORTED);
	}
	assert_int_equal(plx_conn_flush(conn), -ECONNABORTED);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, 1);
	assert_int_equal(nb_logged(), 1);
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops + 1, 2), 2);
	rig_close(&rig, conn);
}

/* case 4.6 */
static void
ops_that_wait_for_a_slot_when_the_peer_dies_end_once_and_are_never_posted(void **state)
{
	struct plx_conn *conn = conn_that_tells(4);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 12, &count);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 8, &err), 8);
	plx_test_as_lcore(OWNER);
	rig_turn(&rig);
	assert_int_equal(conn->waiting[0].nb, 4);
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_conn_submit_burst(conn, ops + 8, 4, &err), 4); /* still on their way */
	plx_test_as_lcore(OWNER);
	fake_complete(conn->qp, false, 1, PLX_ST_RETRY_EXC_ERR);
	fake_complete(conn->qp, false, 3, PLX_ST_WR_FLUSH_ERR);
	rig_turn(&rig);
	rig_turn(&rig);
	assert_int_equal(count.calls, 12);
	assert_int_equal(count.by_status[PLX_ST_STOPPED], 8);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 4);
	assert_int_equal(conn->nb_queued, 0);
	assert_int_equal(told.nb, 1);
	rig_close(&rig, conn);
}

/* case 3.7: 64 connections, as many at once as the CQ has room for */
static void
ordinary_disconnect_logs_no_error_and_counts_its_flushes(void **state)
{
	struct plx_conn *conns[8];
	uint64_t flushed = 0;

	for (unsigned int round = 1; round <= 8; round++) {
		for (unsigned int i = 0; i < 8; i++) {
			conns[i] = conn_that_tells(128);
			rig_ops(&rig, PLX_OPCODE_RECV, ops, 128, &count);
			assert_int_equal(plx_conn_recv_burst(conns[i], ops, 128, &err), 128);
		}
		for (unsigned int i = 0; i < 8; i++)
			assert_int_equal(plx_conn_drain(conns[i]), 0);
		while (count.calls < round * 8 * 128)
			rig_turn(&rig);
		for (unsigned int i = 0; i < 8; i++) {
			struct plx_conn_stats s;

			plx_conn_stats(conns[i], &s);
			flushed += s.flushed;
			assert_int_equal(plx_conn_close(conns[i]), 0);
		}
		rig_turns_until_closed(&rig, round * 8);
	}
	assert_int_equal(flushed, 8192);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 8192);
	assert_int_equal(told.nb, 0);
	assert_int_equal(nb_logged(), 0);
}

static void
peer_that_only_flushes_has_failed_too(void **state)
{
	struct plx_conn *conn = conn_that_tells(4);

	rig_ops(&rig, PLX_OPCODE_RECV, ops, 3, &count);
	assert_int_equal(plx_conn_recv_burst(conn, ops, 3, &err), 3);
	fake_complete(conn->qp, true, 2, PLX_ST_WR_FLUSH_ERR);
	rig_turn(&rig);
	assert_int_equal(told.nb, 1);
	assert_int_equal(told.error.status, PLX_ST_WR_FLUSH_ERR);
	assert_int_equal(nb_logged(), 1);
	assert_non_null(strstr(log_text, "from outside"));
	fake_complete(conn->qp, true, 1, PLX_ST_LOC_PROT_ERR); /* the cause came behind: kept and logged, not told again */
	rig_turn(&rig);
	assert_int_equal(told.nb, 1);
	assert_int_equal(conn->error.status, PLX_ST_LOC_PROT_ERR);
	assert_int_equal(nb_logged(), 2);
	rig_close(&rig, conn);
}

static void
late_completion_of_an_op_that_timed_out_fails_the_connection(void **state)
{
	struct plx_conn *conn = conn_that_tells(4);

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	plx_op_set_deadline(ops[0], 1);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	rig_turn(&rig);
	assert_int_equal(told.nb, 0); /* a deadline says nothing of the QP */
	assert_int_equal(plx_conn_state(conn), PLX_CONN_READY);
	fake_complete(conn->qp, false, 1, PLX_ST_RETRY_EXC_ERR);
	rig_turn(&rig);
	assert_int_equal(told.nb, 1);
	assert_int_equal(told.error.status, PLX_ST_RETRY_EXC_ERR);
	assert_int_equal(count.calls, 1);
	rig_close(&rig, conn);
}

static void
close_that_came_first_is_not_told_of_the_error(void **state)
{
	struct plx_conn *conn = conn_that_tells(4);
	struct plx_conn_error first;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
	assert_int_equal(plx_conn_close(conn), 0);
	fake_complete(conn->qp, false, 1, PLX_ST_RETRY_EXC_ERR);
	rig_turn(&rig);
	plx_conn_first_error(conn, &first);
	assert_int_equal(first.status, PLX_ST_RETRY_EXC_ERR);
	rig_turns_until_closed(&rig, 1);
	assert_int_equal(told.nb, 0);
	assert_int_equal(nb_logged(), 1);
}

static struct plx_result seen;

static void
see(struct plx_op *op, void *arg)
{
	plx_op_result(op, &seen);
	plx_op_put(op);
}

/* cases 3.2, 3.3, 3.4: diagnostics are on, and the status is what the completion said */
static void
every_kind_with_every_error_is_reported_as_what_was_posted(void **state)
{
	for (unsigned int kind = 0; kind <= PLX_OPCODE_RECV; kind++) {
		for (unsigned int status = 1; status <= PLX_ST_TM_RNDV_INCOMPLETE; status++) {
			struct plx_conn *conn = rig_conn(&rig, 2, OWNER, true);
			struct plx_wc wc;

			conn->kinds = UINT32_MAX;
			rig_ops(&rig, (enum plx_opcode)kind, ops, 1, &count);
			ops[0]->cb = see;
			assert_int_equal(plx_conn_submit(conn, ops[0]), 0);
			memset(&wc, 0xa5, sizeof(wc));
			wc.wr_id = plx_op_id(ops[0]);
			wc.qp_num = conn->sq.qp_num;
			wc.status = (uint8_t)status;
			wc.no_qp_num = 0;
			fake_lose(conn->qp, kind == PLX_OPCODE_RECV);
			fake_cq_push(rig.cq, &wc);
			memset(&seen, 0, sizeof(seen));
			rig_turn(&rig);
			assert_int_equal(seen.status, status);
			assert_int_equal(seen.kind, kind);
			assert_int_equal(seen.byte_len | seen.imm | seen.wc_flags | seen.inv_rkey, 0);
			assert_int_equal(seen.vendor_err, 0xa5a5a5a5);
			assert_int_equal(conn->error.status, status);
			assert_int_equal(conn->error.kind, kind);
			rig_close(&rig, conn);
		}
	}
}

/* case 2.12 */
static void
completion_of_a_wr_whose_post_was_refused_is_nobodys(void **state)
{
	struct plx_conn *conn = conn_that_tells(4);
	struct plx_dispatcher_stats s;
	struct plx_wc wc = {.qp_num = conn->sq.qp_num};

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 1, &count);
	wc.wr_id = plx_op_id(ops[0]);
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = -EIO;
	assert_int_equal(plx_conn_submit(conn, ops[0]), -EIO);
	assert_int_equal(plx_conn_submit(conn, ops[0]), 0); /* unchanged: once more */
	fake_cq_push(rig.cq, &wc); /* of the first time */
	rig_turn(&rig);
	assert_int_equal(count.calls, 0);
	plx_dispatcher_stats(rig.d, &s);
	assert_int_equal(s.stale, 1);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 1);
	rig_close(&rig, conn);
}

/* case 2.2 */
static void
late_completions_of_a_dead_qp_touch_nothing_of_the_next_one(void **state)
{
	struct plx_conn *conn = conn_that_tells(16), *next;
	struct plx_dispatcher_stats s;
	struct plx_wc wcs[16];

	rig.dev->keep_flushes = true;
	rig_ops(&rig, PLX_OPCODE_RECV, ops, 16, &count);
	assert_int_equal(plx_conn_recv_burst(conn, ops, 16, &err), 16);
	for (unsigned int i = 0; i < 16; i++)
		wcs[i] = (struct plx_wc){.wr_id = plx_op_id(ops[i]), .qp_num = conn->rq.qp_num,
			.status = PLX_ST_WR_FLUSH_ERR};
	rig.dev->next_qp_num = conn->sq.qp_num; /* numbers are reused at once */
	rig_close(&rig, conn);
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 16);
	rig.dev->keep_flushes = false;
	next = conn_that_tells(16);
	rig_ops(&rig, PLX_OPCODE_RECV, ops, 16, &count); /* the same nodes */
	assert_int_equal(plx_conn_recv_burst(next, ops, 16, &err), 16);
	for (unsigned int i = 0; i < 16; i++)
		fake_cq_push(rig.cq, &wcs[i]);
	rig_turn(&rig);
	plx_dispatcher_stats(rig.d, &s);
	assert_int_equal(s.stale + s.duplicate, 16);
	assert_int_equal(count.calls, 16);
	assert_int_equal(plx_conn_state(next), PLX_CONN_READY);
	fake_complete(next->qp, true, 16, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 16);
	rig_close(&rig, next);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(first_real_error_is_kept_told_and_logged_once),
	CASE(submits_to_a_failed_connection_get_one_clear_error_and_no_log),
	CASE(ops_that_wait_for_a_slot_when_the_peer_dies_end_once_and_are_never_posted),
	CASE(ordinary_disconnect_logs_no_error_and_counts_its_flushes),
	CASE(peer_that_only_flushes_has_failed_too),
	CASE(late_completion_of_an_op_that_timed_out_fails_the_connection),
	CASE(close_that_came_first_is_not_told_of_the_error),
	CASE(every_kind_with_every_error_is_reported_as_what_was_posted),
	CASE(completion_of_a_wr_whose_post_was_refused_is_nobodys),
	CASE(late_completions_of_a_dead_qp_touch_nothing_of_the_next_one),
};

PLX_TEST_SUITE(conn, fail, tests, .lcores = 3);
