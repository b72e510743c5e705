/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Regions on a device that only registers: what is asked of it, when, and who frees what.
 */

#include "plx_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "plx_driver.h"
#include "plx_memory.h"

static struct plx_device dev;
static struct plx_pd pd;
static int nb_mrs; /* registered now */
static int fail;   /* errno of register and deregister */
static _Alignas(4096) char buf[4096];

static struct plx_mr *
keys_register(struct plx_pd *of, void *addr, uint64_t len, uint32_t rights)
{
	struct plx_mr *mr = fail == 0 ? calloc(1, sizeof(*mr)) : NULL;

	if (mr == NULL) {
		rte_errno = fail;
		return NULL;
	}
	nb_mrs++;
	mr->lkey = 7;
	mr->rkey = 0xffffffff; /* all 32 bits of a key are the device's (case 8.16) */
	return mr;
}

static struct plx_mr *
keys_register_dmabuf(struct plx_pd *of, int fd, uint64_t offset, uint64_t len, uint64_t iova, uint32_t rights)
{
	return keys_register(of, NULL, len, rights);
}

static int
keys_deregister(struct plx_mr *mr)
{
	if (fail != 0)
		return -fail;
	nb_mrs--;
	free(mr);
	return 0;
}

static const struct plx_driver keys_driver = {
	.name = "keys",
	.ops = {.mr_register = keys_register, .mr_register_dmabuf = keys_register_dmabuf, .mr_deregister = keys_deregister},
};

static int
device_make(void **state)
{
	plx_device_init(&dev, &keys_driver, "keys0");
	dev.caps.max_mr_size = UINT64_MAX;
	dev.caps.socket_id = SOCKET_ID_ANY;
	pd = (struct plx_pd){.dev = &dev};
	return plx_test_eal_init(state);
}

static int
nothing_left(void **state)
{
	return nb_mrs == 0 && pd.nb_mrs == 0 && fail == 0 ? 0 : -1;
}

static void
region_has_the_keys_of_its_registration(void **state)
{
	struct plx_region *region = plx_region_create(&pd, buf, sizeof(buf), PLX_ACCESS_ALL);

	assert_non_null(region);
	assert_ptr_equal(region->addr, buf);
	assert_int_equal(region->len, sizeof(buf));
	assert_int_equal(region->lkey, 7);
	assert_int_equal(region->rkey, 0xffffffff);
	assert_int_equal(region->rights, PLX_ACCESS_ALL);
	assert_int_equal(region->nb_holders, 0);
	assert_ptr_equal(region->mr->addr, buf);
	assert_int_equal(region->mr->rights, PLX_ACCESS_ALL);
	assert_int_equal(plx_region_destroy(region), 0);
	assert_int_equal(plx_region_destroy(NULL), 0);
}

/* case 8.13 for the empty ones */
static void
bad_registrations_are_refused(void **state)
{
	static const struct {
		void *addr;
		uint64_t len;
		uint32_t rights;
		int err;
	} cases[] = {
		{NULL, 0, 0, EINVAL},
		{NULL, 1, 0, EINVAL},
		{buf, 0, 0, EINVAL},
		{buf, 8, PLX_ACCESS_ALL + 1, EINVAL},
		{buf, 8, PLX_ACCESS_REMOTE_WRITE, EINVAL},
		{buf, 8, PLX_ACCESS_REMOTE_ATOMIC, EINVAL},
		{buf, 8, PLX_ACCESS_REMOTE, EINVAL},
		{buf, UINT64_MAX, 0, ERANGE},
	};

	for (unsigned int i = 0; i < NB_OF(cases); i++) {
		rte_errno = 0;
		assert_null(plx_region_create(&pd, cases[i].addr, cases[i].len, cases[i].rights));
		assert_int_equal(rte_errno, cases[i].err);
	}
}

static void
rights_that_need_no_local_write_are_granted_alone(void **state)
{
	struct plx_region *region = plx_region_create(&pd, buf, 8, PLX_ACCESS_REMOTE_READ);

	assert_non_null(region);
	assert_int_equal(plx_region_destroy(region), 0);
}

static void
errno_of_the_device_reaches_the_caller(void **state)
{
	fail = ENOSPC;
	assert_null(plx_region_create(&pd, buf, 8, 0));
	assert_int_equal(rte_errno, ENOSPC);
	rte_errno = 0;
	assert_null(plx_region_alloc(&pd, 8, 0));
	assert_int_equal(rte_errno, ENOSPC);
	fail = 0;
}

static void
allocated_region_is_zeroed_pages_of_its_own(void **state)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct plx_region *region = plx_region_alloc(&pd, 100, PLX_ACCESS_LOCAL_WRITE);
	struct plx_region *next = plx_region_alloc(&pd, 100, PLX_ACCESS_LOCAL_WRITE);
	uintptr_t at = (uintptr_t)region->addr, other = (uintptr_t)next->addr;

	assert_int_equal(region->len, 100);
	assert_int_equal(at % page, 0);
	assert_int_equal(other % page, 0);
	assert_true(at + page <= other || other + page <= at);
	for (int i = 0; i < 100; i++)
		assert_int_equal(((char *)region->addr)[i], 0);
	assert_int_equal(plx_region_destroy(region), 0);
	assert_int_equal(plx_region_destroy(next), 0);
}

