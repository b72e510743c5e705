/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_HIST_H
#define PLX_HIST_H

/**
 * @file
 * Latency histogram: log-linear buckets of 64-bit values in any unit.
 *
 *      value   0 1 2 ... 255 | 256 258 ... 510 | 512 516 ... 1020 | ...  one octave each
 *              exact           steps of 2        steps of 4
 *
 * Below 2^PLX_HIST_PRECISION each value has a bucket of its own; above, each octave has
 * 2^(PLX_HIST_PRECISION-1) buckets, so that a bucket is at most 1/128 (0.8 %) of its values wide.
 * Minimum, maximum, sum and count are kept exactly. There is no clock inside.
 *
 * Percentiles are nearest-rank: the smallest recorded value such that at least p % of the samples
 * are not above it, rank ceil(p/100 * n), at least 1, over the sum of the buckets that were read.
 * Histograms are merged; percentiles are never averaged.
 *
 * Threads: one writer. A reader on another thread may copy a histogram that is being written
 * (plx_hist_snapshot); what it reads is consistent with itself, and at most a few samples old.
 * All other functions belong to the writer, or to whoever holds a copy.
 *
 *      writer                                  snapshot
 *      -----------------------------------    -----------------------------------------
 *      seq + 1                                seq: even, else again
 *      min, max, then bucket (release)        count and sums (acquire each)
 *      count and sums (release each)          seq: the same, else again
 *      seq + 2 (release)                      buckets (acquire each), then min and max
 *
 * So the buckets copied hold every sample of the sums and perhaps a few more; a reader cannot stop
 * the writer. Each set is whole by itself and knows its number: percentiles are over the buckets
 * (`count`), mean and deviation over the sums (`count` - `unsummed`).
 *
 * @since 0.1
 */

#include <stdint.h>

#include "plx_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bits of a value that its bucket keeps. */
#define PLX_HIST_PRECISION 8
/** Buckets for all of 64 bits. */
#define PLX_HIST_BUCKETS ((64 - PLX_HIST_PRECISION + 2) << (PLX_HIST_PRECISION - 1))

/** About 60 KB; zero is not a valid state, see plx_hist_reset(). The first 64 bytes are all that
 * is written beside the bucket: a copy that starts a cache line pays one line for them. */
struct plx_hist {
	uint64_t seq;	    /**< odd while count and sums change */
	uint64_t count;	    /**< of all samples; equals the sum of the buckets when nobody writes */
	uint64_t min;	    /**< UINT64_MAX when empty */
	uint64_t max;	    /**< 0 when empty */
	uint64_t sum[2];    /**< exact; low half, high half */
	uint64_t sum_sq[2]; /**< of the squares; saturates; low half, high half */
	uint64_t bucket[PLX_HIST_BUCKETS];
	uint64_t unsummed; /**< of count: not in the sums. Only a snapshot of a busy one has any */
};

/** Make @p h empty. Its owner only, and while nobody else reads. */
void plx_hist_reset(struct plx_hist *h);

/** The bucket of @p value. */
PLX_INLINE unsigned int
plx_hist_index(uint64_t value)
{
	unsigned int octave;

	if (value < (1u << PLX_HIST_PRECISION))
		return (unsigned int)value;
	octave = 63u - (unsigned int)__builtin_clzll(value) - (PLX_HIST_PRECISION - 1);
	return (octave << (PLX_HIST_PRECISION - 1)) + (unsigned int)(value >> octave);
}

/** The smallest value of bucket @p index. */
uint64_t plx_hist_bucket_min(unsigned int index);
/** The largest value of bucket @p index. */
uint64_t plx_hist_bucket_max(unsigned int index);

/** Two halves, low first, as one number. */
PLX_INLINE plx_uint128_t
plx_hist_wide(const uint64_t half[2])
{
	return ((plx_uint128_t)half[1] << 64) | half[0];
}

