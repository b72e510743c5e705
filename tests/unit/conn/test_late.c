/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <string.h>

#include "plx_conn_attach.h"
#include "rig.h"

/**
 * @file
 * Ops that may complete late: which of them ask the device for a completion, and how the others end.
 *
 *      posted   u  u  u  S      u unsignaled, S signaled
 *      called   1  2  3  4      at S's completion, in order
 */

#define DEPTH 16

static struct rig rig;
static struct plx_conn *conn;
static struct rig_count count;
static struct plx_op *ops[64];
static struct plx_submit_err err;
static unsigned int nb_lost;

static void
lost(struct plx_conn *c, const struct plx_op *op, void *arg)
{
	nb_lost++;
}

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){.lost_cb = lost});
	conn = rig_conn(&rig, DEPTH, OWNER, true);
	count = (struct rig_count){.rig = &rig};
	nb_lost = 0;
	return 0;
}

static int
unmake(void **state)
{
	if (conn != NULL)
		rig_close(&rig, conn);
	rig_break(&rig);
	return 0;
}

/** ops[from] to ops[from + n - 1]: writes that may complete late. */
static void
late_ops(unsigned int from, unsigned int n)
{
	rig_ops(&rig, PLX_OPCODE_WRITE, ops + from, n, &count);
	for (unsigned int i = from; i < from + n; i++)
		plx_op_add_flags(ops[i], PLX_OP_LATE_OK);
}

static void
submit(unsigned int from, unsigned int n)
{
	assert_int_equal(plx_conn_submit_burst(conn, ops + from, (uint16_t)n, &err), n);
}

/** Post @p n of @p n + 1 late ops from @p from on; the device refuses the last, which is the signaled one. */
static void
submit_tail(unsigned int from, unsigned int n)
{
	late_ops(from, n + 1);
	rig.dev->fail_post_at = n + 1;
	rig.dev->fail_post_errno = -EIO;
	assert_int_equal(plx_conn_submit_burst(conn, ops + from, (uint16_t)(n + 1), &err), n);
	assert_int_equal(err.code, -EIO);
	assert_int_equal(plx_op_put(ops[from + n]), 0);
}

/** The posts from the @p from-th on are signaled where @p pattern has an S. */
static void
signals_are(unsigned int from, const char *pattern)
{
	const struct fake_queue *sq = &fake_qp(conn->qp)->sq;

	assert_int_equal(sq->head - from, strlen(pattern));
	for (unsigned int i = 0; pattern[i] != 0; i++)
		assert_int_equal(sq->flags[from + i] & PLX_WR_SIGNALED ? 'S' : 'u', pattern[i]);
}

/** All @p n were called back, in the order of the queue, with success. */
static void
all_succeeded_in_order(unsigned int n)
{
	assert_int_equal(count.calls, n);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], n);
	assert_memory_equal(count.ids, fake_qp(conn->qp)->sq.wr_ids, n * sizeof(uint64_t));
}

/* ---- who is signaled ----------------------------------------------------------------------- */

static void
the_last_of_a_burst_is_signaled_and_brings_the_others_in_order(void **state)
{
	struct plx_conn_stats stats;

	late_ops(0, 6);
	submit(0, 6);
	signals_are(0, "uuuuuS");
	fake_complete(conn->qp, false, 5, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 0); /* nothing has told us */
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	all_succeeded_in_order(6);
	plx_conn_stats(conn, &stats);
	assert_int_equal(stats.implied, 5);
	assert_int_equal(stats.lost + stats.in_flight, 0);
}

/** Flags may be set by hand, without PLX_WR_SIGNALED: who must be signaled is so all the same. */
static void
late_ops_that_never_asked_are_signaled_where_they_must(void **state)
{
	rig_ops(&rig, PLX_OPCODE_WRITE, ops, 5, &count);
	for (unsigned int i = 0; i < 5; i++) {
		ops[i]->wr.flags = PLX_OP_LATE_OK;
		plx_op_note(ops[i], PLX_OP_OWN_FLAGS);
	}
	plx_op_set_deadline(ops[2], UINT64_MAX);
	submit(0, 1);
	submit(1, 4);
	signals_are(0, "SuSuS");
	fake_complete(conn->qp, false, 5, PLX_ST_SUCCESS);
	rig_turn(&rig);
	all_succeeded_in_order(5);
}

