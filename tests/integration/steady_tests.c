/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What disturbs a steady connection: a neighbour's flood on another CQ of the same poller, and connections that are made
 * and closed while their QPs take ten milliseconds to come and to go. Counted in turns of the poller, so that a slow machine
 * fails nothing.
 *
 *      this thread, as lcore 1: poller_once() { cq 0, cq 1, hooks }        another thread: create, bring up, close
 *
 * Each connection is its own peer and writes to itself.
 */

#include "plx_test.h"

#include <pthread.h>
#include <sched.h>

#include "plx_conn.h"
#include "plx_drivers.h"
#include "plx_fault.h"
#include "plx_memory.h"
#include "plx_poller.h"
#include "plx_prep.h"

#define OWNER	  1
#define NB_CQS	  2
#define NB_STEADY 8
#define FLOOD	  64 /* writes in flight */
#define MADE_MIN  5
#define MADE_MAX  50
#define BESIDE	  500 /* turns beside verbs that are wanted; on the poller's lcore each verb would have one or two */

static const unsigned int owner_lcore = OWNER;

static struct plx_device *dev;
static struct plx_pd *pd;
static struct plx_region *region;
static struct plx_control *control;
static struct plx_dispatcher *d;
static struct plx_cq *cqs[NB_CQS];
static struct plx_conn_group *groups[NB_CQS];
static struct plx_poller *poller;
static uint64_t turn; /* atomic */
static unsigned int nb_closed; /* atomic */

/* ---- one owner, two CQs -------------------------------------------------------------------- */

static void
make(const char *script, uint16_t budget)
{
	struct plx_control_conf control_conf = {.lcores = &owner_lcore, .nb_lcores = 1};
	struct plx_dispatcher_conf d_conf = {.name = "steady", .owner = OWNER, .pool = {.nb_ops = 512, .socket_id = -1}};
	struct plx_poller_conf poller_conf = {.name = "steady", .budget = budget};

	plx_test_as_lcore(OWNER);
	nb_closed = 0;
	assert_non_null(dev = plx_fault_wrap(plx_device_open("loopback0"), script));
	assert_non_null(pd = plx_pd_create(dev));
	assert_non_null(region = plx_region_alloc(pd, 4096, PLX_ACCESS_ALL));
	assert_non_null(control = plx_control_create(&control_conf));
	assert_non_null(d = plx_dispatcher_create(&d_conf));
	assert_non_null(poller = plx_poller_create(&poller_conf));
	for (unsigned int i = 0; i < NB_CQS; i++) {
		struct plx_conn_group_conf conf = {.name = "steady", .dispatcher = d, .control = control};

		assert_non_null(conf.cq = cqs[i] = plx_cq_create(dev, 1024));
		assert_non_null(groups[i] = plx_conn_group_create(&conf));
		assert_int_equal(plx_poller_add_cq(poller, cqs[i], d), 0);
		assert_int_equal(plx_poller_add_hook(poller, plx_conn_group_hook, groups[i]), 0);
	}
	assert_int_equal(plx_poller_add_hook(poller, plx_dispatcher_hook, d), 0);
}

static void
unmake(void)
{
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
	assert_int_equal(plx_poller_destroy(poller), 0);
	for (unsigned int i = 0; i < NB_CQS; i++) {
		assert_int_equal(plx_conn_group_destroy(groups[i]), 0);
		assert_int_equal(plx_cq_destroy(cqs[i]), 0);
	}
	assert_int_equal(plx_dispatcher_destroy(d), 0);
	assert_int_equal(plx_control_destroy(control), 0);
	assert_int_equal(plx_region_destroy(region), 0);
	assert_int_equal(plx_pd_destroy(pd), 0);
	assert_int_equal(plx_device_close(dev), 0);
	plx_test_as_lcore(0);
}

static void
closed(struct plx_conn *conn, void *arg)
{
	__atomic_fetch_add(&nb_closed, 1, __ATOMIC_RELEASE);
}

