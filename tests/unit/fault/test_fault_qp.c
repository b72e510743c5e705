/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * QP numbers that a script makes up.
 */

#include "plx_test.h"

#include <errno.h>

#include <rte_errno.h>

#include "fake_device.h"
#include "plx_fault.h"

struct numbered {
	struct fake_device *fake;
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_cq *cq;
};

static struct numbered n[2];

static int
open_two(void **state)
{
	for (int i = 0; i < 2; i++) {
		n[i].fake = fake_open();
		n[i].dev = plx_fault_wrap(&n[i].fake->base, "qpn 100");
		n[i].pd = plx_pd_create(n[i].dev);
		n[i].cq = plx_cq_create(n[i].dev, 8);
	}
	return 0;
}

static int
close_two(void **state)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(plx_cq_destroy(n[i].cq), 0);
		assert_int_equal(plx_pd_destroy(n[i].pd), 0);
		assert_int_equal(plx_device_close(n[i].dev), 0);
	}
	assert_int_equal(fake_nb_objects, 0);
	return 0;
}

static struct plx_qp *
qp_create(struct numbered *on)
{
	const struct plx_qp_conf conf = {.send_cq = on->cq, .recv_cq = on->cq, .cap = {.send_depth = 4}};

	return plx_qp_create(on->pd, &conf);
}

/* The next CQE of @p on, which the device itself gives for its QP number @p inner, names QP @p want. */
static void
expect_number(struct numbered *on, uint32_t inner, uint32_t want)
{
	struct fake_cq *cq = on->fake->cqs[0];
	struct plx_wc wc;

	fake_complete_from(cq, 1, 1);
	cq->wcs[cq->head % FAKE_CQES].qp_num = inner;
	assert_int_equal(plx_cq_poll(on->cq, &wc, 1), 1);
	assert_int_equal(wc.qp_num, want);
}

/* case 5.1: the knob */
static void
two_devices_have_the_same_qp_numbers(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct plx_qp *a = qp_create(&n[i]), *b = qp_create(&n[i]);

		assert_int_equal(a->qp_num, 100);
		assert_int_equal(b->qp_num, 101);
		expect_number(&n[i], n[i].fake->qps[0]->base.qp_num, 100);
		expect_number(&n[i], n[i].fake->qps[1]->base.qp_num, 101);
		assert_int_equal(plx_qp_destroy(a), 0);
		assert_int_equal(plx_qp_destroy(b), 0);
	}
}

/* case 5.2: the knob */
static void
number_of_a_destroyed_qp_is_the_next_ones_at_once(void **state)
{
	struct plx_qp *a = qp_create(&n[0]), *b = qp_create(&n[0]), *c;
	uint32_t inner_a = n[0].fake->qps[0]->base.qp_num, inner_c;

	assert_int_equal(plx_qp_destroy(a), 0);
	expect_number(&n[0], inner_a, 100);
	c = qp_create(&n[0]);
	inner_c = n[0].fake->qps[2]->base.qp_num;
	assert_int_equal(c->qp_num, 100);
	assert_true(inner_a != inner_c);
	expect_number(&n[0], inner_c, 100);
	expect_number(&n[0], inner_a, 100); /* late ones of the dead QP are not told apart by number */
	expect_number(&n[0], 4711, 4711);   /* never heard of */
	assert_int_equal(plx_qp_destroy(b), 0);
	assert_int_equal(plx_qp_destroy(c), 0);
}

static void
qp_that_cannot_be_destroyed_keeps_its_number(void **state)
{
	struct plx_qp *a = qp_create(&n[0]), *b;

	n[0].fake->fail = EIO;
	assert_int_equal(plx_qp_destroy(a), -EIO);
	n[0].fake->fail = 0;
	assert_int_equal(a->qp_num, 100);
	b = qp_create(&n[0]);
	assert_int_equal(b->qp_num, 101);
	assert_int_equal(plx_qp_destroy(a), 0);
	assert_int_equal(plx_qp_destroy(b), 0);
}

static void
address_has_the_number_that_peers_can_reach(void **state)
{
	struct plx_qp *a = qp_create(&n[0]);
	struct plx_qp_path path;
	struct plx_qp_addr addr;

	plx_qp_path_default(&path);
	assert_int_equal(plx_qp_local_addr(a, &path, &addr), 0);
	assert_int_equal(addr.qp_num, n[0].fake->qps[0]->base.qp_num);
	assert_int_equal(plx_qp_destroy(a), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_two, close_two)

static const struct CMUnitTest tests[] = {
	TEST(two_devices_have_the_same_qp_numbers),
	TEST(number_of_a_destroyed_qp_is_the_next_ones_at_once),
	TEST(qp_that_cannot_be_destroyed_keeps_its_number),
	TEST(address_has_the_number_that_peers_can_reach),
};

PLX_TEST_SUITE(fault, fault_qp, tests);
