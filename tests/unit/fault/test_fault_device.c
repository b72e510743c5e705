/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The wrapper as a device: it passes on what inner grants and refuses, and both go together.
 */

#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "fake_device.h"
#include "plx_fault.h"

static struct fake_device *fake;
static struct plx_device *dev;
static struct plx_pd *pd;
static struct plx_cq *cq;

static int
open_all(void **state)
{
	fake = fake_open();
	dev = plx_fault_wrap(&fake->base, "drop cqe 1/1000");
	pd = plx_pd_create(dev);
	cq = plx_cq_create(dev, 63);
	return pd != NULL && cq != NULL ? 0 : -1;
}

static int
close_all(void **state)
{
	assert_int_equal(plx_cq_destroy(cq), 0);
	assert_int_equal(plx_pd_destroy(pd), 0);
	assert_int_equal(plx_device_close(dev), 0);
	assert_int_equal(fake_nb_objects, 0);
	return 0;
}

static struct plx_qp *
qp_create(void)
{
	const struct plx_qp_conf conf = {.send_cq = cq, .recv_cq = cq,
		.cap = {.send_depth = 8, .recv_depth = 9, .inline_len = 32}};

	return plx_qp_create(pd, &conf);
}

/* ---- wrapping ------------------------------------------------------------------------------ */

static void
bad_script_is_refused_and_leaves_the_device_alone(void **state)
{
	fake = fake_open();
	rte_errno = 0;
	assert_null(plx_fault_wrap(&fake->base, "poison; drop cqe 1/x"));
	assert_int_equal(rte_errno, EINVAL);
	assert_string_equal(plx_fault_error(),
		"rule 2, column 18: expected N, N..M, N.. or 1/N (1 to 1000000000), found \"1/x\"");
	assert_null(plx_fault_wrap(&fake->base, NULL));
	assert_int_equal(rte_errno, EINVAL);
	assert_string_equal(plx_fault_error(), "no script");
	assert_null(plx_fault_wrap(NULL, ""));
	assert_string_equal(plx_fault_error(), "no device to wrap");

	dev = plx_fault_wrap(&fake->base, "");
	assert_non_null(dev);
	assert_string_equal(plx_fault_error(), "");
	assert_int_equal(plx_device_close(dev), 0);
	assert_int_equal(fake_nb_objects, 0);
}

static void
wrapper_of_a_wrapper_applies_both_scripts(void **state)
{
	struct plx_wc wcs[8];

	fake = fake_open();
	dev = plx_fault_wrap(plx_fault_wrap(&fake->base, "drop cqe 1"), "dup cqe 1");
	assert_string_equal(plx_device_name(dev), "fault:fault:fake0");
	cq = plx_cq_create(dev, 8);
	fake_complete_from(fake->cqs[0], 1, 2);
	assert_int_equal(plx_cq_poll(cq, wcs, 8), 2);
	assert_int_equal(wcs[0].wr_id, 2);
	assert_int_equal(wcs[1].wr_id, 2);
	assert_int_equal(plx_cq_destroy(cq), 0);
	assert_int_equal(plx_device_close(dev), 0);
	assert_int_equal(fake_nb_objects, 0);
}

static void
wrapper_has_the_name_and_capabilities_of_inner(void **state)
{
	assert_string_equal(plx_device_name(dev), "fault:fake0");
	assert_memory_equal(plx_device_caps(dev), plx_device_caps(&fake->base), sizeof(struct plx_device_caps));
	assert_int_equal(plx_port_default(dev), 1);
}

static void
only_a_wrapper_has_statistics(void **state)
{
	struct plx_fault_stats stats;

	memset(&stats, 0xff, sizeof(stats));
	plx_test_refusal(plx_fault_stats(&fake->base, &stats), -EINVAL, "fake0: it is of driver fake");
	assert_int_equal(plx_fault_stats(dev, &stats), 0);
	assert_int_equal(stats.given, 0);
	assert_int_equal(stats.failed_posts, 0);
}

/* ---- what inner grants --------------------------------------------------------------------- */

static void
granted_sizes_and_keys_are_those_of_inner(void **state)
{
	char buf[64];
	struct plx_qp *qp = qp_create();
	struct plx_mr *mr = plx_mr_register(pd, buf, sizeof(buf), PLX_ACCESS_LOCAL_WRITE);
	struct plx_qp_cap cap = {.send_depth = 8};

	assert_int_equal(cq->nb_cqe, 64);
	assert_int_equal(qp->cap.send_depth, 16);
	assert_int_equal(qp->cap.recv_depth, 9);
	assert_int_equal(qp->cap.inline_len, 0);
	assert_int_equal(qp->qp_num, 17);
	assert_ptr_equal(qp->send_cq, cq);
	assert_int_equal(mr->lkey, 0x11);
	assert_int_equal(mr->rkey, 0xf0000022);
	assert_int_equal(plx_qp_limits(dev, &cap), 0);
	assert_int_equal(cap.send_depth, 16);
	assert_int_equal(plx_mr_deregister(mr), 0);
	assert_int_equal(plx_qp_destroy(qp), 0);
}

