/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * plx-explore [-q] [-n MAX-SCHEDULES] [SCENARIO... [--replay STEPS]]
 *
 * Explores the named scenarios, or all: each is a test case. A schedule that fails is printed step by step, with the
 * argument that runs it again; with -q it is not, and the first ends the program. "limited" says that the tree was not walked to its end.
 */

#include "plx_test.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_log.h>

#include "internal.h"

#define MAX_CASES 128

#define USAGE "usage: plx-explore [-q] [-n MAX-SCHEDULES] [SCENARIO... [--replay STEPS]]\n"

static const char *replay;
static unsigned long max_schedules;
static bool quiet;
static char spare_stack[16384];

static void
crashed(int number)
{
	fprintf(stderr, "explore: signal %d in this schedule:\n", number);
	if (!quiet)
		search_print();
	_exit(1);
}

static void
explore(void **state)
{
	const struct explore_scenario *scenario = *state;
	struct search_result result;
	bool restored;

	/* Here: cmocka sets a handler of its own for each case. */
	sigaction(SIGSEGV, &(struct sigaction){.sa_handler = crashed, .sa_flags = SA_ONSTACK}, NULL);
	run_setup(scenario);
	result = search(&(struct search_conf){.replay = replay, .max_schedules = max_schedules});
	if (result.failed != scenario->expect_failure) {
		fprintf(stderr, "explore: %s: %s\n", scenario->name,
			result.failed ? run_failure() : "no schedule fails, though one should");
		if (quiet)
			_exit(1);
		search_print();
	}
	arena_restore();
	restored = arena_is_restored();
	printf("%s: %lu schedules%s, %lu cut, up to %u steps\n", scenario->name, result.schedules,
		result.limited ? " (limited)" : "", result.cut, result.depth);
	fflush(stdout);
	assert_int_equal(result.failed, scenario->expect_failure);
	assert_true(restored);
	assert_true(scenario->schedules == 0 || result.schedules == scenario->schedules || replay != NULL);
}

/** The schedules that are left come to all that the schedules at large come to. */
static void
reduction_loses_no_outcome(void **state)
{
	static struct outcomes few, all;
	unsigned long nb_few = 0, nb_all = 0, nb_outcomes = 0;

	for (unsigned int i = 0; i < 100; i++) {
		explore_random_seed = i;
		few.nb = all.nb = 0;
		run_setup(&explore_random);
		nb_few += search(&(struct search_conf){.outcomes = &few}).schedules;
		nb_all += search(&(struct search_conf){.outcomes = &all, .every_order = true}).schedules;
		nb_outcomes += few.nb;
		assert_int_equal(few.nb, all.nb);
	}
	printf("random programs: %lu schedules of %lu, %lu outcomes\n", nb_few, nb_all, nb_outcomes);
	fflush(stdout);
	assert_true(nb_all > 4 * nb_few);
}

static unsigned int
add_cases(struct CMUnitTest *cases, unsigned int nb, const struct explore_scenario *table, char **names, int nb_names)
{
	for (; table->name != NULL; table++) {
		bool wanted = nb_names == 0;

		for (int i = 0; i < nb_names; i++)
			wanted |= strcmp(names[i], table->name) == 0;
		if (wanted && nb == MAX_CASES) {
			fprintf(stderr, "explore: more than %d scenarios: raise MAX_CASES\n", MAX_CASES);
			exit(2);
		}
		if (wanted)
			cases[nb++] = (struct CMUnitTest){
				.name = table->name, .test_func = explore, .initial_state = (void *)(uintptr_t)table};
	}
	return nb;
}

int
main(int argc, char **argv)
{
	static struct CMUnitTest cases[MAX_CASES];
	unsigned int nb = 0;
	int at = 1;

	if (at < argc && strcmp(argv[at], "-q") == 0) {
		quiet = true;
		at++;
	}
	if (at + 1 < argc && strcmp(argv[at], "-n") == 0) {
		char *end;

		max_schedules = strtoul(argv[at + 1], &end, 10);
		if (!isdigit((unsigned char)argv[at + 1][0]) || *end != '\0') {
			fprintf(stderr, "explore: -n %s: not a number\n" USAGE, argv[at + 1]);
			return 2;
		}
		at += 2;
	}
	if (argc - at > 2 && strcmp(argv[argc - 2], "--replay") == 0) {
		replay = argv[argc - 1];
		if (replay[0] == '\0' || replay[strspn(replay, "0123456789x,")] != '\0') {
			fprintf(stderr, "explore: --replay '%s': not steps as they are printed, 0,1x3,0\n" USAGE, replay);
			return 2;
		}
		argc -= 2;
	}
	if (argc == at)
		cases[nb++] = (struct CMUnitTest)cmocka_unit_test(reduction_loses_no_outcome);
	nb = add_cases(cases, nb, explore_litmus, argv + at, argc - at);
	nb = add_cases(cases, nb, explore_dispatcher, argv + at, argc - at);
	nb = add_cases(cases, nb, explore_shared, argv + at, argc - at);
	nb = add_cases(cases, nb, explore_conn, argv + at, argc - at);
	nb = add_cases(cases, nb, explore_conn_early, argv + at, argc - at);
	nb = add_cases(cases, nb, explore_windows, argv + at, argc - at);
	nb = add_cases(cases, nb, explore_refill, argv + at, argc - at);
	if (argc != at && nb != (unsigned int)(argc - at)) {
		fprintf(stderr, "explore: %d scenarios named, there are %u of them\n" USAGE, argc - at, nb);
		return 2;
	}
	if (plx_test_eal_init(NULL) != 0)
		return 1;
	rte_log_set_global_level(RTE_LOG_CRIT); /* what is refused on purpose would be logged in each schedule */
	sigaltstack(&(stack_t){.ss_sp = spare_stack, .ss_size = sizeof(spare_stack)}, NULL);
	pool_take_over();
	return _cmocka_run_group_tests("explore", cases, nb, NULL, NULL);
}
