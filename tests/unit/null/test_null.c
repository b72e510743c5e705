/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include "plx_driver.h"

extern const struct plx_driver plx_null_driver;

#define DEPTH 8

static struct plx_device *dev;
static struct plx_pd *pd;
static struct plx_cq *cq;
static struct plx_qp *qp;
static int err;

static int
setup(void **state)
{
	struct plx_qp_conf conf = {.cap = {.send_depth = DEPTH, .recv_depth = DEPTH}};
	struct plx_qp_addr anybody = {.qp_num = 1, .mtu = 1024};
	struct plx_qp_path path;

	plx_device_register(&plx_null_driver);
	dev = plx_device_open("null0");
	pd = plx_pd_create(dev);
	cq = plx_cq_create(dev, DEPTH);
	conf.send_cq = cq;
	conf.recv_cq = cq;
	qp = plx_qp_create(pd, &conf);
	plx_qp_path_default(&path);
	return plx_qp_bring_up(qp, &path, &anybody);
}

static int
teardown(void **state)
{
	assert_int_equal(plx_qp_destroy(qp), 0);
	assert_int_equal(plx_cq_destroy(cq), 0);
	assert_int_equal(plx_pd_destroy(pd), 0);
	assert_int_equal(plx_device_close(dev), 0);
	return 0;
}

static uint16_t
post_send(uint64_t wr_id, uint8_t flags)
{
	struct plx_wr wr = {.wr_id = wr_id, .opcode = PLX_OPCODE_WRITE, .flags = flags};
	const struct plx_wr *wrs[] = {&wr};

	return plx_qp_post_send(qp, wrs, 1, &err);
}

static uint16_t
post_recv(uint64_t wr_id)
{
	struct plx_wr wr = {.wr_id = wr_id};
	const struct plx_wr *wrs[] = {&wr};

	return plx_qp_post_recv(qp, wrs, 1, &err);
}

static void
signaled_sends_complete_at_the_next_poll_in_order(void **state)
{
	struct plx_wc wcs[DEPTH];

	for (uint64_t lap = 0; lap < 5; lap++) {
		for (uint64_t i = 0; i < DEPTH - 1; i++)
			assert_int_equal(post_send(i, i & 1 ? PLX_WR_SIGNALED : PLX_WR_FENCE), 1);
		assert_int_equal(plx_cq_poll(cq, wcs, DEPTH), 3);
		for (uint64_t i = 0; i < 3; i++) {
			assert_int_equal(wcs[i].wr_id, 2 * i + 1);
			assert_int_equal(wcs[i].status, PLX_ST_SUCCESS);
			assert_int_equal(wcs[i].opcode, PLX_OPCODE_WRITE);
			assert_int_equal(wcs[i].qp_num, qp->qp_num);
		}
		assert_int_equal(plx_cq_poll(cq, wcs, DEPTH), 0);
	}
}

static void
a_full_ring_takes_no_more_and_loses_nothing(void **state)
{
	struct plx_wc wcs[DEPTH];

	for (uint64_t i = 0; i < DEPTH; i++)
		assert_int_equal(post_send(i, PLX_WR_SIGNALED), 1);
	assert_int_equal(post_send(99, PLX_WR_SIGNALED), 0);
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(plx_cq_poll(cq, wcs, 3), 3);
	assert_int_equal(post_send(99, PLX_WR_SIGNALED), 1);
	assert_int_equal(plx_cq_poll(cq, wcs, DEPTH), DEPTH - 2);
	assert_int_equal(wcs[DEPTH - 3].wr_id, 99);
}

static void
receives_complete_only_when_flushed(void **state)
{
	struct plx_wc wcs[DEPTH];

	for (uint64_t i = 0; i < DEPTH; i++)
		assert_int_equal(post_recv(i), 1);
	assert_int_equal(post_recv(9), 0);
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(plx_cq_poll(cq, wcs, DEPTH), 0);
	assert_int_equal(plx_qp_to_error(qp), 0);
	assert_int_equal(plx_qp_query_state(qp), PLX_QP_ERR);
	assert_int_equal(post_send(50, 0), 1); /* unsignaled, and flushed all the same */
	assert_int_equal(plx_cq_poll(cq, wcs, 3), 3);
	assert_int_equal(wcs[0].wr_id, 50);
	assert_int_equal(wcs[1].wr_id, 0);
	assert_int_equal(wcs[1].status, PLX_ST_WR_FLUSH_ERR);
	assert_int_equal(wcs[1].opcode, PLX_OPCODE_RECV);
	assert_int_equal(plx_cq_poll(cq, wcs, DEPTH), DEPTH - 2); /* the ring was too small for all at once */
	assert_int_equal(wcs[DEPTH - 3].wr_id, DEPTH - 1);
	assert_int_equal(post_recv(77), 1);
	assert_int_equal(plx_cq_poll(cq, wcs, DEPTH), 1);
	assert_int_equal(wcs[0].wr_id, 77);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
	T(signaled_sends_complete_at_the_next_poll_in_order),
	T(a_full_ring_takes_no_more_and_loses_nothing),
	T(receives_complete_only_when_flushed),
};

PLX_TEST_SUITE(null, null, tests);
