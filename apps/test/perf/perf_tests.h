/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PERF_TESTS_H
#define PERF_TESTS_H

/**
 * @file
 * What one room's calls cost, as ROOM_perf_autotest prints it:
 *
 *      op/pool get, put                 12.3 cycles per op
 *
 * Rounds and medians are those of tests/bench; there is no twin here, and no time is judged. The test fails only
 * when the work was not done.
 */

#include "bench.h"
#include "plx_test.h"

/** Time @p n works of @p nb_ops ops each, in turns, and print a line for each. */
void perf_print(const char *suite, struct bench_work *works, unsigned int n, uint64_t nb_ops);

#define PERF_BURST 32u

#endif
