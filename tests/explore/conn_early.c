/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
/**
 * @file
 * Ops that end otherwise than by their own completion: deadlines, cancel, drain, late completion. See conn_world.h for
 * who takes part.
 */
#include "conn_world.h"

#define DEPTH_LATE 4 /* the least with half a queue to leave unsignaled */

/* ---- deadlines, cancel, drain -------------------------------------------------------------- */

static void
submit_one_that_is_late(void)
{
	struct plx_op *op = prepare(0, WORKER, note_conn);

	plx_op_set_deadline(op, 1);
	explore_equal(plx_conn_submit(conn, op), 0);
	nb_taken = 1;
	explore_signal(flag(0));
	owner_turn();
	owner_turn();
}

static void
submit_one_that_is_late_elsewhere(void)
{
	struct plx_op *op = prepare(0, WORKER, note_conn);

	plx_op_set_deadline(op, 1);
	explore_equal(plx_conn_submit(conn, op), 0);
	nb_taken = 1;
	turn();
}

static void
submit_one_and_poll(void)
{
	explore_equal(submit(0, 1, WORKER), 1);
	explore_signal(flag(0));
	owner_turn();
	owner_turn();
}

/** Whichever came first; and when both are through, the node is back, whoever let go of it last. */
static void
once_or(enum plx_status status)
{
	each_once();
	explore_assert(uses[0].result.status == status || uses[0].result.status == PLX_ST_SUCCESS);
	explore_assert(uses[0].result.status == PLX_ST_SUCCESS || uses[0].result.byte_len == 0);
	explore_equal(d->deadlines.nb, 0);
}

static void
once_or_late(void)
{
	once_or(PLX_ST_TIMED_OUT);
}

static void
owner_turn_once(void)
{
	owner_turn();
}

static void
once_too_late(void)
{
	each_once();
	status_is(0, PLX_ST_TIMED_OUT);
	explore_equal(fake_qp(qp)->sq.head, 0);
}

static void
once_or_cancelled(void)
{
	once_or(PLX_ST_CANCELLED);
}

static void
cancel_first(void)
{
	explore_await(flag(0));
	explore_equal(plx_conn_cancel(conn, uses[0].id), 0);
}

static void
late_or_orphan(void)
{
	struct plx_dispatcher_stats s;

	plx_dispatcher_stats(d, &s);
	explore_equal(nb_calls + s.orphans, 1);
	explore_equal(plx_op_pool_in_use(d->pool), 0);
	explore_equal(d->deadlines.nb, 0);
	explore_equal(conn->sq.head, conn->sq.tail);
}

static void
abandon_first(void)
{
	explore_await(flag(0));
	explore_equal(plx_dispatcher_abandon(d, uses[0].id, WORKER), 0);
}

static unsigned int nb_drained, calls_when_drained;

static void
drained(struct plx_conn *c, void *arg)
{
	calls_when_drained = nb_calls;
	nb_drained++;
}

static void
begin_drain(void)
{
	begin();
	nb_drained = 0;
}

static void
setup_drain(void)
{
	setup();
	conn->drained_cb = drained;
}

/** All the way, if nobody is in between. */
static void
drain_and_many_turns(void)
{
	explore_equal(plx_conn_drain(conn), 0);
	for (unsigned int i = 0; i < 8 && nb_drained == 0; i++)
		owner_turn();
}

static void
each_once_and_drained(void)
{
	each_once();
	explore_equal(nb_drained, 1);
	explore_equal(calls_when_drained, nb_calls);
	explore_equal(nb_closed, 0);
	explore_equal(plx_conn_state(conn), PLX_CONN_DRAINING);
}

static void
drain_then_close(void)
{
	explore_equal(plx_conn_drain(conn), 0);
	owner_turn();
	explore_equal(plx_conn_close(conn), 0);
	owner_turn();
}

static void
drained_and_closed(void)
{
	explore_equal(nb_drained, 1);
	explore_equal(calls_when_drained, nb_calls);
	each_once_and_closed();
}

/* ---- late completion ----------------------------------------------------------------------- */

static void
setup_late(void)
{
	setup_deep(DEPTH_LATE);
}

/** Submit uses 0 to @p n - 1 as one chain of which only the last is signaled; the device takes @p takes of them. */
static void
submit_late(unsigned int n, unsigned int takes)
{
	struct plx_submit_err err;
	struct plx_op *ops[MAX_USES];

	for (unsigned int i = 0; i < n; i++) {
		ops[i] = prepare(i, WORKER, note_conn);
		plx_op_add_flags(ops[i], PLX_OP_LATE_OK);
	}
	if (takes < n) {
		dev->fail_post_at = takes + 1;
		dev->fail_post_errno = -EIO;
	}
	posting = true;
	explore_equal(plx_conn_submit_burst(conn, ops, (uint16_t)n, &err), takes);
	posting = false;
	for (unsigned int i = takes; i < n; i++) {
		explore_equal(plx_op_put(ops[i]), 0);
		uses[i].id = 0;
	}
	nb_taken = takes;
	explore_signal(flag(0));
}

