/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
/**
 * @file
 * Submit, post, hold and close of a connection: see conn_world.h for who takes part.
 */
#include "conn_world.h"

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

/* ---- destroy ------------------------------------------------------------------------------- */

static bool destroyed;

static void
begin_destroy(void)
{
	begin();
	destroyed = false;
}

static void
destroy_if_closed(void)
{
	if (plx_conn_state(conn) != PLX_CONN_CLOSED)
		return;
	explore_equal(plx_conn_destroy(conn), 0);
	destroyed = true;
}

static void
closed_and_destroyed(void)
{
	explore_equal(nb_closed, 1);
	if (!destroyed)
		explore_equal(plx_conn_destroy(conn), 0);
	explore_equal(plx_conn_group_nb_conns(group), 0);
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

#define DESTROYS(text, end, ...)                                                                             \
	{.name = text, .setup = setup, .begin = begin_destroy, .check = end, .idle_rounds = 5, .actors = {__VA_ARGS__}}
#define POLLS(fn)  {"owner", OWNER, fn, owner_and_device_turn}
#define SILENT(text, end, ...)                                                                               \
	{.name = text, .setup = setup_silent, .begin = begin, .check = end, .idle_rounds = 5, .actors = {__VA_ARGS__}}

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
	DESTROYS("conn_closed_meets_destroy", closed_and_destroyed, OWNS(close_and_many_turns), ALIEN_(destroy_if_closed)),
	SILENT("conn_close_of_a_silent_device", lost, OWNS(submit_one_for_ever_then_close), WORKS(turn_once)),
	SILENT("conn_close_of_a_slow_device", lost_or_not, OWNS(submit_one_for_ever_then_close), DEVICE(complete_one),
		WORKS(turn_once)),
	{.name = NULL},
};
