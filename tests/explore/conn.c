/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "world.h"

#include <errno.h>

#include "fake_device.h"
#include "plx_conn.h"

/**
 * @file
 * A connection with its owner, another lcore that submits, the control thread, and a device that completes when it likes.
 *
 * The control thread is lib/control's own, an actor that waits for requests.
 */

#define DEPTH	   2
#define DEPTH_LATE 4 /* the least with half a queue to leave unsignaled */

static void
note_conn(struct plx_op *op, void *arg)
{
	explore_assert(plx_conn_arg(plx_op_conn(op)) != NULL);
	note_and_put(op, arg);
}

static struct fake_device *dev;
static struct plx_cq *cq;
static struct plx_control *control;
static struct plx_conn_group *group;
static struct plx_conn *conn;
static struct plx_qp *qp;
static unsigned int nb_closed, nb_taken;
static bool given_up; /* a use may end without a callback */
static int closes[2];

static void
begin(void)
{
	world_begin();
	nb_closed = nb_taken = 0;
	given_up = false;
	closes[0] = closes[1] = 0;
}

/** Whoever is called back at all is called before. */
static void
closed(struct plx_conn *c, void *arg)
{
	explore_assert(given_up || nb_calls == nb_taken);
	explore_equal(dev->nb_destroyed, 1);
	nb_closed++;
	c->arg = NULL; /* the connection is the application's: no callback may still read it */
}

static void
count_posted(struct fake_qp *fake, uint64_t wr_id)
{
	explore_assert(fake->sq.head - fake->sq.tail <= fake->base.cap.send_depth);
	explore_assert(fake->rq.head - fake->rq.tail <= fake->base.cap.recv_depth);
}

static void
setup_deep(unsigned int depth)
{
	static const unsigned int owner = OWNER;
	static const rte_cpuset_t anywhere; /* or the room would ask a thread of its own where */
	struct plx_control_conf ctl = {.cpuset = &anywhere, .lcores = &owner, .nb_lcores = 1, .nb_reqs = 4};
	struct plx_conn_group_conf grp = {.name = "explore"};
	struct plx_conn_conf conf = {
		.cap = {.send_depth = depth, .recv_depth = DEPTH}, .home = WORKER, .drain_ms = 50, .closed_cb = closed, .arg = &nb_closed};
	struct plx_qp_addr addr;

	world_setup(PLX_DISPATCHER_OWNED, 4, 4);
	dev = fake_device_open();
	dev->on_post = count_posted;
	conf.pd = plx_pd_create(&dev->base);
	cq = plx_cq_create(&dev->base, 16);
	control = plx_control_create(&ctl);
	grp.dispatcher = d;
	grp.cq = cq;
	grp.control = control;
	group = conf.group = plx_conn_group_create(&grp);
	plx_qp_path_default(&conf.path);
	conn = plx_conn_create(&conf);
	explore_assert(conn != NULL);
	explore_equal(plx_conn_local_attr(conn, &addr), 0);
	explore_equal(plx_conn_bring_up(conn, &addr), 0);
	qp = conn->qp;
}

static void
setup(void)
{
	setup_deep(DEPTH);
}

/* ---- what the actors do -------------------------------------------------------------------- */

/** One turn of the owner, as a poller with its hooks takes it. */
static unsigned int
owner_turn(void)
{
	struct plx_wc wcs[4];
	int got = plx_cq_poll(cq, wcs, 4);

	if (got > 0)
		plx_dispatcher_deliver_burst(d, wcs, (uint16_t)got);
	return (unsigned int)got + turn() + plx_conn_group_once(group);
}

/** Submit uses @p first to @p first + @p n - 1; how many were taken. */
static unsigned int
submit(unsigned int first, unsigned int n, unsigned int home)
{
	struct plx_submit_err err;
	struct plx_op *ops[MAX_USES];
	unsigned int taken;

	for (unsigned int i = 0; i < n; i++) {
		ops[i] = prepare(first + i, home, note_conn);
		explore_assert(ops[i] != NULL);
	}
	posting = rte_lcore_id() == OWNER;
	taken = plx_conn_submit_burst(conn, ops, (uint16_t)n, &err);
	posting = false;
	for (unsigned int i = taken; i < n; i++) {
		explore_assert(err.code < 0);
		explore_equal(err.index, taken);
		explore_equal(ops[i]->state, PLX_OP_PREPARED);
		explore_equal(plx_op_put(ops[i]), 0);
		uses[first + i].id = 0;
	}
	__atomic_fetch_add(&nb_taken, taken, __ATOMIC_RELAXED);
	return taken;
}

