/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Ranges and rights. The regions are made up: nothing here touches the memory that they name.
 */

#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include "plx_memory.h"

#define BASE 0x10000
#define GIB  (1ull << 30)

static const struct plx_region region = {
	.addr = (void *)BASE,
	.len = 100,
	.lkey = 1,
	.rkey = 0x80000002,
	.rights = PLX_ACCESS_LOCAL_WRITE | PLX_ACCESS_REMOTE_READ,
};

/* Offset and length, and whether they lie in 100 bytes. */
static const struct range {
	uint64_t off, len;
	bool fits;
} ranges[] = {
	{0, 100, true},
	{0, 0, true},
	{100, 0, true},
	{99, 1, true},
	{50, 50, true},
	{0, 101, false},
	{50, 51, false},
	{99, 2, false},
	{100, 1, false},
	{101, 0, false},
	{1, UINT64_MAX, false},
	{UINT64_MAX, 1, false},
	{UINT64_MAX, UINT64_MAX, false},
	{1ull << 63, 1ull << 63, false},
	{UINT64_MAX - 49, 100, false},
};

static void
view_is_a_part_with_the_same_keys(void **state)
{
	struct plx_view view, sub;

	assert_int_equal(plx_region_view(&region, 10, 50, &view), 0);
	assert_ptr_equal(view.addr, (void *)(BASE + 10));
	assert_int_equal(view.len, 50);
	assert_int_equal(view.lkey, 1);
	assert_int_equal(view.rkey, 0x80000002);
	assert_int_equal(view.rights, region.rights);
	assert_int_equal(plx_view_sub(&view, 5, 20, &sub), 0);
	assert_ptr_equal(sub.addr, (void *)(BASE + 15));
	assert_int_equal(sub.len, 20);
	assert_int_equal(sub.lkey, 1);
	assert_int_equal(plx_view_sub(&sub, 1, 19, &sub), 0);
	assert_ptr_equal(sub.addr, (void *)(BASE + 16));
	assert_int_equal(plx_view_sub(&sub, 0, 20, &sub), -ERANGE);
}

static void
view_outside_its_whole_is_refused(void **state)
{
	struct plx_view whole, view, untouched;

	assert_int_equal(plx_region_view(&region, 0, 100, &whole), 0);
	memset(&untouched, 0x5a, sizeof(untouched));
	for (unsigned int i = 0; i < NB_OF(ranges); i++) {
		int want = ranges[i].fits ? 0 : -ERANGE;

		view = untouched;
		assert_int_equal(plx_region_view(&region, ranges[i].off, ranges[i].len, &view), want);
		assert_int_equal(memcmp(&view, &untouched, sizeof(view)) == 0, !ranges[i].fits);
		view = untouched;
		assert_int_equal(plx_view_sub(&whole, ranges[i].off, ranges[i].len, &view), want);
		assert_int_equal(memcmp(&view, &untouched, sizeof(view)) == 0, !ranges[i].fits);
	}
}

/* case 8.9 */
static void
offsets_and_lengths_keep_64_bits(void **state)
{
	struct plx_region large = region;
	struct plx_view view;
	struct plx_remote remote;

	large.len = 5 * GIB;
	assert_int_equal(plx_region_view(&large, 4 * GIB + 1, GIB - 1, &view), 0);
	assert_ptr_equal(view.addr, (void *)(BASE + 4 * GIB + 1));
	assert_int_equal(plx_region_view(&large, 4 * GIB + 1, GIB, &view), -ERANGE);
	remote = plx_remote_of_region(&large);
	assert_true(remote.len == 5 * GIB);
	assert_int_equal(plx_remote_check(&remote, 4 * GIB + 1, GIB - 1, 0), 0);
	assert_int_equal(plx_remote_check(&remote, 4 * GIB + 1, GIB, 0), -ERANGE);
}

static void
view_longer_than_an_sge_can_say_is_refused(void **state)
{
	struct plx_view view = {.addr = (void *)BASE, .len = UINT32_MAX, .lkey = 1};
	struct plx_sge sge;

	assert_int_equal(plx_view_sge(&view, &sge), 0);
	assert_int_equal(sge.addr, BASE);
	assert_int_equal(sge.length, UINT32_MAX);
	assert_int_equal(sge.lkey, 1);
	view.len++;
	assert_int_equal(plx_view_sge(&view, &sge), -EOVERFLOW);
}

static void
remote_is_checked_for_its_range(void **state)
{
	struct plx_remote remote = plx_remote_of_region(&region);

	for (unsigned int i = 0; i < NB_OF(ranges); i++)
		assert_int_equal(plx_remote_check(&remote, ranges[i].off, ranges[i].len,
					 PLX_ACCESS_REMOTE_READ),
			ranges[i].fits ? 0 : -ERANGE);
}

static void
remote_is_checked_for_each_right(void **state)
{
	static const uint32_t rights[] = {PLX_ACCESS_REMOTE_READ, PLX_ACCESS_REMOTE_WRITE, PLX_ACCESS_REMOTE_ATOMIC};

	for (unsigned int given = 0; given < NB_OF(rights); given++) {
		const struct plx_remote remote = {.len = 100, .rights = rights[given]};

		for (unsigned int want = 0; want < NB_OF(rights); want++)
			assert_int_equal(plx_remote_check(&remote, 0, 8, rights[want]),
				given == want ? 0 : -EACCES);
		assert_int_equal(plx_remote_check(&remote, 0, 8, PLX_ACCESS_REMOTE), -EACCES);
		assert_int_equal(plx_remote_check(&remote, 0, 8, 0), 0);
	}
}

/* The order of contract 4.5. */
static void
range_is_refused_before_rights(void **state)
{
	struct plx_remote remote = plx_remote_of_region(&region);

	assert_int_equal(plx_remote_check(&remote, 0, 101, PLX_ACCESS_REMOTE_WRITE), -ERANGE);
}

static void
remote_of_a_view_is_the_view_without_local_rights(void **state)
{
	struct plx_view view;
	struct plx_remote remote;

	assert_int_equal(plx_region_view(&region, 10, 50, &view), 0);
	remote = plx_remote_of(&view);
	assert_int_equal(remote.addr, BASE + 10);
	assert_int_equal(remote.len, 50);
	assert_int_equal(remote.rkey, 0x80000002);
	assert_int_equal(remote.rights, PLX_ACCESS_REMOTE_READ);
	remote = plx_remote_of_region(&region);
	assert_int_equal(remote.addr, BASE);
	assert_int_equal(remote.len, 100);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(view_is_a_part_with_the_same_keys),
	cmocka_unit_test(view_outside_its_whole_is_refused),
	cmocka_unit_test(offsets_and_lengths_keep_64_bits),
	cmocka_unit_test(view_longer_than_an_sge_can_say_is_refused),
	cmocka_unit_test(remote_is_checked_for_its_range),
	cmocka_unit_test(remote_is_checked_for_each_right),
	cmocka_unit_test(range_is_refused_before_rights),
	cmocka_unit_test(remote_of_a_view_is_the_view_without_local_rights),
};

PLX_TEST_SUITE(memory, view, tests);
