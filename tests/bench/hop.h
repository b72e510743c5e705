/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef HOP_H
#define HOP_H

/**
 * @file
 * B4: a completion that another lcore waits for, from the poll that found it to its callback there. One way.
 *
 *      poller, lcore 1                                   worker, lcore 2
 *      poll: n CQEs of the null device
 *      t0
 *      hand over: product: deliver_burst()     ------>   plx_poller_once(): the dispatcher's hook, callback: t1
 *                 twin: result into the context,
 *                       pointer into the ring  ------>   dequeue, callback through the context: t1
 *
 * The two clocks are one: an invariant TSC, read behind all loads before it. Latency is closed loop: the next burst begins
 * when the last callback of this one has run; and 1 us passes between post and poll, as with any device, so that what the
 * post has yet to write is not in the measure. For throughput the completions of 2048 ops wait in the CQ, and are polled and handed over in bursts of
 * 32 as fast as can be; get, prepare, post and put are outside. Neither side of either version waits for the other.
 */

#include <rte_atomic.h>

#include "bench_rig.h"
#include "plx_clock.h"
#include "plx_hist.h"

#define HOP_POLLER 1
#define HOP_WORKER 2
#define HOP_BURST  32
#define HOP_MANY   2048 /**< ops of a throughput round */

/** Now, when all that was loaded before has been. */
static inline uint64_t
hop_now(void)
{
	rte_rmb();
	return plx_clock_now(plx_clock_get());
}

/** What the callbacks tell the poller, each in its own line as long as there is but one. */
struct hop_seen {
	uint64_t nb __rte_cache_aligned; /**< callbacks so far; atomic, written behind the stamp */
	uint64_t stamps[HOP_BURST];	 /**< when; of callback number nb % HOP_BURST */
	bool quiet;			 /**< throughput: no stamps */
};

/** Worker: a callback runs. */
static inline void
hop_saw(struct hop_seen *seen)
{
	if (!seen->quiet)
		seen->stamps[seen->nb % HOP_BURST] = hop_now();
	__atomic_store_n(&seen->nb, seen->nb + 1, __ATOMIC_RELEASE);
}

/** Poller: wait until @p nb callbacks have run. */
static inline void
hop_wait(const struct hop_seen *seen, uint64_t nb)
{
	while (__atomic_load_n(&seen->nb, __ATOMIC_ACQUIRE) != nb)
		;
}

/** The two versions. */
struct hop_version {
	const char *name;
	void *arg;
	struct hop_seen *seen;
	/** Poller: have @p n ops completed in the CQ. */
	void (*post)(void *arg, unsigned int n);
	/** Poller: poll @p n of them, hand over; returns the time between the two, adds the cost of handing over. */
	uint64_t (*hand)(void *arg, unsigned int n, uint64_t *cost);
	/** Poller: the last ops posted have all been called back: they are free again. */
	void (*recycle)(void *arg);
	/** Worker: one turn. */
	void (*turn)(void *arg);
};

void hop_raw_make(struct hop_version *version);
void hop_raw_break(struct hop_version *version);
void hop_plx_make(struct hop_version *version);
void hop_plx_break(struct hop_version *version); /**< on the poller lcore */

#endif
