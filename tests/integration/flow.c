/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "flow.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "plx_clock.h"
#include "plx_prep.h"

#define LEN	 8  /* of a message; an acknowledgement has 1 byte */
#define MAX_STEP 3  /* ops of one step */
#define PATIENCE 3000000 /* idle turns: far more than any device needs */

static uint32_t
draw(struct flow *f, uint32_t below)
{
	f->seed = f->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(f->seed >> 33) % below;
}

/* ---- callbacks ----------------------------------------------------------------------------- */

static void
settle(struct flow *f, struct plx_op *op)
{
	uint64_t *settled_id = plx_op_priv(op);

	if (*settled_id == plx_op_id(op))
		fail_msg("an op settled twice");
	*settled_id = plx_op_id(op);
	f->settled++;
	f->by_status[op->status]++;
	f->idle_turns = 0;
}

static void
send_done(struct plx_op *op, void *arg)
{
	struct flow_end *end = arg;

	settle(end->flow, op);
	plx_op_put(op);
}

static void
recv_done(struct plx_op *op, void *arg)
{
	struct flow_end *end = arg;

	settle(end->flow, op);
	end->recvs--;
	if (op->status == PLX_ST_SUCCESS && op->byte_len == LEN)
		end->owed++;
	plx_op_put(op);
}

static void
closed(struct plx_conn *conn, void *arg)
{
	struct flow_end *end = arg;

	end->flow->nb_closed++;
}

/* ---- life ---------------------------------------------------------------------------------- */

static struct plx_conn *
conn_make(struct flow *f, unsigned int i)
{
	struct plx_conn_conf conf = {
		.group = f->group,
		.pd = f->pd,
		.cap = {.send_depth = f->conf.send_depth, .recv_depth = f->conf.recv_depth},
		.home = i == 0 ? OWNER : WORKER,
		.drain_ms = 500,
		.max_queued = f->conf.max_queued,
		.closed_cb = closed,
		.arg = &f->ends[i],
	};

	plx_qp_path_default(&conf.path);
	conf.path.rights = PLX_ACCESS_REMOTE_WRITE | PLX_ACCESS_REMOTE_READ;
	if (f->conf.rnr_retry != 0)
		conf.path.rnr_retry = (uint8_t)f->conf.rnr_retry;
	f->ends[i].flow = f;
	return f->ends[i].conn = plx_conn_create(&conf);
}