static void
one_alone_is_signaled(void **state)
{
	for (unsigned int i = 0; i < 3; i++) {
		late_ops(i, 1);
		assert_int_equal(plx_conn_submit(conn, ops[i]), 0);
	}
	signals_are(0, "SSS");
}

/* case 4.2: credit never waits for more than half a queue */
static void
every_half_queue_has_a_signal_whatever_the_bursts(void **state)
{
	late_ops(0, DEPTH);
	submit(0, DEPTH);
	signals_are(0, "uuuuuuuSuuuuuuuS");
	fake_complete(conn->qp, false, DEPTH, PLX_ST_SUCCESS);
	rig_turn(&rig);
	all_succeeded_in_order(DEPTH);
	/* also across bursts that the device cut short */
	for (unsigned int i = 0; i < 2; i++)
		submit_tail(i * 3, 3);
	late_ops(6, 4);
	submit(6, 4);
	signals_are(DEPTH, "uuuuuuuSuS");
}

static void
queue_too_short_for_a_half_is_all_signaled(void **state)
{
	struct plx_conn *deep = conn, *shallow = rig_conn(&rig, 3, OWNER, true);

	conn = shallow;
	late_ops(0, 3);
	submit(0, 3);
	signals_are(0, "SSS");
	conn = deep;
	rig_close(&rig, shallow);
}

static void
who_did_not_allow_it_is_signaled(void **state)
{
	late_ops(0, 6);
	plx_op_prep(ops[0], PLX_OPCODE_WRITE, ops, 8, 1, rig_done, &count);
	plx_op_prep(ops[3], PLX_OPCODE_WRITE, ops, 8, 1, rig_done, &count);
	submit(0, 6);
	signals_are(0, "SuuSuS");
}

/* It is to be over in time, and not when somebody posts again. */
static void
who_has_a_deadline_is_signaled(void **state)
{
	late_ops(0, 5);
	plx_op_set_deadline(ops[2], UINT64_MAX);
	submit(0, 5);
	signals_are(0, "uuSuS");
	fake_complete(conn->qp, false, 5, PLX_ST_SUCCESS);
	rig_turn(&rig);
	all_succeeded_in_order(5);
}

/* case 4.3: nothing but the signal bit changes, posted or not, used again or not */
static void
each_combination_of_flags_survives_the_choice(void **state)
{
	for (unsigned int flags = 0; flags < 16; flags += 2) {
		unsigned int at = fake_qp(conn->qp)->sq.head;
		uint8_t all = (uint8_t)(flags | PLX_OP_LATE_OK);

		late_ops(0, 3);
		for (unsigned int i = 0; i < 3; i++)
			plx_op_add_flags(ops[i], (uint8_t)flags);
		count.keep = true;
		submit(0, 3);
		fake_complete(conn->qp, false, 3, PLX_ST_SUCCESS);
		rig_turn(&rig);
		for (unsigned int i = 0; i < 3; i++) {
			assert_int_equal(fake_qp(conn->qp)->sq.flags[at + i], all | (i == 2 ? PLX_WR_SIGNALED : 0));
			assert_int_equal(plx_op_again(ops[i]), 0);
			assert_int_equal(ops[i]->wr.flags, all | PLX_WR_SIGNALED);
			assert_int_equal(plx_op_put(ops[i]), 0);
		}
	}
}

static void
what_a_post_did_not_take_is_as_it_was(void **state)
{
	late_ops(0, 4);
	rig.dev->fail_post_at = 2;
	rig.dev->fail_post_errno = -EIO;
	assert_int_equal(plx_conn_submit_burst(conn, ops, 4, &err), 1);
	for (unsigned int i = 1; i < 4; i++) {
		assert_int_equal(ops[i]->state, PLX_OP_PREPARED);
		assert_int_equal(ops[i]->wr.flags, PLX_OP_LATE_OK | PLX_WR_SIGNALED);
	}
	submit(1, 3);
	signals_are(0, "uuuS");
}

