/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_CLOCK_H
#define PLX_CLOCK_H

/**
 * @file
 * The clock that latencies are measured with.
 *
 * The TSC, its rate measured against CLOCK_MONOTONIC, never taken from the CPU's model or its
 * maximal clock; or CLOCK_MONOTONIC itself where the TSC does not keep an even rate (not
 * invariant, or two calibrations differ by more than 0.1 %). Ticks are counted in the source's own
 * unit and turned into nanoseconds when a result is written down, so that the warm path pays one
 * read.
 *
 * Threads: any. The first plx_clock_get() takes 0.1 s of its caller (and of whoever calls it
 * meanwhile): make it before the loops start.
 *
 * @since 0.1
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <rte_cycles.h>

#include "plx_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a clock reads, and how. A plain value: copy it, fill it by hand in a test. */
struct plx_clock {
	uint64_t hz;	     /**< ticks in a second */
	bool tsc;	     /**< reads the TSC; false: CLOCK_MONOTONIC in ns, hz is 10^9 */
	const char *why_not; /**< tsc is false: the reason, in words; else NULL */
};

/** Where a calibration reads from; plx_clock_get() reads the machine, a test brings its own. */
struct plx_clock_source {
	uint64_t (*tsc)(void *arg);
	uint64_t (*monotonic_ns)(void *arg);
	bool invariant; /**< the CPU promises an even rate (CPUID 8000_0007h EDX bit 8) */
	void *arg;
};

/** Two calibrations in a row are trusted when they differ by at most one part in this many. */
#define PLX_CLOCK_TOLERANCE 1000

/**
 * Measure @p src over two windows of @p window_ns each and say what to trust.
 * Takes 2 x @p window_ns, spinning on the source; 50 ms windows are good for 0.01 %. The result's
 * hz is never 0.
 */
struct plx_clock plx_clock_calibrate(const struct plx_clock_source *src, uint64_t window_ns);

/** This machine's clock; calibrates at the first call (about 0.1 s), then returns the same. */
const struct plx_clock *plx_clock_get(void);

/** CLOCK_MONOTONIC in nanoseconds. */
PLX_INLINE uint64_t
plx_clock_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/** Now, in ticks of @p clock. */
PLX_INLINE uint64_t
plx_clock_now(const struct plx_clock *clock)
{
	return clock->tsc ? rte_rdtsc() : plx_clock_monotonic_ns();
}

/** @p ticks of @p clock in nanoseconds, rounded down; exact as long as the result fits in 64 bits,
 * which is 584 years. */
PLX_INLINE uint64_t
plx_clock_ns(const struct plx_clock *clock, uint64_t ticks)
{
	return (uint64_t)(((plx_uint128_t)ticks * 1000000000u) / clock->hz);
}

#ifdef __cplusplus
}
#endif

#endif
