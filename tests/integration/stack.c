/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "stack.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include <rte_launch.h>

#include "plx_clock.h"

static const unsigned int poller_lcore = POLLER, worker_lcore = WORKER;

/** Behind each op: which use of it was last settled. */
struct mark {
	uint64_t settled_id;
};

static void
count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELEASE);
}

/* ---- callbacks: all on the home --------------------------------------------------------- */

static void
settled(struct stack *s, struct plx_op *op)
{
	struct mark *mark = plx_op_priv(op);

	if (!s->home_known) {
		s->home_thread = pthread_self();
		s->home_known = true;
	}
	if (!pthread_equal(s->home_thread, pthread_self()))
		s->count.elsewhere++;
	if (mark->settled_id == plx_op_id(op))
		s->count.twice++;
	mark->settled_id = plx_op_id(op);
	count(&s->count.by_status[op->status]);
	count(&s->count.settled);
}

static void
send_done(struct plx_op *op, void *arg)
{
	settled(arg, op);
	plx_op_put(op);
}

static void
recv_done(struct plx_op *op, void *arg)
{
	struct stack_conn *c = arg;

	settled(c->stack, op);
	__atomic_fetch_sub(&c->nb_recvs, 1, __ATOMIC_RELAXED);
	plx_op_put(op);
}

static void
overtaken(struct plx_conn *conn, const struct plx_op *op, void *arg)
{
	struct stack_conn *c = arg;

	if (op->wr.opcode == PLX_OPCODE_RECV) /* recv_done() will count it down again when it is settled */
		__atomic_fetch_sub(&c->nb_recvs, 1, __ATOMIC_RELAXED);
}

static void
closed(struct plx_conn *conn, void *arg)
{
	struct stack_conn *c = arg;

	/* Destroyed in stack_stop(): a submitter may be about to be told that it is closed. */
	__atomic_fetch_add(&c->stack->nb_closed, 1, __ATOMIC_RELEASE);
}

/* ---- the poller's hook ----------------------------------------------------------------- */

static void
refill(struct stack_conn *c)
{
	struct stack *s = c->stack;

	while (!__atomic_load_n(&c->closing, __ATOMIC_ACQUIRE) && plx_op_queue_room(&c->conn->rq) != 0) {
		struct plx_op *op = plx_op_get(s->d->pool);

		if (op == NULL)
			return;
		plx_op_prep_recv(op, (char *)s->region->addr + MSG_LEN, MSG_LEN, s->region->lkey, recv_done, c);
		__atomic_fetch_add(&s->count.submitted, 1, __ATOMIC_RELAXED);
		if (plx_conn_submit(c->conn, op) != 0) {
			__atomic_fetch_sub(&s->count.submitted, 1, __ATOMIC_RELAXED);
			plx_op_put(op);
			return;
		}
	}
}

static unsigned int
refill_hook(void *arg)
{
	struct stack *s = arg;

	for (unsigned int i = 0; i < s->conf.nb_pairs; i++)
		refill(&s->to[i]);
	return 0;
}

/* ---- life -------------------------------------------------------------------------------- */

static struct plx_conn *
conn_make(struct stack *s, struct stack_conn *c)
{
	struct plx_conn_conf conf = {
		.group = s->group,
		.pd = s->pd,
		.cap = {.send_depth = s->conf.depth, .recv_depth = s->conf.depth + s->conf.spare_recvs},
		.home = s->conf.home,
		.drain_ms = 300,
		.closed_cb = closed,
		.lost_cb = overtaken,
		.arg = c,
	};

	c->stack = s;
	plx_qp_path_default(&conf.path);
	c->conn = plx_conn_create(&conf);
	assert_non_null(c->conn);
	return c->conn;
}

static void
pair_make(struct stack *s, unsigned int i)
{
	struct plx_conn *a = conn_make(s, &s->from[i]), *b = conn_make(s, &s->to[i]);
	struct plx_qp_addr addr_a, addr_b;

	assert_int_equal(plx_conn_local_attr(a, &addr_a), 0);
	assert_int_equal(plx_conn_local_attr(b, &addr_b), 0);
	assert_int_equal(plx_conn_bring_up(a, &addr_b), 0);
	assert_int_equal(plx_conn_bring_up(b, &addr_a), 0);
}