static void
the_last_that_passes_the_checks_is_signaled(void **state)
{
	late_ops(0, 5);
	ops[3]->attention |= PLX_OP_BAD_RIGHTS;
	assert_int_equal(plx_conn_submit_burst(conn, ops, 5, &err), 3);
	assert_int_equal(err.code, -EACCES);
	signals_are(0, "uuS");
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops + 3, 2), 2);
}

static void
a_receive_is_signaled_whatever_it_allows(void **state)
{
	rig_ops(&rig, PLX_OPCODE_RECV, ops, 2, &count);
	for (unsigned int i = 0; i < 2; i++)
		plx_op_add_flags(ops[i], PLX_OP_LATE_OK);
	assert_int_equal(plx_conn_recv_burst(conn, ops, 2, &err), 2);
	assert_int_equal(fake_qp(conn->qp)->rq.flags[0], PLX_OP_LATE_OK | PLX_WR_SIGNALED);
}

static void
a_flush_signals_the_last_of_what_was_held(void **state)
{
	late_ops(0, 7);
	assert_int_equal(plx_conn_hold_burst(conn, ops, 3, &err), 3);
	assert_int_equal(plx_conn_hold_burst(conn, ops + 3, 1, &err), 1);
	assert_int_equal(plx_conn_flush(conn), 0);
	signals_are(0, "uuuS");
	assert_int_equal(plx_conn_hold_burst(conn, ops + 4, 1, &err), 1);
	submit(5, 2);
	signals_are(4, "uuS");
	fake_complete(conn->qp, false, 7, PLX_ST_SUCCESS);
	rig_turn(&rig);
	all_succeeded_in_order(7);
}

static void
from_elsewhere_each_chain_of_the_owner_ends_signaled(void **state)
{
	late_ops(0, 20);
	plx_test_as_lcore(WORKER);
	submit(0, 20);
	plx_test_as_lcore(OWNER);
	rig_turn(&rig); /* four wait for credit */
	signals_are(0, "uuuuuuuSuuuuuuuS");
	fake_complete(conn->qp, false, DEPTH, PLX_ST_SUCCESS);
	rig_turn(&rig);
	signals_are(DEPTH, "uuuS");
	fake_complete(conn->qp, false, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	all_succeeded_in_order(20);
}

/* ---- how they end -------------------------------------------------------------------------- */

/** @p len: what a completion of its own would have said it brought. */
static void
late_result_is_whole(enum plx_opcode kind, uint32_t len)
{
	struct plx_sge list[2] = {{.addr = 1, .length = 30}, {.addr = 2, .length = 4}};
	struct plx_result res;

	count.keep = true;
	late_ops(1, 1);
	rig_ops(&rig, kind, ops, 1, &count);
	plx_op_add_flags(ops[0], PLX_OP_LATE_OK);
	plx_op_set_sges(ops[0], list, 2);
	submit(0, 2);
	memset(list, 0xff, sizeof(list));
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	plx_op_result(ops[0], &res);
	assert_int_equal(res.status, PLX_ST_SUCCESS);
	assert_int_equal(res.kind, kind);
	assert_int_equal(res.byte_len, len);
	assert_int_equal(res.qp_num, conn->qp->qp_num);
	assert_int_equal(res.wc_flags, 0);
	assert_ptr_equal(res.conn, conn);
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops, 2), 2);
}

static void
the_result_is_whole_though_the_list_is_gone(void **state)
{
	late_result_is_whole(PLX_OPCODE_READ, 34);
	late_result_is_whole(PLX_OPCODE_WRITE, 0); /* as of any write, late or not */
}

