/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Main's part of a run: command, sleep, look. Its lcore floats and must not poll: it may share a CPU with
 * those that do.
 *
 *      WARM ---> MEASURE ---> STOP ---> (drained)
 *                 progress
 */

#include "perf.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "plx_fault.h"

#define WARM_UP_NS UINT64_C(200000000) /* by time; by count it is one window */
#define PROGRESS_NS UINT64_C(1000000000)
#define STALL_NS UINT64_C(10000000000) /* without any completion: more than all retries of a device take */
#define LOOK_MS 5

/** How far the home lcore was when main looked last. */
struct watch {
	uint64_t completed;
	uint64_t since; /**< monotonic ns */
};

volatile sig_atomic_t perf_interrupted;

static uint64_t
now_ns(void)
{
	return plx_clock_monotonic_ns();
}

static void
nap(void)
{
	struct timespec ts = {.tv_nsec = LOOK_MS * 1000000};

	nanosleep(&ts, NULL);
}

/** 0: go on. -errno: the run is over before its time, perf->error says why. */
static int
look(struct perf *perf, struct watch *watch)
{
	uint64_t completed = __atomic_load_n(&perf->loop->nb_completed, __ATOMIC_RELAXED), now = now_ns();

	/* Acquire pairs with the release in perf_loop_fail(): the text is whole. */
	if (__atomic_load_n(&perf->loop->failed, __ATOMIC_ACQUIRE))
		return app_fail(&perf->error, -EIO, "%s", perf->loop_error.text);
	if (completed != watch->completed)
		*watch = (struct watch){.completed = completed, .since = now};
	else if (now - watch->since > STALL_NS)
		return app_fail(&perf->error, -ETIMEDOUT,
			"no completion for %u s with %u connections open, %" PRIu64 " ops completed so far",
			(unsigned int)(STALL_NS / 1000000000),
			__atomic_load_n(&perf->loop->nb_open, __ATOMIC_RELAXED), completed);
	return 0;
}

/** Until no pair has anything to issue or to wait for. */
static bool
all_idle(const struct perf *perf)
{
	return __atomic_load_n(&perf->loop->nb_open, __ATOMIC_ACQUIRE) == 0;
}

bool
perf_held_back(const struct perf *perf)
{
	struct plx_fault_stats stats = {0};

	return perf->fault != NULL && plx_fault_stats(perf->fault, &stats) == 0 && stats.waiting != 0;
}

/** Every op is over, or lost. What a script lets go may still be on its way home: look twice. */
static bool
settled(const struct perf *perf)
{
	if (!all_idle(perf) || perf_held_back(perf))
		return false;
	if (perf->fault == NULL)
		return true;
	nap();
	return all_idle(perf) && !perf_held_back(perf);
}

/** By count, when all is settled; by time, at @p until. */
static bool
over(const struct perf *perf, uint64_t until)
{
	return perf->opts.iterations != 0 ? settled(perf) : now_ns() >= until;
}

static int
warm_up(struct perf *perf, struct watch *watch)
{
	uint64_t until = now_ns() + WARM_UP_NS;
	int err = 0;

	perf_command(perf, PERF_WARM);
	while (err == 0 && !perf_interrupted && !over(perf, until)) {
		nap();
		err = look(perf, watch);
	}
	return err;
}

/** One line about a second, from a copy of the histogram that is being written. */
static void
progress(struct perf *perf, uint64_t *last_count, uint64_t *last_ns)
{
	double ns = 1e9 / (double)perf->loop->clock->hz;
	uint64_t now = now_ns();

	if (now - *last_ns < PROGRESS_NS)
		return;
	plx_hist_snapshot(perf->snapshot, &perf->loop->hist);
	fprintf(stderr, "%12" PRIu64 " ops  %11.0f op/s  so far p50 %.2f us, p99 %.2f us\n",
		perf->snapshot->count,
		(double)(perf->snapshot->count - *last_count) * 1e9 / (double)(now - *last_ns),
		(double)plx_hist_percentile(perf->snapshot, 50) * ns / 1e3,
		(double)plx_hist_percentile(perf->snapshot, 99) * ns / 1e3);
	*last_count = perf->snapshot->count;
	*last_ns = now;
}

static int
measure(struct perf *perf, struct watch *watch)
{
	uint64_t last_count = 0, last_ns, until;
	int err = 0;

	perf_command(perf, PERF_MEASURE);
	last_ns = now_ns();
	/* The home lcore ends it to the turn; this is when we may stop looking. */
	until = last_ns + (uint64_t)(perf->opts.seconds * 1e9);
	while (err == 0 && !perf_interrupted && !over(perf, until)) {
		nap();
		progress(perf, &last_count, &last_ns);
		err = look(perf, watch);
	}
	return err;
}

/** Nothing new is issued; wait for what is in flight, and for what a script holds back. */
static int
drain(struct perf *perf, struct watch *watch)
{
	int err = 0;

	perf_command(perf, PERF_STOP);
	while (err == 0 && !settled(perf)) {
		nap();
		err = look(perf, watch);
	}
	return err;
}

int
perf_run(struct perf *perf)
{
	struct watch watch = {.since = now_ns()};
	int err = perf_interrupted ? 0 : warm_up(perf, &watch);

	if (err == 0 && !perf_interrupted)
		err = measure(perf, &watch);
	if (err == 0)
		err = drain(perf, &watch);
	else
		perf_command(perf, PERF_STOP);
	return err;
}
