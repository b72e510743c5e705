/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef BENCH_H
#define BENCH_H

/**
 * @file
 * Benchmarks: the product beside a raw twin, in one run, on one machine, with one set of compiler flags.
 *
 *      time:   raw, plx, static, raw, plx, static, raw, ...     short rounds, the median of each
 *      count:  window(raw, few) window(raw, many) window(plx, few) ...      under callgrind
 *
 * The twin is the loop that an expert would write by hand for that one job: on the same device, through the same table
 * (plx_fast_ops), and with no plx_ function above it. It is in a file of its own, NAME_raw.c.
 *
 * Times on a shared machine move by half from minute to minute, so rounds are short and take turns: what disturbs one
 * disturbs the other. Instructions do not move; they are the difference of two run lengths, so that start-up and the
 * window's own cost are not in them.
 *
 *      bench.h, bench.c      rounds, windows, rows              bench_rig.h     what product and twin run on
 *      bench_main.c          options, which benchmarks          life*.c         B1, B2, B8: an op's whole life
 *      bench_lcores.h        two lcores                hop*.c          B4: a completion for another lcore
 *                                                      pingpong.c      B6, B7, B12, on pair.c, line.h, flood.c
 *                                                      many.c          B5: many connections on one CQ
 *
 * Threads: all of it the main one's, lcore 0; a benchmark that needs others starts lcores 1 and 2 itself.
 */

#include <stdbool.h>
#include <stdint.h>

struct bench {
	unsigned int rounds; /**< of each work; odd, so that there is a median */
	unsigned int scale;  /**< of what a round does, in percent */
	bool count;	     /**< windows for callgrind instead of rounds */
	const char *name;    /**< of the benchmark that runs */
};

/** One of those that take turns. */
struct bench_work {
	const char *name;
	void (*run)(void *arg, uint64_t nb_ops);
	void *arg;
	double ns; /**< out: per op, the median of its rounds */
};

/** A benchmark: measure, and print its row. */
struct bench_case {
	const char *name;
	void (*run)(struct bench *b);
};

/**
 * Time rounds of @p nb_ops ops of each work, in turns. When counting, run two windows of each instead, and leave ns 0;
 * returns whether there are times. @p nb_ops is a multiple of @p step, and so is what a round or a window does.
 */
bool bench_measure(struct bench *b, struct bench_work *works, unsigned int n, uint64_t nb_ops, uint64_t step);

/** The median of @p n values, which are sorted by it. */
double bench_median(double *values, unsigned int n);

/**
 * A row, to which bench_put() adds:
 *
 *      B1 raw=4.21 plx=7.30
 */
void bench_row(const struct bench *b);
void bench_put(const char *key, double value);
void bench_row_end(void);

/** raw, plx and ratio of the first two works, then each further one by its name and the ratio by which it misses raw. */
void bench_put_works(const struct bench_work *works, unsigned int n);

/** A benchmark that does not do its job says so and ends the program: a number would be a lie. */
void bench_broken(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/** @p ptr, or the end: a step of the set-up that failed, with rte_errno. */
void *bench_need(const void *ptr, const char *what);
/** The same for a step that returns 0 or -errno. */
void bench_ok(int err, const char *what);

void bench_b1(struct bench *b);
void bench_b2(struct bench *b);
void bench_b4(struct bench *b);
void bench_b5(struct bench *b);
void bench_b6(struct bench *b);
void bench_b7(struct bench *b);
void bench_b8(struct bench *b);
void bench_b12(struct bench *b);

#endif
