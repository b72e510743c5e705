/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include "plx_device.h"
#include "soft_keys.h"

static struct soft_keys keys;
static const int pd, other_pd;

#define ADDR 0x10000u
#define LEN  0x1000u

static int
setup(void **state)
{
	return soft_keys_init(&keys, 4);
}

static int
teardown(void **state)
{
	soft_keys_fini(&keys);
	return 0;
}

static uint32_t
add(uint32_t rights)
{
	uint32_t key = soft_keys_add(&keys, &pd, ADDR, LEN, rights);

	assert_int_not_equal(key, 0);
	return key;
}

static void
remove_key(uint32_t key)
{
	soft_keys_hide(&keys, key);
	soft_keys_free(&keys, key);
}

static enum soft_access
check(uint32_t key, uint64_t addr, uint64_t len)
{
	return soft_keys_check(&keys, &pd, key, 0, addr, len, 0);
}

static void
a_range_is_inside_from_first_to_last_byte_and_not_one_more(void **state)
{
	uint32_t key = add(0);

	assert_int_equal(check(key, ADDR, LEN), SOFT_ACCESS_OK);
	assert_int_equal(check(key, ADDR, 1), SOFT_ACCESS_OK);
	assert_int_equal(check(key, ADDR + LEN - 1, 1), SOFT_ACCESS_OK);
	assert_int_equal(check(key, ADDR - 1, 1), SOFT_ACCESS_RANGE);
	assert_int_equal(check(key, ADDR - 1, LEN), SOFT_ACCESS_RANGE);
	assert_int_equal(check(key, ADDR + LEN, 1), SOFT_ACCESS_RANGE);
	assert_int_equal(check(key, ADDR, LEN + 1), SOFT_ACCESS_RANGE);
	assert_int_equal(check(key, ADDR + 1, LEN), SOFT_ACCESS_RANGE);
}

static void
sums_that_wrap_are_outside(void **state)
{
	uint32_t key = add(0);

	assert_int_equal(check(key, UINT64_MAX, 2), SOFT_ACCESS_RANGE);
	assert_int_equal(check(key, ADDR + 1, UINT64_MAX), SOFT_ACCESS_RANGE);
	assert_int_equal(check(key, UINT64_MAX - ADDR + 2, UINT64_MAX), SOFT_ACCESS_RANGE);
}

static void
no_bytes_need_no_key(void **state)
{
	assert_int_equal(check(0xffffffff, 0, 0), SOFT_ACCESS_OK);
}

static void
a_key_opens_to_its_pd_only(void **state)
{
	uint32_t key = add(0);

	assert_int_equal(soft_keys_check(&keys, &other_pd, key, 0, ADDR, 1, 0), SOFT_ACCESS_KEY);
}

static void
every_right_is_needed(void **state)
{
	uint32_t key = add(PLX_ACCESS_LOCAL_WRITE | PLX_ACCESS_REMOTE_READ);
	uint32_t rkey = key | SOFT_KEY_REMOTE;

	assert_int_equal(soft_keys_check(&keys, &pd, rkey, SOFT_KEY_REMOTE, ADDR, 1, PLX_ACCESS_REMOTE_READ),
		SOFT_ACCESS_OK);
	assert_int_equal(soft_keys_check(&keys, &pd, rkey, SOFT_KEY_REMOTE, ADDR, 1,
		PLX_ACCESS_REMOTE_READ | PLX_ACCESS_REMOTE_WRITE), SOFT_ACCESS_RIGHT);
}

static void
lkey_and_rkey_are_not_each_other(void **state)
{
	uint32_t key = add(PLX_ACCESS_ALL);

	assert_int_equal(soft_keys_check(&keys, &pd, key, SOFT_KEY_REMOTE, ADDR, 1, 0), SOFT_ACCESS_KEY);
	assert_int_equal(soft_keys_check(&keys, &pd, key | SOFT_KEY_REMOTE, 0, ADDR, 1, 0), SOFT_ACCESS_KEY);
}

static void
indices_outside_the_table_are_unknown(void **state)
{
	for (uint32_t key = 0; key < 0x20000; key++)
		assert_int_equal(check(key, ADDR, 1), SOFT_ACCESS_KEY);
	assert_int_equal(check(0x7fffffff, ADDR, 1), SOFT_ACCESS_KEY);
	assert_int_equal(check(0xffffffff, ADDR, 1), SOFT_ACCESS_KEY);
}

static void
a_removed_key_opens_nothing_while_its_slot_is_used_by_32767_others(void **state)
{
	uint32_t old = add(0), key;

	remove_key(old);
	for (unsigned int i = 0; i < 32766u * 4; i++) {
		key = add(0);
		assert_int_not_equal(key, old);
		assert_int_equal(check(old, ADDR, 1), SOFT_ACCESS_KEY);
		remove_key(key);
	}
}

static void
a_full_table_refuses_and_takes_again_what_was_freed(void **state)
{
	uint32_t first = add(0);

	for (int i = 0; i < 3; i++)
		add(0);
	assert_int_equal(soft_keys_add(&keys, &pd, ADDR, LEN, 0), 0);
	soft_keys_hide(&keys, first);
	assert_int_equal(soft_keys_add(&keys, &pd, ADDR, LEN, 0), 0); /* hidden is not free yet */
	soft_keys_free(&keys, first);
	add(0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
	T(a_range_is_inside_from_first_to_last_byte_and_not_one_more),
	T(sums_that_wrap_are_outside),
	T(no_bytes_need_no_key),
	T(a_key_opens_to_its_pd_only),
	T(every_right_is_needed),
	T(lkey_and_rkey_are_not_each_other),
	T(indices_outside_the_table_are_unknown),
	T(a_removed_key_opens_nothing_while_its_slot_is_used_by_32767_others),
	T(a_full_table_refuses_and_takes_again_what_was_freed),
};

PLX_TEST_SUITE(soft, keys, tests);
