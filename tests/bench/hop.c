/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * B4: rounds of the two versions of a hand-over, in turns.
 */

#include "hop.h"

#include <stdio.h>

#include <rte_pause.h>

#include "bench.h"
#include "bench_lcores.h"
#include "syscalls.h"

#define NB_VERSIONS 2
#define LATENCIES   256 /* bursts of a latency round */

struct hop {
	struct bench *b;
	struct hop_version versions[NB_VERSIONS];
	struct plx_hist *hists[NB_VERSIONS][2]; /**< of bursts of 1 and of 32, ticks */
	double *rates[NB_VERSIONS];		/**< ns per op, of each round */
	double *costs[NB_VERSIONS];		/**< the poller's, ns per op */
	uint64_t nb_watched;
	struct hop_version *turn; /**< atomic: whose turns the worker takes; NULL: it ends */
	bool watch;		  /**< atomic: the worker looks for system calls */
};

/* ---- worker -------------------------------------------------------------------------------- */

static int
worker(void *arg)
{
	struct hop *hop = arg;
	struct hop_version *version;

	while ((version = __atomic_load_n(&hop->turn, __ATOMIC_ACQUIRE)) != NULL) {
		bool watch = __atomic_load_n(&hop->watch, __ATOMIC_RELAXED);

		if (watch)
			syscalls_watch();
		version->turn(version->arg);
		if (watch)
			syscalls_forget();
	}
	return 0;
}

/* ---- poller -------------------------------------------------------------------------------- */

/** As long as a quick device takes at least. */
static void
hop_pause(void)
{
	const struct plx_clock *clock = plx_clock_get();
	uint64_t end = plx_clock_now(clock) + clock->hz / 1000000;

	while (plx_clock_now(clock) < end)
		;
}

static void
latency_round(struct hop_version *version, unsigned int burst, struct plx_hist *hist)
{
	struct hop_seen *seen = version->seen;

	for (unsigned int i = 0; i < LATENCIES / burst; i++) {
		uint64_t first = seen->nb, t0;

		version->post(version->arg, burst);
		hop_pause();
		t0 = version->hand(version->arg, burst, NULL);
		hop_wait(seen, first + burst);
		for (unsigned int k = 0; k < burst && hist != NULL; k++)
			plx_hist_record(hist, seen->stamps[(first + k) % HOP_BURST] - t0);
		version->recycle(version->arg);
	}
}

/** ns per op of the whole, and *cost: what the poller alone pays for handing over. */
static double
rate_round(struct hop_version *version, double *cost)
{
	const struct plx_clock *clock = plx_clock_get();
	uint64_t first = version->seen->nb, ticks = 0, begin, end;

	version->post(version->arg, HOP_MANY);
	version->seen->quiet = true;
	begin = plx_clock_now(clock);
	for (unsigned int i = 0; i < HOP_MANY; i += HOP_BURST)
		version->hand(version->arg, HOP_BURST, &ticks);
	hop_wait(version->seen, first + HOP_MANY);
	end = plx_clock_now(clock);
	version->seen->quiet = false;
	version->recycle(version->arg);
	*cost = (double)ticks * 1e9 / (double)clock->hz / HOP_MANY;
	return (double)(end - begin) * 1e9 / (double)clock->hz / HOP_MANY;
}

static void
round_of(struct hop *hop, unsigned int v, unsigned int round)
{
	struct hop_version *version = &hop->versions[v];

	__atomic_store_n(&hop->turn, version, __ATOMIC_RELEASE);
	latency_round(version, 1, round == 0 ? NULL : hop->hists[v][0]); /* round 0 is the warm-up */
	latency_round(version, HOP_BURST, round == 0 ? NULL : hop->hists[v][1]);
	hop->rates[v][round] = rate_round(version, &hop->costs[v][round]);
}

