/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Posts that `fail` rules refuse: which WR, with what, and what became of the chain around it.
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

static uint64_t
failed_posts(void)
{
	struct plx_fault_stats stats;

	assert_int_equal(plx_fault_stats(dev, &stats), 0);
	return stats.failed_posts;
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
};

PLX_TEST_SUITE(fault, fault_qp, tests);