static void
complete_one_by_one(void)
{
	explore_await(flag(0));
	fake_complete(qp, false, 1, PLX_ST_SUCCESS);
	fake_complete(qp, false, 1, PLX_ST_SUCCESS);
}

static void
complete_one(void)
{
	explore_await(flag(0));
	fake_complete(qp, false, 1, PLX_ST_SUCCESS);
}

/** Each use that was taken has been settled once, with a status that can be. */
static void
each_once(void)
{
	for (unsigned int i = 0; i < MAX_USES; i++) {
		explore_equal(uses[i].calls, uses[i].id != 0);
		if (uses[i].id != 0)
			explore_equal(uses[i].lcore, WORKER);
	}
	explore_equal(nb_calls, nb_taken);
	explore_equal(plx_op_pool_in_use(d->pool), 0);
	explore_equal(conn->nb_queued, 0);
	explore_equal(conn->sq.head, conn->sq.tail);
}

static void
each_once_and_closed(void)
{
	each_once();
	explore_equal(nb_closed, 1);
	explore_equal(plx_conn_state(conn), PLX_CONN_CLOSED);
	explore_equal(cq->reserved, 0);
	explore_equal(plx_conn_destroy(conn), 0); /* now that nobody can be in a call on it */
	explore_equal(plx_conn_group_nb_conns(group), 0);
}

static void
status_is(unsigned int i, enum plx_status status)
{
	explore_equal(uses[i].result.status, status);
}

/* ---- submit and complete ------------------------------------------------------------------- */

static void
submit_two_and_poll(void)
{
	explore_equal(submit(0, 2, WORKER), 2);
	explore_signal(flag(0));
	owner_turn();
	owner_turn();
}

static void
two_succeeded(void)
{
	each_once();
	status_is(0, PLX_ST_SUCCESS);
	status_is(1, PLX_ST_SUCCESS);
	explore_assert(uses[0].order < uses[1].order);
}

static void
submit_three_elsewhere(void)
{
	explore_equal(submit(0, 1, WORKER), 1);
	explore_equal(submit(1, 2, WORKER), 2);
	turn();
}

/** What was posted, whatever that is by now, completes: the device is quick. */
static unsigned int
complete_all(void)
{
	struct fake_queue *q = &fake_qp(qp)->sq;
	unsigned int nb;

	if (dev->nb_to_error != 0)
		return 0;
	nb = q->head - q->tail;
	if (nb != 0)
		fake_complete(qp, false, nb, PLX_ST_SUCCESS);
	return nb;
}

static unsigned int
owner_and_device_turn(void)
{
	unsigned int did = owner_turn();

	return did + complete_all();
}

static void
two_owner_turns(void)
{
	owner_and_device_turn();
	owner_and_device_turn();
}

static void
three_succeeded(void)
{
	each_once();
	for (unsigned int i = 0; i < 3; i++)
		status_is(i, PLX_ST_SUCCESS);
	explore_assert(uses[0].order < uses[1].order && uses[1].order < uses[2].order);
}

/* ---- posts that fail ----------------------------------------------------------------------- */

static void
submit_two_of_which_one_fails(void)
{
	dev->fail_post_at = 2;
	dev->fail_post_errno = -EIO;
	explore_equal(submit(0, 2, WORKER), 1);
	explore_equal(plx_op_queue_room(&conn->sq), DEPTH - 1);
	explore_equal(submit(2, 1, WORKER), 1);
	explore_signal(flag(0));
	owner_turn();
}

static void
one_in_vain(void)
{
	each_once();
	explore_equal(uses[1].id, 0);
	status_is(0, PLX_ST_SUCCESS);
	status_is(2, PLX_ST_SUCCESS);
}

