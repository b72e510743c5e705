/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_hist.h"

#include <sched.h>

#define WIDE_MAX (~(plx_uint128_t)0)

/* Buckets of one octave, and values below which each has a bucket of its own. */
#define PER_OCTAVE (1u << (PLX_HIST_PRECISION - 1))
#define NB_EXACT (1u << PLX_HIST_PRECISION)

/* After so many failed tries the writer is not recording, it lies preempted in the middle. */
#define TRIES_PER_YIELD 64

static plx_uint128_t
mul_saturating(plx_uint128_t a, uint64_t b)
{
	return b != 0 && a > WIDE_MAX / b ? WIDE_MAX : a * b;
}

uint64_t
plx_hist_bucket_min(unsigned int index)
{
	unsigned int octave;

	if (index < NB_EXACT)
		return index;
	octave = index / PER_OCTAVE - 1;
	return (uint64_t)(index - octave * PER_OCTAVE) << octave;
}

uint64_t
plx_hist_bucket_max(unsigned int index)
{
	return plx_hist_bucket_min(index + 1) - 1; /* of the last one 2^64 - 1: 2^64 wraps to 0 */
}

void
plx_hist_reset(struct plx_hist *h)
{
	*h = (struct plx_hist){.min = UINT64_MAX};
}

void
plx_hist_record_n(struct plx_hist *h, uint64_t value, uint64_t n)
{
	if (n == 0)
		return; /* min and max are of recorded values */
	plx_hist_open(h, value, value);
	plx_hist_add(h, plx_hist_index(value), n);
	plx_hist_close(
		h, n, (plx_uint128_t)value * n, mul_saturating((plx_uint128_t)value * value, n));
}

void
plx_hist_merge(struct plx_hist *into, const struct plx_hist *from)
{
	plx_hist_open(into, from->min, from->max);
	for (unsigned int i = 0; i < PLX_HIST_BUCKETS; i++)
		if (from->bucket[i] != 0)
			plx_hist_add(into, i, from->bucket[i]);
	__atomic_store_n(&into->unsummed, into->unsummed + from->unsummed, __ATOMIC_RELAXED);
	plx_hist_close(into, from->count, plx_hist_wide(from->sum), plx_hist_wide(from->sum_sq));
}

static void
half_read(uint64_t into[2], const uint64_t from[2])
{
	into[0] = __atomic_load_n(&from[0], __ATOMIC_ACQUIRE);
	into[1] = __atomic_load_n(&from[1], __ATOMIC_ACQUIRE);
}

/* Count and sums of one moment. Returns whether the writer left them alone meanwhile. */
static bool
sums_try_read(struct plx_hist *into, const struct plx_hist *from)
{
	uint64_t seq = __atomic_load_n(&from->seq, __ATOMIC_ACQUIRE);

	/* Acquire each, so that the second look at seq comes after: a value of a later record
	 * brings that record's odd seq with it (release in plx_hist_close()). */
	into->count = __atomic_load_n(&from->count, __ATOMIC_ACQUIRE);
	half_read(into->sum, from->sum);
	half_read(into->sum_sq, from->sum_sq);
	return (seq & 1) == 0 && __atomic_load_n(&from->seq, __ATOMIC_RELAXED) == seq;
}

static void
sums_read(struct plx_hist *into, const struct plx_hist *from)
{
	unsigned int tries = 0;

	while (!sums_try_read(into, from))
		if (++tries % TRIES_PER_YIELD == 0)
			sched_yield();
}

static uint64_t
buckets_read(struct plx_hist *into, const struct plx_hist *from)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < PLX_HIST_BUCKETS; i++) {
		/* Acquire: min and max, read later, cover what is in here. */
		into->bucket[i] = __atomic_load_n(&from->bucket[i], __ATOMIC_ACQUIRE);
		total += into->bucket[i];
	}
	return total;
}

/* Min and max may belong to samples that came after their bucket had been read: then what is known
 * is the outermost bucket that was. */
