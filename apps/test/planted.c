/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Suites for the tests of plx-test itself: one that passes, and one for each way not to.
 */

#include <signal.h>

#include <rte_malloc.h>

#include "plx_device.h"
#include "plx_test.h"

static void
nothing_is_wrong(void **state)
{
	assert_int_equal(1, 1);
}

static void
one_is_two(void **state)
{
	assert_int_equal(1, 2);
}

static void
this_is_elsewhere(void **state)
{
	plx_test_needs(false, "another machine");
}

static void
memory_is_lost(void **state)
{
	assert_non_null(rte_malloc(NULL, 64, 0));
}

static void
nobody_is_at_home(void **state)
{
	raise(SIGSEGV);
}

static const struct CMUnitTest good[] = {cmocka_unit_test(nothing_is_wrong)};
static const struct CMUnitTest bad[] = {cmocka_unit_test(nothing_is_wrong), cmocka_unit_test(one_is_two)};
static const struct CMUnitTest absent[] = {cmocka_unit_test(this_is_elsewhere)};
static const struct CMUnitTest half[] = {cmocka_unit_test(nothing_is_wrong), cmocka_unit_test(this_is_elsewhere)};
static const struct CMUnitTest leak[] = {cmocka_unit_test(memory_is_lost)};
static const struct CMUnitTest crash[] = {cmocka_unit_test(nobody_is_at_home)};

PLX_TEST_SUITE(good, good, good);
PLX_TEST_SUITE(bad, bad, bad);
PLX_TEST_SUITE(absent, absent, absent);
PLX_TEST_SUITE(half, half, half);
PLX_TEST_SUITE(leak, leak, leak);
PLX_TEST_SUITE(crash, crash, crash);
PLX_TEST_SUITE(mixed, one, good);
PLX_TEST_SUITE(mixed, two, bad);
PLX_TEST_SUITE(lcores, three, good, .lcores = 3);
PLX_TEST_SUITE(lcores_some, one, good, .lcores = 1);
PLX_TEST_SUITE(lcores_some, three, good, .lcores = 3);
PLX_TEST_SUITE(hugepages, hugepages, good, .hugepages = true);
PLX_TEST_SUITE(root, root, good, .root = true);
PLX_TEST_SUITE(rnr, rnr, good, .device = true, .caps = PLX_CAP_RNR);
PLX_TEST_SUITE(slow, slow, good, .perf = true);
