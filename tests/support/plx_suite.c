/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <string.h>

struct plx_suite *plx_suites;
static const char *device = "loopback0";

static int
order(const struct plx_suite *a, const struct plx_suite *b)
{
	int rooms = strcmp(a->room, b->room);

	return rooms != 0 ? rooms : strcmp(a->name, b->name);
}

void
plx_suite_register(struct plx_suite *suite)
{
	struct plx_suite **at = &plx_suites;

	while (*at != NULL && order(*at, suite) < 0)
		at = &(*at)->next;
	suite->next = *at;
	*at = suite;
}

enum plx_suite_result
plx_suite_run(const struct plx_suite *suite)
{
	unsigned long skipped = plx_test_nb_skipped;
	int failed;

	if (suite->lcores > 0 && plx_test_eal_init(NULL) != 0)
		return PLX_SUITE_FAILED;
	if (suite->run != NULL)
		return suite->run();
	failed = _cmocka_run_group_tests(
		suite->name, suite->tests, suite->nb_tests, suite->setup, suite->teardown);
	if (failed != 0)
		return PLX_SUITE_FAILED;
	return plx_test_nb_skipped - skipped == suite->nb_tests ? PLX_SUITE_SKIPPED : PLX_SUITE_OK;
}

const char *
plx_test_device(void)
{
	return device;
}

void
plx_test_device_set(const char *name)
{
	device = name;
}

bool
plx_test_device_is_fast(void)
{
	return strncmp(plx_test_device(), "loopback", 8) == 0;
}