static void
extremes_fit_buckets(struct plx_hist *h)
{
	unsigned int low = 0, high = PLX_HIST_BUCKETS - 1;

	while (h->bucket[low] == 0)
		low++;
	while (h->bucket[high] == 0)
		high--;
	if (plx_hist_index(h->min) != low)
		h->min = plx_hist_bucket_min(low);
	if (plx_hist_index(h->max) != high)
		h->max = plx_hist_bucket_max(high);
}

void
plx_hist_snapshot(struct plx_hist *into, const struct plx_hist *from)
{
	uint64_t total;

	into->seq = 0;
	sums_read(into, from);
	total = buckets_read(into, from);
	if (total == 0) {
		plx_hist_reset(into);
		return;
	}
	into->min = __atomic_load_n(&from->min, __ATOMIC_RELAXED);
	into->max = __atomic_load_n(&from->max, __ATOMIC_RELAXED);
	extremes_fit_buckets(into);
	/* Buckets are stored before the sums and were read after them: never fewer. */
	into->unsummed = total - into->count + __atomic_load_n(&from->unsummed, __ATOMIC_RELAXED);
	into->count = total;
}

/* ceil(percent/100 * total), from 1 to total. */
static uint64_t
rank_of(double percent, uint64_t total)
{
	long double exact;
	uint64_t rank;

	if (!(percent > 0)) /* NaN too */
		return 1;
	if (percent >= 100)
		return total;
	/* The caller's constant may be off by half an ulp of a double, and so may each step here
	 * where long double is no more than a double (valgrind's is not). */
	exact = (long double)percent * (long double)total / 100;
	exact -= exact * 0x1p-50L;
	rank = (uint64_t)exact;
	return (long double)rank < exact ? rank + 1 : rank;
}

static uint64_t
buckets_total(const struct plx_hist *h)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < PLX_HIST_BUCKETS; i++)
		total += h->bucket[i];
	return total;
}

uint64_t
plx_hist_percentile(const struct plx_hist *h, double percent)
{
	uint64_t total = buckets_total(h), rank, seen = 0, value;
	unsigned int i = 0;

	if (total == 0)
		return 0;
	rank = rank_of(percent, total);
	while ((seen += h->bucket[i]) < rank)
		i++;
	value = plx_hist_bucket_max(i);
	return value > h->max ? h->max : value;
}

static uint64_t
nb_summed(const struct plx_hist *h)
{
	return h->count - h->unsummed;
}

double
plx_hist_mean(const struct plx_hist *h)
{
	uint64_t n = nb_summed(h);

	return n == 0 ? 0 : (double)((long double)plx_hist_wide(h->sum) / (long double)n);
}

/* Newton from above, until it stops falling. Not sqrtl(), which would be the only reason for every
 * program to link libm. */
static long double
root_of(long double x)
{
	long double root = x > 1 ? x : 1, next;

	while ((next = (root + x / root) / 2) < root)
		root = next;
	return root;
}

double
plx_hist_stdev(const struct plx_hist *h)
{
	plx_uint128_t sum = plx_hist_wide(h->sum), around;
	uint64_t n = nb_summed(h), mean, rest;
	long double off, var;

	if (n == 0)
		return 0;
	if (plx_hist_wide(h->sum_sq) == WIDE_MAX)
		return __builtin_nan("");

	/*
	 * sum_sq/n - mean^2 in floating point loses everything when the deviation is small beside
	 * the mean. So first, in integers, the squares around the mean rounded down:
	 *     sum((x - m)^2) = sum_sq - 2*m*sum + n*m^2
	 * Steps may wrap, but the result is below 2^128 and so is right.
	 */
	mean = (uint64_t)(sum / n);
	rest = (uint64_t)(sum % n);
	around = plx_hist_wide(h->sum_sq) - 2 * (plx_uint128_t)mean * sum +
		 (plx_uint128_t)n * mean * mean;

	off = (long double)rest / (long double)n; /* of the true mean from the rounded one, < 1 */
	var = (long double)around / (long double)n - off * off;
	return var > 0 ? (double)root_of(var) : 0;
}
