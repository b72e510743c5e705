/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_hist.h"

#include "plx_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* 60 KB each: not on the stack of a test. */
static struct plx_hist hist, other;

static int
reset(void **state)
{
	plx_hist_reset(&hist);
	plx_hist_reset(&other);
	return 0;
}

static void
assert_near(double got, double want, double relative)
{
	double off = got > want ? got - want : want - got;

	if (off > relative * want) {
		print_error("got %.17g, want %.17g\n", got, want);
		fail();
	}
}

static void
empty_histogram_answers_zero(void **state)
{
	assert_int_equal(plx_hist_percentile(&hist, 50), 0);
	assert_true(plx_hist_mean(&hist) == 0);
	assert_true(plx_hist_stdev(&hist) == 0);
}

/* case 13.15 */
static void
p99_of_one_sample_is_that_sample(void **state)
{
	static const double percents[] = {0, 1, 50, 99, 99.99, 100};

	plx_hist_record(&hist, 500000000);
	for (size_t i = 0; i < NB_OF(percents); i++)
		assert_int_equal(plx_hist_percentile(&hist, percents[i]), 500000000);
}

/* case 13.15: p99 of 1..101 has rank ceil(99.99) = 100, p1 rank ceil(1.01) = 2 */
static void
rank_is_rounded_up(void **state)
{
	for (unsigned int v = 1; v <= 101; v++)
		plx_hist_record(&hist, v);
	assert_int_equal(plx_hist_percentile(&hist, 99), 100);
	assert_int_equal(plx_hist_percentile(&hist, 1), 2);
	assert_int_equal(plx_hist_percentile(&hist, 50), 51);
	assert_int_equal(plx_hist_percentile(&hist, 0), 1);
	assert_int_equal(plx_hist_percentile(&hist, 0.0001), 1);
	assert_int_equal(plx_hist_percentile(&hist, 100), 101);
}

/* Values below 256 are exact, so n samples 1..200 in equal parts show the rank itself. */
static void
rank_that_is_whole_in_decimal_is_not_rounded_up(void **state)
{
	static const struct {
		double percent;
		uint64_t below, n; /* `below` samples of 1, the others are 2 */
	} whole[] = {
		{99, 99, 100},
		{99.9, 999, 1000},
		{99.99, 9999, 10000},
		{99.9, 999000, 1000000},
		{99.999, 99999, 100000},
		{7, 7, 100},
		{0.1, 1, 1000},
		{58, 29, 50},
		{29, 29, 100},
		{99.9999, 999999, 1000000},
		{99.9, 999000000000, 1000000000000},
	};

	for (size_t i = 0; i < NB_OF(whole); i++) {
		plx_hist_reset(&hist);
		plx_hist_record_n(&hist, 1, whole[i].below);
		plx_hist_record_n(&hist, 2, whole[i].n - whole[i].below);
		assert_int_equal(plx_hist_percentile(&hist, whole[i].percent), 1);

		plx_hist_reset(&hist);
		plx_hist_record_n(&hist, 1, whole[i].below - 1);
		plx_hist_record_n(&hist, 2, whole[i].n - whole[i].below + 1);
		assert_int_equal(plx_hist_percentile(&hist, whole[i].percent), 2);
	}
}

/* case 13.15: no interpolation inside a bucket, nor its edge, when the truth is known */
static void
samples_in_one_bucket_stay_between_min_and_max(void **state)
{
	assert_int_equal(plx_hist_index(1000000), plx_hist_index(1000001));
	plx_hist_record_n(&hist, 1000000, 500);
	plx_hist_record_n(&hist, 1000001, 500);
	for (double p = 0; p <= 100; p += 0.5) {
		assert_in_range(plx_hist_percentile(&hist, p), 1000000, 1000001);
	}

	plx_hist_reset(&hist);
	plx_hist_record_n(&hist, 1000001, 1000);
	assert_int_equal(plx_hist_percentile(&hist, 1), 1000001);
	assert_int_equal(plx_hist_percentile(&hist, 99.99), 1000001);
}

static void
largest_samples_are_not_left_out(void **state)
{
	plx_hist_record_n(&hist, 10, 999);
	plx_hist_record(&hist, 3000000000u);
	assert_int_equal(hist.max, 3000000000u);
	assert_int_equal(plx_hist_percentile(&hist, 100), 3000000000u);
	assert_int_equal(plx_hist_percentile(&hist, 99.95), 3000000000u);
	assert_int_equal(plx_hist_percentile(&hist, 99.9), 10);

	plx_hist_record(&hist, UINT64_MAX);
	assert_int_equal(plx_hist_percentile(&hist, 100), UINT64_MAX);
}

