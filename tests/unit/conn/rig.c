/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "rig.h"

#include <sched.h>
#include <string.h>

static const unsigned int owner_lcore = OWNER, worker_lcore = WORKER;
static char payload[64];

void
rig_make(struct rig *rig, const struct rig_conf *conf)
{
	struct plx_control_conf control = {.lcores = &owner_lcore, .nb_lcores = 1, .nb_reqs = conf->nb_reqs};
	struct plx_dispatcher_conf d = {
		.name = "rig",
		.mode = PLX_DISPATCHER_OWNED,
		.owner = OWNER,
		.homes = &worker_lcore,
		.nb_homes = 1,
		.pool = {.nb_ops = conf->nb_ops != 0 ? conf->nb_ops : 512, .socket_id = -1},
	};
	struct plx_conn_group_conf group = {.name = "rig"};

	plx_test_as_lcore(OWNER);
	memset(rig, 0, sizeof(*rig));
	rig->lost_cb = conf->lost_cb;
	rig->dev = fake_device_open();
	rig->pd = plx_pd_create(&rig->dev->base);
	rig->cq = plx_cq_create(&rig->dev->base, conf->nb_cqe != 0 ? conf->nb_cqe : 1024);
	rig->control = plx_control_create(&control);
	rig->d = plx_dispatcher_create(&d);
	group.dispatcher = rig->d;
	group.cq = rig->cq;
	group.control = rig->control;
	rig->group = plx_conn_group_create(&group);
	assert_non_null(rig->group);
}

void
rig_break(struct rig *rig)
{
	assert_false(plx_container_of(rig->cq, struct fake_cq, base)->overflown);
	assert_int_equal(plx_op_pool_in_use(rig->d->pool), 0);
	assert_int_equal(rig->dev->nb_created, rig->dev->nb_destroyed);
	assert_int_equal(rig->cq->reserved, 0);
	assert_int_equal(plx_conn_group_destroy(rig->group), 0);
	assert_int_equal(plx_dispatcher_destroy(rig->d), 0);
	assert_int_equal(plx_control_destroy(rig->control), 0);
	assert_int_equal(plx_cq_destroy(rig->cq), 0);
	assert_int_equal(plx_pd_destroy(rig->pd), 0);
	assert_int_equal(plx_device_close(&rig->dev->base), 0);
	plx_test_as_lcore(0);
}

static void
closed(struct plx_conn *conn, void *arg)
{
	struct rig *rig = arg;

	assert_int_equal(rte_lcore_id(), OWNER);
	assert_int_equal(plx_conn_state(conn), PLX_CONN_CLOSED);
	rig->nb_closed++;
	plx_conn_stats(conn, &rig->last);
	for (unsigned int i = 0; i < rig->nb_handles; i++)
		if (rig->handles[i] == conn)
			rig->handles[i] = NULL;
	assert_int_equal(plx_conn_destroy(conn), 0);
}

struct plx_conn *
rig_conn(struct rig *rig, unsigned int depth, unsigned int home, bool up)
{
	struct plx_conn_conf conf = {
		.group = rig->group,
		.pd = rig->pd,
		.cap = {.send_depth = depth, .recv_depth = depth, .send_sge = 4, .recv_sge = 2, .inline_len = 32},
		.home = home,
		.drain_ms = 50,
		.closed_cb = closed,
		.lost_cb = rig->lost_cb,
		.arg = rig,
		.recv_pool = rig->recv_pool,
	};
	struct plx_qp_addr addr;
	struct plx_conn *conn;

	plx_qp_path_default(&conf.path);
	conn = plx_conn_create(&conf);
	if (conn != NULL && up) {
		assert_int_equal(plx_conn_local_attr(conn, &addr), 0);
		assert_int_equal(plx_conn_bring_up(conn, &addr), 0);
	}
	return conn;
}

void
rig_turn(struct rig *rig)
{
	unsigned int was = plx_test_as_lcore(OWNER);
	struct plx_wc wcs[32];
	int got = plx_cq_poll(rig->cq, wcs, 32);

	if (got > 0)
		plx_dispatcher_deliver_burst(rig->d, wcs, (uint16_t)got);
	plx_dispatcher_once(rig->d);
	plx_conn_group_once(rig->group);
	plx_test_as_lcore(was);
}

void
rig_home_turn(struct rig *rig, unsigned int lcore)
{
	unsigned int was = plx_test_as_lcore(lcore);

	plx_dispatcher_once(rig->d);
	plx_test_as_lcore(was);
}

void
rig_turns_until_closed(struct rig *rig, unsigned int n)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(10000000000);

	while (rig->nb_closed < n && plx_clock_monotonic_ns() < end) {
		rig_turn(rig);
		rig_home_turn(rig, WORKER);
		sched_yield(); /* the control thread may share this CPU */
	}
	assert_int_equal(rig->nb_closed, n);
}

void
rig_close(struct rig *rig, struct plx_conn *conn)
{
	assert_int_equal(plx_conn_close(conn), 0);
	rig_turns_until_closed(rig, rig->nb_closed + 1);
}

void
rig_done(struct plx_op *op, void *arg)
{
	struct rig_count *count = arg;

	count->ids[count->calls++ % NB_OF(count->ids)] = plx_op_id(op);
	count->by_status[op->status]++;
	count->lcore = rte_lcore_id();
	if (!count->keep)
		plx_op_put(op);
}

void
rig_ops(struct rig *rig, enum plx_opcode opcode, struct plx_op **ops, unsigned int n, struct rig_count *count)
{
	assert_int_equal(plx_op_get_bulk(rig->d->pool, ops, n), 0);
	for (unsigned int i = 0; i < n; i++)
		plx_op_prep(ops[i], opcode, payload, 8, 1, rig_done, count);
}