/* case 4.5: an error completes whatever it asked for; what is before it has succeeded, what is behind is flushed */
static void
unsignaled_op_that_fails_is_found_and_those_around_it_end_as_they_did(void **state)
{
	late_ops(0, 10);
	submit(0, 10);
	signals_are(0, "uuuuuuuSuS");
	fake_complete(conn->qp, false, 3, PLX_ST_SUCCESS);
	fake_complete(conn->qp, false, 1, PLX_ST_REM_ACCESS_ERR);
	fake_complete(conn->qp, false, 6, PLX_ST_WR_FLUSH_ERR);
	rig_turn(&rig);
	assert_int_equal(count.calls, 10);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 3);
	assert_int_equal(count.by_status[PLX_ST_REM_ACCESS_ERR], 1);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 6);
	assert_memory_equal(count.ids, fake_qp(conn->qp)->sq.wr_ids, 10 * sizeof(uint64_t));
	assert_int_equal(nb_lost, 0);
}

static void
unsignaled_op_whose_flush_is_lost_is_no_success(void **state)
{
	late_ops(0, 5);
	submit(0, 5);
	fake_complete(conn->qp, false, 1, PLX_ST_RETRY_EXC_ERR);
	rig_turn(&rig);
	fake_lose(conn->qp, false);
	fake_complete(conn->qp, false, 3, PLX_ST_WR_FLUSH_ERR);
	rig_turn(&rig);
	assert_int_equal(count.calls, 4);
	assert_int_equal(nb_lost, 1);
	rig_close(&rig, conn);
	conn = NULL;
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 1);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 0);
}

static void
a_lost_signaled_op_among_them_is_lost_alone(void **state)
{
	late_ops(0, 5);
	plx_op_prep(ops[2], PLX_OPCODE_WRITE, ops, 8, 1, rig_done, &count);
	submit(0, 5);
	signals_are(0, "uuSuS");
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	fake_lose(conn->qp, false);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 4);
	assert_int_equal(nb_lost, 1);
	assert_int_equal(plx_op_queue_room(&conn->sq), DEPTH);
}

static void
push_success(const struct plx_op *op)
{
	struct plx_wc wc = {.wr_id = plx_op_id(op), .opcode = PLX_OPCODE_WRITE, .qp_num = conn->qp->qp_num};

	fake_cq_push(rig.cq, &wc);
}

/* A device that completes the success of an unsignaled WR all the same. */
static void
completion_that_nobody_asked_for_ends_the_op_or_is_a_duplicate(void **state)
{
	struct plx_dispatcher_stats stats;

	count.keep = true;
	late_ops(0, 4);
	submit(0, 4);
	push_success(ops[0]);
	rig_turn(&rig);
	assert_int_equal(count.calls, 1);
	fake_complete(conn->qp, false, 4, PLX_ST_SUCCESS);
	push_success(ops[1]); /* behind the one that spoke for it */
	rig_turn(&rig);
	assert_int_equal(count.calls, 4);
	plx_dispatcher_stats(rig.d, &stats);
	assert_int_equal(stats.duplicate, 1);
	push_success(ops[2]);
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops, 4), 4);
	rig_turn(&rig);
	plx_dispatcher_stats(rig.d, &stats);
	assert_int_equal(stats.stale, 1); /* as it reuses the op */
}

static void
who_gives_up_at_once_gets_the_node_back_with_the_next_completion(void **state)
{
	struct plx_dispatcher_stats stats;

	late_ops(0, 4);
	submit(0, 4);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(plx_op_abandon(rig.d, ops[i]), 0);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 4);
	fake_complete(conn->qp, false, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 1);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	plx_dispatcher_stats(rig.d, &stats);
	assert_int_equal(stats.orphans, 3);
}

