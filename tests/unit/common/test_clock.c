/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_clock.h"

#include "plx_test.h"

#define WINDOW_NS 50000000u

/* A machine with a TSC of a rate that may change under way; each reading takes a while. */
struct machine {
	uint64_t ns;	  /* since its start */
	double hz;	  /* of the TSC, now */
	double drift;	  /* hz per second and per hz */
	double ticks;	  /* of the TSC */
	uint64_t step_ns; /* what one reading takes */
	unsigned int random;
	unsigned int stall_one_in; /* so many readings is cut by the scheduler; 0: none */
};

static void
machine_run(struct machine *m)
{
	uint64_t step = m->step_ns;

	m->random = m->random * 1103515245 + 12345;
	if (m->stall_one_in != 0 && (m->random >> 16) % m->stall_one_in == 0)
		step = 4000000; /* one slice of another thread */
	m->ns += step;
	m->ticks += m->hz * (double)step / 1e9;
	m->hz += m->hz * m->drift * (double)step / 1e9;
}

static uint64_t
machine_tsc(void *arg)
{
	struct machine *m = arg;

	machine_run(m);
	return (uint64_t)m->ticks;
}

static uint64_t
machine_ns(void *arg)
{
	struct machine *m = arg;

	machine_run(m);
	return m->ns;
}

static struct plx_clock
calibrated(struct machine *m, bool invariant)
{
	struct plx_clock_source src = {
		.tsc = machine_tsc,
		.monotonic_ns = machine_ns,
		.invariant = invariant,
		.arg = m,
	};

	return plx_clock_calibrate(&src, WINDOW_NS);
}

/* Within 0.1 %, which is what the clock promises. */
static void
assert_rate(uint64_t hz, double want)
{
	assert_true((double)hz > want * 0.999 && (double)hz < want * 1.001);
}

static void
assert_fell_back(const struct plx_clock *clock)
{
	assert_false(clock->tsc);
	assert_int_equal(clock->hz, 1000000000);
	assert_non_null(clock->why_not);
}

/* case 13.7: what counts is what the TSC does, not what the CPU's model says (3397 MHz there) */
static void
rate_is_measured(void **state)
{
	struct machine m = {.hz = 2246e6, .step_ns = 40, .ticks = 1e15};
	struct plx_clock clock = calibrated(&m, true);

	assert_true(clock.tsc);
	assert_null(clock.why_not);
	assert_rate(clock.hz, 2246e6);
}

/* case 13.7: a VM whose TSC is scaled to another machine's rate, a rate no CPU is sold with */
static void
scaled_tsc_of_a_vm_is_measured(void **state)
{
	struct machine m = {.hz = 987654321, .step_ns = 1500 /* a trap per reading */};
	struct plx_clock clock = calibrated(&m, true);

	assert_true(clock.tsc);
	assert_rate(clock.hz, 987654321);
}

/* case 13.7 */
static void
tsc_that_is_not_invariant_is_not_used(void **state)
{
	struct machine m = {.hz = 2246e6, .step_ns = 40};
	struct plx_clock clock = calibrated(&m, false);

	assert_fell_back(&clock);
}

/* case 13.7: 10 % a second, 0.5 % from window to window */
static void
tsc_that_drifts_is_not_used(void **state)
{
	struct machine m = {.hz = 2246e6, .step_ns = 40, .drift = 0.1};
	struct plx_clock clock = calibrated(&m, true);

	assert_fell_back(&clock);
}

static void
drift_below_the_tolerance_is_accepted(void **state)
{
	struct machine m = {.hz = 2246e6, .step_ns = 40, .drift = 0.005};
	struct plx_clock clock = calibrated(&m, true);

	assert_true(clock.tsc);
	assert_rate(clock.hz, 2246e6);
}

static void
tsc_that_stands_still_or_runs_backwards_is_not_used(void **state)
{
	struct machine still = {.hz = 0, .step_ns = 40}, back = {.hz = -1e9, .step_ns = 40, .ticks = 1e12};
	struct plx_clock a = calibrated(&still, true), b = calibrated(&back, true);

	assert_fell_back(&a);
	assert_fell_back(&b);
}

/* On a busy machine some readings are milliseconds apart; 4 ms of 50 would be 8 %. */
static void
preempted_readings_do_not_spoil_the_rate(void **state)
{
	for (unsigned int seed = 0; seed < 20; seed++) {
		struct machine m = {.hz = 2246e6, .step_ns = 40, .stall_one_in = 6, .random = seed};
		struct plx_clock clock = calibrated(&m, true);

		assert_true(clock.tsc);
		assert_rate(clock.hz, 2246e6);
	}
}

/* Both clocks, with the smallest distance of many tries. */
static void
read_both(const struct plx_clock *clock, uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		uint64_t before = plx_clock_monotonic_ns();
		uint64_t now = plx_clock_now(clock);
		uint64_t after = plx_clock_monotonic_ns();

		if (after - before < best) {
			best = after - before;
			*ticks = now;
			*ns = before + best / 2;
		}
	}
}

/* case 13.7 */
static void
machine_clock_agrees_with_clock_monotonic(void **state)
{
	const struct plx_clock *clock = plx_clock_get();
	uint64_t t0, t1, n0, n1, off;

	read_both(clock, &t0, &n0);
	while (plx_clock_monotonic_ns() < n0 + 200000000)
		; /* the length does not matter, it is measured */
	read_both(clock, &t1, &n1);

	off = plx_clock_ns(clock, t1 - t0) > n1 - n0 ? plx_clock_ns(clock, t1 - t0) - (n1 - n0)
						     : n1 - n0 - plx_clock_ns(clock, t1 - t0);
	print_message("%s, %.3f MHz, off by %.4f %%\n", clock->tsc ? "TSC" : clock->why_not,
		(double)clock->hz / 1e6, 100.0 * (double)off / (double)(n1 - n0));
	assert_true(off * 1000 < n1 - n0);
}

static void
machine_is_calibrated_once(void **state)
{
	assert_ptr_equal(plx_clock_get(), plx_clock_get());
	assert_true(plx_clock_get()->hz > 0);
}

/* case 13.8: 10^7 seconds at 3 GHz are 3 x 10^16 ticks, times 10^9 is more than 64 bits */
static void
ticks_of_months_convert_exactly(void **state)
{
	struct plx_clock clock = {.hz = 3000000000u, .tsc = true};

	assert_int_equal(plx_clock_ns(&clock, 30000000000000000u), 10000000000000000u);
	assert_int_equal(plx_clock_ns(&clock, 2), 0);
	assert_int_equal(plx_clock_ns(&clock, 3), 1);
	assert_int_equal(plx_clock_ns(&clock, UINT64_MAX), 6148914691236517205u);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(rate_is_measured),
	cmocka_unit_test(scaled_tsc_of_a_vm_is_measured),
	cmocka_unit_test(tsc_that_is_not_invariant_is_not_used),
	cmocka_unit_test(tsc_that_drifts_is_not_used),
	cmocka_unit_test(drift_below_the_tolerance_is_accepted),
	cmocka_unit_test(tsc_that_stands_still_or_runs_backwards_is_not_used),
	cmocka_unit_test(preempted_readings_do_not_spoil_the_rate),
	cmocka_unit_test(machine_clock_agrees_with_clock_monotonic),
	cmocka_unit_test(machine_is_calibrated_once),
	cmocka_unit_test(ticks_of_months_convert_exactly),
};

PLX_TEST_SUITE(common, clock, tests);