static void
rooms_make(struct stack *s)
{
	struct plx_control_conf control = {.lcores = &poller_lcore, .nb_lcores = 1};
	struct plx_dispatcher_conf d = {
		.name = "stack",
		.owner = POLLER,
		.homes = &worker_lcore,
		.nb_homes = 1,
		.pool = {.nb_ops = s->conf.nb_ops, .cache_size = 64, .priv_size = sizeof(struct mark), .socket_id = -1},
	};
	struct plx_qp_cap cap = {
		.send_depth = s->conf.depth, .recv_depth = s->conf.depth + s->conf.spare_recvs, .send_sge = 1, .recv_sge = 1};
	struct plx_conn_group_conf group = {.name = "stack"};
	struct plx_poller_conf poller = {.name = "poller", .yield = !s->conf.busy};
	struct plx_poller_conf worker = {.name = "worker", .yield = !s->conf.busy};

	assert_non_null(s->pd = plx_pd_create(s->dev));
	assert_non_null(s->region = plx_region_alloc(s->pd, 2 * MSG_LEN, PLX_ACCESS_LOCAL_WRITE));
	assert_non_null(s->control = plx_control_create(&control));
	assert_non_null(s->d = plx_dispatcher_create(&d));
	assert_int_equal(plx_qp_limits(s->dev, &cap), 0);
	assert_non_null(s->cq = plx_cq_create(s->dev, 2 * s->conf.nb_pairs * plx_conn_cqes(&cap)));
	group.dispatcher = s->d;
	group.cq = s->cq;
	group.control = s->control;
	assert_non_null(s->group = plx_conn_group_create(&group));
	assert_non_null(s->poller = plx_poller_create(&poller));
	assert_non_null(s->worker = plx_poller_create(&worker));
}

void
stack_make(struct stack *s, const char *device, const struct stack_conf *conf)
{
	memset(s, 0, sizeof(*s));
	s->conf = *conf;
	assert_non_null(s->dev = plx_device_open(device));
	if (conf->fault != NULL)
		assert_non_null(s->dev = plx_fault_wrap(s->dev, conf->fault));
	rooms_make(s);
	for (unsigned int i = 0; i < conf->nb_pairs; i++)
		pair_make(s, i);
	assert_int_equal(plx_poller_add_cq(s->poller, s->cq, s->d), 0);
	assert_int_equal(plx_poller_add_hook(s->poller, plx_dispatcher_hook, s->d), 0);
	if (!conf->own_recvs)
		assert_int_equal(plx_poller_add_hook(s->poller, refill_hook, s), 0);
	assert_int_equal(plx_poller_add_hook(s->poller, plx_conn_group_hook, s->group), 0);
	assert_int_equal(plx_poller_add_hook(s->worker, plx_dispatcher_hook, s->d), 0);
}

void
stack_launch(struct stack *s)
{
	assert_int_equal(rte_eal_remote_launch(plx_poller_run, s->poller, POLLER), 0);
	assert_int_equal(rte_eal_remote_launch(plx_poller_run, s->worker, WORKER), 0);
}

void
stack_start(struct stack *s, const char *device, const struct stack_conf *conf)
{
	stack_make(s, device, conf);
	stack_launch(s);
}

static void
prepare_send(struct stack *s, struct plx_op *op)
{
	plx_op_prep_send(op, s->region->addr, MSG_LEN, s->region->lkey, send_done, s);
	if (s->conf.late && (plx_op_generation(op) & 1))
		plx_op_add_flags(op, PLX_OP_LATE_OK);
}

struct plx_op *
stack_take(struct stack *s)
{
	struct plx_op *op = plx_op_get(s->d->pool);

	if (op != NULL)
		prepare_send(s, op);
	return op;
}

int
stack_submit(struct stack *s, unsigned int i, struct plx_op *op)
{
	int err;

	__atomic_fetch_add(&s->count.submitted, 1, __ATOMIC_RELAXED);
	err = plx_conn_submit(s->from[i].conn, op);
	if (err != 0) {
		__atomic_fetch_sub(&s->count.submitted, 1, __ATOMIC_RELAXED);
		plx_op_put(op);
	}
	return err;
}

int
stack_send(struct stack *s, unsigned int i)
{
	struct plx_op *op;

	if (__atomic_load_n(&s->from[i].closing, __ATOMIC_ACQUIRE))
		return -ENOTCONN;
	op = stack_take(s);
	return op != NULL ? stack_submit(s, i, op) : -EAGAIN;
}

