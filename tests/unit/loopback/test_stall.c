/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/* Sends that must wait: no receive, no peer; and what that does to those behind them. */

#include "pair.h"

static struct pair pair;

static int
setup(void **state)
{
	pair_open(&pair, "loopback0", "loopback1");
	return 0;
}

static int
teardown(void **state)
{
	pair_close(&pair);
	return 0;
}

static uint64_t
ms_since(uint64_t start_ns)
{
	return (plx_clock_monotonic_ns() - start_ns) / 1000000;
}

static void
a_send_without_receive_waits_for_the_peers_rnr_timer(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8), to = at(&pair.b, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);
	uint64_t start = plx_clock_monotonic_ns();

	pair.path.min_rnr_timer = 20; /* 10.24 ms */
	pair_connect(&pair);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	assert_int_equal(post_recv(pair.b.qp, 2, &to, 1), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	assert_true(ms_since(start) >= 10);
	expect_wc(&pair.b, 2, PLX_ST_SUCCESS);
}

static void
rnr_retry_counts_the_tries_after_the_first(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);
	uint64_t start = plx_clock_monotonic_ns();

	pair.path.min_rnr_timer = 20;
	pair.path.rnr_retry = 2;
	pair_connect(&pair);
	wr.flags = 0; /* fails all the same with a completion */
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_RNR_RETRY_EXC_ERR);
	assert_in_range(ms_since(start), 20, 1000);
	assert_int_equal(plx_qp_query_state(pair.b.qp), PLX_QP_RTS);
}

static void
no_rnr_retry_fails_at_once_and_the_chain_behind_is_flushed(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8);
	struct plx_wr send = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);
	struct plx_wr write = wr_to(&pair.b, 2, PLX_OPCODE_WRITE, &from, 0);
	const struct plx_wr *chain[] = {&send, &write};
	struct plx_wc wcs[3];
	int err;

	pair.path.rnr_retry = 0;
	pair_connect(&pair);
	pair.a.mem[0] = 'x';
	assert_int_equal(plx_qp_post_send(pair.a.qp, chain, 2, &err), 2);
	assert_int_equal(plx_cq_poll(pair.a.cq, wcs, 3), 2); /* no timer has had to run */
	assert_int_equal(wcs[0].wr_id, 1);
	assert_int_equal(wcs[0].status, PLX_ST_RNR_RETRY_EXC_ERR);
	assert_int_equal(wcs[1].wr_id, 2);
	assert_int_equal(wcs[1].status, PLX_ST_WR_FLUSH_ERR);
	assert_int_equal(pair.b.mem[0], 0);
}

static void
rnr_retry_7_is_for_ever(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8), to = at(&pair.b, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);
	uint64_t start = plx_clock_monotonic_ns();

	pair.path.rnr_retry = 7;
	pair_connect(&pair);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	while (ms_since(start) < 20) /* thousands of tries of 10 us */
		expect_no_wc(&pair.a);
	assert_int_equal(post_recv(pair.b.qp, 2, &to, 1), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
}

static void
nothing_overtakes_a_stalled_send(void **state)
{
	struct plx_sge from[2] = {at(&pair.a, 0, 4), at(&pair.a, 8, 4)}, to = at(&pair.b, 100, 8);
	struct plx_wr send = wr_to(&pair.b, 1, PLX_OPCODE_SEND, from, 0);
	struct plx_wr write = wr_to(&pair.b, 2, PLX_OPCODE_WRITE, from, 0);
	char text[] = "inline";
	struct plx_sge text_sge = {.addr = (uintptr_t)text, .length = sizeof(text)};
	struct plx_wr third = wr_to(&pair.b, 3, PLX_OPCODE_WRITE, &text_sge, 50);

	pair_connect(&pair);
	send.num_sge = 2;
	third.flags |= PLX_WR_INLINE;
	memcpy(pair.a.mem, "abcd....efgh", 12);
	assert_int_equal(post_send(pair.a.qp, &send), 0);
	assert_int_equal(post_send(pair.a.qp, &write), 0);
	assert_int_equal(post_send(pair.a.qp, &third), 0);
	/* The lists and the inline payload are the caller's again. */
	memset(from, 0, sizeof(from));
	strcpy(text, "gone");
	expect_no_wc(&pair.a);
	assert_int_equal(pair.b.mem[0], 0);
	assert_int_equal(post_recv(pair.b.qp, 9, &to, 1), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	expect_wc(&pair.a, 2, PLX_ST_SUCCESS);
	expect_wc(&pair.a, 3, PLX_ST_SUCCESS);
	assert_memory_equal(&pair.b.mem[100], "abcdefgh", 8);
	assert_memory_equal(pair.b.mem, "abcd", 4);
	assert_string_equal((char *)&pair.b.mem[50], "inline");
}

static void
a_peer_that_is_not_up_yet_is_waited_for(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &from, 0);

	pair.path.timeout = 10; /* 4 ms, 7 times */
	side_connect(&pair.a, &pair.b, &pair.path);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_no_wc(&pair.a);
	side_connect(&pair.b, &pair.a, &pair.path);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
}

