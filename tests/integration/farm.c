/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "farm.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>

#include "plx_clock.h"
#include "plx_fault.h"

static const unsigned int owner_lcore = FARM_OWNER, worker_lcore = FARM_WORKER;

/** What a client sends. */
struct message {
	uint32_t from;
	uint32_t count;
};

/* ---- callbacks ----------------------------------------------------------------------------- */

static void
arrived(struct plx_op *op, void *arg)
{
	struct farm *farm = arg;
	const struct message *message = (const struct message *)(uintptr_t)op->sge.addr;
	struct farm_pair *pair = &farm->pairs[message->from % FARM_MAX];
	struct plx_result result;

	plx_op_result(op, &result);
	if (op->status != PLX_ST_SUCCESS || op->byte_len != sizeof(*message) || result.conn != plx_op_conn(op) ||
		message->from >= FARM_MAX || plx_op_conn(op) != pair->server || op->qp_num != pair->server->sq.qp_num)
		farm->wrong++;
	else
		pair->arrived++;
	farm->arrived++;
	if (farm->hold)
		farm->held[farm->nb_held++] = op;
	else
		while (plx_recv_pool_give(farm->pool, op) == -EAGAIN)
			;
}

static void
sent(struct plx_op *op, void *arg)
{
	struct farm_pair *pair = arg;
	struct farm *farm = *(struct farm **)plx_op_priv(op);

	farm->by_status[op->status]++;
	if (op->status == PLX_ST_SUCCESS)
		pair->sent_ok++;
	else
		pair->sent_failed++;
	plx_op_put(op);
}

static void
closed(struct plx_conn *conn, void *arg)
{
	struct farm *farm = arg;

	for (unsigned int i = 0; i < FARM_MAX; i++) {
		if (farm->pairs[i].client == conn)
			farm->pairs[i].client = NULL;
		if (farm->pairs[i].server == conn)
			farm->pairs[i].server = NULL;
	}
	farm->nb_closed++;
	assert_int_equal(plx_conn_destroy(conn), 0);
}

static void
heard(struct plx_device *dev, const struct plx_event *event, void *arg)
{
	struct farm *farm = arg;

	farm->last = *event;
	__atomic_fetch_add(&farm->nb_events, 1, __ATOMIC_RELEASE);
}

/* ---- life ---------------------------------------------------------------------------------- */

static struct plx_conn *
conn_make(struct farm *farm, bool server)
{
	struct plx_conn_conf conf = {
		.group = farm->group,
		.pd = farm->pd,
		.cap = {.send_depth = server ? 1 : farm->conf.depth, .recv_depth = 1},
		.home = farm->conf.home,
		.drain_ms = farm->conf.drain_ms,
		.closed_cb = closed,
		.arg = farm,
		.recv_pool = server ? farm->pool : NULL,
	};

	plx_qp_path_default(&conf.path);
	conf.path.min_rnr_timer = 1;
	return plx_conn_create(&conf);
}

static void
conn_unmake(struct plx_conn *conn)
{
	if (conn != NULL && plx_conn_destroy(conn) == -EBUSY)
		plx_conn_close(conn);
}

bool
farm_connect(struct farm *farm, unsigned int i)
{
	struct plx_conn *server = conn_make(farm, true), *client = server == NULL ? NULL : conn_make(farm, false);
	struct plx_qp_addr from, to;

	if (client == NULL) {
		int err = rte_errno;

		conn_unmake(server);
		rte_errno = err;
		return false;
	}
	assert_int_equal(plx_conn_local_attr(client, &from), 0);
	assert_int_equal(plx_conn_local_attr(server, &to), 0);
	assert_int_equal(plx_conn_bring_up(server, &from), 0);
	assert_int_equal(plx_conn_bring_up(client, &to), 0);
	farm->pairs[i] = (struct farm_pair){.client = client, .server = server};
	return true;
}

