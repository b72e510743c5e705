/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "perf_tests.h"

#include <rte_cycles.h>

void
perf_print(const char *suite, struct bench_work *works, unsigned int n, uint64_t nb_ops)
{
	struct bench b = {.rounds = 51, .scale = 100, .name = suite};

	bench_measure(&b, works, n, nb_ops, PERF_BURST);
	for (unsigned int i = 0; i < n; i++)
		printf("%-12s %-36s %10.1f cycles per op\n", suite, works[i].name,
			works[i].ns * (double)rte_get_tsc_hz() / 1e9);
}