static void
a_peer_that_is_gone_answers_no_more_even_when_its_number_is_used_again(void **state)
{
	struct pair dead;
	struct plx_sge from;
	struct plx_wr wr;
	uint32_t qp_num;
	struct plx_qp_conf conf;
	uint64_t start;

	pair_open(&dead, "loopback0,qpn=reuse", "loopback1,qpn=reuse");
	assert_int_equal(dead.a.qp->qp_num, dead.b.qp->qp_num); /* numbers are a device's own */
	dead.path.timeout = 8; /* 1 ms */
	dead.path.retry_cnt = 2;
	pair_connect(&dead);
	qp_num = dead.b.qp->qp_num;
	conf = (struct plx_qp_conf){.send_cq = dead.b.cq, .recv_cq = dead.b.cq,
		.cap = {.send_depth = 1, .recv_depth = 1}};
	assert_int_equal(plx_qp_destroy(dead.b.qp), 0);
	dead.b.qp = plx_qp_create(dead.b.pd, &conf);
	assert_int_equal(dead.b.qp->qp_num, qp_num);
	side_connect(&dead.b, &dead.a, &dead.path);

	from = at(&dead.a, 0, 8);
	wr = wr_to(&dead.b, 1, PLX_OPCODE_WRITE, &from, 0);
	start = plx_clock_monotonic_ns();
	assert_int_equal(post_send(dead.a.qp, &wr), 0);
	expect_wc(&dead.a, 1, PLX_ST_RETRY_EXC_ERR);
	assert_in_range(ms_since(start), 3, 1000); /* the first try and two more, each waited for */
	pair_close(&dead);
}

static void
a_peer_that_is_connected_to_another_does_not_answer(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8), to = at(&pair.b, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);
	struct side other;

	pair.path.retry_cnt = 1;
	side_open(&other, "loopback0", 8, PLX_ACCESS_ALL);
	side_connect(&pair.a, &pair.b, &pair.path);
	side_connect(&pair.b, &other, &pair.path);
	assert_int_equal(post_recv(pair.b.qp, 2, &to, 1), 0);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_RETRY_EXC_ERR);
	expect_no_wc(&pair.b);
	side_close(&other);
}

static void
qp_numbers_are_not_used_again_at_once_by_default(void **state)
{
	struct plx_qp_conf conf = {.send_cq = pair.a.cq, .recv_cq = pair.a.cq, .cap = {.send_depth = 1}};
	uint32_t last = pair.a.qp->qp_num;

	pair_connect(&pair);
	for (int i = 0; i < 100; i++) {
		struct plx_qp *qp = plx_qp_create(pair.a.pd, &conf);

		assert_int_not_equal(qp->qp_num, last);
		last = qp->qp_num;
		assert_int_equal(plx_qp_destroy(qp), 0);
	}
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
	T(a_send_without_receive_waits_for_the_peers_rnr_timer),
	T(rnr_retry_counts_the_tries_after_the_first),
	T(no_rnr_retry_fails_at_once_and_the_chain_behind_is_flushed),
	T(rnr_retry_7_is_for_ever),
	T(nothing_overtakes_a_stalled_send),
	T(a_peer_that_is_not_up_yet_is_waited_for),
	T(a_peer_that_is_gone_answers_no_more_even_when_its_number_is_used_again),
	T(a_peer_that_is_connected_to_another_does_not_answer),
	T(qp_numbers_are_not_used_again_at_once_by_default),
};

PLX_TEST_SUITE(loopback, stall, tests);