/*
 * The three steps of the writer. Only it stores, so it may load plainly. The sums are stored with
 * release, so that a reader that sees one of them sees seq odd, or gone on; the bucket too, so that
 * who sees a sample there sees a min and max that cover it. Partners: sums_try_read() and
 * buckets_read() in hist.c.
 */
/** First step: say that a change is under way; @p min and @p max cover it. */
PLX_INLINE void
plx_hist_open(struct plx_hist *h, uint64_t min, uint64_t max)
{
	__atomic_store_n(&h->seq, h->seq + 1, __ATOMIC_RELAXED);
	if (min < h->min)
		__atomic_store_n(&h->min, min, __ATOMIC_RELAXED);
	if (max > h->max)
		__atomic_store_n(&h->max, max, __ATOMIC_RELAXED);
}

/** Second step, any number of times: @p n samples in bucket @p index. */
PLX_INLINE void
plx_hist_add(struct plx_hist *h, unsigned int index, uint64_t n)
{
	__atomic_store_n(&h->bucket[index], h->bucket[index] + n, __ATOMIC_RELEASE);
}

/** Last step: @p n samples in all, with their sums. */
PLX_INLINE void
plx_hist_close(struct plx_hist *h, uint64_t n, plx_uint128_t sum, plx_uint128_t sum_sq)
{
	plx_uint128_t all = plx_hist_wide(h->sum) + sum; /* 2^64 samples of 2^64 fit */
	plx_uint128_t all_sq;

	if (__builtin_add_overflow(plx_hist_wide(h->sum_sq), sum_sq, &all_sq))
		all_sq = ~(plx_uint128_t)0;
	__atomic_store_n(&h->count, h->count + n, __ATOMIC_RELEASE);
	__atomic_store_n(&h->sum[0], (uint64_t)all, __ATOMIC_RELEASE);
	__atomic_store_n(&h->sum[1], (uint64_t)(all >> 64), __ATOMIC_RELEASE);
	__atomic_store_n(&h->sum_sq[0], (uint64_t)all_sq, __ATOMIC_RELEASE);
	__atomic_store_n(&h->sum_sq[1], (uint64_t)(all_sq >> 64), __ATOMIC_RELEASE);
	__atomic_store_n(&h->seq, h->seq + 1, __ATOMIC_RELEASE);
}

/** Count @p value once. Writer only; on the warm path, hence inline. */
PLX_INLINE void
plx_hist_record(struct plx_hist *h, uint64_t value)
{
	plx_hist_open(h, value, value);
	plx_hist_add(h, plx_hist_index(value), 1);
	plx_hist_close(h, 1, value, (plx_uint128_t)value * value);
}

/** Count @p value @p n times. Writer only. */
void plx_hist_record_n(struct plx_hist *h, uint64_t value, uint64_t n);

/** Add the samples of @p from, which nobody writes, to @p into. Writer of @p into only. */
void plx_hist_merge(struct plx_hist *into, const struct plx_hist *from);

/**
 * Copy @p from, which its writer may be using, to @p into, which is the caller's. `count` is the
 * sum of the buckets that were copied, min and max lie in the lowest and highest of them. Any
 * thread; waits for a writer that was preempted in the middle of a record, so not for a polling
 * lcore.
 */
void plx_hist_snapshot(struct plx_hist *into, const struct plx_hist *from);

/**
 * The value at percentile @p percent, 0 to 100, by nearest rank: the largest value of the bucket
 * that holds the rank, cut to the true maximum. 0 when empty.
 *
 * 99.9 has no exact double: a rank that misses a whole number by no more than that rounding is
 * that number (99.9 % of 1000 samples is the 999th, not the 1000th).
 */
uint64_t plx_hist_percentile(const struct plx_hist *h, double percent);

/** Mean of the samples in the sums; 0 when there are none. */
double plx_hist_mean(const struct plx_hist *h);
/** Population standard deviation of the samples in the sums; 0 when there are none, NaN once the sum of squares
 * has saturated. */
double plx_hist_stdev(const struct plx_hist *h);

#ifdef __cplusplus
}
#endif

#endif