static void
assert_bucket_holds(uint64_t value)
{
	unsigned int index = plx_hist_index(value);
	uint64_t low = plx_hist_bucket_min(index), high = plx_hist_bucket_max(index);

	assert_true(index < PLX_HIST_BUCKETS);
	assert_true(low <= value && value <= high);
	/* What a percentile may be too high by. */
	assert_true(high - value <= value / 128);
}

/* case 13.15 */
static void
bucket_error_is_below_one_part_in_128_in_each_octave(void **state)
{
	for (unsigned int v = 0; v < 4096; v++)
		assert_bucket_holds(v);
	for (unsigned int octave = 0; octave < 64; octave++) {
		uint64_t first = (uint64_t)1 << octave;

		assert_bucket_holds(first);
		assert_bucket_holds(first - 1);
		assert_bucket_holds(first + first / 2);
		assert_bucket_holds(first + first / 2 - 1);
	}
	assert_bucket_holds(UINT64_MAX);
	assert_int_equal(plx_hist_index(UINT64_MAX), PLX_HIST_BUCKETS - 1);
}

static void
buckets_follow_each_other_without_gap(void **state)
{
	assert_int_equal(plx_hist_bucket_min(0), 0);
	for (unsigned int i = 0; i + 1 < PLX_HIST_BUCKETS; i++) {
		assert_true(plx_hist_bucket_max(i) + 1 == plx_hist_bucket_min(i + 1));
		assert_int_equal(plx_hist_index(plx_hist_bucket_min(i)), i);
		assert_int_equal(plx_hist_index(plx_hist_bucket_max(i)), i);
	}
	assert_true(plx_hist_bucket_max(PLX_HIST_BUCKETS - 1) == UINT64_MAX);
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Against the definition, on values of all magnitudes. */
static void
percentiles_agree_with_sorted_samples(void **state)
{
	static uint64_t samples[9973];
	uint64_t random = 88172645463325252u;

	for (size_t i = 0; i < NB_OF(samples); i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		samples[i] = random >> (random % 61);
		plx_hist_record(&hist, samples[i]);
	}
	qsort(samples, NB_OF(samples), sizeof(samples[0]), by_value);

	for (unsigned int permille = 1; permille <= 1000; permille++) {
		uint64_t rank = (permille * NB_OF(samples) + 999) / 1000;
		uint64_t truth = samples[rank - 1];
		uint64_t got = plx_hist_percentile(&hist, permille / 10.0);

		assert_true(got >= truth && got - truth <= truth / 128);
	}
	assert_int_equal(hist.min, samples[0]);
	assert_int_equal(hist.max, samples[NB_OF(samples) - 1]);
}

/* case 13.8: 10^7 seconds at 3 GHz, 10^12 iterations */
static void
sums_are_exact_beyond_64_bits(void **state)
{
	plx_uint128_t sum = (plx_uint128_t)30000 * 1000000000000u;

	plx_hist_record_n(&hist, 30000, 1000000000000u);
	plx_hist_record(&hist, UINT64_MAX);
	plx_hist_record(&hist, UINT64_MAX);
	sum += 2 * (plx_uint128_t)UINT64_MAX;
	assert_true(plx_hist_wide(hist.sum) == sum);
	assert_int_equal(hist.count, 1000000000002u);
	assert_near(plx_hist_mean(&hist), (double)sum / 1000000000002.0, 1e-12);
}

static void
stdev_is_no_whole_number(void **state)
{
	for (unsigned int v = 1; v <= 4; v++)
		plx_hist_record(&hist, v);
	assert_near(plx_hist_mean(&hist), 2.5, 1e-15);
	assert_near(plx_hist_stdev(&hist), 1.118033988749895, 1e-14);
}

static void
stdev_of_equal_samples_is_zero(void **state)
{
	plx_hist_record_n(&hist, 123456789012345, 1000003);
	assert_true(plx_hist_stdev(&hist) == 0);
	assert_near(plx_hist_mean(&hist), 123456789012345, 1e-15);
}

/* sum_sq/n - mean^2 in floating point says 0, or the root of a negative number */
static void
small_stdev_beside_large_mean_survives(void **state)
{
	for (unsigned int v = 1; v <= 4; v++)
		plx_hist_record_n(&hist, 4000000000000000000u + v, 250000);
	assert_near(plx_hist_stdev(&hist), 1.118033988749895, 1e-12);
}

static void
saturated_sum_of_squares_is_told(void **state)
{
	plx_hist_record_n(&hist, UINT64_MAX, 2);
	assert_true(plx_hist_stdev(&hist) != plx_hist_stdev(&hist)); /* NaN */
	assert_true(plx_hist_wide(hist.sum) == 2 * (plx_uint128_t)UINT64_MAX);
	plx_hist_record(&hist, UINT64_MAX); /* and one at a time */
	assert_true(plx_hist_stdev(&hist) != plx_hist_stdev(&hist));
}

static void
recording_n_times_equals_n_records(void **state)
{
	for (unsigned int i = 0; i < 1000; i++)
		plx_hist_record(&hist, 777777);
	plx_hist_record_n(&other, 777777, 1000);
	other.seq = hist.seq;
	assert_memory_equal(&hist, &other, sizeof(hist));
}

static void
recording_zero_times_changes_nothing(void **state)
{
	plx_hist_record_n(&hist, 5, 0);
	assert_int_equal(hist.count, 0);
	assert_int_equal(hist.max, 0);
	assert_true(hist.min == UINT64_MAX);
}

static void
merged_equals_recorded_together(void **state)
{
	static struct plx_hist together;

	plx_hist_reset(&together);
	for (uint64_t v = 1; v < UINT64_MAX / 3 - 1; v = v * 3 + 1) {
		plx_hist_record(v % 2 ? &hist : &other, v);
		plx_hist_record(&together, v);
	}
	plx_hist_merge(&hist, &other);
	hist.seq = together.seq;
	assert_memory_equal(&hist, &together, sizeof(hist));
}

static void
merging_an_empty_one_changes_nothing(void **state)
{
	plx_hist_record(&hist, 42);
	plx_hist_merge(&hist, &other);
	assert_int_equal(hist.count, 1);
	assert_int_equal(hist.min, 42);
	assert_int_equal(hist.max, 42);
}

static void
snapshot_of_a_quiet_one_is_a_copy(void **state)
{
	for (uint64_t v = 1; v < UINT64_MAX / 7; v = v * 5 + 3)
		plx_hist_record(&hist, v);
	plx_hist_snapshot(&other, &hist);
	other.seq = hist.seq;
	assert_memory_equal(&other, &hist, sizeof(hist));

	plx_hist_reset(&hist);
	plx_hist_snapshot(&other, &hist);
	assert_int_equal(other.count, 0);
	assert_true(other.min == UINT64_MAX);
}

/* The writer's values rise, so that the extremes move all the time; every value is odd, and the sum
 * of the first n odd numbers is n^2: what the sums say can be checked against their count. */
struct writer {
	uint64_t nb_recorded;
	bool stop; /* atomic */
};

static void *
write_odd_numbers(void *arg)
{
	struct writer *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		plx_hist_record(&hist, 2 * w->nb_recorded++ + 1);
		/* A writer does other things too. One that does not is, where threads take turns (valgrind),
		 * always found in the middle of a record. */
		if (w->nb_recorded % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static uint64_t
sum_of_buckets(const struct plx_hist *h)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < PLX_HIST_BUCKETS; i++)
		sum += h->bucket[i];
	return sum;
}

/* What of @p h contradicts the rest, or NULL. No assertions: the writer runs. */
static const char *
contradiction(const struct plx_hist *h)
{
	uint64_t n = h->count - h->unsummed;
	double square = plx_hist_stdev(h) * plx_hist_stdev(h), truth = ((double)n * (double)n - 1) / 3;

	if (sum_of_buckets(h) != h->count || h->unsummed > h->count)
		return "count";
	if (plx_hist_wide(h->sum) != (plx_uint128_t)n * n || plx_hist_mean(h) != (double)n)
		return "sum";
	/* 1, 3, 5 ... 2n-1: deviation sqrt((n^2 - 1) / 3) */
	if (n > 1 && (square < truth * (1 - 1e-9) || square > truth * (1 + 1e-9)))
		return "sum of squares";
	if (h->count == 0)
		return NULL;
	if (plx_hist_percentile(h, 100) != h->max)
		return "max";
	if (plx_hist_index(plx_hist_percentile(h, 0)) != plx_hist_index(h->min) || (n > 0 && h->min != 1))
		return "min";
	return NULL;
}

/* case 13.15 */
static void
snapshot_during_recording_is_consistent_with_itself(void **state)
{
	unsigned long nb = plx_test_scale() / 10000;
	struct writer w = {0};
	const char *wrong = NULL;
	uint64_t last = 0, first = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, write_odd_numbers, &w), 0);
	for (unsigned long i = 0; (i < nb || last == first) && wrong == NULL; i++) {
		plx_hist_snapshot(&other, &hist);
		wrong = other.count < last ? "older than the one before" : contradiction(&other);
		last = other.count;
		if (i == 0)
			first = last;
		sched_yield(); /* the writer may need this CPU */
	}
	__atomic_store_n(&w.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	if (wrong != NULL)
		fail_msg("%s", wrong);

	plx_hist_snapshot(&other, &hist);
	assert_null(contradiction(&other));
	assert_int_equal(other.count, w.nb_recorded);
	assert_int_equal(other.unsummed, 0);
}

