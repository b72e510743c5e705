/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "flow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_errno.h>

#include "plx_drivers.h"

/**
 * @file
 * Nothing can wedge: mixed operations over the smallest queues, on any device: flow-tests -d loopback0.
 */

static struct flow flow;

/** Steps of one of several runs. */
static uint64_t
steps(unsigned int nb_runs)
{
	return (plx_test_device_is_fast() ? plx_test_scale() / 2 : 4000) / nb_runs;
}

static void
run(uint64_t nb_steps)
{
	for (uint64_t i = 0; i < nb_steps; i++)
		flow_step(&flow);
}

/** As many were in flight at once as the formulas say, and no more. */
static void
high_water_is_the_formula(void)
{
	uint32_t most = 0;

	for (unsigned int i = 0; i < 2; i++) {
		const struct plx_qp_cap *granted = &flow.ends[i].conn->cap;
		struct plx_conn_stats stats;

		plx_conn_stats(flow.ends[i].conn, &stats);
		assert_int_equal(stats.sends_most, granted->send_depth);
		assert_int_equal(stats.recvs_most, granted->recv_depth);
		assert_int_equal(stats.sends_most + stats.recvs_most, plx_conn_cqes(granted));
		assert_int_equal(stats.lost, 0);
		assert_true(stats.exhausted > 0);
		most += stats.sends_most + stats.recvs_most;
	}
	assert_int_equal(flow.cq->reserved, most);
}

/*
 * cases 1.3 1.11 4.1: writes, sends and their acknowledgements share each send queue, and an acknowledgement is often here
 * before the send that it is for has been polled. No post is refused by the device, no CQE is lost, nothing stands still.
 */
static void
smallest_queues_and_a_cq_of_exactly_the_formula_carry_any_mix(void **state)
{
	static const struct flow_conf confs[] = {
		{.send_depth = 1, .recv_depth = 1, .max_queued = 1},
		{.send_depth = 2, .recv_depth = 1, .max_queued = 3},
		{.send_depth = 4, .recv_depth = 2, .max_queued = 4}, /* the least that leaves one unsignaled */
		{.send_depth = 8, .recv_depth = 3, .max_queued = 2},
	};

	for (unsigned int i = 0; i < NB_OF(confs); i++) {
		struct plx_poller_stats polled;
		struct plx_conn_stats stats;

		flow_make(&flow, &confs[i]);
		flow.seed = i;
		run(steps(NB_OF(confs)));
		flow_drain(&flow);
		high_water_is_the_formula();
		plx_conn_stats(flow.ends[0].conn, &stats);
		assert_true(stats.implied > 0 || flow.ends[0].conn->cap.send_depth < 4);
		plx_poller_stats(flow.poller, &polled);
		assert_int_equal(polled.cq_errors, 0);
		assert_true(flow.not_taken > 0);
		flow_close(&flow);
		/* What the close flushed is receives. */
		assert_int_equal(flow.by_status[PLX_ST_SUCCESS] + flow.by_status[PLX_ST_WR_FLUSH_ERR] +
			flow.by_status[PLX_ST_STOPPED], flow.taken);
		flow_free(&flow);
	}
}

/* case 1.3: one CQE less, and the second connection is refused before its QP exists. The first is not affected. */
static void
one_cqe_less_refuses_the_connection_and_not_its_completions(void **state)
{
	flow_make(&flow, &(struct flow_conf){.send_depth = 2, .recv_depth = 2, .less_cqes = 1, .max_queued = 1});
	if (flow.ends[1].conn != NULL) { /* it gave more than was asked for */
		flow_close(&flow);
		flow_free(&flow);
		plx_test_skip(__func__, "a CQ of exactly the size");
	}
	assert_int_equal(rte_errno, ENOSPC);
	assert_int_equal(flow.cq->reserved, plx_conn_cqes(&flow.ends[0].conn->cap));
	flow_close(&flow);
	flow_free(&flow);
}

