/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "bench_lcores.h"

#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_launch.h>

#include "bench.h"
#include "plx_clock.h"
#include "plx_hist.h"

void
bench_run_lcores(int (*one)(void *), int (*two)(void *), void *arg)
{
	bench_ok(rte_eal_remote_launch(two, arg, 2), "lcore 2");
	bench_ok(rte_eal_remote_launch(one, arg, 1), "lcore 1");
	/* rte_eal_wait_lcore() would spin on one of their CPUs. */
	while (rte_eal_get_lcore_state(1) == RUNNING || rte_eal_get_lcore_state(2) == RUNNING)
		usleep(1000);
	rte_eal_wait_lcore(1);
	rte_eal_wait_lcore(2);
}

void *
bench_zalloc(size_t size)
{
	size = RTE_ALIGN(size, RTE_CACHE_LINE_SIZE);
	return memset(bench_need(aligned_alloc(RTE_CACHE_LINE_SIZE, size), "memory"), 0, size);
}

struct plx_hist *
bench_hist(void)
{
	struct plx_hist *hist = bench_zalloc(sizeof(*hist));

	plx_hist_reset(hist);
	return hist;
}

double
bench_percentile_ns(const struct plx_hist *hist, double percent)
{
	return (double)plx_hist_percentile(hist, percent) * 1e9 / (double)plx_clock_get()->hz;
}