static void
bring_up(struct flow *f)
{
	struct plx_qp_addr addrs[2];

	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(plx_conn_local_attr(f->ends[i].conn, &addrs[i]), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(plx_conn_bring_up(f->ends[i].conn, &addrs[1 - i]), 0);
}

static void
cq_make(struct flow *f)
{
	struct plx_qp_cap cap = {
		.send_depth = f->conf.send_depth, .recv_depth = f->conf.recv_depth, .send_sge = 1, .recv_sge = 1};

	assert_int_equal(plx_qp_limits(f->dev, &cap), 0);
	assert_non_null(f->cq = plx_cq_create(f->dev, 2 * plx_conn_cqes(&cap) - f->conf.less_cqes));
}

void
flow_make(struct flow *f, const struct flow_conf *conf)
{
	static const unsigned int owner = OWNER, worker = WORKER;
	struct plx_control_conf control = {.lcores = &owner, .nb_lcores = 1};
	unsigned int queued = 2 * (conf->send_depth + conf->recv_depth + conf->max_queued) + MAX_STEP;
	struct plx_dispatcher_conf d = {
		.name = "flow",
		.owner = OWNER,
		.homes = &worker,
		.nb_homes = 1,
		.pool = {.nb_ops = conf->nb_ops != 0 ? conf->nb_ops : queued, .priv_size = 8, .socket_id = -1},
	};
	struct plx_conn_group_conf group = {.name = "flow"};
	/* One turn may empty the CQ: then what it found is what was in it. */
	struct plx_poller_conf poller = {.name = "flow", .budget = 512};

	plx_test_as_lcore(OWNER);
	memset(f, 0, sizeof(*f));
	f->conf = *conf;
	assert_non_null(f->dev = plx_device_open(plx_test_device()));
	if (conf->fault != NULL)
		assert_non_null(f->dev = plx_fault_wrap(f->dev, conf->fault));
	assert_non_null(f->pd = plx_pd_create(f->dev));
	assert_non_null(f->region = plx_region_alloc(f->pd, 4096, PLX_ACCESS_ALL));
	assert_non_null(f->control = plx_control_create(&control));
	assert_non_null(f->d = plx_dispatcher_create(&d));
	cq_make(f);
	group.dispatcher = f->d;
	group.cq = f->cq;
	group.control = f->control;
	assert_non_null(f->group = plx_conn_group_create(&group));
	assert_non_null(f->poller = plx_poller_create(&poller));
	assert_int_equal(plx_poller_add_cq(f->poller, f->cq, f->d), 0);
	assert_int_equal(plx_poller_add_hook(f->poller, plx_dispatcher_hook, f->d), 0);
	assert_int_equal(plx_poller_add_hook(f->poller, plx_conn_group_hook, f->group), 0);
	assert_non_null(conn_make(f, 0));
	if (conn_make(f, 1) != NULL)
		bring_up(f);
}

static void
close_end(struct flow_end *end)
{
	if (end->conn == NULL)
		end->flow->nb_closed++;
	else
		assert_int_equal(plx_conn_close(end->conn), 0);
}

void
flow_close(struct flow *f)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(60000000000);

	f->quiet = true;
	close_end(&f->ends[0]);
	close_end(&f->ends[1]);
	while (f->nb_closed < 2 && plx_clock_monotonic_ns() < end) {
		f->idle_turns = 0;
		flow_turn(f);
		sched_yield(); /* the control thread's work */
	}
	assert_int_equal(f->nb_closed, 2);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(plx_conn_destroy(f->ends[i].conn), 0);
}

void
flow_free(struct flow *f)
{
	assert_int_equal(f->settled, f->taken);
	assert_int_equal(plx_op_pool_in_use(f->d->pool), 0);
	assert_int_equal(plx_poller_destroy(f->poller), 0);
	assert_int_equal(plx_conn_group_destroy(f->group), 0);
	assert_int_equal(f->cq->reserved, 0);
	assert_int_equal(plx_cq_destroy(f->cq), 0);
	assert_int_equal(plx_dispatcher_destroy(f->d), 0);
	assert_int_equal(plx_control_destroy(f->control), 0);
	assert_int_equal(plx_region_destroy(f->region), 0);
	assert_int_equal(plx_pd_destroy(f->pd), 0);
	assert_int_equal(plx_device_close(f->dev), 0);
	plx_test_as_lcore(0);
}

/* ---- ops ----------------------------------------------------------------------------------- */

/** Full is no failure; a post that the script refuses is none either, where it says so. */
static void
count_taken(struct flow *f, struct plx_op **ops, unsigned int taken, unsigned int n, int code)
{
	f->taken += taken;
	f->not_taken += n - taken;
	if (taken < n && !plx_is_retry(code) && !f->conf.posts_fail)
		fail_msg("refused with errno %d", -code);
	assert_int_equal(plx_op_put_bulk(f->d->pool, ops + taken, n - taken), n - taken);
}

struct plx_op *
flow_send(struct flow_end *end, uint32_t len)
{
	struct flow *f = end->flow;
	struct plx_op *op = plx_op_get(f->d->pool);

	if (op == NULL) {
		f->pool_empty++;
		return NULL;
	}
	plx_op_prep_send(op, f->region->addr, len, f->region->lkey, send_done, end);
	return op;
}

int
flow_submit(struct flow_end *end, struct plx_op *op, unsigned int lcore)
{
	int err;

	if (op == NULL)
		return -EAGAIN;
	plx_test_as_lcore(lcore);
	err = plx_conn_submit(end->conn, op);
	plx_test_as_lcore(OWNER);
	if (err == 0)
		end->flow->taken++;
	else
		plx_op_put(op);
	return err;
}

