/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef BENCH_LCORES_H
#define BENCH_LCORES_H

/**
 * @file
 * What benchmarks of two lcores share.
 */

#include <stdint.h>
#include <stdlib.h>

struct plx_hist;

/** Run @p one on lcore 1 and @p two on lcore 2, with @p arg, until both have returned; the main thread sleeps. */
void bench_run_lcores(int (*one)(void *), int (*two)(void *), void *arg);

/** Zeroed, on cache lines of its own; or the end. free() it. */
void *bench_zalloc(size_t size);

/** An empty histogram; free() it. */
struct plx_hist *bench_hist(void);

/** A percentile of ticks, in ns. */
double bench_percentile_ns(const struct plx_hist *hist, double percent);

#endif
