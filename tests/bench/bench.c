/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "bench.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <rte_errno.h>

#define WINDOW_STEPS 64 /* of a short window; a long one has five times as many */
#define QUICK_STEPS  4	/* of one that only shows that it runs */

void
bench_broken(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("plx-bench: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1); /* loops may be running */
}

void *
bench_need(const void *ptr, const char *what)
{
	if (ptr == NULL)
		bench_broken("%s: %s", what, rte_strerror(rte_errno));
	return (void *)(uintptr_t)ptr;
}

void
bench_ok(int err, const char *what)
{
	if (err < 0)
		bench_broken("%s: %s", what, rte_strerror(-err));
}

/* ---- rounds -------------------------------------------------------------------------------- */

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
bench_median(double *values, unsigned int n)
{
	qsort(values, n, sizeof(values[0]), compare);
	return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/** What this thread has used: a round in which it was preempted is not longer for that. */
static double
used_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double
round_ns(const struct bench_work *work, uint64_t nb_ops)
{
	double start = used_ns();

	work->run(work->arg, nb_ops);
	return (used_ns() - start) / (double)nb_ops;
}

static void
take_turns(const struct bench *b, struct bench_work *works, unsigned int n, uint64_t nb_ops)
{
	double *ns = bench_need(calloc((size_t)n * b->rounds, sizeof(*ns)), "rounds");

	for (unsigned int i = 0; i < n; i++)
		works[i].run(works[i].arg, nb_ops); /* warm-up */
	for (unsigned int round = 0; round < b->rounds; round++)
		for (unsigned int i = 0; i < n; i++)
			ns[i * b->rounds + round] = round_ns(&works[i], nb_ops);
	for (unsigned int i = 0; i < n; i++)
		works[i].ns = bench_median(&ns[i * b->rounds], b->rounds);
	free(ns);
}

/* ---- windows ------------------------------------------------------------------------------- */

/* One function under one name: callgrind begins and ends with it. */
#ifdef __clang__
#define NEVER_COPIED __attribute__((noinline))
#else
#define NEVER_COPIED __attribute__((noinline, noclone))
#endif

/**
 * Callgrind sets its counters to zero when this begins and writes them out when it ends (devtools/bench.sh says so to it
 * by this name), so it must stay a function.
 */
NEVER_COPIED void bench_window(void (*run)(void *, uint64_t), void *arg, uint64_t nb_ops);

NEVER_COPIED void
bench_window(void (*run)(void *, uint64_t), void *arg, uint64_t nb_ops)
{
	run(arg, nb_ops);
	__asm__ volatile("" ::: "memory"); /* not a tail call */
}

/** The lines say which windows there were, in their order: benchmark, work, ops. */
static void
count(const struct bench *b, const struct bench_work *works, unsigned int n, uint64_t step)
{
	const uint64_t few = (b->scale < 100 ? QUICK_STEPS : WINDOW_STEPS) * step;

	for (unsigned int i = 0; i < n; i++) {
		works[i].run(works[i].arg, few); /* warm-up: lazy binding, empty caches of the pool */
		for (uint64_t nb = few; nb <= 5 * few; nb += 4 * few) {
			bench_window(works[i].run, works[i].arg, nb);
			printf("window %s %s %" PRIu64 "\n", b->name, works[i].name, nb);
		}
	}
}

bool
bench_measure(struct bench *b, struct bench_work *works, unsigned int n, uint64_t nb_ops, uint64_t step)
{
	nb_ops = nb_ops * b->scale / 100;
	nb_ops = nb_ops < step ? step : nb_ops - nb_ops % step;
	if (b->count)
		count(b, works, n, step);
	else
		take_turns(b, works, n, nb_ops);
	return !b->count;
}

/* ---- rows ---------------------------------------------------------------------------------- */

void
bench_row(const struct bench *b)
{
	printf("%s", b->name);
}

void
bench_put(const char *key, double value)
{
	printf(" %s=%.*f", key, value < 10 ? 3 : value < 1000 ? 2 : 0, value);
}

void
bench_row_end(void)
{
	putchar('\n');
	fflush(stdout);
}

void
bench_put_works(const struct bench_work *works, unsigned int n)
{
	char key[64];

	bench_put("raw", works[0].ns);
	bench_put("plx", works[1].ns);
	bench_put("ratio", works[1].ns / works[0].ns);
	for (unsigned int i = 2; i < n; i++) {
		bench_put(works[i].name, works[i].ns);
		snprintf(key, sizeof(key), "ratio_%s", works[i].name);
		bench_put(key, works[i].ns / works[0].ns);
	}
}