static void
impossible_allocations_are_refused(void **state)
{
	static const struct {
		uint64_t len;
		int err;
	} cases[] = {{0, EINVAL}, {1ull << 40, ENOMEM}, {UINT64_MAX, ENOMEM}, {UINT64_MAX - 4095, ENOMEM}};

	for (unsigned int i = 0; i < NB_OF(cases); i++) {
		rte_errno = 0;
		plx_test_refusal((intptr_t)plx_region_alloc(&pd, cases[i].len, 0), 0, cases[i].len == 0 ? "a region of 0 bytes" : "see EAL's -m");
		assert_int_equal(rte_errno, cases[i].err);
	}
}

static size_t
heap_used(void)
{
	struct rte_malloc_socket_stats stats;
	size_t used = 0;

	for (int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++)
		if (rte_malloc_get_socket_stats(socket, &stats) == 0)
			used += stats.heap_allocsz_bytes;
	return used;
}

static void
memory_goes_with_the_region_that_owns_it(void **state)
{
	size_t before = heap_used();
	struct plx_region *region = plx_region_alloc(&pd, 100000, 0);

	assert_true(heap_used() > before);
	assert_int_equal(plx_region_destroy(region), 0);
	assert_int_equal(heap_used(), before);
	fail = ENOMEM;
	assert_null(plx_region_alloc(&pd, 100000, 0));
	fail = 0;
	assert_int_equal(heap_used(), before);
}

static void
memory_of_the_caller_stays(void **state)
{
	char *mine = rte_zmalloc(NULL, 64, 0);
	size_t before = heap_used();
	struct plx_region *region = plx_region_create(&pd, mine, 64, 0);

	assert_int_equal(plx_region_destroy(region), 0);
	assert_int_equal(heap_used(), before);
	rte_free(mine);
}

/* case 8.10 */
static void
held_region_is_not_destroyed(void **state)
{
	struct plx_region *region = plx_region_create(&pd, buf, 8, 0);

	plx_region_hold(region);
	plx_region_hold(region);
	assert_int_equal(plx_region_destroy(region), -EBUSY);
	assert_int_equal(plx_region_release(region), 0);
	assert_int_equal(plx_region_destroy(region), -EBUSY);
	assert_int_equal(region->nb_holders, 1);
	assert_int_equal(nb_mrs, 1);
	assert_int_equal(plx_region_release(region), 0);
	assert_int_equal(plx_region_destroy(region), 0);
}

static void
region_over_a_dmabuf_has_its_address_from_the_caller(void **state)
{
	struct plx_region *region;

	rte_errno = 0;
	assert_null(plx_region_create_dmabuf(&pd, 3, 0, 4096, 0x1000, PLX_ACCESS_REMOTE_READ));
	assert_int_equal(rte_errno, ENOTSUP);
	dev.caps.flags |= PLX_CAP_DMABUF;
	region = plx_region_create_dmabuf(&pd, 3, 0, 4096, 0x1000, PLX_ACCESS_REMOTE_READ);
	dev.caps.flags &= ~PLX_CAP_DMABUF;
	assert_non_null(region);
	assert_int_equal((uintptr_t)region->addr, 0x1000);
	assert_int_equal(region->len, 4096);
	assert_int_equal(region->rkey, 0xffffffff);
	assert_int_equal(region->rights, PLX_ACCESS_REMOTE_READ);
	assert_int_equal(plx_region_destroy(region), 0);
}

static void
release_of_what_nobody_holds_is_refused(void **state)
{
	struct plx_region *region = plx_region_create(&pd, buf, 8, 0);

	assert_int_equal(plx_region_release(region), -EINVAL);
	assert_int_equal(region->nb_holders, 0);
	assert_int_equal(plx_region_destroy(region), 0);
}

static void
destroy_that_the_device_refuses_can_be_tried_again(void **state)
{
	struct plx_region *region = plx_region_alloc(&pd, 8, 0);

	fail = EIO;
	assert_int_equal(plx_region_destroy(region), -EIO);
	*(volatile char *)region->addr = 1; /* still there */
	fail = 0;
	assert_int_equal(plx_region_destroy(region), 0);
}

#define NB_HOLDS 20000

static void *
hold_and_release(void *arg)
{
	long refused = 0;

	for (int i = 0; i < NB_HOLDS; i++) {
		plx_region_hold(arg);
		refused += plx_region_release(arg) != 0;
	}
	return (void *)refused;
}

static void
holders_of_several_threads_are_all_counted(void **state)
{
	struct plx_region *region = plx_region_create(&pd, buf, 8, 0);
	pthread_t threads[3];
	void *refused;

	for (unsigned int i = 0; i < NB_OF(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hold_and_release, region), 0);
	for (unsigned int i = 0; i < NB_OF(threads); i++) {
		pthread_join(threads[i], &refused);
		assert_null(refused);
	}
	assert_int_equal(region->nb_holders, 0);
	assert_int_equal(plx_region_destroy(region), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, nothing_left)

static const struct CMUnitTest tests[] = {
	TEST(region_has_the_keys_of_its_registration),
	TEST(bad_registrations_are_refused),
	TEST(rights_that_need_no_local_write_are_granted_alone),
	TEST(errno_of_the_device_reaches_the_caller),
	TEST(allocated_region_is_zeroed_pages_of_its_own),
	TEST(impossible_allocations_are_refused),
	TEST(memory_goes_with_the_region_that_owns_it),
	TEST(memory_of_the_caller_stays),
	TEST(held_region_is_not_destroyed),
	TEST(region_over_a_dmabuf_has_its_address_from_the_caller),
	TEST(release_of_what_nobody_holds_is_refused),
	TEST(destroy_that_the_device_refuses_can_be_tried_again),
	TEST(holders_of_several_threads_are_all_counted),
};

PLX_TEST_SUITE(memory, region, tests, .setup = device_make);