struct reader {
	struct plx_hist copy;
	bool ended; /* atomic */
};

static void *
read_once(void *arg)
{
	struct reader *r = arg;

	plx_hist_snapshot(&r->copy, &hist);
	__atomic_store_n(&r->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* A writer preempted between its stores of count and sum. The wait proves nothing when it passes, but
 * a snapshot that does not wait for the writer is over by then. */
static void
snapshot_waits_for_a_writer_in_the_middle_of_the_sums(void **state)
{
	static struct reader reader;
	pthread_t thread;
	bool early;

	plx_hist_reset(&reader.copy);
	reader.ended = false;
	plx_hist_record_n(&hist, 100, 9);
	plx_hist_open(&hist, 200, 200);
	plx_hist_add(&hist, plx_hist_index(200), 1);
	assert_int_equal(pthread_create(&thread, NULL, read_once, &reader), 0);
	usleep(20000);
	early = __atomic_load_n(&reader.ended, __ATOMIC_ACQUIRE);
	plx_hist_close(&hist, 1, 200, 200 * 200);
	pthread_join(thread, NULL);

	assert_false(early);
	assert_int_equal(reader.copy.count, 10);
	assert_int_equal(reader.copy.unsummed, 0);
	assert_near(plx_hist_mean(&reader.copy), 110, 1e-15);
}

/* What a reader sees in the middle of a record, step by step: the bucket has the sample, the sums have
 * not. */
static void
snapshot_between_bucket_and_sums_counts_the_sample_as_unsummed(void **state)
{
	plx_hist_record_n(&hist, 100, 9);
	plx_hist_add(&hist, plx_hist_index(200), 1);
	plx_hist_snapshot(&other, &hist);
	assert_int_equal(other.count, 10);
	assert_int_equal(other.unsummed, 1);
	assert_near(plx_hist_mean(&other), 100, 1e-15);
	assert_int_equal(plx_hist_percentile(&other, 100), 200);
	assert_int_equal(plx_hist_percentile(&other, 90), 100);

	/* Merged with another, the difference is kept. */
	plx_hist_reset(&hist);
	plx_hist_record(&hist, 300);
	plx_hist_merge(&hist, &other);
	assert_int_equal(hist.count, 11);
	assert_near(plx_hist_mean(&hist), 120, 1e-15);
}

/* The other way round: min and max have come, their bucket had been read before. */
static void
snapshot_extremes_lie_in_the_buckets_that_were_read(void **state)
{
	plx_hist_record(&hist, 1000);
	plx_hist_record(&hist, 5000);
	hist.min = 7;
	hist.max = 99999;
	plx_hist_snapshot(&other, &hist);
	assert_int_equal(plx_hist_index(other.min), plx_hist_index(1000));
	assert_int_equal(plx_hist_index(other.max), plx_hist_index(5000));
	assert_int_equal(plx_hist_percentile(&other, 100), other.max);
}

#define TEST(name) cmocka_unit_test_setup(name, reset)
static const struct CMUnitTest tests[] = {
	TEST(empty_histogram_answers_zero),
	TEST(p99_of_one_sample_is_that_sample),
	TEST(rank_is_rounded_up),
	TEST(rank_that_is_whole_in_decimal_is_not_rounded_up),
	TEST(samples_in_one_bucket_stay_between_min_and_max),
	TEST(largest_samples_are_not_left_out),
	TEST(bucket_error_is_below_one_part_in_128_in_each_octave),
	TEST(buckets_follow_each_other_without_gap),
	TEST(percentiles_agree_with_sorted_samples),
	TEST(sums_are_exact_beyond_64_bits),
	TEST(stdev_is_no_whole_number),
	TEST(stdev_of_equal_samples_is_zero),
	TEST(small_stdev_beside_large_mean_survives),
	TEST(saturated_sum_of_squares_is_told),
	TEST(recording_n_times_equals_n_records),
	TEST(recording_zero_times_changes_nothing),
	TEST(merged_equals_recorded_together),
	TEST(merging_an_empty_one_changes_nothing),
	TEST(snapshot_of_a_quiet_one_is_a_copy),
	TEST(snapshot_during_recording_is_consistent_with_itself),
	TEST(snapshot_waits_for_a_writer_in_the_middle_of_the_sums),
	TEST(snapshot_between_bucket_and_sums_counts_the_sample_as_unsummed),
	TEST(snapshot_extremes_lie_in_the_buckets_that_were_read),
};

PLX_TEST_SUITE(hist, hist, tests);