static void
each_is_called_back_on_its_home_and_in_order_there(void **state)
{
	late_ops(0, 6);
	plx_op_set_home(ops[1], WORKER);
	plx_op_set_home(ops[3], WORKER);
	plx_op_set_home(ops[5], WORKER);
	submit(0, 6);
	fake_complete(conn->qp, false, 6, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 3);
	assert_int_equal(count.lcore, OWNER);
	rig_home_turn(&rig, WORKER);
	assert_int_equal(count.calls, 6);
	assert_int_equal(count.lcore, WORKER);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(count.ids[i], fake_qp(conn->qp)->sq.wr_ids[i < 3 ? 2 * i : 2 * i - 5]);
}

/* It is settled already; that the device is done with it is told by the same completion. */
static void
cancelled_one_comes_back_with_the_next_completion_and_the_others_succeed(void **state)
{
	late_ops(0, 4);
	submit(0, 4);
	assert_int_equal(plx_conn_cancel(conn, plx_op_id(ops[1])), 0);
	assert_int_equal(plx_conn_cancel(conn, plx_op_id(ops[3])), 0);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_CANCELLED], 2);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 4);
	fake_complete(conn->qp, false, 4, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 2);
	assert_int_equal(count.calls, 4);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	assert_int_equal(nb_lost, 0);
}

static void
failure_of_a_cancelled_one_is_noted_too(void **state)
{
	late_ops(0, 4);
	submit(0, 4);
	assert_int_equal(plx_conn_cancel(conn, plx_op_id(ops[0])), 0);
	rig_turn(&rig);
	fake_complete(conn->qp, false, 1, PLX_ST_REM_ACCESS_ERR);
	fake_lose(conn->qp, false);
	fake_complete(conn->qp, false, 2, PLX_ST_WR_FLUSH_ERR);
	rig_turn(&rig);
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 0);
	assert_int_equal(nb_lost, 1);
}

static int detached;

static void
done_and_detach(struct plx_op *op, void *arg)
{
	rig_done(op, &count);
	if (detached != 0)
		detached = plx_conn_detach(arg);
}

/* The one that brought them is not home yet, and its callback is still to come. */
static void
a_detach_in_the_callback_of_the_first_waits_for_the_last(void **state)
{
	struct plx_conn_attach_conf conf = {
		.qp = conn->qp, .dispatcher = rig.d, .home = OWNER, .kinds = PLX_KIND(PLX_OPCODE_WRITE)};
	struct plx_conn *attached = plx_conn_attach(&conf);

	assert_non_null(attached);
	late_ops(0, 2);
	ops[0]->cb = done_and_detach;
	ops[0]->arg = attached;
	detached = -1;
	assert_int_equal(plx_conn_submit_burst(attached, ops, 2, &err), 2);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(detached, -EAGAIN);
	all_succeeded_in_order(2);
	assert_int_equal(plx_conn_detach(attached), 0);
}

/* ---- tails --------------------------------------------------------------------------------- */

static void
a_tail_that_the_device_left_ends_with_the_next_submit(void **state)
{
	submit_tail(0, 3);
	signals_are(0, "uuu");
	fake_complete(conn->qp, false, 3, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(count.calls, 0);
	late_ops(3, 1);
	submit(3, 1);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	all_succeeded_in_order(4);
}

/* case 4.4: interval 4; n, idle, close */
static void
close_ends_what_succeeded_unsignaled_whatever_the_length_of_the_tail(void **state)
{
	rig_close(&rig, conn);
	for (unsigned int n = 1; n <= 17; n++) {
		unsigned int whole = n / 4 * 4, tail = n % 4;

		conn = rig_conn(&rig, 64, OWNER, true);
		memset(&count, 0, sizeof(count));
		for (unsigned int i = 0; i < whole; i += 4) {
			late_ops(i, 4);
			submit(i, 4);
		}
		if (tail != 0)
			submit_tail(whole, tail);
		fake_complete(conn->qp, false, n, PLX_ST_SUCCESS);
		rig_turn(&rig);
		assert_int_equal(count.calls, whole);
		assert_int_equal(plx_conn_close(conn), 0);
		conn->drain_ms = 60000; /* it does not wait for the deadline */
		rig_turns_until_closed(&rig, rig.nb_closed + 1);
		assert_int_equal(count.by_status[PLX_ST_SUCCESS], n);
		assert_int_equal(count.calls, n);
	}
	conn = NULL;
}

static void
close_tells_a_tail_that_was_flushed_from_one_that_succeeded(void **state)
{
	submit_tail(0, 4);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_close(&rig, conn);
	conn = NULL;
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 2);
	assert_int_equal(count.by_status[PLX_ST_WR_FLUSH_ERR], 2);
}