/* case 1.3: all that the formula allows is in the CQ at once, which the poller's high water shows */
static void
full_cq_holds_what_the_formula_says(void **state)
{
	struct plx_poller_stats polled;

	plx_test_needs(plx_test_device_is_fast(), "a device that completes while it is posted to");
	flow_make(&flow, &(struct flow_conf){.send_depth = 6, .recv_depth = 6, .max_queued = 1});
	flow.quiet = true;
	for (unsigned int i = 0; i < 12; i++)
		assert_int_equal(flow_recv(&flow.ends[i % 2]), 0);
	for (unsigned int i = 0; i < 12; i++)
		assert_int_equal(flow_submit(&flow.ends[i % 2], flow_send(&flow.ends[i % 2], 4), OWNER), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(flow_submit(&flow.ends[i], flow_send(&flow.ends[i], 4), OWNER), -EAGAIN);
	flow_turn(&flow);
	assert_int_equal(flow.by_status[PLX_ST_SUCCESS], 24);
	plx_poller_stats(flow.poller, &polled);
	assert_int_equal(polled.most, flow.cq->nb_cqe);
	assert_int_equal(polled.most, flow.cq->reserved);
	flow_close(&flow);
	flow_free(&flow);
}

/* Duplicates, and completions that come in another order than the queue's: the books go by neither. */
static void
completions_out_of_order_and_doubled_wedge_nothing(void **state)
{
	flow_make(&flow, &(struct flow_conf){
		.fault = "hold cqe 3 1/5; dup cqe 1/7", .send_depth = 4, .recv_depth = 2, .max_queued = 4, .nb_ops = 256});
	run(steps(4));
	flow_drain(&flow);
	flow_close(&flow);
	flow_free(&flow);
}

/*
 * case 2.9: ten times as many requests as nodes, and posts that fail at random, so that chains end half way and unsignaled.
 * An empty pool and a full queue are told from success, and every node comes back.
 */
static void
empty_pool_and_failing_posts_lose_no_node(void **state)
{
	flow_make(&flow, &(struct flow_conf){
		.fault = "fail post_send 1/7 seed 5 ENOMEM; fail post_recv 1/31 seed 6 EAGAIN",
		.send_depth = 16, .recv_depth = 16, .max_queued = 16, .nb_ops = 24, .posts_fail = true});
	run(steps(4));
	assert_true(flow.pool_empty > 0);
	assert_true(flow.not_taken > 0);
	assert_true(flow.by_status[PLX_ST_POST_FAILED] > 0);
	flow_close(&flow);
	assert_int_equal(plx_op_pool_in_use(flow.d->pool), 0);
	flow_free(&flow);
}

/*
 * case 4.6: the queue is full, ops of another lcore wait for a slot, and the connection goes. Each is told once, and none
 * of those that waited is posted.
 */
static void
ops_that_wait_for_a_slot_are_told_when_the_connection_goes(void **state)
{
	struct plx_conn_stats stats;

	flow_make(&flow, &(struct flow_conf){.send_depth = 4, .recv_depth = 1, .max_queued = 8});
	flow.quiet = true; /* no receive: nothing completes */
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(flow_submit(&flow.ends[0], flow_send(&flow.ends[0], 4), OWNER), 0);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(flow_submit(&flow.ends[0], flow_send(&flow.ends[0], 4), WORKER), 0);
	flow_turn(&flow);
	plx_conn_stats(flow.ends[0].conn, &stats);
	assert_int_equal(stats.waiting, 8);
	assert_int_equal(plx_qp_to_error(flow.ends[1].conn->qp), 0); /* the peer dies */
	flow_close(&flow);
	assert_int_equal(flow.settled, 12);
	/* Those that waited got a slot when the first had failed, or none at all; none succeeded. */
	assert_int_equal(flow.by_status[PLX_ST_SUCCESS], 0);
	assert_true(flow.by_status[PLX_ST_STOPPED] >= 4);
	flow_free(&flow);
}

/* case 11.5: a receiver with four receives that lags behind now and then: what was sent is told, all of it */
static void
requests_to_a_slow_receiver_succeed_or_are_told_as_failed(void **state)
{
	unsigned int left = 10000, told = 0;

	for (unsigned int round = 0; left != 0; round++) {
		unsigned int nb = 0;
		int err = 0;

		flow_make(&flow, &(struct flow_conf){.send_depth = 8, .recv_depth = 4, .max_queued = 1, .rnr_retry = 1});
		flow.quiet = true;
		while (left != 0 && nb < 2500 && (err == 0 || plx_is_retry(err))) {
			if (nb % 100 < 100 - round % 4)
				flow_recv(&flow.ends[1]);
			err = flow_submit(&flow.ends[0], flow_send(&flow.ends[0], 4), OWNER);
			nb += err == 0;
			left -= err == 0;
			flow_turn(&flow);
		}
		flow_close(&flow);
		for (unsigned int i = 0; i < PLX_NB_STATUS; i++)
			told += (unsigned int)flow.by_status[i];
		told -= flow.ends[1].nb_recvs;
		flow_free(&flow);
	}
	assert_int_equal(told, 10000);
}

/* A queue that stands still shows for how long; one that moves does not. */
static void
stall_is_seen_in_the_stats(void **state)
{
	struct plx_conn_stats stats;

	flow_make(&flow, &(struct flow_conf){.send_depth = 2, .recv_depth = 2, .max_queued = 1});
	flow.quiet = true;
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(flow_submit(&flow.ends[0], flow_send(&flow.ends[0], 4), OWNER), 0);
	plx_conn_stats(flow.ends[0].conn, &stats);
	assert_int_equal(stats.stalled_ns, 0); /* full, but nobody minds */
	assert_int_equal(stats.exhausted, 0);
	assert_int_equal(stats.sends_most, 2);
	assert_int_equal(stats.recvs_most, 0);
	assert_int_equal(flow_submit(&flow.ends[0], flow_send(&flow.ends[0], 4), OWNER), -EAGAIN);
	plx_conn_stats(flow.ends[0].conn, &stats);
	assert_true(stats.stalled_ns > 0);
	assert_int_equal(stats.exhausted, 1);
	flow.quiet = false;
	flow_drain(&flow);
	plx_conn_stats(flow.ends[0].conn, &stats);
	assert_int_equal(stats.stalled_ns, 0);
	flow_close(&flow);
	flow_free(&flow);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(smallest_queues_and_a_cq_of_exactly_the_formula_carry_any_mix),
	cmocka_unit_test(one_cqe_less_refuses_the_connection_and_not_its_completions),
	cmocka_unit_test(full_cq_holds_what_the_formula_says),
	cmocka_unit_test(completions_out_of_order_and_doubled_wedge_nothing),
	cmocka_unit_test(empty_pool_and_failing_posts_lose_no_node),
	cmocka_unit_test(ops_that_wait_for_a_slot_are_told_when_the_connection_goes),
	cmocka_unit_test(requests_to_a_slow_receiver_succeed_or_are_told_as_failed),
	cmocka_unit_test(stall_is_seen_in_the_stats),
};

static int
drivers(void **state)
{
	return plx_drivers_register();
}

PLX_TEST_SUITE(stack, flow, tests, .setup = drivers, .lcores = 3, .device = true,
	.caps = PLX_CAP_ATTR_EXCHANGE | PLX_CAP_RNR);
