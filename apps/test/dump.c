/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What the process holds. Pollux keeps no list of its pollers and dispatchers; between two tests there are none,
 * and footprint.c sees to it.
 */

#include "shell.h"

#include <stdio.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_memzone.h>
#include <rte_ring.h>

#include "plx_device.h"

#define DEVICES_MAX 64

void
dump_devices(const struct command *cmd)
{
	struct plx_device_info infos[DEVICES_MAX];
	int n = plx_device_list(infos, DEVICES_MAX);

	(void)cmd;
	for (int i = 0; i < n && i < DEVICES_MAX; i++)
		printf("%-16s driver %s%s\n", infos[i].name, infos[i].driver,
			strcmp(infos[i].name, plx_test_device()) == 0 ? ", tests run on it" : "");
}

/** An op pool's mempool is called "plxTAG_NAME". */
static void
dump_op_pool(struct rte_mempool *mp, void *arg)
{
	unsigned int tag, *nb = arg;

	if (sscanf(mp->name, "plx%u_", &tag) != 1)
		return;
	++*nb;
	printf("%-24s tag %u, %u slots, %u out, cache %u, socket %d\n", strchr(mp->name, '_') + 1, tag, mp->size,
		rte_mempool_in_use_count(mp), mp->cache_size, mp->socket_id);
}

void
dump_op_pools(const struct command *cmd)
{
	unsigned int nb = 0;

	(void)cmd;
	rte_mempool_walk(dump_op_pool, &nb);
	printf("op pools: %u\n", nb);
}

void
dump_mempools(const struct command *cmd)
{
	struct footprint now;

	(void)cmd;
	rte_mempool_list_dump(stdout);
	footprint_take(&now);
	printf("mempools: %lu\n", now.mempools);
}

void
dump_rings(const struct command *cmd)
{
	(void)cmd;
	rte_ring_list_dump(stdout);
}

void
dump_memzone(const struct command *cmd)
{
	struct footprint now;

	(void)cmd;
	rte_memzone_dump(stdout);
	footprint_take(&now);
	printf("memzones: %lu\n", now.memzones);
}

void
dump_malloc_stats(const struct command *cmd)
{
	(void)cmd;
	rte_malloc_dump_stats(stdout, NULL);
}

void
dump_lcores(const struct command *cmd)
{
	(void)cmd;
	rte_lcore_dump(stdout);
}

static void
dump_autotest(const struct command *cmd)
{
	char text[NEEDS_LEN];

	printf("%-28s %s\n", cmd->name, cmd->perf ? "perf" : "fast");
	for (const struct plx_suite *suite = plx_suites; suite != NULL; suite = suite->next) {
		if (!autotest_has(cmd, suite))
			continue;
		needs_text(suite, text);
		printf(text[0] != '\0' ? "    %-24s needs%s\n" : "    %s\n", suite->name, text);
	}
}

void
dump_tests(const struct command *cmd)
{
	const struct command *all;
	unsigned int n = commands(&all);

	(void)cmd;
	for (unsigned int i = 0; i < n; i++)
		if (all[i].room != NULL)
			dump_autotest(&all[i]);
	printf("not here, each a program of its own:\n");
	for (const struct apart *a = suites_apart; a->name != NULL; a++)
		printf("    %-24s %s\n", a->name, a->why);
}
