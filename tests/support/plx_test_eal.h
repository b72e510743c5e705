/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_TEST_EAL_H
#define PLX_TEST_EAL_H

/**
 * @file
 * EAL for tests: no hugepages, no privileges, no devices, and four lcores on whatever CPUs there
 * are.
 *
 * All lcores float over the CPUs that the process may use, so that a test with a busy-polling pair
 * also ends on one CPU. A test that steps several lcores turn by turn needs no second thread:
 * plx_test_as_lcore() makes the calling thread pass for one.
 */

#include <sched.h>
#include <stddef.h>

/** Lcore ids 0 (main) to 3. */
#define PLX_TEST_LCORES 4

/** Initialise EAL once per process, its chatter on stderr. Usable as a group set-up of cmocka: 0, or
 * -1 when EAL refuses. */
int plx_test_eal_init(void **state);

/** EAL was started by the program, with at least the lcores its tests name; @p before are the CPUs that the
 * process was allowed then. */
void plx_test_eal_adopt(const cpu_set_t *before);

/** "(0-3)@(1,5)": every lcore on any of the first of @p cpus. */
void plx_test_lcores_option(const cpu_set_t *cpus, char *option, size_t size);

/** The CPUs that this process was allowed before plx_test_eal_init() pinned the caller. */
const cpu_set_t *plx_test_cpus_before_eal(void);

/**
 * Let the calling thread pass for lcore @p lcore, or for an alien thread with LCORE_ID_ANY, until the
 * next call. Returns what it was. Only rte_lcore_id() and what is built on it (mempool caches, lanes)
 * believe it; the thread stays where it runs.
 */
unsigned int plx_test_as_lcore(unsigned int lcore);

#endif