static uint32_t
cqes_needed(const struct farm *farm)
{
	struct plx_qp_cap client = {.send_depth = farm->conf.depth, .recv_depth = 1, .send_sge = 1, .recv_sge = 1};
	struct plx_qp_cap server = {.send_depth = 1, .recv_depth = farm->conf.pool.per_conn + 1, .send_sge = 1, .recv_sge = 1};

	assert_int_equal(plx_qp_limits(farm->dev, &client), 0);
	assert_int_equal(plx_qp_limits(farm->dev, &server), 0);
	return farm->conf.nb_pairs * (plx_conn_cqes(&client) + plx_conn_cqes(&server)) + farm->conf.pool.nb_recvs;
}

static void
rooms_make(struct farm *farm)
{
	struct plx_control_conf control = {.lcores = &owner_lcore, .nb_lcores = 1};
	struct plx_dispatcher_conf d = {
		.name = "farm",
		.owner = FARM_OWNER,
		.homes = &worker_lcore,
		.nb_homes = 1,
		.pool = {.nb_ops = farm->conf.pool.nb_recvs + farm->conf.nb_pairs * farm->conf.depth + 64,
			.priv_size = sizeof(struct farm *),
			.socket_id = -1},
	};
	struct plx_conn_events_conf events = {.dev = farm->dev, .cb = heard, .arg = farm};
	struct plx_conn_group_conf group = {.name = "farm"};

	assert_non_null(farm->pd = plx_pd_create(farm->dev));
	assert_non_null(farm->region = plx_region_alloc(farm->pd, FARM_MAX * sizeof(struct message), 0));
	assert_non_null(farm->cq = plx_cq_create(farm->dev, farm->conf.nb_cqe != 0 ? farm->conf.nb_cqe : cqes_needed(farm)));
	assert_non_null(farm->control = plx_control_create(&control));
	assert_non_null(farm->d = plx_dispatcher_create(&d));
	events.control = farm->control;
	if (!farm->conf.no_events)
		assert_non_null(farm->events = plx_conn_events_create(&events));
	group.dispatcher = farm->d;
	group.cq = farm->cq;
	group.control = farm->control;
	group.events = farm->events;
	assert_non_null(farm->group = plx_conn_group_create(&group));
}

static void
pool_make(struct farm *farm)
{
	struct plx_recv_pool_conf conf = farm->conf.pool;

	if (conf.nb_recvs == 0)
		return;
	conf.name = "farm";
	conf.group = farm->group;
	conf.pd = farm->pd;
	conf.buf_len = 64;
	conf.cb = arrived;
	conf.arg = farm;
	if (conf.max_conns == 0)
		conf.max_conns = farm->conf.nb_pairs + 8;
	assert_non_null(farm->pool = plx_recv_pool_create(&conf));
}

void
farm_make(struct farm *farm, const struct farm_conf *conf)
{
	memset(farm, 0, sizeof(*farm));
	farm->conf = *conf;
	if (farm->conf.depth == 0)
		farm->conf.depth = 4;
	if (farm->conf.home == 0)
		farm->conf.home = FARM_OWNER;
	if (farm->conf.drain_ms == 0)
		farm->conf.drain_ms = 100;
	assert_non_null(farm->dev = plx_device_open(conf->device != NULL ? conf->device : plx_test_device()));
	if (conf->fault != NULL)
		assert_non_null(farm->dev = plx_fault_wrap(farm->dev, conf->fault));
	plx_test_as_lcore(FARM_OWNER);
	rooms_make(farm);
	pool_make(farm);
	for (unsigned int i = 0; i < conf->nb_pairs; i++)
		assert_true(farm_connect(farm, i));
}

void
farm_close(struct farm *farm, unsigned int i)
{
	if (farm->pairs[i].client != NULL)
		plx_conn_close(farm->pairs[i].client);
	if (farm->pairs[i].server != NULL)
		plx_conn_close(farm->pairs[i].server);
}