/** A connection on CQ @p cq. NULL: it could not be made; the thread that asks cannot assert. */
static struct plx_conn *
conn_up(unsigned int cq)
{
	struct plx_conn_conf conf = {
		.group = groups[cq], .pd = pd, .cap = {.send_depth = FLOOD, .recv_depth = 1}, .home = OWNER, .closed_cb = closed};
	struct plx_qp_addr self;
	struct plx_conn *conn;

	plx_qp_path_default(&conf.path);
	conf.path.rights = PLX_ACCESS_REMOTE_WRITE;
	conn = plx_conn_create(&conf);
	if (conn == NULL || plx_conn_local_attr(conn, &self) != 0 || plx_conn_bring_up(conn, &self) != 0)
		return NULL;
	return conn;
}

static void
one_turn(void)
{
	__atomic_store_n(&turn, turn + 1, __ATOMIC_RELAXED);
	plx_poller_once(poller);
}

static void
close_all(struct plx_conn **conns, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(plx_conn_close(conns[i]), 0);
	while (__atomic_load_n(&nb_closed, __ATOMIC_ACQUIRE) < n) {
		one_turn();
		sched_yield(); /* the control thread may share this CPU */
	}
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(plx_conn_destroy(conns[i]), 0);
}

/* ---- a steady flow ------------------------------------------------------------------------- */

/** A connection with so many writes in flight that each callback posts the next. */
struct flow {
	struct plx_conn *conn;
	bool ends;
	uint64_t posted_at; /* turn; of a flow of one */
	uint64_t nb, nb_bad, worst; /* worst: turns from post to callback */
};

static void
flow_submit(struct flow *flow, struct plx_op *op)
{
	flow->posted_at = turn;
	if (plx_conn_submit(flow->conn, op) != 0) {
		flow->nb_bad++;
		plx_op_put(op);
	}
}

static void
flow_done(struct plx_op *op, void *arg)
{
	struct flow *flow = arg;
	uint64_t turns = turn - flow->posted_at;

	flow->nb++;
	flow->nb_bad += op->status != PLX_ST_SUCCESS;
	flow->worst = turns > flow->worst ? turns : flow->worst;
	if (flow->ends) {
		plx_op_put(op);
		return;
	}
	assert_int_equal(plx_op_again(op), 0);
	flow_submit(flow, op);
}

static void
flow_start(struct flow *flow, unsigned int in_flight)
{
	for (unsigned int i = 0; i < in_flight; i++) {
		struct plx_op *op = plx_op_get(d->pool);

		plx_op_prep(op, PLX_OPCODE_WRITE, region->addr, 8, region->lkey, flow_done, flow);
		plx_op_set_remote(op, (uintptr_t)region->addr + 64, region->rkey);
		flow_submit(flow, op);
	}
}

/* case 13.1: on loopback, whose CQ never runs dry while callbacks post */
static void
flooded_cq_starves_neither_a_quiet_one_nor_its_own_budget(void **state)
{
	static const uint16_t budgets[] = {16, 64, 512, 0};

	for (unsigned int i = 0; i < NB_OF(budgets); i++) {
		uint16_t budget = budgets[i] != 0 ? budgets[i] : PLX_POLL_BURST;
		struct flow flood = {.ends = false}, quiet = {.ends = true};
		struct plx_conn *conns[2];

		make("", budgets[i]);
		assert_non_null(conns[0] = flood.conn = conn_up(0));
		assert_non_null(conns[1] = quiet.conn = conn_up(1));
		flow_start(&flood, FLOOD);
		for (unsigned int n = 1; n <= 1000; n++) {
			one_turn();
			assert_int_equal(flood.nb, (uint64_t)n * budget);
			if (n % 10 == 0)
				flow_start(&quiet, 1);
		}
		assert_int_equal(quiet.nb, 99); /* each in the turn behind its post, as it would be alone */
		assert_int_equal(quiet.worst, 1);
		flood.ends = true;
		close_all(conns, 2);
		assert_int_equal(flood.nb_bad + quiet.nb_bad, 0);
		unmake();
	}
}

