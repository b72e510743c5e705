/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_control.h"

#include <pthread.h>
#include <sched.h>

/*
 * The kernel cuts a mask that is set to what the process's cpuset and the CPUs online leave of it
 * (sched_setaffinity(2)), so asking for all and looking is how to learn it; on a thread of its own,
 * because the caller must stay where EAL pinned it.
 */
static void *
allowed_ask(void *arg)
{
	rte_cpuset_t *allowed = arg;

	RTE_CPU_FILL(allowed);
	/* Where a sandbox forbids the first call, the caller's own mask is all that there is. */
	pthread_setaffinity_np(pthread_self(), sizeof(*allowed), allowed);
	pthread_getaffinity_np(pthread_self(), sizeof(*allowed), allowed);
	return NULL;
}

static void
allowed_by_kernel(rte_cpuset_t *allowed)
{
	pthread_t asker;

	if (pthread_create(&asker, NULL, allowed_ask, allowed) == 0)
		pthread_join(asker, NULL);
	else
		pthread_getaffinity_np(pthread_self(), sizeof(*allowed), allowed);
}

static void
add_lcore(rte_cpuset_t *busy, unsigned int lcore)
{
	rte_cpuset_t cpus = rte_lcore_cpuset(lcore);

	CPU_OR(busy, busy, &cpus);
}

/* CPUs where a loop polls, or may: main only if it is named, for it mostly sleeps. */
static void
polled(rte_cpuset_t *busy, const unsigned int *lcores, unsigned int nb_lcores)
{
	CPU_ZERO(busy);
	for (unsigned int id = 0; id < RTE_MAX_LCORE; id++) {
		if (id == rte_get_main_lcore())
			continue;
		if (rte_lcore_has_role(id, ROLE_RTE) || rte_lcore_has_role(id, ROLE_SERVICE))
			add_lcore(busy, id);
	}
	for (unsigned int i = 0; i < nb_lcores; i++)
		add_lcore(busy, lcores[i]);
}

bool
plx_control_cpus(
	const rte_cpuset_t *allowed, const unsigned int *lcores, unsigned int nb_lcores, rte_cpuset_t *cpus)
{
	rte_cpuset_t all, busy, both;

	if (allowed != NULL)
		all = *allowed;
	else
		allowed_by_kernel(&all);

	polled(&busy, lcores, nb_lcores);
	CPU_AND(&both, &all, &busy);
	CPU_XOR(cpus, &all, &both); /* all without busy */
	if (CPU_COUNT(cpus) > 0)
		return false;
	*cpus = all;
	return true;
}
