/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test_eal.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

/* Enough for every lcore to have one of its own; more only make the option longer. */
#define NB_CPUS 4

static cpu_set_t cpus_before;
static bool running;

void
plx_test_lcores_option(const cpu_set_t *cpus, char *option, size_t size)
{
	size_t len = (size_t)snprintf(option, size, "(0-%d)@(", PLX_TEST_LCORES - 1);
	int nb = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE && nb < NB_CPUS; cpu++)
		if (CPU_ISSET(cpu, cpus))
			len += (size_t)snprintf(option + len, size - len, nb++ > 0 ? ",%d" : "%d", cpu);
	snprintf(option + len, size - len, ")");
}

/* EAL prints usage and more on stdout, which belongs to the test's results. */
static int
init_with_stdout_on_stderr(int argc, char **argv)
{
	int out = dup(STDOUT_FILENO), ret;

	fflush(stdout);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	ret = rte_eal_init(argc, argv);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	return ret;
}

int
plx_test_eal_init(void **state)
{
	char lcores[64];
	char *argv[] = {
		(char[]){"plx-test"},
		(char[]){"--no-huge"},
		(char[]){"--no-shconf"},
		(char[]){"--no-pci"},
		(char[]){"--no-telemetry"},
		(char[]){"-m"},
		(char[]){"256"},
		(char[]){"--lcores"},
		lcores,
	};

	(void)state;
	if (running)
		return 0;
	sched_getaffinity(0, sizeof(cpus_before), &cpus_before);
	plx_test_lcores_option(&cpus_before, lcores, sizeof(lcores));
	if (init_with_stdout_on_stderr(RTE_DIM(argv), argv) < 0) {
		fprintf(stderr, "tests: rte_eal_init with --lcores '%s': %s\n", lcores,
			rte_strerror(rte_errno));
		return -1;
	}
	running = true;
	return 0;
}

void
plx_test_eal_adopt(const cpu_set_t *before)
{
	cpus_before = *before;
	running = true;
}

const cpu_set_t *
plx_test_cpus_before_eal(void)
{
	return &cpus_before;
}

unsigned int
plx_test_as_lcore(unsigned int lcore)
{
	unsigned int was = rte_lcore_id();

	RTE_PER_LCORE(_lcore_id) = lcore;
	return was;
}

#ifdef __SANITIZE_THREAD__
#define WITH_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN
#endif
#endif

#ifdef WITH_TSAN
/* DPDK's RTS mode looks at another sender's tail with a plain load, to see how far ahead it is. */
const char *__tsan_default_suppressions(void);

const char *
__tsan_default_suppressions(void)
{
	return "race:__rte_ring_rts_head_wait\n";
}
#endif
