/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <pthread.h>

#include "plx_device.h"
#include "soft_mw.h"

static struct soft_keys keys;
static struct plx_pd pd, other_pd;
static const int scope, other_scope;
static struct plx_mr mr;

#define ADDR 0x10000u
#define LEN  0x1000u

static int
setup(void **state)
{
	mr = (struct plx_mr){.pd = &pd, .addr = (void *)(uintptr_t)ADDR, .len = LEN, .rights = PLX_ACCESS_LOCAL_WRITE};
	return soft_keys_init(&keys, 2);
}

static int
teardown(void **state)
{
	soft_keys_fini(&keys);
	return 0;
}

static uint32_t
add(void)
{
	uint32_t rkey = soft_mw_add(&keys, &mr);

	assert_int_not_equal(rkey, 0);
	return rkey;
}

static bool
bind(uint32_t rkey)
{
	return soft_mw_bind(&keys, &pd, &scope, rkey, ADDR + 8, 8, PLX_ACCESS_REMOTE_READ);
}

static enum soft_access
check(const void *whose, uint32_t rkey, uint32_t remote, uint64_t addr)
{
	enum soft_access access = soft_keys_check(&keys, whose, rkey, remote, addr, 8, 0);

	if (remote != 0)
		assert_int_equal(soft_mw_opens(&keys, whose, rkey, addr, 8, 0), access == SOFT_ACCESS_OK);
	return access;
}

static void
a_window_opens_from_bind_to_invalidate(void **state)
{
	uint32_t rkey = add();

	assert_int_equal(check(&scope, rkey, SOFT_KEY_REMOTE, ADDR + 8), SOFT_ACCESS_KEY);
	assert_true(bind(rkey));
	assert_int_equal(check(&scope, rkey, SOFT_KEY_REMOTE, ADDR + 8), SOFT_ACCESS_OK);
	assert_int_equal(check(&scope, rkey, SOFT_KEY_REMOTE, ADDR + 9), SOFT_ACCESS_RANGE);
	assert_int_equal(check(&scope, rkey, SOFT_KEY_REMOTE, ADDR + 7), SOFT_ACCESS_RANGE);
	assert_false(soft_mw_invalidate(&keys, &scope, rkey + 1));
	assert_false(soft_mw_invalidate(&keys, &other_scope, rkey));
	assert_true(soft_mw_invalidate(&keys, &scope, rkey));
	assert_int_equal(check(&scope, rkey, SOFT_KEY_REMOTE, ADDR + 8), SOFT_ACCESS_KEY);
	assert_false(soft_mw_invalidate(&keys, &scope, rkey));
}

static void
a_window_opens_to_its_scope_and_as_an_rkey_only(void **state)
{
	uint32_t rkey = add();

	assert_true(bind(rkey));
	assert_int_equal(check(&other_scope, rkey, SOFT_KEY_REMOTE, ADDR + 8), SOFT_ACCESS_KEY);
	assert_int_equal(check(&pd, rkey, SOFT_KEY_REMOTE, ADDR + 8), SOFT_ACCESS_KEY);
	assert_int_equal(check(&pd, rkey ^ SOFT_KEY_REMOTE, 0, ADDR + 8), SOFT_ACCESS_KEY);
}

static void
what_cannot_be_bound_stays_unbound(void **state)
{
	const uint32_t read = PLX_ACCESS_REMOTE_READ;
	uint32_t rkey = add();

	assert_false(soft_mw_bind(&keys, &other_pd, &scope, rkey, ADDR, 8, read));
	assert_false(soft_mw_bind(&keys, &pd, &scope, rkey + 0x100, ADDR, 8, read));
	assert_false(soft_mw_bind(&keys, &pd, &scope, UINT32_MAX, ADDR, 8, read));
	assert_false(soft_mw_bind(&keys, &pd, &scope, rkey, ADDR - 1, 8, read));
	assert_false(soft_mw_bind(&keys, &pd, &scope, rkey, ADDR, LEN + 1, read));
	assert_false(soft_mw_bind(&keys, &pd, &scope, rkey, ADDR + 1, UINT64_MAX, read));
	assert_false(soft_mw_bind(&keys, &pd, &scope, rkey, ADDR, 0, read));
	mr.rights = 0;
	assert_false(soft_mw_bind(&keys, &pd, &scope, rkey, ADDR, 8, PLX_ACCESS_REMOTE_WRITE));
	assert_true(soft_mw_bind(&keys, &pd, &scope, rkey, ADDR, LEN, read));
	assert_false(soft_mw_bind(&keys, &pd, &scope, rkey + 1, ADDR, 8, read)); /* bound */
}

