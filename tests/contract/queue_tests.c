/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Completion queues and queue pairs: sizes that are granted, sizes that are refused, who is in use.
 */

#include "contract_objects.h"

#include <errno.h>

#include <rte_errno.h>

static const struct plx_qp_cap small = {.send_depth = 4, .recv_depth = 4, .send_sge = 1, .recv_sge = 1};

/* ---- CQ ------------------------------------------------------------------------------------ */

/** case 1.5 */
static void
granted_cq_is_at_least_what_was_asked(void **state)
{
	struct objects *objs = *state;
	const uint32_t sizes[] = {1, 2, 3, 16, 17, 100, 1000};

	for (unsigned int i = 0; i < NB_OF(sizes); i++) {
		if (sizes[i] <= contract_caps()->max_cqe)
			assert_true(objects_cq(objs, contract.dev, sizes[i])->nb_cqe >= sizes[i]);
	}
}

static void
cq_of_no_entries_or_too_many_is_refused(void **state)
{
	const uint32_t sizes[] = {0, contract_caps()->max_cqe + 1, UINT32_MAX};

	for (unsigned int i = 0; i < NB_OF(sizes); i++) {
		rte_errno = 0;
		assert_null(plx_cq_create(contract.dev, sizes[i]));
		assert_int_equal(rte_errno, EINVAL);
	}
}

static void
cq_and_domain_of_a_qp_are_busy(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *send_cq = objects_cq(objs, contract.dev, 8);
	struct plx_cq *recv_cq = objects_cq(objs, contract.dev, 8);
	struct plx_qp_conf conf = {.send_cq = send_cq, .recv_cq = recv_cq, .cap = small};
	struct plx_qp *qp = plx_qp_create(pd, &conf);

	assert_non_null(qp);
	assert_int_equal(plx_cq_destroy(send_cq), -EBUSY);
	assert_int_equal(plx_cq_destroy(recv_cq), -EBUSY);
	assert_int_equal(plx_pd_destroy(pd), -EBUSY);
	assert_int_equal(plx_qp_destroy(qp), 0);
	objects_drop_cq(objs, send_cq);
	objects_drop_cq(objs, recv_cq);
	objects_drop_pd(objs, pd);
}

static void
fresh_cq_is_empty(void **state)
{
	struct plx_cq *cq = objects_cq(*state, contract.dev, 4);
	struct plx_wc wcs[4];

	assert_int_equal(plx_cq_poll(cq, wcs, NB_OF(wcs)), 0);
	assert_int_equal(plx_cq_poll(cq, wcs, 0), 0);
}

/* ---- sizes of a QP ------------------------------------------------------------------------- */

static void
expect_covers(const struct plx_qp_cap *granted, const struct plx_qp_cap *wanted)
{
	assert_true(granted->send_depth >= wanted->send_depth);
	assert_true(granted->recv_depth >= wanted->recv_depth);
	assert_true(granted->send_sge >= wanted->send_sge);
	assert_true(granted->recv_sge >= wanted->recv_sge);
	assert_true(granted->inline_len >= wanted->inline_len);
}

static void
granted_qp_is_at_least_what_was_asked(void **state)
{
	struct objects *objs = *state;
	const struct plx_device_caps *caps = contract_caps();
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *cq = objects_cq(objs, contract.dev, 8);
	const struct plx_qp_cap wanted[] = {
		small,
		{1, 1, 1, 1, 0},
		{17, 33, 2, 3, 1},
		{128, 64, 1, 1, caps->max_inline},
		{16, 16, caps->max_sge, caps->max_sge, 0},
	};

	for (unsigned int i = 0; i < NB_OF(wanted); i++) {
		if (wanted[i].inline_len <= caps->max_inline && wanted[i].recv_sge <= caps->max_sge)
			expect_covers(&objects_qp(objs, pd, cq, &wanted[i])->cap, &wanted[i]);
	}
}

static void
no_sges_asked_means_one(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *cq = objects_cq(objs, contract.dev, 8);
	struct plx_qp *qp = objects_qp(objs, pd, cq, &(struct plx_qp_cap){.send_depth = 1, .recv_depth = 1});

	assert_true(qp->cap.send_sge >= 1 && qp->cap.recv_sge >= 1);
}

static void
expect_cap_refused(struct objects *objs, struct plx_pd *pd, struct plx_cq *cq, struct plx_qp_cap cap)
{
	const struct plx_qp_conf conf = {.send_cq = cq, .recv_cq = cq, .cap = cap};
	struct plx_qp_cap limits = cap;

	rte_errno = 0;
	assert_null(plx_qp_create(pd, &conf));
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(plx_qp_limits(contract.dev, &limits), -EINVAL);
	assert_memory_equal(&limits, &cap, sizeof(cap));
}

