/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command fixed[] = {
	{.name = "dump_devices", .run = dump_devices, .help = "devices that can be opened by name"},
	{.name = "dump_op_pools", .run = dump_op_pools, .help = "pools of ops: slots, and how many are out"},
	{.name = "dump_mempools", .run = dump_mempools, .help = "every mempool of EAL"},
	{.name = "dump_rings", .run = dump_rings, .help = "rings made by name (those of lanes have none)"},
	{.name = "dump_memzone", .run = dump_memzone, .help = "memzones of EAL"},
	{.name = "dump_malloc_stats", .run = dump_malloc_stats, .help = "rte_malloc by socket"},
	{.name = "dump_lcores", .run = dump_lcores, .help = "lcores, their roles and CPUs"},
	{.name = "dump_tests", .run = dump_tests, .help = "autotests, what they need, what is not here and why"},
	{.name = "fast_tests", .run = autotest_run_all, .help = "every ROOM_autotest"},
	{.name = "perf_tests", .run = autotest_run_all, .help = "every ROOM_perf_autotest", .perf = true},
};

static struct command table[COMMANDS_MAX];
static unsigned int nb_commands;

static void
add(const struct command *cmd)
{
	if (nb_commands == COMMANDS_MAX) {
		fprintf(stderr, "plx-test: more than %d commands\n", COMMANDS_MAX);
		abort();
	}
	table[nb_commands++] = *cmd;
}

/** Suites come by room, so that one look back tells whether the room has its command. */
static void
add_autotest(const struct plx_suite *suite)
{
	struct command cmd = {.run = autotest_run, .room = suite->room, .perf = suite->perf};

	snprintf(cmd.name, sizeof(cmd.name), "%s_%sautotest", suite->room, suite->perf ? "perf_" : "");
	for (unsigned int i = 0; i < nb_commands; i++)
		if (strcmp(table[i].name, cmd.name) == 0)
			return;
	cmd.help = suite->perf ? "times, judged by nobody" : "test";
	add(&cmd);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct command *)a)->name, ((const struct command *)b)->name);
}

unsigned int
commands(const struct command **all)
{
	if (nb_commands == 0) {
		for (unsigned int i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
			add(&fixed[i]);
		for (const struct plx_suite *suite = plx_suites; suite != NULL; suite = suite->next)
			add_autotest(suite);
		qsort(table, nb_commands, sizeof(table[0]), by_name);
	}
	*all = table;
	return nb_commands;
}

const struct command *
command_find(const char *name)
{
	const struct command *all;
	unsigned int n = commands(&all);

	for (unsigned int i = 0; i < n; i++)
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	return NULL;
}
