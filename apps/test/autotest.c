/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * An autotest runs the suites of one room. Each case is a line of cmocka's; what is not a case of cmocka's, a
 * suite that cannot run here or that left something behind, is made to look like one, so that who counts
 * cases counts it:
 *
 *      # op_autotest
 *      [==========] Running 14 test(s).
 *      [ RUN      ] slots_are_found_by_their_id_and_no_other
 *      [       OK ] slots_are_found_by_their_id_and_no_other
 *      ...
 *      [ RUN      ] op/queue
 *      skip: op/queue: needs lcores 0 (main) to 3: there are 1
 *      [  SKIPPED ] op/queue
 *      Test OK
 */

#include "shell.h"

#include <stdio.h>
#include <string.h>

static unsigned int nb_results[PLX_SUITE_SKIPPED + 1]; /* of autotests */

static void
print_case(const struct plx_suite *suite, const char *status, const char *what, const char *why)
{
	printf("[ RUN      ] %s/%s\n", suite->room, suite->name);
	printf("%s: %s/%s: %s %s\n", what, suite->room, suite->name, what[0] == 's' ? "needs" : "left", why);
	printf("[%s] %s/%s\n", status, suite->room, suite->name);
	fflush(stdout);
}

static enum plx_suite_result
suite_run(const struct plx_suite *suite)
{
	struct footprint before;
	enum plx_suite_result result;
	char text[NEEDS_LEN];

	if (needs_missing(suite, text) != NULL) {
		print_case(suite, "  SKIPPED ", "skip", text);
		return PLX_SUITE_SKIPPED;
	}
	footprint_take(&before);
	result = plx_suite_run(suite);
	fflush(stdout);
	fflush(stderr);
	/* What failed was left by its assertion in the middle, and leaves more. */
	if (result == PLX_SUITE_FAILED || !footprint_grew(&before, text))
		return result;
	print_case(suite, "  FAILED  ", "fail", text);
	return PLX_SUITE_FAILED;
}

bool
autotest_has(const struct command *cmd, const struct plx_suite *suite)
{
	return suite->perf == cmd->perf && strcmp(suite->room, cmd->room) == 0;
}

void
autotest_run(const struct command *cmd)
{
	static const char *const words[] = {"Test OK", "Test Failed", "Test Skipped"};
	enum plx_suite_result result = PLX_SUITE_SKIPPED;

	printf("# %s\n", cmd->name);
	for (const struct plx_suite *suite = plx_suites; suite != NULL; suite = suite->next) {
		enum plx_suite_result one;

		if (!autotest_has(cmd, suite))
			continue;
		one = suite_run(suite);
		if (one == PLX_SUITE_FAILED || (one == PLX_SUITE_OK && result == PLX_SUITE_SKIPPED))
			result = one;
	}
	nb_results[result]++;
	puts(words[result]);
	fflush(stdout);
}

void
autotest_run_all(const struct command *cmd)
{
	const struct command *all;
	unsigned int n = commands(&all);

	for (unsigned int i = 0; i < n; i++)
		if (all[i].room != NULL && all[i].perf == cmd->perf)
			autotest_run(&all[i]);
}

int
autotest_status(void)
{
	if (nb_results[PLX_SUITE_FAILED] != 0)
		return 1;
	return nb_results[PLX_SUITE_SKIPPED] != 0 && nb_results[PLX_SUITE_OK] == 0 ? 77 : 0;
}
