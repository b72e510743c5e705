/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef CONN_WORLD_H
#define CONN_WORLD_H

/**
 * @file
 * A connection with its owner, another lcore that submits, the control thread, and a device that completes when it likes.
 *
 * The control thread is lib/control's own, an actor that waits for requests. Included once by each file of scenarios.
 */

#include <errno.h>

#include "fake_device.h"
#include "plx_conn.h"
#include "world.h"

#define DEPTH 2

__rte_unused static void
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

__rte_unused static void
begin(void)
{
	world_begin();
	nb_closed = nb_taken = 0;
	given_up = false;
	closes[0] = closes[1] = 0;
}

/** Whoever is called back at all is called before. */
__rte_unused static void
closed(struct plx_conn *c, void *arg)
{
	explore_assert(given_up || nb_calls == nb_taken);
	explore_equal(dev->nb_destroyed, 1);
	nb_closed++;
	c->arg = NULL; /* the connection is the application's: no callback may still read it */
}

__rte_unused static void
count_posted(struct fake_qp *fake, uint64_t wr_id)
{
	explore_assert(fake->sq.head - fake->sq.tail <= fake->base.cap.send_depth);
	explore_assert(fake->rq.head - fake->rq.tail <= fake->base.cap.recv_depth);
}

__rte_unused static void
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

__rte_unused static void
setup(void)
{
	setup_deep(DEPTH);
}

/* ---- what the actors do -------------------------------------------------------------------- */

/** One turn of the owner, as a poller with its hooks takes it. */
__rte_unused static unsigned int
owner_turn(void)
{
	struct plx_wc wcs[4];
	int got = plx_cq_poll(cq, wcs, 4);

	if (got > 0)
		plx_dispatcher_deliver_burst(d, wcs, (uint16_t)got);
	return (unsigned int)got + turn() + plx_conn_group_once(group);
}

/** Submit uses @p first to @p first + @p n - 1; how many were taken. */
__rte_unused static unsigned int
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

__rte_unused static void
submit_one_elsewhere(void)
{
	submit(0, 1, WORKER);
}

__rte_unused static void
complete_one_by_one(void)
{
	explore_await(flag(0));
	fake_complete(qp, false, 1, PLX_ST_SUCCESS);
	fake_complete(qp, false, 1, PLX_ST_SUCCESS);
}

__rte_unused static void
complete_one(void)
{
	explore_await(flag(0));
	fake_complete(qp, false, 1, PLX_ST_SUCCESS);
}

/** Each use that was taken has been settled once, with a status that can be. */
__rte_unused static void
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

__rte_unused static void
each_once_and_closed(void)
{
	each_once();
	explore_equal(nb_closed, 1);
	explore_equal(plx_conn_state(conn), PLX_CONN_CLOSED);
	explore_equal(cq->reserved, 0);
	explore_equal(plx_conn_destroy(conn), 0); /* now that nobody can be in a call on it */
	explore_equal(plx_conn_group_nb_conns(group), 0);
}

__rte_unused static void
status_is(unsigned int i, enum plx_status status)
{
	explore_equal(uses[i].result.status, status);
}

#define OWNS(fn)   {"owner", OWNER, fn, owner_turn}
#define WORKS(fn)  {"worker", WORKER, fn, turn}
#define DEVICE(fn) {"device", ALIEN, fn, NULL}
#define ALIEN_(fn) {"alien", ALIEN, fn, NULL}
#define CASE(text, end, ...)                                                                                 \
	{.name = text, .setup = setup, .begin = begin, .check = end, .idle_rounds = 5, .actors = {__VA_ARGS__}}

#endif /* CONN_WORLD_H */