unsigned int
stack_send_burst(struct stack *s, unsigned int i, unsigned int n)
{
	struct plx_op *ops[PLX_POST_BURST];
	struct plx_submit_err err;
	unsigned int taken;

	if (plx_op_get_bulk(s->d->pool, ops, n) != 0)
		return 0;
	for (unsigned int k = 0; k < n; k++)
		prepare_send(s, ops[k]);
	__atomic_fetch_add(&s->count.submitted, n, __ATOMIC_RELAXED);
	taken = plx_conn_submit_burst(s->from[i].conn, ops, (uint16_t)n, &err);
	__atomic_fetch_sub(&s->count.submitted, n - taken, __ATOMIC_RELAXED);
	plx_op_put_bulk(s->d->pool, ops + taken, n - taken);
	return taken;
}

static void
close_one(struct stack_conn *c)
{
	int err;

	if (__atomic_exchange_n(&c->closing, true, __ATOMIC_ACQ_REL))
		return;
	do {
		err = plx_conn_close(c->conn);
	} while (err == -EAGAIN);
	assert_int_equal(err, 0);
}

void
stack_close_pair(struct stack *s, unsigned int i)
{
	close_one(&s->from[i]);
	close_one(&s->to[i]);
}

void
stack_wait(const uint64_t *counter, uint64_t least, const char *what)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(60000000000);

	while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < least) {
		if (plx_clock_monotonic_ns() > end)
			fail_msg("%s: %" PRIu64 " of %" PRIu64 " after 60 s", what,
				__atomic_load_n(counter, __ATOMIC_ACQUIRE), least);
		sched_yield();
	}
}

/** Ops that are over without anybody having been told. */
static uint64_t
orphans(const struct stack *s)
{
	struct plx_dispatcher_stats d;

	plx_dispatcher_stats(s->d, &d);
	return d.orphans;
}

void
stack_stop(struct stack *s)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(60000000000);

	for (unsigned int i = 0; i < s->conf.nb_pairs; i++)
		stack_close_pair(s, i);
	while (__atomic_load_n(&s->nb_closed, __ATOMIC_ACQUIRE) < 2 * s->conf.nb_pairs) {
		if (plx_clock_monotonic_ns() > end)
			fail_msg("closes: %u of %u after 60 s", s->nb_closed, 2 * s->conf.nb_pairs);
		sched_yield();
	}
	stack_wait(&s->count.settled, __atomic_load_n(&s->count.submitted, __ATOMIC_ACQUIRE) - orphans(s), "settled");
	plx_poller_stop(s->poller);
	plx_poller_stop(s->worker);
	assert_int_equal(rte_eal_wait_lcore(POLLER), 0);
	assert_int_equal(rte_eal_wait_lcore(WORKER), 0);
	/* EAL's own waiting is not instrumented: told to TSan by the end of `running`. */
	assert_false(plx_poller_running(s->poller));
	assert_false(plx_poller_running(s->worker));
	for (unsigned int i = 0; i < s->conf.nb_pairs; i++) {
		assert_int_equal(plx_conn_destroy(s->from[i].conn), 0);
		assert_int_equal(plx_conn_destroy(s->to[i].conn), 0);
	}
}

void
stack_check_and_free(struct stack *s)
{
	assert_int_equal(s->count.settled + orphans(s), s->count.submitted);
	assert_int_equal(s->count.twice, 0);
	assert_int_equal(s->count.elsewhere, 0);
	assert_int_equal(plx_op_pool_in_use(s->d->pool), 0);
	assert_int_equal(plx_poller_destroy(s->poller), 0);
	assert_int_equal(plx_poller_destroy(s->worker), 0);
	assert_int_equal(plx_conn_group_destroy(s->group), 0);
	assert_int_equal(s->cq->reserved, 0);
	assert_int_equal(plx_cq_destroy(s->cq), 0);
	assert_int_equal(plx_dispatcher_destroy(s->d), 0);
	assert_int_equal(plx_control_destroy(s->control), 0);
	assert_int_equal(plx_region_destroy(s->region), 0);
	assert_int_equal(plx_pd_destroy(s->pd), 0);
	assert_int_equal(plx_device_close(s->dev), 0);
}