static void
close_finds_an_op_for_the_tail_when_one_comes_back(void **state)
{
	struct plx_op *all[1024];
	unsigned int nb = 0;

	submit_tail(0, 4);
	fake_complete(conn->qp, false, 4, PLX_ST_SUCCESS);
	while (plx_op_get_bulk(rig.d->pool, &all[nb], 1) == 0)
		nb++;
	conn->drain_ms = 60000;
	assert_int_equal(plx_conn_close(conn), 0);
	while (__atomic_load_n(&rig.dev->nb_to_error, __ATOMIC_RELAXED) == 0)
		rig_turn(&rig);
	for (unsigned int i = 0; i < 100; i++)
		rig_turn(&rig);
	assert_int_equal(count.calls, 0);
	assert_int_equal(plx_op_put_bulk(rig.d->pool, all, nb), nb);
	rig_turns_until_closed(&rig, rig.nb_closed + 1);
	conn = NULL;
	assert_int_equal(count.by_status[PLX_ST_SUCCESS], 4);
}

/* The QP could not be taken to ERR, so nothing may be posted; what says nothing is settled with the QP. */
static void
close_without_an_error_state_settles_the_tail_with_the_qp(void **state)
{
	submit_tail(0, 2);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig.dev->fail_to_error = true;
	rig_close(&rig, conn);
	conn = NULL;
	assert_int_equal(count.by_status[PLX_ST_CONN_LOST], 2);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(the_last_of_a_burst_is_signaled_and_brings_the_others_in_order),
	CASE(late_ops_that_never_asked_are_signaled_where_they_must),
	CASE(one_alone_is_signaled),
	CASE(every_half_queue_has_a_signal_whatever_the_bursts),
	CASE(queue_too_short_for_a_half_is_all_signaled),
	CASE(who_did_not_allow_it_is_signaled),
	CASE(who_has_a_deadline_is_signaled),
	CASE(each_combination_of_flags_survives_the_choice),
	CASE(what_a_post_did_not_take_is_as_it_was),
	CASE(the_last_that_passes_the_checks_is_signaled),
	CASE(a_receive_is_signaled_whatever_it_allows),
	CASE(a_flush_signals_the_last_of_what_was_held),
	CASE(from_elsewhere_each_chain_of_the_owner_ends_signaled),
	CASE(the_result_is_whole_though_the_list_is_gone),
	CASE(unsignaled_op_that_fails_is_found_and_those_around_it_end_as_they_did),
	CASE(unsignaled_op_whose_flush_is_lost_is_no_success),
	CASE(a_lost_signaled_op_among_them_is_lost_alone),
	CASE(completion_that_nobody_asked_for_ends_the_op_or_is_a_duplicate),
	CASE(who_gives_up_at_once_gets_the_node_back_with_the_next_completion),
	CASE(each_is_called_back_on_its_home_and_in_order_there),
	CASE(cancelled_one_comes_back_with_the_next_completion_and_the_others_succeed),
	CASE(failure_of_a_cancelled_one_is_noted_too),
	CASE(a_detach_in_the_callback_of_the_first_waits_for_the_last),
	CASE(a_tail_that_the_device_left_ends_with_the_next_submit),
	CASE(close_ends_what_succeeded_unsignaled_whatever_the_length_of_the_tail),
	CASE(close_tells_a_tail_that_was_flushed_from_one_that_succeeded),
	CASE(close_finds_an_op_for_the_tail_when_one_comes_back),
	CASE(close_without_an_error_state_settles_the_tail_with_the_qp),
};

PLX_TEST_SUITE(conn, late, tests, .lcores = 3);
