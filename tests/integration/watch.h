/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef WATCH_H
#define WATCH_H

/**
 * @file
 * What the lcores of a process do between two markers: allocations, locks and system calls.
 *
 *      tracer (parent) ---while the window is open, stops---> the tests (child)
 *                        each thread at each system call        malloc(), pthread_mutex_lock(), ...: ours, count as well
 *
 * A program that watches defines the allocator's and the locks' functions itself and hands on to the real ones, so that
 * the calls of every library come here first (it must export its symbols). System calls cannot be seen like that, since
 * nobody has to make them through the C library: a tracing parent sees them all.
 *
 * Spinlocks of DPDK are inline and not seen; the library has none (tests/integration/tree.sh).
 */

#include <stdbool.h>
#include <stdint.h>

enum watch_kind { WATCH_ALLOC, WATCH_LOCK, WATCH_SYSCALL, WATCH_KINDS };

struct watch_count {
	uint64_t nb[WATCH_KINDS];
	/** The first of each kind: what was called, and by which thread. */
	char first[WATCH_KINDS][48];
};

/**
 * Run @p tests in a child that is traced, and return its exit status. Before EAL, and before any other thread.
 * If tracing is not allowed here the tests run all the same, and watch_traced() is false.
 */
int watch_run(int (*tests)(void));

bool watch_traced(void);

/** Have the calling lcore watched. Other threads (the control thread, EAL's own) may do what they like. */
void watch_this_lcore(void);

/** Open the window: what watched lcores do from here on is counted. Any thread; all others stop for a moment. */
void watch_begin(void);
/** Close it. Makes no system call. */
void watch_end(void);
/** What happened in it. */
void watch_get(struct watch_count *count);

#endif