static void
a_regions_slot_is_no_window(void **state)
{
	uint32_t lkey = soft_keys_add(&keys, &pd, ADDR, LEN, PLX_ACCESS_ALL);

	assert_false(bind(lkey | SOFT_KEY_REMOTE));
	assert_false(soft_mw_invalidate(&keys, &scope, lkey | SOFT_KEY_REMOTE));
	assert_false(soft_mw_invalidate(&keys, &pd, lkey | SOFT_KEY_REMOTE));
}

/** No key that a window's consumer can have made is a key of the slot's next users. */
static void
keys_of_a_window_that_is_gone_open_nothing(void **state)
{
	uint32_t first = add(), rkey, lkey;

	add(); /* so that the first one's slot is the next to be had */
	soft_mw_hide(&keys, first);
	assert_false(bind(first)); /* hidden: it can be bound no more */
	soft_keys_hide(&keys, first);
	soft_keys_free(&keys, first);
	lkey = soft_keys_add(&keys, &pd, ADDR, LEN, PLX_ACCESS_ALL);
	assert_int_equal(soft_keys_index(lkey), soft_keys_index(first));
	assert_true((lkey ^ first) << 1 >> 9 != 0);
	soft_keys_hide(&keys, lkey);
	soft_keys_free(&keys, lkey);
	rkey = add();
	assert_int_equal(soft_keys_index(rkey), soft_keys_index(first));
	assert_true((rkey ^ first) >> 8 != 0);
	assert_true((rkey ^ lkey) << 1 >> 9 != 0);
}

static void
windows_and_regions_share_the_table(void **state)
{
	add();
	add();
	assert_int_equal(soft_mw_add(&keys, &mr), 0);
	assert_int_equal(soft_keys_add(&keys, &pd, ADDR, LEN, 0), 0);
}

/* ---- a key that is changed under who looks ------------------------------------------------- */

struct looker {
	uint32_t rkey;
	bool stop;		 /* atomic */
	uint64_t looks, opened; /* atomic, the first */
};

static void *
look(void *arg)
{
	struct looker *looker = arg;

	while (!__atomic_load_n(&looker->stop, __ATOMIC_RELAXED)) {
		looker->opened += soft_mw_opens(&keys, &other_scope, looker->rkey, ADDR + 0x800, 8, 0);
		__atomic_store_n(&looker->looks, looker->looks + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static uint64_t
rebind(struct looker *looker)
{
	const uint32_t rights = PLX_ACCESS_REMOTE_READ;
	uint32_t first = looker->rkey;
	uint64_t failed = 0;

	failed += !soft_mw_bind(&keys, &pd, &scope, first, ADDR + 8, 8, rights);
	failed += !soft_mw_invalidate(&keys, &scope, first);
	failed += !soft_mw_bind(&keys, &pd, &other_scope, first + 1, ADDR + 0x800, 8, rights);
	failed += !soft_mw_invalidate(&keys, &other_scope, first + 1);
	return failed;
}

/**
 * Nobody waits for the looker: its QP is not the one that the window was bound on. The key is never one of its scope, what comes to
 * lie under it is. For ThreadSanitizer above all: a look is short, and rarely interrupted. tests/explore/windows.c has each
 * interleaving.
 */
static void
old_key_opens_no_other_bind_whenever_it_is_looked_at(void **state)
{
	unsigned long rounds = plx_test_scale() / 10;
	struct looker looker = {0};
	uint64_t failed = 0;
	pthread_t thread;

	add();
	looker.rkey = add();
	assert_int_equal(pthread_create(&thread, NULL, look, &looker), 0);
	while (__atomic_load_n(&looker.looks, __ATOMIC_RELAXED) == 0)
		sched_yield();
	for (unsigned long i = 0; i < rounds; i++)
		failed += rebind(&looker);
	__atomic_store_n(&looker.stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(failed, 0);
	assert_int_equal(looker.opened, 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
	T(a_window_opens_from_bind_to_invalidate),
	T(a_window_opens_to_its_scope_and_as_an_rkey_only),
	T(what_cannot_be_bound_stays_unbound),
	T(a_regions_slot_is_no_window),
	T(keys_of_a_window_that_is_gone_open_nothing),
	T(windows_and_regions_share_the_table),
	T(old_key_opens_no_other_bind_whenever_it_is_looked_at),
};

PLX_TEST_SUITE(soft, mw, tests);