static void
owner_whose_second_post_fails(void)
{
	dev->fail_post_at = 2;
	dev->fail_post_errno = -EIO;
	two_owner_turns();
}

/** And the third with it, if both went in one chain. */
static void
second_failed(void)
{
	each_once();
	status_is(0, PLX_ST_SUCCESS);
	status_is(1, PLX_ST_POST_FAILED);
	explore_equal(uses[1].result.post_errno, -EIO);
}

/* ---- completions inside a post ------------------------------------------------------------- */

static void
deliver_in_post(struct fake_qp *fake, uint64_t wr_id)
{
	fake_lose(&fake->base, false);
	explore_equal(plx_dispatcher_deliver(d, wr_id, PLX_ST_SUCCESS, 0, 0, 0), 0);
}

static void
submit_two_that_complete_at_once(void)
{
	dev->on_post = deliver_in_post;
	explore_equal(submit(0, 2, OWNER), 2);
	explore_equal(nb_calls, 0);
	owner_turn();
	explore_equal(nb_calls, 2);
}

static void
two_on_the_owner(void)
{
	for (unsigned int i = 0; i < 2; i++)
		explore_equal(uses[i].lcore, OWNER);
	explore_equal(nb_calls, 2);
	explore_equal(plx_op_pool_in_use(d->pool), 0);
}

/* ---- closes -------------------------------------------------------------------------------- */

static void
close_and_two_turns(void)
{
	explore_equal(plx_conn_close(conn), 0);
	owner_turn();
	owner_turn();
}

/** All the way, if nobody is in between. */
static void
close_and_many_turns(void)
{
	explore_equal(plx_conn_close(conn), 0);
	for (unsigned int i = 0; i < 8 && nb_closed == 0; i++)
		owner_turn();
}

static void
submit_one_elsewhere(void)
{
	submit(0, 1, WORKER);
}

static void
submit_two_elsewhere(void)
{
	submit(0, 2, WORKER);
	turn();
}

static void
submit_two_then_close(void)
{
	explore_equal(submit(0, 2, WORKER), 2);
	explore_signal(flag(0));
	close_and_two_turns();
}

static void
close_elsewhere(void)
{
	closes[1] = plx_conn_close(conn);
}

static void
close_here_and_a_turn(void)
{
	closes[0] = plx_conn_close(conn);
	owner_turn();
}

static void
submit_one_and_two_turns(void)
{
	submit(0, 1, WORKER);
	owner_turn();
	owner_turn();
}

static void
closed_by_one(void)
{
	each_once_and_closed();
	explore_equal(closes[0] + closes[1], -EALREADY);
}

static void
setup_silent(void)
{
	setup();
	dev->keep_flushes = true;
}

/** What the device never completed is settled when it can no longer. */
static void
note_lost(struct plx_op *op, void *arg)
{
	if (op->status == PLX_ST_CONN_LOST)
		explore_equal(__atomic_load_n(&dev->nb_destroyed, __ATOMIC_RELAXED), 1);
	note_and_put(op, arg);
}

static void
submit_one_for_ever_then_close(void)
{
	struct plx_op *op = prepare(0, WORKER, note_lost);

	explore_equal(plx_conn_submit(conn, op), 0);
	nb_taken = 1;
	explore_signal(flag(0));
	close_and_two_turns();
}

static void
lost_or_not(void)
{
	each_once_and_closed();
	explore_assert(uses[0].result.status == PLX_ST_CONN_LOST || uses[0].result.status == PLX_ST_SUCCESS);
}

static void
lost(void)
{
	each_once_and_closed();
	status_is(0, PLX_ST_CONN_LOST);
}

/* ---- hold ---------------------------------------------------------------------------------- */

static void
hold_one_then_flush(void)
{
	struct plx_submit_err err;
	struct plx_op *op = prepare(2, WORKER, note_and_put);

	explore_equal(plx_conn_hold_burst(conn, &op, 1, &err), 1);
	nb_taken++;
	owner_and_device_turn();
	explore_equal(plx_conn_flush(conn), 0);
	owner_and_device_turn();
}

