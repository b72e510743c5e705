/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "stack.h"

#include <string.h>

#include <rte_launch.h>

#include "plx_clock.h"
#include "plx_conn_attach.h"
#include "plx_drivers.h"

/* The example's backend itself, not a copy. */
int own_backend_main(int argc, char **argv);
#define main own_backend_main
#include "../../apps/examples/own_backend.c"
#undef main

/**
 * @file
 * Two backends in one process: a pair of connections on loopback and a pair on the application's own functions, on one
 * poller, one dispatcher and one pool of ops.
 */

static struct stack stack;

/** Messages from one connection to the other, a number in each. All of it on the poller's lcore. */
struct pair {
	struct plx_conn *from, *to;
	uint64_t *out, *in; /**< DEPTH numbers each */
	uint32_t lkey;
	uint64_t sent, arrived, completed;
	uint64_t wrong; /**< number, status or kind */
	unsigned int nb_recvs;
};

static struct pair pairs[2];
static uint64_t limit;
static bool over; /* atomic */

static void
pair_sent(struct plx_op *op, void *arg)
{
	struct pair *p = arg;

	p->completed++;
	p->wrong += op->status != PLX_ST_SUCCESS && op->status != PLX_ST_CONN_LOST;
	plx_op_put(op);
}

static void
pair_arrived(struct plx_op *op, void *arg)
{
	struct pair *p = arg;

	p->nb_recvs--;
	if (op->status == PLX_ST_SUCCESS) {
		uint64_t number;

		memcpy(&number, (const void *)(uintptr_t)op->sge.addr, sizeof(number));
		p->wrong += number != p->arrived || op->byte_len != sizeof(number) || op->qp_num != p->to->rq.qp_num;
		p->arrived++;
	}
	plx_op_put(op);
}

static void
pair_turn(struct pair *p)
{
	struct plx_op *op;

	while (p->nb_recvs < DEPTH && (op = plx_op_get(stack.d->pool)) != NULL) {
		uint64_t *slot = &p->in[(p->arrived + p->nb_recvs) % DEPTH];

		plx_op_prep_recv(op, slot, sizeof(*slot), p->lkey, pair_arrived, p);
		if (plx_conn_submit(p->to, op) != 0) {
			plx_op_put(op);
			break;
		}
		p->nb_recvs++;
	}
	while (p->sent < limit && p->sent - p->completed < DEPTH / 2 && (op = plx_op_get(stack.d->pool)) != NULL) {
		uint64_t *slot = &p->out[p->sent % DEPTH];

		*slot = p->sent;
		plx_op_prep_send(op, slot, sizeof(*slot), p->lkey, pair_sent, p);
		if (plx_conn_submit(p->from, op) != 0) {
			plx_op_put(op);
			break;
		}
		p->sent++;
	}
}

static unsigned int
pairs_hook(void *arg)
{
	bool done = true;

	for (unsigned int i = 0; i < 2 && !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
		pair_turn(&pairs[i]);
		done &= pairs[i].arrived == limit && pairs[i].completed == limit;
	}
	if (done)
		__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	return 0;
}

static struct own_cq cq = {.base = {.fast = &own_fast, .nb_cqe = 4 * DEPTH}};
static struct own_qp qps[2];

static struct plx_conn *
own_conn(unsigned int i)
{
	struct plx_conn_attach_conf conf = {
		.qp = &qps[i].base, .dispatcher = stack.d, .home = POLLER, .kinds = PLX_KIND(PLX_OPCODE_SEND)};
	struct plx_conn *conn;

	qps[i] = (struct own_qp){.base = {.fast = &own_fast,
					 .cap = {.send_depth = DEPTH, .recv_depth = DEPTH, .send_sge = 1, .recv_sge = 1},
					 .qp_num = 1000 + i},
		.peer = &qps[!i],
		.cq = &cq};
	assert_non_null(conn = plx_conn_attach(&conf));
	return conn;
}

static void
wait_until_over(void)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(60000000000);

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		if (plx_clock_monotonic_ns() > end)
			fail_msg("not over after 60 s");
		sched_yield();
	}
}

static void
two_backends_share_poller_dispatcher_and_pool(void **state)
{
	static uint64_t own_buffers[2 * DEPTH];
	struct plx_dispatcher_stats stats;
	unsigned int was;

	limit = plx_test_scale() / 10;
	stack_make(&stack, "loopback0",
		&(struct stack_conf){.nb_pairs = 1, .depth = DEPTH, .nb_ops = 256, .home = POLLER, .own_recvs = true});
	was = plx_test_as_lcore(POLLER); /* its loop does not run yet */
	pairs[0] = (struct pair){.from = stack.from[0].conn,
		.to = stack.to[0].conn,
		.out = stack.region->addr,
		.in = (uint64_t *)stack.region->addr + DEPTH,
		.lkey = stack.region->lkey};
	pairs[1] = (struct pair){
		.from = own_conn(0), .to = own_conn(1), .out = own_buffers, .in = own_buffers + DEPTH};
	plx_test_as_lcore(was);
	assert_int_equal(plx_poller_add_cq(stack.poller, &cq.base, stack.d), 0);
	assert_int_equal(plx_poller_add_hook(stack.poller, pairs_hook, NULL), 0);
	stack_launch(&stack);
	wait_until_over();
	/* The flushed receives of loopback are not the stack's own: it has counted none. */
	stack_stop(&stack);
	plx_test_as_lcore(POLLER);
	assert_int_equal(plx_conn_detach(pairs[1].from), 0);
	assert_int_equal(plx_conn_detach(pairs[1].to), 0);
	plx_test_as_lcore(was);
	plx_dispatcher_stats(stack.d, &stats);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(pairs[i].sent, limit);
		assert_int_equal(pairs[i].completed, limit);
		assert_int_equal(pairs[i].arrived, limit);
		assert_int_equal(pairs[i].wrong, 0);
		assert_int_equal(pairs[i].nb_recvs, 0);
	}
	/* Two pairs, two ops a message; loopback's last receives are flushed by CQEs, the other's are settled by detach. */
	assert_int_equal(stats.delivered, 4 * limit + DEPTH);
	assert_int_equal(stats.stale + stats.duplicate + stats.foreign + stats.misrouted, 0);
	stack_check_and_free(&stack);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(two_backends_share_poller_dispatcher_and_pool)};

	if (plx_test_eal_init(NULL) != 0 || plx_drivers_register() != 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
