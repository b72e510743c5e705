/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/* A QP in ERR: everything posted completes once, in order, and so does what is posted later. */

#include "pair.h"

static struct pair pair;

static int
setup(void **state)
{
	pair_open(&pair, "loopback0", "loopback1");
	pair_connect(&pair);
	return 0;
}

static int
teardown(void **state)
{
	pair_close(&pair);
	return 0;
}

static void
sends_are_flushed_first_to_last_then_receives(void **state)
{
	struct plx_sge sge = at(&pair.a, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 0, PLX_OPCODE_SEND, &sge, 0);

	wr.flags = 0;
	for (uint64_t i = 0; i < 4; i++) {
		wr.wr_id = 10 + i;
		assert_int_equal(post_recv(pair.a.qp, 20 + i, &sge, 1), 0);
		assert_int_equal(post_send(pair.a.qp, &wr), 0);
	}
	assert_int_equal(plx_qp_to_error(pair.a.qp), 0);
	assert_int_equal(plx_qp_to_error(pair.a.qp), 0);
	for (uint64_t i = 0; i < 4; i++)
		expect_wc(&pair.a, 10 + i, PLX_ST_WR_FLUSH_ERR);
	for (uint64_t i = 0; i < 4; i++)
		expect_wc(&pair.a, 20 + i, PLX_ST_WR_FLUSH_ERR);
	expect_no_wc(&pair.a);
}

static void
posts_in_error_are_taken_and_flushed(void **state)
{
	struct plx_sge sge = at(&pair.a, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &sge, 0);

	assert_int_equal(plx_qp_to_error(pair.a.qp), 0);
	wr.flags = 0;
	for (int i = 0; i < 3 * SIDE_DEPTH; i++) { /* slots come back as ever */
		assert_int_equal(post_send(pair.a.qp, &wr), 0);
		assert_int_equal(post_recv(pair.a.qp, 2, &sge, 1), 0);
		for (int k = 0; k < 2; k++) {
			struct plx_wc wc = next_wc(&pair.a);

			assert_int_equal(wc.status, PLX_ST_WR_FLUSH_ERR);
		}
	}
	expect_no_wc(&pair.a);
	assert_int_equal(pair.b.mem[0], 0);
}

static void
a_completion_from_before_the_error_stays_in_front(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8), to = at(&pair.b, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);

	if (*state != NULL)
		expect_no_wc(&pair.b); /* the rings of a CQ take turns in being first */
	assert_int_equal(post_recv(pair.b.qp, 5, &to, 1), 0);
	assert_int_equal(post_recv(pair.b.qp, 6, &to, 1), 0);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	assert_int_equal(plx_qp_to_error(pair.b.qp), 0);
	expect_wc(&pair.b, 5, PLX_ST_SUCCESS);
	expect_wc(&pair.b, 6, PLX_ST_WR_FLUSH_ERR);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
}

static void
a_completion_from_before_the_error_stays_in_front_at_the_next_poll_too(void **state)
{
	void *polled = &pair;

	a_completion_from_before_the_error_stays_in_front(&polled);
}

static void
completions_outlive_their_qp(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &from, 0);
	struct plx_qp_conf conf = {.send_cq = pair.a.cq, .recv_cq = pair.a.cq, .cap = pair.a.qp->cap};
	uint32_t qp_num = pair.a.qp->qp_num;
	struct plx_wc wc;

	for (int i = 0; i < SIDE_DEPTH; i++)
		assert_int_equal(post_send(pair.a.qp, &wr), 0);
	assert_int_equal(plx_qp_destroy(pair.a.qp), 0);
	pair.a.qp = plx_qp_create(pair.a.pd, &conf);
	side_connect(&pair.a, &pair.b, &pair.path);
	for (int i = 0; i < SIDE_DEPTH; i++) {
		wc = next_wc(&pair.a);
		assert_int_equal(wc.qp_num, qp_num);
		assert_int_equal(wc.status, PLX_ST_SUCCESS);
	}
	/* They gave the new QP no slot, and took none from it. */
	for (int i = 0; i < SIDE_DEPTH; i++)
		assert_int_equal(post_send(pair.a.qp, &wr), 0);
	assert_int_equal(post_send(pair.a.qp, &wr), -ENOMEM);
}

static void
a_qp_destroyed_while_it_waits_leaves_nothing_behind(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);
	struct plx_qp_conf conf = {.send_cq = pair.a.cq, .recv_cq = pair.a.cq, .cap = pair.a.qp->cap};

	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	assert_int_equal(plx_qp_to_error(pair.a.qp), 0);
	assert_int_equal(plx_qp_destroy(pair.a.qp), 0);
	pair.a.qp = plx_qp_create(pair.a.pd, &conf); /* in the same memory, perhaps */
	assert_int_equal(post_recv(pair.a.qp, 2, &from, 1), 0);
	expect_no_wc(&pair.a);
	assert_int_equal(plx_qp_to_error(pair.a.qp), 0);
	expect_wc(&pair.a, 2, PLX_ST_WR_FLUSH_ERR);
	expect_no_wc(&pair.a);
}

static void
what_is_in_use_is_not_destroyed(void **state)
{
	assert_int_equal(plx_device_close(pair.a.dev), -EBUSY);
	assert_int_equal(plx_pd_destroy(pair.a.pd), -EBUSY);
	assert_int_equal(plx_cq_destroy(pair.a.cq), -EBUSY);
}

static void
granted_sizes_may_differ_from_the_wanted(void **state)
{
	struct plx_device *pow2 = plx_device_open("loopback3,grant=pow2,max_qp_wr=100");
	struct plx_device *less = plx_device_open("loopback3,grant=less");
	struct plx_qp_cap cap = {.send_depth = 9, .recv_depth = 65, .inline_len = 16};

	assert_int_equal(plx_qp_limits(pow2, &cap), 0);
	assert_int_equal(cap.send_depth, 16);
	assert_int_equal(cap.recv_depth, 100);
	assert_int_equal(plx_qp_limits(less, &cap), 0);
	assert_int_equal(cap.send_depth, 15);
	assert_int_equal(cap.inline_len, 15);
	cap.send_depth = 101;
	assert_int_equal(plx_qp_limits(pow2, &cap), -EINVAL);
	assert_int_equal(plx_device_close(pow2), 0);
	assert_int_equal(plx_device_close(less), 0);
}

static void
the_default_gid_is_ipv4_and_roce_v2(void **state)
{
	struct plx_gid gid;

	assert_int_equal(plx_gid_default(pair.a.dev, 1, &gid), 0);
	assert_int_equal(gid.type, PLX_GID_ROCE_V2);
	assert_int_equal(gid.index, 3);
	assert_int_equal(gid.raw[10], 0xff);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
	T(sends_are_flushed_first_to_last_then_receives),
	T(posts_in_error_are_taken_and_flushed),
	T(a_completion_from_before_the_error_stays_in_front),
	T(a_completion_from_before_the_error_stays_in_front_at_the_next_poll_too),
	T(completions_outlive_their_qp),
	T(a_qp_destroyed_while_it_waits_leaves_nothing_behind),
	T(what_is_in_use_is_not_destroyed),
	T(granted_sizes_may_differ_from_the_wanted),
	T(the_default_gid_is_ipv4_and_roce_v2),
};

PLX_TEST_SUITE(loopback, flush, tests);