static void
qp_of_inner_comes_up_and_fails_through_the_wrapper(void **state)
{
	struct plx_qp *qp = qp_create();
	struct plx_qp_path path;
	struct plx_qp_addr addr;

	plx_qp_path_default(&path);
	path.rights = PLX_ACCESS_REMOTE_READ;
	assert_int_equal(plx_qp_local_addr(qp, &path, &addr), 0);
	assert_int_equal(addr.qp_num, 17);
	assert_int_equal(addr.gid_index, 1);
	assert_int_equal(plx_qp_query_state(qp), PLX_QP_RESET);
	assert_int_equal(plx_qp_bring_up(qp, &path, &addr), 0);
	assert_int_equal(plx_qp_query_state(qp), PLX_QP_RTS);
	assert_int_equal(qp->rights, PLX_ACCESS_REMOTE_READ);
	assert_int_equal(fake->qps[0]->base.rights, PLX_ACCESS_REMOTE_READ);
	assert_int_equal(plx_qp_to_error(qp), 0);
	assert_int_equal(fake->qps[0]->state, PLX_QP_ERR);
	fake->fail = EIO;
	assert_int_equal(plx_qp_to_error(qp), -EIO);
	assert_int_equal(plx_qp_bring_up(qp, &path, &addr), -EIO);
	fake->fail = 0;
	assert_int_equal(plx_qp_destroy(qp), 0);
}

/* ---- what inner refuses -------------------------------------------------------------------- */

static void
errno_of_inner_reaches_the_caller_of_each_create(void **state)
{
	char buf[64];

	fake->fail = ENOSPC;
	assert_null(plx_pd_create(dev));
	assert_int_equal(rte_errno, ENOSPC);
	rte_errno = 0;
	assert_null(plx_cq_create(dev, 8));
	assert_int_equal(rte_errno, ENOSPC);
	rte_errno = 0;
	assert_null(plx_mr_register(pd, buf, sizeof(buf), 0));
	assert_int_equal(rte_errno, ENOSPC);
	rte_errno = 0;
	assert_null(qp_create());
	assert_int_equal(rte_errno, ENOSPC);
	fake->fail = 0;
}

static void
destroy_that_inner_refuses_can_be_tried_again(void **state)
{
	char buf[64];
	struct plx_qp *qp = qp_create();
	struct plx_mr *mr = plx_mr_register(pd, buf, sizeof(buf), 0);
	int before = fake_nb_objects;

	fake->fail = EIO;
	assert_int_equal(plx_qp_destroy(qp), -EIO);
	assert_int_equal(plx_mr_deregister(mr), -EIO);
	fake->fail = 0;
	assert_int_equal(plx_pd_destroy(pd), -EBUSY);
	assert_int_equal(plx_cq_destroy(cq), -EBUSY);
	assert_int_equal(plx_device_close(dev), -EBUSY);
	assert_int_equal(fake_nb_objects, before);
	assert_int_equal(plx_qp_destroy(qp), 0);
	assert_int_equal(plx_mr_deregister(mr), 0);

	fake->fail = EIO;
	assert_int_equal(plx_pd_destroy(pd), -EIO);
	assert_int_equal(plx_cq_destroy(cq), -EIO);
	fake->fail = 0;
}

static void
close_is_refused_while_inner_is_in_use_or_refuses(void **state)
{
	struct plx_pd *direct;

	fake = fake_open();
	dev = plx_fault_wrap(&fake->base, "");
	direct = plx_pd_create(&fake->base);
	assert_int_equal(plx_device_close(dev), -EBUSY);
	assert_int_equal(plx_pd_destroy(direct), 0);
	fake->fail = EIO;
	assert_int_equal(plx_device_close(dev), -EIO);
	fake->fail = 0;
	assert_int_equal(plx_device_close(dev), 0);
	assert_int_equal(fake_nb_objects, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(bad_script_is_refused_and_leaves_the_device_alone),
	cmocka_unit_test(wrapper_of_a_wrapper_applies_both_scripts),
	cmocka_unit_test(close_is_refused_while_inner_is_in_use_or_refuses),
	TEST(wrapper_has_the_name_and_capabilities_of_inner),
	TEST(only_a_wrapper_has_statistics),
	TEST(granted_sizes_and_keys_are_those_of_inner),
	TEST(qp_of_inner_comes_up_and_fails_through_the_wrapper),
	TEST(errno_of_inner_reaches_the_caller_of_each_create),
	TEST(destroy_that_inner_refuses_can_be_tried_again),
};

PLX_TEST_SUITE(fault, fault_device, tests);
