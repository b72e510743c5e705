/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_test.h"

#include <string.h>

#include "plx_drivers.h"
#include "plx_fault.h"
#include "plx_srq.h"
#include "plx_verbs.h"

/**
 * @file
 * For programs that use libibverbs beside us: what lies below our objects, and below those of another driver nothing.
 *
 *      verbs-tests -d rxe0        plx_qp --plx_verbs_qp()--> ibv_qp
 *      verbs-tests -d loopback0   plx_qp --plx_verbs_qp()--> NULL
 */

static struct objects {
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_mr *mr;
	struct plx_cq *cq;
	struct plx_srq *srq; /**< NULL: the device has none */
	struct plx_qp *qp;
	uint8_t mem[4096];
} objects;

/** One of each, on @p dev. */
static void
objects_make(struct plx_device *dev)
{
	struct plx_qp_conf conf = {.cap = {.send_depth = 4, .recv_depth = 4, .send_sge = 1, .recv_sge = 1}};
	struct plx_srq_conf srq = {.depth = 4, .recv_sge = 1};

	memset(&objects, 0, sizeof(objects));
	assert_non_null(objects.dev = dev);
	assert_non_null(objects.pd = plx_pd_create(dev));
	assert_non_null(objects.mr = plx_mr_register(objects.pd, objects.mem, sizeof(objects.mem), PLX_ACCESS_LOCAL_WRITE));
	assert_non_null(objects.cq = plx_cq_create(dev, 16));
	if (plx_device_caps(dev)->flags & PLX_CAP_SRQ)
		assert_non_null(objects.srq = plx_srq_create(objects.pd, &srq));
	conf.send_cq = conf.recv_cq = objects.cq;
	assert_non_null(objects.qp = plx_qp_create(objects.pd, &conf));
}

static void
objects_destroy(void)
{
	assert_int_equal(plx_qp_destroy(objects.qp), 0);
	assert_int_equal(plx_srq_destroy(objects.srq), 0);
	assert_int_equal(plx_cq_destroy(objects.cq), 0);
	assert_int_equal(plx_mr_deregister(objects.mr), 0);
	assert_int_equal(plx_pd_destroy(objects.pd), 0);
	assert_int_equal(plx_device_close(objects.dev), 0);
}

static void
nothing_is_below_them(void)
{
	assert_null(plx_verbs_context(objects.dev));
	assert_null(plx_verbs_pd(objects.pd));
	assert_null(plx_verbs_mr(objects.mr));
	assert_null(plx_verbs_cq(objects.cq));
	if (objects.srq != NULL)
		assert_null(plx_verbs_srq(objects.srq));
	assert_null(plx_verbs_qp(objects.qp));
}

static bool
on_verbs(void)
{
	return strncmp(plx_test_device(), "loopback", 8) != 0 && strncmp(plx_test_device(), "null", 4) != 0;
}

static void
below_each_object_is_that_of_libibverbs(void **state)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	plx_test_needs(on_verbs(), "a device of the verbs driver");
	objects_make(plx_device_open(plx_test_device()));
	assert_non_null(context = plx_verbs_context(objects.dev));
	assert_string_equal(ibv_get_device_name(context->device), plx_device_name(objects.dev));
	assert_non_null(pd = plx_verbs_pd(objects.pd));
	assert_ptr_equal(pd->context, context);
	assert_non_null(plx_verbs_mr(objects.mr));
	assert_ptr_equal(plx_verbs_mr(objects.mr)->pd, pd);
	assert_int_equal(plx_verbs_mr(objects.mr)->lkey, objects.mr->lkey);
	assert_non_null(cq = plx_verbs_cq(objects.cq));
	assert_ptr_equal(cq->context, context);
	assert_int_equal(cq->cqe, objects.cq->nb_cqe);
	assert_non_null(plx_verbs_qp(objects.qp));
	assert_int_equal(plx_verbs_qp(objects.qp)->qp_num, objects.qp->qp_num);
	assert_ptr_equal(plx_verbs_qp(objects.qp)->pd, pd);
	assert_ptr_equal(plx_verbs_qp(objects.qp)->send_cq, cq);
	if (objects.srq != NULL) {
		assert_non_null(plx_verbs_srq(objects.srq));
		assert_ptr_equal(plx_verbs_srq(objects.srq)->pd, pd);
		assert_ptr_equal(objects.srq->fast, objects.cq->fast);
	}
	assert_ptr_equal(objects.qp->fast, objects.cq->fast); /* there is one table */
	objects_destroy();
}

static void
below_an_object_of_another_driver_is_nothing(void **state)
{
	if (!on_verbs()) {
		objects_make(plx_device_open(plx_test_device()));
		nothing_is_below_them();
		objects_destroy();
	}
	objects_make(plx_fault_wrap(plx_device_open(plx_test_device()), "")); /* whatever it is wrapped around */
	nothing_is_below_them();
	objects_destroy();
}

/** A backend need not have a device (plx_fast.h). */
static void
below_an_object_of_no_device_is_nothing(void **state)
{
	static const struct plx_qp qp;
	static const struct plx_cq cq;
	static const struct plx_srq srq;

	assert_null(plx_verbs_qp(&qp));
	assert_null(plx_verbs_cq(&cq));
	assert_null(plx_verbs_srq(&srq));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(below_each_object_is_that_of_libibverbs),
	cmocka_unit_test(below_an_object_of_another_driver_is_nothing),
	cmocka_unit_test(below_an_object_of_no_device_is_nothing),
};

static int
drivers(void **state)
{
	return plx_drivers_register();
}

PLX_TEST_SUITE(verbs, objects, tests, .setup = drivers, .lcores = 1, .device = true);