void
farm_break(struct farm *farm)
{
	for (unsigned int i = 0; i < FARM_MAX; i++)
		farm_close(farm, i);
	farm_until(farm, plx_conn_group_nb_conns(farm->group) == 0);
	farm_give(farm);
	assert_int_equal(plx_recv_pool_destroy(farm->pool), 0); /* its limit may be being armed */
	farm_until(farm, plx_control_nb_under_way(farm->control) == 0);
	assert_int_equal(plx_conn_group_destroy(farm->group), 0);
	assert_int_equal(plx_conn_events_destroy(farm->events), 0);
	assert_int_equal(farm->cq->reserved, 0);
	assert_int_equal(plx_op_pool_in_use(farm->d->pool), 0);
	assert_int_equal(plx_dispatcher_destroy(farm->d), 0);
	assert_int_equal(plx_control_destroy(farm->control), 0);
	assert_int_equal(plx_cq_destroy(farm->cq), 0);
	assert_int_equal(plx_region_destroy(farm->region), 0);
	assert_int_equal(plx_pd_destroy(farm->pd), 0);
	assert_int_equal(plx_device_close(farm->dev), 0);
	plx_test_as_lcore(0);
}

/* ---- work ---------------------------------------------------------------------------------- */

int
farm_send(struct farm *farm, unsigned int i)
{
	struct farm_pair *pair = &farm->pairs[i];
	struct message *message = (struct message *)farm->region->addr + i;
	struct plx_op *op = plx_op_get(farm->d->pool);
	int err;

	if (op == NULL || pair->client == NULL) {
		if (op != NULL)
			plx_op_put(op);
		return -EAGAIN;
	}
	*message = (struct message){.from = i, .count = 0};
	*(struct farm **)plx_op_priv(op) = farm;
	plx_op_prep_send(op, message, sizeof(*message), farm->region->lkey, sent, pair);
	err = plx_conn_submit(pair->client, op);
	if (err != 0)
		plx_op_put(op);
	else
		pair->sent++;
	return err;
}

void
farm_poll(struct farm *farm)
{
	struct plx_wc wcs[32];
	int got;

	if (farm->cq_dead)
		return;
	got = plx_cq_poll(farm->cq, wcs, 32);
	if (got > 0)
		plx_dispatcher_deliver_burst(farm->d, wcs, (uint16_t)got);
	farm->cq_dead = got < 0;
}

void
farm_turn(struct farm *farm)
{
	farm_poll(farm);
	plx_dispatcher_once(farm->d);
	plx_conn_group_once(farm->group);
	if (farm->conf.home == FARM_WORKER) {
		plx_test_as_lcore(FARM_WORKER);
		plx_dispatcher_once(farm->d);
		plx_test_as_lcore(FARM_OWNER);
	}
	sched_yield(); /* the control thread may share this CPU */
}

void
farm_give(struct farm *farm)
{
	while (farm->nb_held != 0)
		assert_int_equal(plx_recv_pool_give(farm->pool, farm->held[--farm->nb_held]), 0);
}

uint64_t
farm_deadline(void)
{
	return plx_clock_monotonic_ns() + UINT64_C(30000000000);
}

bool
farm_late(uint64_t deadline)
{
	return plx_clock_monotonic_ns() > deadline;
}

struct plx_recv_pool_stats
farm_stats(const struct farm *farm)
{
	struct plx_recv_pool_stats stats;

	plx_recv_pool_stats(farm->pool, &stats);
	return stats;
}

uint64_t
farm_nb_unclaimed(const struct farm *farm)
{
	struct plx_conn_events_stats stats;

	plx_conn_events_stats(farm->events, &stats);
	return stats.unclaimed;
}

const char *
farm_loopback(const char *args)
{
	static char spec[128];

	if (strncmp(plx_test_device(), "loopback", 8) != 0)
		return NULL;
	snprintf(spec, sizeof(spec), "loopback0,%s", args);
	return spec;
}