static int
submit_recv(struct flow_end *end, unsigned int lcore)
{
	struct flow *f = end->flow;
	struct plx_op *op = plx_op_get(f->d->pool);
	int err;

	if (op == NULL)
		return -EAGAIN;
	plx_op_prep_recv(op, (char *)f->region->addr + 1024, 64, f->region->lkey, recv_done, end);
	err = flow_submit(end, op, lcore);
	end->recvs += err == 0;
	end->nb_recvs += err == 0;
	return err;
}

int
flow_recv(struct flow_end *end)
{
	return submit_recv(end, OWNER);
}

/** Any operation that the device has. */
static void
prepare(struct flow_end *end, struct plx_op *op)
{
	struct flow *f = end->flow;
	char *mine = f->region->addr, *theirs = mine + 2048;

	switch (draw(f, 3)) {
	case 0:
		plx_op_prep_send(op, mine, LEN, f->region->lkey, send_done, end);
		break;
	case 1:
		plx_op_prep(op, PLX_OPCODE_WRITE, mine, LEN, f->region->lkey, send_done, end);
		break;
	default:
		plx_op_prep(op, PLX_OPCODE_READ, mine + 3072, LEN, f->region->lkey, send_done, end);
		break;
	}
	plx_op_set_remote(op, (uintptr_t)theirs, f->region->rkey);
	if (draw(f, 2) == 0)
		plx_op_add_flags(op, PLX_OP_LATE_OK);
	if (draw(f, 4) == 0)
		plx_op_set_home(op, draw(f, 2) ? OWNER : WORKER);
}

void
flow_step(struct flow *f)
{
	struct flow_end *end = &f->ends[draw(f, 2)];
	unsigned int n = 1 + draw(f, MAX_STEP), taken, way = draw(f, 8);
	struct plx_op *ops[MAX_STEP];
	struct plx_submit_err err = {0};

	if (plx_op_get_bulk(f->d->pool, ops, n) != 0) {
		f->pool_empty++;
		flow_turn(f);
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		prepare(end, ops[i]);
	if (way < 3) {
		taken = plx_conn_submit_burst(end->conn, ops, (uint16_t)n, &err);
	} else if (way < 5) {
		taken = plx_conn_hold_burst(end->conn, ops, (uint16_t)n, &err);
		if (way == 4)
			plx_conn_flush(end->conn);
	} else {
		plx_test_as_lcore(WORKER);
		taken = plx_conn_submit_burst(end->conn, ops, (uint16_t)n, &err);
		plx_test_as_lcore(OWNER);
	}
	count_taken(f, ops, taken, n, err.code);
	if (taken < n) {
		plx_conn_flush(end->conn);
		flow_turn(f);
	}
}

/* ---- turns --------------------------------------------------------------------------------- */

/** Receives up to one more than the queue has room for, so that some wait; and what is owed. */
static void
keep_up(struct flow_end *end)
{
	struct flow *f = end->flow;

	while (end->recvs <= end->conn->rq.depth && submit_recv(end, draw(f, 2) ? OWNER : WORKER) == 0)
		;
	while (end->owed != 0 && flow_submit(end, flow_send(end, 1), OWNER) == 0)
		end->owed--;
}

void
flow_turn(struct flow *f)
{
	if (f->taken != f->settled && f->idle_turns++ > PATIENCE)
		fail_msg("wedged: %" PRIu64 " of %" PRIu64 " ops are not settled, %u and %u waiting", f->taken - f->settled,
			f->taken, f->ends[0].conn->waiting[0].nb, f->ends[1].conn->waiting[0].nb);
	plx_poller_once(f->poller);
	plx_test_as_lcore(WORKER);
	plx_dispatcher_once(f->d);
	plx_test_as_lcore(OWNER);
	if (f->quiet)
		return;
	keep_up(&f->ends[0]);
	keep_up(&f->ends[1]);
}

/** Receives are always out: those do not count. */
static uint64_t
sends_out(const struct flow *f)
{
	return f->taken - f->settled - f->ends[0].recvs - f->ends[1].recvs;
}

void
flow_drain(struct flow *f)
{
	do {
		plx_conn_flush(f->ends[0].conn);
		plx_conn_flush(f->ends[1].conn);
		flow_turn(f);
	} while (sends_out(f) + f->ends[0].owed + f->ends[1].owed != 0);
}
