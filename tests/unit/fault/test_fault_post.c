/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What rules do to posts: which WR, what the post says, and what became of the chain around it.
 */

#include "plx_test.h"

#include <errno.h>

#include "fake_device.h"
#include "plx_fault.h"

static struct fake_device *fake;
static struct plx_device *dev;
static struct plx_pd *pd;
static struct plx_cq *cq;
static struct plx_qp *qp[2];
static struct plx_wr wrs[64];
static const struct plx_wr *chain[64];

static void
open_script(const char *script)
{
	struct plx_qp_conf conf = {.cap = {.send_depth = 64, .recv_depth = 64}};

	fake = fake_open();
	dev = plx_fault_wrap(&fake->base, script);
	assert_non_null(dev);
	pd = plx_pd_create(dev);
	cq = plx_cq_create(dev, 128);
	conf.send_cq = conf.recv_cq = cq;
	for (int i = 0; i < 2; i++) {
		qp[i] = plx_qp_create(pd, &conf);
		assert_non_null(qp[i]);
	}
	for (unsigned int i = 0; i < NB_OF(wrs); i++) {
		wrs[i].wr_id = i + 1;
		chain[i] = &wrs[i];
	}
}

static int
close_all(void **state)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(plx_qp_destroy(qp[i]), 0);
	assert_int_equal(plx_cq_destroy(cq), 0);
	assert_int_equal(plx_pd_destroy(pd), 0);
	assert_int_equal(plx_device_close(dev), 0);
	assert_int_equal(fake_nb_objects, 0);
	return 0;
}

/* Post @p n from chain[first] on: @p posted are, and @p want says why not all. */
static void
expect_send(int which, int first, uint16_t n, uint16_t posted, int want)
{
	int err = 0;

	assert_int_equal(plx_qp_post_send(qp[which], &chain[first], n, &err), posted);
	assert_int_equal(err, want);
}

static void
expect_recv(uint16_t n, uint16_t posted, int want)
{
	int err = 0;

	assert_int_equal(plx_qp_post_recv(qp[0], chain, n, &err), posted);
	assert_int_equal(err, want);
}

static struct plx_fault_stats
stats(void)
{
	struct plx_fault_stats now;

	assert_int_equal(plx_fault_stats(dev, &now), 0);
	return now;
}

static uint64_t
failed_posts(void)
{
	return stats().failed_posts;
}

/* One poll gives the one CQE named. */
static void
expect_cqe(uint64_t wr_id, unsigned int status, uint32_t qp_num)
{
	struct plx_wc wcs[2];

	assert_int_equal(plx_cq_poll(cq, wcs, 1), 1);
	assert_int_equal(wcs[0].wr_id, wr_id);
	assert_int_equal(wcs[0].status, status);
	assert_int_equal(wcs[0].raw_status, status);
	assert_int_equal(wcs[0].qp_num, qp_num);
}

static void
expect_nothing(unsigned int polls)
{
	struct plx_wc wc;

	while (polls-- > 0)
		assert_int_equal(plx_cq_poll(cq, &wc, 1), 0);
}

static void
chain_without_a_rule_is_posted_in_one_piece(void **state)
{
	open_script("fail post_recv 1 EIO; drop cqe 1/2");
	expect_send(0, 0, 32, 32, 0);
	assert_int_equal(fake->qps[0]->nb_wrs, 32);
	assert_int_equal(fake->qps[0]->nb_posts, 1);
	assert_int_equal(failed_posts(), 0);
}

