/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * plx-bench: run benchmarks, a row for each on stdout. devtools/bench.sh runs it twice, the second time under callgrind,
 * and puts both together.
 *
 *      plx-bench [EAL arguments --] [-r ROUNDS] [-s PERCENT] [-c] [NAME...]
 *
 *      -r   rounds of each work; the median counts
 *      -s   length of a round, in percent of the usual
 *      -c   windows for callgrind, and a line for each, instead of rounds and rows
 *
 * Exit status: 0; 1 a benchmark broke; 2 it could not begin.
 */

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "app_eal.h"
#include "bench.h"
#include "plx_clock.h"
#include "plx_drivers.h"

static const struct bench_case cases[] = {
	{"B1", bench_b1},
	{"B2", bench_b2},
	{"B4", bench_b4},
	{"B5", bench_b5},
	{"B6", bench_b6},
	{"B7", bench_b7},
	{"B8", bench_b8},
	{"B12", bench_b12},
};

static const struct bench_case *
case_find(const char *name)
{
	for (unsigned int i = 0; i < RTE_DIM(cases); i++)
		if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	return NULL;
}

static int
names_check(char **names, struct app_error *error)
{
	for (; *names != NULL; names++)
		if (case_find(*names) == NULL)
			return app_fail(error, -EINVAL, "no benchmark '%s'", *names);
	return 0;
}

static void
case_run(struct bench *b, const struct bench_case *c)
{
	b->name = c->name;
	c->run(b);
}

static void
run(struct bench *b, char **names)
{
	if (*names == NULL)
		for (unsigned int i = 0; i < RTE_DIM(cases); i++)
			case_run(b, &cases[i]);
	for (; *names != NULL; names++)
		case_run(b, case_find(*names));
}

static int
options(struct app_args *args, struct bench *b, char ***names, struct app_error *error)
{
	uint64_t rounds = b->rounds, scale = b->scale;
	int opt, err = 0;

	opterr = 0;
	while (err == 0 && (opt = getopt(args->argc, args->argv, ":r:s:c")) != -1) {
		if (opt == 'r')
			err = app_parse_u64("-r", optarg, false, 1, 100000, &rounds, error);
		else if (opt == 's')
			err = app_parse_u64("-s", optarg, false, 1, 1000, &scale, error);
		else if (opt == 'c')
			b->count = true;
		else
			err = app_bad_option(opt, args->argv[optind - 1], optopt, error);
	}
	b->rounds = (unsigned int)rounds;
	b->scale = (unsigned int)scale;
	*names = &args->argv[optind]; /* now: EAL parses too */
	return err != 0 ? err : names_check(*names, error);
}

int
main(int argc, char **argv)
{
	struct bench b = {.rounds = 201, .scale = 100};
	struct app_error error = {""};
	struct app_machine machine;
	struct app_args args;
	char **names;
	int err = app_args_split(argc, argv, &args, &error);

	mallopt(M_ARENA_MAX, 1); /* B5 counts what is allocated, by whatever thread */
	if (err == 0)
		err = options(&args, &b, &names, &error);
	if (err == 0)
		err = app_eal_start(&args, &machine, &error);
	if (err != 0) {
		app_error_print("plx-bench", &error);
		return APP_EXIT_USAGE;
	}
	bench_ok(plx_drivers_register(), "drivers");
	/* Calibrates: outside every round. */
	printf("clock %s %" PRIu64 "\n", plx_clock_get()->tsc ? "tsc" : "monotonic", plx_clock_get()->hz);
	run(&b, names);
	return rte_eal_cleanup() == 0 ? 0 : APP_EXIT_FAILED;
}
