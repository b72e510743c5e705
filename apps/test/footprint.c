/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What a suite must give back, counted from outside: it shares the process with those that follow.
 */

#include "shell.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

static void
count_mempool(struct rte_mempool *mp, void *arg)
{
	(void)mp;
	++*(unsigned long *)arg;
}

static void
count_memzone(const struct rte_memzone *mz, void *arg)
{
	(void)mz;
	++*(unsigned long *)arg;
}

static unsigned long
count_allocations(void)
{
	struct rte_malloc_socket_stats stats;
	unsigned long n = 0;

	for (unsigned int i = 0; i < rte_socket_count(); i++)
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
			n += stats.alloc_count;
	return n;
}

static unsigned long
count_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned long n = 0;

	if (dir == NULL)
		return 0;
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

void
footprint_take(struct footprint *now)
{
	*now = (struct footprint){
		.allocations = count_allocations(),
		.threads = count_entries("/proc/self/task"),
		.files = count_entries("/proc/self/fd"),
	};
	rte_mempool_walk(count_mempool, &now->mempools);
	rte_memzone_walk(count_memzone, &now->memzones);
}

static void
ring(void *rung)
{
	__atomic_store_n((bool *)rung, true, __ATOMIC_RELEASE);
}

void
footprint_settle(void)
{
	static bool rung; /* not the stack's: it may ring late */

	if (rte_eal_alarm_set(1, ring, &rung) != 0)
		return;
	for (int ms = 0; ms < 1000 && !__atomic_load_n(&rung, __ATOMIC_ACQUIRE); ms++)
		usleep(1000);
}

static bool
more(const struct footprint *before, const struct footprint *now)
{
	return now->mempools > before->mempools || now->memzones > before->memzones ||
		now->allocations > before->allocations || now->threads > before->threads ||
		now->files > before->files;
}

bool
footprint_grew(const struct footprint *before, char text[NEEDS_LEN])
{
	struct footprint now;

	footprint_take(&now);
	/* A thread that has been joined is listed a moment longer. */
	for (int ms = 0; ms < 100 && more(before, &now); ms++) {
		usleep(1000);
		footprint_take(&now);
	}
	snprintf(text, NEEDS_LEN,
		"behind: mempools %lu -> %lu, memzones %lu -> %lu, allocations %lu -> %lu, threads %lu -> %lu, "
		"files %lu -> %lu",
		before->mempools, now.mempools, before->memzones, now.memzones, before->allocations,
		now.allocations, before->threads, now.threads, before->files, now.files);
	return more(before, &now);
}