/* case 2.13 */
static void
chain_before_the_refused_wr_is_posted(void **state)
{
	open_script("fail post_send 5 ENOMEM");
	expect_send(0, 0, 8, 4, -ENOMEM);
	assert_int_equal(fake->qps[0]->nb_wrs, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(fake->qps[0]->wr_ids[i], i + 1);
	expect_send(0, 4, 4, 4, 0); /* once: the same WR goes through when it is posted again */
	assert_int_equal(fake->qps[0]->wr_ids[4], 5);
	expect_send(0, 0, 20, 20, 0);
	assert_int_equal(failed_posts(), 1);
}

static void
first_wr_of_a_chain_can_be_refused(void **state)
{
	open_script("fail post_send 1 EINVAL");
	expect_send(0, 0, 8, 0, -EINVAL);
	assert_int_equal(fake->qps[0]->nb_wrs, 0);
	expect_send(0, 0, 8, 8, 0);
}

static void
wrs_are_counted_over_all_qps_of_the_device(void **state)
{
	open_script("fail post_send 5 EAGAIN");
	expect_send(0, 0, 3, 3, 0);
	expect_send(1, 0, 4, 1, -EAGAIN);
	expect_send(0, 0, 4, 4, 0);
}

static void
sends_and_receives_are_counted_apart(void **state)
{
	open_script("fail post_recv 2 EIO; fail post_send 3 ENOMEM");
	expect_send(0, 0, 2, 2, 0);
	expect_recv(3, 1, -EIO);
	expect_recv(3, 3, 0);
	expect_send(0, 0, 2, 0, -ENOMEM);
	assert_int_equal(failed_posts(), 2);
}

static void
every_nth_wr_is_refused(void **state)
{
	open_script("fail post_send 1/3 ENOMEM");
	expect_send(0, 0, 8, 2, -ENOMEM);
	expect_send(0, 2, 6, 2, -ENOMEM);
	expect_send(0, 4, 2, 2, 0);
	expect_send(0, 6, 1, 0, -ENOMEM);
	assert_int_equal(failed_posts(), 3);
}

static void
all_rules_count_every_wr_and_the_first_that_hits_decides(void **state)
{
	open_script("fail post_send 2 ENOMEM; fail post_send 3 EINVAL; fail post_send 1/2 EIO");
	expect_send(0, 0, 4, 1, -ENOMEM); /* 2 */
	expect_send(0, 1, 3, 0, -EINVAL); /* 3 */
	expect_send(0, 1, 3, 0, -EIO);	  /* 4 */
	expect_send(0, 1, 1, 1, 0);	  /* 5 */
	assert_int_equal(failed_posts(), 3);
}

static void
wrs_behind_a_full_queue_are_not_counted(void **state)
{
	open_script("fail post_send 5 EINVAL");
	fake->qps[0]->room = 2;
	expect_send(0, 0, 8, 2, -ENOMEM); /* 1, 2, and 3 that the device itself refuses */
	fake->qps[0]->room = 100;
	expect_send(0, 2, 6, 1, -EINVAL); /* 4, 5 */
	assert_int_equal(failed_posts(), 1);
}

/* ---- how it is said ------------------------------------------------------------------------ */

static void
refusal_is_said_in_each_of_the_ways_of_providers(void **state)
{
	open_script("fail post_send 1 EIO negative; fail post_send 2 EIO plain; fail post_send 3 ENOSPC minus-one; "
		    "fail post_recv 1 EINVAL plain");
	expect_send(0, 0, 1, 0, -EIO);
	expect_send(0, 0, 1, 0, EIO);
	errno = 0;
	expect_send(0, 0, 1, 0, -1);
	assert_int_equal(errno, ENOSPC);
	expect_recv(1, 0, EINVAL);
}

/* case 2.12 */
static void
denied_wr_is_with_the_device_though_the_post_says_otherwise(void **state)
{
	open_script("deny post_send 3 EIO; deny post_recv 2.. ENOMEM plain");
	expect_send(0, 0, 8, 2, -EIO);
	assert_int_equal(fake->qps[0]->nb_wrs, 3);
	assert_int_equal(fake->qps[0]->wr_ids[2], 3);
	expect_send(0, 3, 5, 5, 0);
	expect_recv(8, 1, ENOMEM);
	assert_int_equal(fake->qps[0]->nb_wrs, 3 + 5 + 2);
	assert_int_equal(stats().denied, 2);
	assert_int_equal(failed_posts(), 0);
}

static void
wr_that_the_device_itself_refuses_is_not_denied(void **state)
{
	open_script("deny post_send 2 EIO");
	fake->qps[0]->room = 1;
	expect_send(0, 0, 4, 1, -ENOMEM);
	assert_int_equal(stats().denied, 0);
}

static void
unnamed_wr_takes_the_whole_chain_with_it(void **state)
{
	open_script("unname post_send 3 EINVAL; unname post_recv 1 EIO");
	expect_send(0, 0, 8, 0, -EINVAL);
	assert_int_equal(fake->qps[0]->nb_wrs, 2);
	expect_recv(4, 0, -EIO);
	assert_int_equal(fake->qps[0]->nb_wrs, 2);
	expect_recv(4, 4, 0);
	assert_int_equal(stats().denied, 2);
	assert_int_equal(failed_posts(), 2);
}

static void
rule_for_a_range_lasts_as_long(void **state)
{
	open_script("fail post_send 2..4 ENOMEM");
	expect_send(0, 0, 8, 1, -ENOMEM);
	expect_send(0, 0, 8, 0, -ENOMEM);
	expect_send(0, 0, 8, 0, -ENOMEM);
	expect_send(0, 0, 8, 8, 0);
	assert_int_equal(failed_posts(), 3);
}

/* ---- loss ---------------------------------------------------------------------------------- */

static void
lost_send_fails_its_qp_in_time_and_those_behind_it_are_flushed(void **state)
{
	open_script("lose post_send 2 3");
	expect_send(0, 0, 4, 4, 0);
	assert_int_equal(fake->qps[0]->nb_wrs, 1);
	expect_nothing(2);
	expect_send(0, 4, 1, 1, 0); /* it waits like the others */
	assert_int_equal(fake->qps[0]->state, PLX_QP_RESET);
	expect_cqe(2, PLX_ST_RETRY_EXC_ERR, qp[0]->qp_num);
	assert_int_equal(fake->qps[0]->state, PLX_QP_ERR);
	for (uint64_t wr_id = 3; wr_id <= 5; wr_id++)
		expect_cqe(wr_id, PLX_ST_WR_FLUSH_ERR, qp[0]->qp_num);
	expect_send(0, 5, 1, 1, 0);
	expect_cqe(6, PLX_ST_WR_FLUSH_ERR, qp[0]->qp_num);
	expect_send(1, 0, 8, 8, 0); /* another QP, another wire */
	assert_int_equal(fake->qps[1]->state, PLX_QP_RESET);
	assert_int_equal(stats().lost, 1);
	assert_int_equal(stats().flushed, 4);
	assert_int_equal(stats().made, 5);
	assert_int_equal(stats().given, 5);
	assert_int_equal(stats().waiting, 0);
}

static void
lost_send_does_not_overtake_what_was_completed_before_it(void **state)
{
	open_script("lose post_send 9 1");
	fake_complete_from(fake->cqs[0], 1, 8);
	expect_send(0, 0, 9, 9, 0);
	for (uint64_t wr_id = 1; wr_id <= 8; wr_id++)
		expect_cqe(wr_id, PLX_ST_SUCCESS, 17);
	expect_cqe(9, PLX_ST_RETRY_EXC_ERR, qp[0]->qp_num);
}

static void
cqes_of_our_own_go_through_the_rules(void **state)
{
	open_script("lose post_send 1 1; dup err 1/1; drop cqe 4");
	expect_send(0, 0, 2, 2, 0);
	expect_cqe(1, PLX_ST_RETRY_EXC_ERR, qp[0]->qp_num);
	expect_cqe(1, PLX_ST_RETRY_EXC_ERR, qp[0]->qp_num);
	expect_cqe(2, PLX_ST_WR_FLUSH_ERR, qp[0]->qp_num);
	expect_nothing(4);
	assert_int_equal(stats().made + stats().duplicated, stats().given + stats().dropped);
}

static void
more_lost_sends_than_the_cq_holds_are_refused(void **state)
{
	unsigned int taken = 0;

	open_script("lose post_send 1 1");
	for (int err = 0; plx_qp_post_send(qp[0], chain, 1, &err) == 1; taken++)
		;
	assert_int_equal(taken, 256); /* 128 were wanted, 129 granted */
	for (unsigned int i = 0; i < taken; i++)
		expect_cqe(1, i == 0 ? PLX_ST_RETRY_EXC_ERR : PLX_ST_WR_FLUSH_ERR, qp[0]->qp_num);
}

static void
link_that_is_down_loses_sends_and_shows_no_active_port(void **state)
{
	struct plx_port_attr attr;

	open_script("link down 3..5 2");
	expect_send(0, 0, 2, 2, 0);
	expect_send(0, 2, 1, 1, 0); /* 3 */
	assert_int_equal(plx_port_query(dev, 1, &attr), 0);
	assert_int_equal(attr.active, 0); /* 4 */
	expect_send(1, 0, 1, 1, 0); /* 5 */
	assert_int_equal(plx_port_query(dev, 1, &attr), 0);
	assert_int_equal(attr.active, 1);
	assert_int_equal(fake->qps[0]->nb_wrs, 2);
	assert_int_equal(fake->qps[1]->nb_wrs, 0);
	expect_nothing(1);
	expect_cqe(3, PLX_ST_RETRY_EXC_ERR, qp[0]->qp_num);
	expect_cqe(1, PLX_ST_RETRY_EXC_ERR, qp[1]->qp_num);
	assert_int_equal(stats().lost, 2);
}

/* ---- in ERR -------------------------------------------------------------------------------- */

/* case 2.8: what a device makes of WRs posted in ERR */
static void
wrs_posted_in_err_are_swallowed_flushed_or_refused(void **state)
{
	open_script("in_err post_send swallow 2; in_err post_send EINVAL 3; in_err post_send flush; in_err post_recv flush");
	expect_send(0, 0, 8, 8, 0);
	assert_int_equal(plx_qp_to_error(qp[0]), 0);
	expect_send(0, 0, 8, 2, -EINVAL);
	expect_send(1, 0, 8, 8, 0); /* which is not in ERR */
	expect_cqe(1, PLX_ST_WR_FLUSH_ERR, qp[0]->qp_num);
	expect_recv(1, 1, 0);
	expect_cqe(1, PLX_ST_WR_FLUSH_ERR, qp[0]->qp_num);
	expect_nothing(2);
	assert_int_equal(fake->qps[0]->nb_wrs, 8);
	assert_int_equal(fake->qps[1]->nb_wrs, 8);
	assert_int_equal(stats().swallowed, 1);
	assert_int_equal(stats().flushed, 2);
	assert_int_equal(failed_posts(), 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, close_all)

static const struct CMUnitTest tests[] = {
	TEST(chain_without_a_rule_is_posted_in_one_piece),
	TEST(chain_before_the_refused_wr_is_posted),
	TEST(first_wr_of_a_chain_can_be_refused),
	TEST(wrs_are_counted_over_all_qps_of_the_device),
	TEST(sends_and_receives_are_counted_apart),
	TEST(every_nth_wr_is_refused),
	TEST(all_rules_count_every_wr_and_the_first_that_hits_decides),
	TEST(wrs_behind_a_full_queue_are_not_counted),
	TEST(refusal_is_said_in_each_of_the_ways_of_providers),
	TEST(denied_wr_is_with_the_device_though_the_post_says_otherwise),
	TEST(wr_that_the_device_itself_refuses_is_not_denied),
	TEST(unnamed_wr_takes_the_whole_chain_with_it),
	TEST(rule_for_a_range_lasts_as_long),
	TEST(lost_send_fails_its_qp_in_time_and_those_behind_it_are_flushed),
	TEST(lost_send_does_not_overtake_what_was_completed_before_it),
	TEST(cqes_of_our_own_go_through_the_rules),
	TEST(more_lost_sends_than_the_cq_holds_are_refused),
	TEST(link_that_is_down_loses_sends_and_shows_no_active_port),
	TEST(wrs_posted_in_err_are_swallowed_flushed_or_refused),
};

PLX_TEST_SUITE(fault, fault_post, tests);
