/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef APP_EAL_H
#define APP_EAL_H

/**
 * @file
 * EAL arguments of an app: split, look at, complete, start.
 *
 *      plx-perf --no-huge -l 0-2 -- -q 64        EAL's, then the app's
 *      plx-perf -- -q 64                         EAL's are chosen here, and printed
 *      plx-perf -q 64                            the same
 *
 * EAL's arguments are the user's. When there are none at all these are used:
 *
 *      --no-huge --no-shconf --no-pci -m 512 --lcores '0@(0,1),1@0,2@1'
 *
 * with CPUs that this process may use: main floats over all of them and mostly sleeps, two polling lcores are
 * pinned, to the same CPU if there is but one. A set that names no lcores gets such a map too. On a machine
 * without free hugepages (a container) a set that would need them gets what works there: --no-huge, with as
 * much memory, in place of --in-memory, --socket-mem and the like. What is used instead is printed.
 *
 * A set that EAL would refuse for a known reason is refused here, in one line, before EAL prints its usage.
 *
 * Threads: the main one, at start-up.
 */

#include <sched.h>
#include <stdbool.h>

#include "app_options.h"

#define APP_EAL_ARGS_MAX 64

/** A command line in two: argv[0] stands in front of both. */
struct app_args {
	int eal_argc;
	char *eal_argv[APP_EAL_ARGS_MAX + 1];
	int argc;
	char **argv; /**< argv[0] is the program's name */
	const char *lcores; /**< the app's map for a set that names no lcores; NULL: app_eal_lcores() */
};

/** What the choice of EAL arguments depends on besides the user. */
struct app_machine {
	cpu_set_t cpus;	     /**< that the process may use */
	bool free_hugepages; /**< of any size */
};

/** Split at the first "--"; without one all is the app's. -E2BIG: more than APP_EAL_ARGS_MAX of EAL's. */
int app_args_split(int argc, char **argv, struct app_args *args, struct app_error *error);

/** Ask this machine. Before rte_eal_init(), which pins the caller. */
void app_machine_ask(struct app_machine *machine);

/** Refuse what EAL would: 0, or -EINVAL with the options' names in @p error. */
int app_eal_check(const struct app_args *args, struct app_error *error);

/**
 * Complete a checked set. @p text (of @p size bytes) gets a line that says what is used, or "" if it is as
 * the user gave it. Returns 0, or -E2BIG.
 */
int app_eal_complete(struct app_args *args, const struct app_machine *machine, char *text, size_t size,
	struct app_error *error);

/** "0@(0,1),1@0,2@1" for the CPUs of @p cpus. */
void app_eal_lcores(const cpu_set_t *cpus, char *text, size_t size);

/** What a pass over a set finds. */
struct app_eal_seen {
	bool lcores; /**< any option that chooses lcores */
	bool no_huge;
	bool secondary;		  /**< --proc-type: the memory is another process's */
	bool help;		  /**< -h, -v: EAL only prints */
	bool has_mib;		  /**< -m */
	unsigned long socket_mib; /**< --socket-mem, all nodes together */
	const char *unknown;	  /**< an option that we do not know; EAL may */
};

/** One pass over the set with EAL's own grammar; 0 or -EINVAL as app_eal_check(). */
int app_eal_scan(const struct app_args *args, struct app_eal_seen *seen, struct app_error *error);

/**
 * All of it: ask (@p machine is filled in), check, complete, rte_eal_init() with its stdout on stderr. 0; or
 * -errno with the cause in @p error, after which no DPDK call is safe: exit with APP_EXIT_USAGE.
 */
int app_eal_start(struct app_args *args, struct app_machine *machine, struct app_error *error);

/** "2@1": lcore and the CPUs that it may run on. */
void app_lcore_text(unsigned int lcore, char *text, size_t size);

/** Whether two of the @p n lcores may find themselves on one CPU, so that an idle one should yield. */
bool app_lcores_share(const unsigned int *lcores, unsigned int n);

#endif