static void
one_above_any_limit_is_refused_and_leaves_nothing(void **state)
{
	struct objects *objs = *state;
	const struct plx_device_caps *caps = contract_caps();
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *cq = objects_cq(objs, contract.dev, 8);
	struct plx_qp_cap cap = small;

	cap.send_depth = caps->max_qp_wr + 1;
	expect_cap_refused(objs, pd, cq, cap);
	cap = small;
	cap.recv_depth = caps->max_qp_wr + 1;
	expect_cap_refused(objs, pd, cq, cap);
	cap = small;
	cap.send_sge = caps->max_sge + 1;
	expect_cap_refused(objs, pd, cq, cap);
	cap = small;
	cap.recv_sge = caps->max_sge + 1;
	expect_cap_refused(objs, pd, cq, cap);
	cap = small;
	cap.inline_len = caps->max_inline + 1;
	expect_cap_refused(objs, pd, cq, cap);

	assert_int_equal(pd->nb_qps, 0);
	objects_drop_cq(objs, cq);
	objects_drop_pd(objs, pd);
}

static void
limits_tell_what_creation_grants(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *cq = objects_cq(objs, contract.dev, 8);
	const struct plx_qp_cap wanted[] = {small, {.send_depth = 33, .recv_depth = 5}, {100, 100, 2, 2, 0}};

	for (unsigned int i = 0; i < NB_OF(wanted); i++) {
		struct plx_qp_cap limits = wanted[i];

		assert_int_equal(plx_qp_limits(contract.dev, &limits), 0);
		assert_memory_equal(&limits, &objects_qp(objs, pd, cq, &wanted[i])->cap, sizeof(limits));
	}
}

/* ---- what else can be wrong ---------------------------------------------------------------- */

static void
transports_not_advertised_are_refused(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *cq = objects_cq(objs, contract.dev, 8);
	struct plx_qp_conf conf = {.send_cq = cq, .recv_cq = cq, .cap = small};
	const unsigned int transports[] = {PLX_TRANSPORT_UC, PLX_TRANSPORT_UD, PLX_TRANSPORT_UD + 1, 77};

	for (unsigned int i = 0; i < NB_OF(transports); i++) {
		if (transports[i] < 32 && (contract_caps()->transports & (1u << transports[i])))
			continue;
		conf.transport = (enum plx_transport)transports[i];
		rte_errno = 0;
		assert_null(plx_qp_create(pd, &conf));
		assert_int_equal(rte_errno, ENOTSUP);
	}
}

static void
qp_without_a_cq_is_refused(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *cq = objects_cq(objs, contract.dev, 8);
	struct plx_qp_conf conf = {.send_cq = cq, .cap = small};

	rte_errno = 0;
	assert_null(plx_qp_create(pd, &conf));
	assert_int_equal(rte_errno, EINVAL);
	conf = (struct plx_qp_conf){.recv_cq = cq, .cap = small};
	rte_errno = 0;
	assert_null(plx_qp_create(pd, &conf));
	assert_int_equal(rte_errno, EINVAL);
}

static void
living_qps_have_numbers_of_their_own(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *cq = objects_cq(objs, contract.dev, 8);
	struct plx_qp *qps[16];

	for (unsigned int i = 0; i < NB_OF(qps); i++) {
		qps[i] = objects_qp(objs, pd, cq, &small);
		assert_in_range(qps[i]->qp_num, 1, 0xffffff);
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(qps[i]->qp_num, qps[k]->qp_num);
	}
	assert_int_equal(pd->nb_qps, NB_OF(qps));
}

static void
qps_come_and_go(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *cq = objects_cq(objs, contract.dev, 8);

	for (int i = 0; i < 50; i++)
		objects_drop_qp(objs, objects_qp(objs, pd, cq, &small));
	assert_int_equal(pd->nb_qps, 0);
}

#define objects_test(f) cmocka_unit_test_setup_teardown(f, objects_setup, objects_teardown)

const struct CMUnitTest queue_tests[] = {
	objects_test(granted_cq_is_at_least_what_was_asked),
	objects_test(cq_of_no_entries_or_too_many_is_refused),
	objects_test(cq_and_domain_of_a_qp_are_busy),
	objects_test(fresh_cq_is_empty),
	objects_test(granted_qp_is_at_least_what_was_asked),
	objects_test(no_sges_asked_means_one),
	objects_test(one_above_any_limit_is_refused_and_leaves_nothing),
	objects_test(limits_tell_what_creation_grants),
	objects_test(transports_not_advertised_are_refused),
	objects_test(qp_without_a_cq_is_refused),
	objects_test(living_qps_have_numbers_of_their_own),
	objects_test(qps_come_and_go),
};
const size_t nb_queue_tests = NB_OF(queue_tests);