/* A CQ goes and comes back while the loop turns, its flood in it; the other one does not notice. */
static void
cq_is_removed_and_added_while_it_is_flooded(void **state)
{
	struct flow flood = {.ends = false}, steady = {.ends = false};
	struct plx_conn *conns[2];
	uint64_t before;

	make("", 0);
	assert_non_null(conns[0] = flood.conn = conn_up(0));
	assert_non_null(conns[1] = steady.conn = conn_up(1));
	flow_start(&flood, FLOOD);
	flow_start(&steady, 1);
	for (unsigned int n = 0; n < 100; n++) {
		assert_int_equal(plx_poller_remove_cq(poller, cqs[0]), 0);
		before = flood.nb;
		one_turn();
		assert_int_equal(flood.nb, before);
		assert_int_equal(plx_poller_add_cq(poller, cqs[0], d), 0);
		one_turn();
		assert_int_equal(flood.nb, before + PLX_POLL_BURST);
	}
	assert_int_equal(steady.worst, 1);
	flood.ends = steady.ends = true;
	close_all(conns, 2);
	assert_int_equal(flood.nb_bad + steady.nb_bad, 0);
	unmake();
}

/* ---- others that come and go --------------------------------------------------------------- */

struct visitor {
	unsigned int nb_made; /* atomic */
	unsigned int waits;   /* atomic: 1 while a verb that takes long is on its way */
	bool enough;	      /* atomic: the turns beside it are many */
	bool ended;	      /* atomic */
};

static void *
come_and_go(void *arg)
{
	struct visitor *visitor = arg;

	for (unsigned int i = 0; i < MADE_MAX; i++) {
		struct plx_conn *conn;

		if (i >= MADE_MIN && __atomic_load_n(&visitor->enough, __ATOMIC_ACQUIRE))
			break;

		__atomic_store_n(&visitor->waits, 1, __ATOMIC_RELEASE);
		conn = conn_up(i % NB_CQS);
		__atomic_store_n(&visitor->waits, 0, __ATOMIC_RELEASE);
		if (conn == NULL || plx_conn_close(conn) != 0)
			break;
		while (__atomic_load_n(&nb_closed, __ATOMIC_ACQUIRE) <= i)
			sched_yield();
		if (plx_conn_destroy(conn) != 0)
			break;
		__atomic_fetch_add(&visitor->nb_made, 1, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&visitor->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* case 13.4: with verbs of 10 ms; a verb on the polling lcore would have no turn beside it */
static void
connections_that_come_and_go_cost_the_others_no_turn(void **state)
{
	struct flow flows[NB_STEADY] = {{.ends = false}};
	struct plx_conn *conns[NB_STEADY];
	struct visitor visitor = {0};
	uint64_t turns_beside = 0;
	pthread_t thread;

	make("delay qp_create 10000 9..; delay qp_destroy 10000", 0);
	for (unsigned int i = 0; i < NB_STEADY; i++) {
		assert_non_null(conns[i] = flows[i].conn = conn_up(i % NB_CQS));
		flow_start(&flows[i], 1);
	}
	assert_int_equal(pthread_create(&thread, NULL, come_and_go, &visitor), 0);
	while (!__atomic_load_n(&visitor.ended, __ATOMIC_ACQUIRE)) {
		turns_beside += __atomic_load_n(&visitor.waits, __ATOMIC_ACQUIRE);
		__atomic_store_n(&visitor.enough, turns_beside >= BESIDE, __ATOMIC_RELEASE);
		one_turn();
		sched_yield();
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_in_range(visitor.nb_made, MADE_MIN, MADE_MAX);
	assert_true(turns_beside >= BESIDE);
	for (unsigned int i = 0; i < NB_STEADY; i++) {
		assert_int_equal(flows[i].worst, 1);
		assert_int_equal(flows[i].nb_bad, 0);
		flows[i].ends = true;
	}
	nb_closed = 0;
	close_all(conns, NB_STEADY);
	unmake();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(flooded_cq_starves_neither_a_quiet_one_nor_its_own_budget),
	cmocka_unit_test(cq_is_removed_and_added_while_it_is_flooded),
	cmocka_unit_test(connections_that_come_and_go_cost_the_others_no_turn),
};

int
main(void)
{
	if (plx_test_eal_init(NULL) != 0 || plx_drivers_register() != 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