static void
submit_late_and_poll(void)
{
	submit_late(2, 2);
	owner_turn();
	owner_turn();
}

static void
complete_two(void)
{
	explore_await(flag(0));
	fake_complete(qp, false, 2, PLX_ST_SUCCESS);
}

static void
abandon_the_first_and_turn(void)
{
	explore_await(flag(0));
	explore_equal(plx_dispatcher_abandon(d, uses[0].id, WORKER), 0);
	turn();
}

/** The unsignaled one was called back before the other one, or was given up in time; its node is home either way. */
static void
first_once_or_never(void)
{
	explore_assert(uses[0].calls <= 1);
	explore_equal(uses[1].calls, 1);
	status_is(1, PLX_ST_SUCCESS);
	if (uses[0].calls == 1) {
		status_is(0, PLX_ST_SUCCESS);
		explore_assert(uses[0].order < uses[1].order);
	}
	explore_equal(conn->sq.nb_implied, 1);
	explore_equal(plx_op_pool_in_use(d->pool), 0);
	explore_equal(conn->sq.head, conn->sq.tail);
}

/** Close, and turns enough for the owner to hear of what it posted: those that are idle meet nobody. */
static void
close_until_called_back(void)
{
	explore_equal(plx_conn_close(conn), 0);
	for (unsigned int i = 0; i < 4; i++)
		owner_turn();
}

/** An unsignaled tail of which the first has succeeded, and nothing tells. */
static void
submit_a_tail_then_close(void)
{
	submit_late(3, 2);
	fake_complete(qp, false, 1, PLX_ST_SUCCESS);
	close_until_called_back();
}

static void
tail_ended_as_it_did(void)
{
	each_once_and_closed();
	status_is(0, PLX_ST_SUCCESS);
	status_is(1, PLX_ST_WR_FLUSH_ERR);
	explore_assert(uses[0].order < uses[1].order);
}

/** The whole of it succeeds before the close: the op that the close posts behind it tells so. */
static void
submit_a_tail_that_succeeds_then_close(void)
{
	given_up = true;
	submit_late(2, 1);
	fake_complete(qp, false, 1, PLX_ST_SUCCESS);
	close_until_called_back();
}

static void
give_up_the_tail(void)
{
	explore_await(flag(0));
	turn();
	explore_equal(plx_dispatcher_abandon(d, uses[0].id, WORKER), 0); /* an old id, if it was called back: counted, no more */
}

static void
closed_and_the_tail_once_or_never(void)
{
	explore_assert(uses[0].calls <= 1);
	if (uses[0].calls == 1)
		status_is(0, PLX_ST_SUCCESS);
	explore_equal(nb_closed, 1);
	explore_equal(plx_op_pool_in_use(d->pool), 0);
	explore_equal(cq->reserved, 0);
	explore_equal(plx_conn_destroy(conn), 0);
}

#define DRAIN(text, end, ...)                                                                                \
	{.name = text, .setup = setup_drain, .begin = begin_drain, .check = end, .idle_rounds = 5, .actors = {__VA_ARGS__}}

#define LATE(text, end, ...)                                                                                 \
	{.name = text, .setup = setup_late, .begin = begin, .check = end, .idle_rounds = 5, .actors = {__VA_ARGS__}}

const struct explore_scenario explore_conn_early[] = {
	CASE("conn_deadline_meets_completion", once_or_late, OWNS(submit_one_that_is_late), DEVICE(complete_one), WORKS(turn_once)),
	CASE("conn_deadline_meets_abandon", late_or_orphan, OWNS(submit_one_that_is_late), DEVICE(complete_one),
		ALIEN_(abandon_first), {"worker", WORKER, NULL, turn}),
	CASE("conn_deadline_passes_on_the_way", once_too_late, OWNS(owner_turn_once), WORKS(submit_one_that_is_late_elsewhere)),
	CASE("conn_cancel_meets_completion_and_put", once_or_cancelled, OWNS(submit_one_and_poll), DEVICE(complete_one),
		ALIEN_(cancel_first), {"worker", WORKER, NULL, turn}),
	DRAIN("conn_drain_meets_submit_elsewhere", each_once_and_drained, OWNS(drain_and_many_turns), WORKS(submit_one_elsewhere)),
	DRAIN("conn_drain_meets_close", drained_and_closed, OWNS(drain_then_close), WORKS(submit_one_elsewhere)),
	LATE("conn_late_meets_abandon", first_once_or_never, OWNS(submit_late_and_poll), WORKS(abandon_the_first_and_turn),
		DEVICE(complete_two)),
	LATE("conn_late_tail_meets_close", tail_ended_as_it_did, OWNS(submit_a_tail_then_close), WORKS(turn_once)),
	LATE("conn_late_tail_is_given_up_and_closed", closed_and_the_tail_once_or_never,
		OWNS(submit_a_tail_that_succeeds_then_close), WORKS(give_up_the_tail)),
	{.name = NULL},
};
