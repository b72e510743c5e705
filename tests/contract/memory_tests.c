/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Protection domains and regions: what is refused, and what is in use.
 */

#include "contract_objects.h"

#include <errno.h>

#include <rte_errno.h>

#define LEN 8192u

static void
expect_refused(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights, int err)
{
	uint32_t before = pd->nb_mrs;

	rte_errno = 0;
	assert_null(plx_mr_register(pd, addr, len, rights));
	assert_int_equal(rte_errno, err);
	assert_int_equal(pd->nb_mrs, before);
}

static void
region_tells_what_it_covers(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);
	struct plx_mr *mr = objects_mr(objs, pd, buf + 3, LEN - 10, PLX_ACCESS_LOCAL_WRITE);

	assert_ptr_equal(mr->pd, pd);
	assert_ptr_equal(mr->addr, buf + 3);
	assert_int_equal(mr->len, LEN - 10);
	assert_int_equal(mr->rights, PLX_ACCESS_LOCAL_WRITE);
	assert_int_equal(pd->nb_mrs, 1);
}

/** The requester needs only local rights, and more may be asked (contract 7.4). */
static void
each_sane_combination_of_rights_registers(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);

	for (uint32_t rights = 0; rights <= PLX_ACCESS_ALL; rights++) {
		bool writes = rights & (PLX_ACCESS_REMOTE_WRITE | PLX_ACCESS_REMOTE_ATOMIC);

		if ((writes && !(rights & PLX_ACCESS_LOCAL_WRITE)) || (rights & ~contract_rights()))
			continue;
		objects_mr(objs, pd, buf, LEN, rights);
	}
}

static void
regions_over_one_memory_have_keys_of_their_own(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);
	struct plx_mr *one = objects_mr(objs, pd, buf, LEN, contract_rights());
	struct plx_mr *two = objects_mr(objs, pd, buf, LEN, contract_rights());

	assert_int_not_equal(one->lkey, two->lkey);
	assert_int_not_equal(one->rkey, two->rkey);
}

/** case 8.13 */
static void
nothing_cannot_be_registered(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);

	expect_refused(pd, buf, 0, PLX_ACCESS_LOCAL_WRITE, EINVAL);
	expect_refused(pd, NULL, 0, PLX_ACCESS_LOCAL_WRITE, EINVAL);
}

static void
remote_write_needs_local_write(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);

	expect_refused(pd, buf, LEN, PLX_ACCESS_REMOTE_WRITE, EINVAL);
	expect_refused(pd, buf, LEN, PLX_ACCESS_REMOTE_ATOMIC, EINVAL);
	expect_refused(pd, buf, LEN, PLX_ACCESS_REMOTE_READ | PLX_ACCESS_REMOTE_WRITE, EINVAL);
}

/** cases 8.12 8.14: relaxed ordering and on-demand paging are rights elsewhere. Here they are unknown. */
static void
unknown_rights_are_refused(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);

	for (uint32_t right = PLX_ACCESS_ALL + 1; right != 0; right <<= 1)
		expect_refused(pd, buf, LEN, PLX_ACCESS_LOCAL_WRITE | right, EINVAL);
}

static void
range_past_the_end_of_memory_is_refused(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);

	expect_refused(pd, buf, UINT64_MAX - 4096, PLX_ACCESS_LOCAL_WRITE, ERANGE);
	expect_refused(pd, (void *)(UINTPTR_MAX - 100), 200, PLX_ACCESS_LOCAL_WRITE, ERANGE);
}

static void
region_above_max_mr_size_is_refused(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);

	plx_test_needs(contract_caps()->max_mr_size < UINT64_MAX, "a max_mr_size");
	expect_refused(pd, objects_buf(objs, LEN), contract_caps()->max_mr_size + 1, PLX_ACCESS_LOCAL_WRITE,
		ERANGE);
}

static void
domain_with_a_region_is_busy(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);
	struct plx_mr *mr = objects_mr(objs, pd, buf, LEN, 0);
	struct plx_mr *other = objects_mr(objs, pd, buf, LEN, 0);

	assert_int_equal(plx_pd_destroy(pd), -EBUSY);
	objects_drop_mr(objs, mr);
	assert_int_equal(plx_pd_destroy(pd), -EBUSY);
	objects_drop_mr(objs, other);
	objects_drop_pd(objs, pd);
}

static void
destroying_nothing_is_no_error(void **state)
{
	assert_int_equal(plx_mr_deregister(NULL), 0);
	assert_int_equal(plx_qp_destroy(NULL), 0);
	assert_int_equal(plx_cq_destroy(NULL), 0);
	assert_int_equal(plx_pd_destroy(NULL), 0);
	assert_int_equal(plx_device_close(NULL), 0);
}

#define objects_test(f) cmocka_unit_test_setup_teardown(f, objects_setup, objects_teardown)

const struct CMUnitTest memory_tests[] = {
	objects_test(region_tells_what_it_covers),
	objects_test(each_sane_combination_of_rights_registers),
	objects_test(regions_over_one_memory_have_keys_of_their_own),
	objects_test(nothing_cannot_be_registered),
	objects_test(remote_write_needs_local_write),
	objects_test(unknown_rights_are_refused),
	objects_test(range_past_the_end_of_memory_is_refused),
	objects_test(region_above_max_mr_size_is_refused),
	objects_test(domain_with_a_region_is_busy),
	cmocka_unit_test(destroying_nothing_is_no_error),
};
const size_t nb_memory_tests = NB_OF(memory_tests);