/** Both lcores' hand-overs, with every system call seen. */
static void
watch_round(struct hop *hop)
{
	struct hop_version *version = &hop->versions[1];

	__atomic_store_n(&hop->turn, version, __ATOMIC_RELEASE);
	__atomic_store_n(&hop->watch, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < LATENCIES; i++) {
		uint64_t first = version->seen->nb;

		if (!syscalls_watch())
			bench_broken("this kernel cannot tell of system calls (syscall user dispatch, Linux 5.11)");
		version->post(version->arg, HOP_BURST);
		version->hand(version->arg, HOP_BURST, NULL);
		hop_wait(version->seen, first + HOP_BURST);
		version->recycle(version->arg);
		syscalls_forget();
		hop->nb_watched += HOP_BURST;
	}
	__atomic_store_n(&hop->watch, false, __ATOMIC_RELAXED);
}

static int
poller(void *arg)
{
	struct hop *hop = arg;

	for (unsigned int round = 0; round <= hop->b->rounds; round++)
		for (unsigned int v = 0; v < NB_VERSIONS; v++)
			round_of(hop, v, round);
	watch_round(hop);
	__atomic_store_n(&hop->turn, NULL, __ATOMIC_RELEASE);
	hop_plx_break(&hop->versions[1]);
	return 0;
}

/* ---- the row ------------------------------------------------------------------------------- */

static void
put(struct hop *hop, unsigned int which, const char *suffix)
{
	const char *names[NB_VERSIONS] = {"raw", "plx"};
	static const double percents[] = {50, 99, 99.9};
	static const char *const texts[] = {"p50", "p99", "p99_9"};
	char key[64];

	for (unsigned int i = 0; i < RTE_DIM(percents); i++) {
		double ns[NB_VERSIONS];

		for (unsigned int v = 0; v < NB_VERSIONS; v++) {
			ns[v] = bench_percentile_ns(hop->hists[v][which], percents[i]);
			snprintf(key, sizeof(key), "%s_%s%s", names[v], texts[i], suffix);
			bench_put(key, ns[v]);
		}
		snprintf(key, sizeof(key), "ratio_%s%s", texts[i], suffix);
		bench_put(key, ns[1] / ns[0]);
	}
	snprintf(key, sizeof(key), "samples%s", suffix);
	bench_put(key, (double)hop->hists[0][which]->count);
}

static void
row(struct hop *hop)
{
	unsigned int rounds = hop->b->rounds;
	double rates[NB_VERSIONS], costs[NB_VERSIONS];

	for (unsigned int v = 0; v < NB_VERSIONS; v++) {
		rates[v] = 1e3 / bench_median(hop->rates[v] + 1, rounds);
		costs[v] = bench_median(hop->costs[v] + 1, rounds);
	}
	bench_row(hop->b);
	bench_put("raw", bench_percentile_ns(hop->hists[0][0], 50));
	bench_put("plx", bench_percentile_ns(hop->hists[1][0], 50));
	bench_put("ratio", bench_percentile_ns(hop->hists[1][0], 50) / bench_percentile_ns(hop->hists[0][0], 50));
	put(hop, 0, "");
	put(hop, 1, "_32");
	bench_put("raw_mops", rates[0]);
	bench_put("plx_mops", rates[1]);
	bench_put("rate", rates[1] / rates[0]);
	bench_put("raw_enqueue", costs[0]);
	bench_put("plx_deliver", costs[1]);
	bench_put("ratio_deliver", costs[1] / costs[0]);
	bench_put("syscalls", (double)syscalls_seen());
	bench_put("watched", (double)hop->nb_watched);
	bench_row_end();
}

void
bench_b4(struct bench *b)
{
	struct hop hop = {.b = b};

	if (b->count)
		return; /* what two lcores do to each other is no count of instructions */
	hop_raw_make(&hop.versions[0]);
	hop_plx_make(&hop.versions[1]);
	for (unsigned int v = 0; v < NB_VERSIONS; v++) {
		hop.hists[v][0] = bench_hist();
		hop.hists[v][1] = bench_hist();
		hop.rates[v] = bench_zalloc((b->rounds + 1) * sizeof(double));
		hop.costs[v] = bench_zalloc((b->rounds + 1) * sizeof(double));
	}
	hop.turn = &hop.versions[0];
	bench_run_lcores(poller, worker, &hop);
	row(&hop);
	hop_raw_break(&hop.versions[0]);
	for (unsigned int v = 0; v < NB_VERSIONS; v++) {
		free(hop.hists[v][0]);
		free(hop.hists[v][1]);
		free(hop.rates[v]);
		free(hop.costs[v]);
	}
}