static void
held_and_two_succeeded(void)
{
	each_once();
	for (unsigned int i = 0; i < 3; i++)
		status_is(i, PLX_ST_SUCCESS);
	explore_assert(uses[0].order < uses[1].order);
}

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

/** An unsignaled tail of which the first has succeeded, and nothing tells. */
static void
submit_a_tail_then_close(void)
{
	submit_late(3, 2);
	fake_complete(qp, false, 1, PLX_ST_SUCCESS);
	explore_equal(plx_conn_close(conn), 0);
	owner_turn();
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
	explore_equal(plx_conn_close(conn), 0);
	owner_turn();
}

static void
give_up_the_tail(void)
{
	explore_await(flag(0));
	explore_equal(plx_dispatcher_abandon(d, uses[0].id, WORKER), 0);
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

#define OWNS(fn)   {"owner", OWNER, fn, owner_turn}
#define POLLS(fn)  {"owner", OWNER, fn, owner_and_device_turn}
#define WORKS(fn)  {"worker", WORKER, fn, turn}
#define DEVICE(fn) {"device", ALIEN, fn, NULL}
#define ALIEN_(fn) {"alien", ALIEN, fn, NULL}
#define CASE(text, end, ...)                                                                                 \
	{.name = text, .setup = setup, .begin = begin, .check = end, .idle_rounds = 5, .actors = {__VA_ARGS__}}
#define SILENT(text, end, ...)                                                                               \
	{.name = text, .setup = setup_silent, .begin = begin, .check = end, .idle_rounds = 5, .actors = {__VA_ARGS__}}

#define DRAIN(text, end, ...)                                                                                \
	{.name = text, .setup = setup_drain, .begin = begin_drain, .check = end, .idle_rounds = 5, .actors = {__VA_ARGS__}}

#define LATE(text, end, ...)                                                                                 \
	{.name = text, .setup = setup_late, .begin = begin, .check = end, .idle_rounds = 5, .actors = {__VA_ARGS__}}

const struct explore_scenario explore_conn[] = {
	CASE("conn_two_sends_complete", two_succeeded, OWNS(submit_two_and_poll), WORKS(turn_once),
		DEVICE(complete_one_by_one)),
	CASE("conn_submit_elsewhere_waits_for_credit", three_succeeded, POLLS(two_owner_turns),
		WORKS(submit_three_elsewhere)),
	CASE("conn_post_fails_half_way", one_in_vain, OWNS(submit_two_of_which_one_fails), WORKS(turn_once),
		DEVICE(complete_one_by_one)),
	CASE("conn_post_from_elsewhere_fails", second_failed, POLLS(owner_whose_second_post_fails),
		WORKS(submit_three_elsewhere)),
	CASE("conn_completes_inside_the_post", two_on_the_owner, OWNS(submit_two_that_complete_at_once),
		WORKS(turn_once)),
	CASE("conn_hold_meets_submit_elsewhere", held_and_two_succeeded, POLLS(hold_one_then_flush), WORKS(submit_two_elsewhere)),
	CASE("conn_close_meets_submit_elsewhere", each_once_and_closed, OWNS(close_and_two_turns),
		WORKS(submit_two_elsewhere)),
	CASE("conn_closed_meets_submit_elsewhere", each_once_and_closed, OWNS(close_and_many_turns),
		WORKS(submit_one_elsewhere)),
	CASE("conn_close_flushes", each_once_and_closed, OWNS(submit_two_then_close), WORKS(turn_once)),
	CASE("conn_two_close", closed_by_one, OWNS(close_here_and_a_turn), ALIEN_(close_elsewhere),
		{"worker", WORKER, NULL, turn}),
	CASE("conn_close_elsewhere_meets_submit", each_once_and_closed, OWNS(submit_one_and_two_turns),
		ALIEN_(close_elsewhere), WORKS(turn_once)),
	SILENT("conn_close_of_a_silent_device", lost, OWNS(submit_one_for_ever_then_close), WORKS(turn_once)),
	SILENT("conn_close_of_a_slow_device", lost_or_not, OWNS(submit_one_for_ever_then_close), DEVICE(complete_one),
		WORKS(turn_once)),
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
