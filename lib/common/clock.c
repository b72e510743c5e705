/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_clock.h"

#include <pthread.h>

#ifdef RTE_ARCH_X86
#include <cpuid.h>
#endif

/* Readings taken to find one that nothing came between; on a machine with two busy threads per
 * CPU, a reading that is cut by the scheduler is rare, 16 in a row are not seen. */
#define NB_TRIES 16

/* Window of plx_clock_get(). */
#define WINDOW_NS 50000000u

/* One moment, on both clocks. */
struct moment {
	uint64_t tsc;
	uint64_t ns;
};

/**
 * Read both clocks at one moment: CLOCK_MONOTONIC between two reads of the TSC. The tightest pair
 * of several wins, so that a preemption, an interrupt or an SMI in between does not end up in the
 * rate.
 */
static struct moment
moment_read(const struct plx_clock_source *src)
{
	struct moment best = {0, 0};
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < NB_TRIES; i++) {
		uint64_t before = src->tsc(src->arg);
		uint64_t ns = src->monotonic_ns(src->arg);
		uint64_t after = src->tsc(src->arg);

		/* A TSC that went backwards wraps here to the widest pair of all. */
		if (after - before >= width)
			continue;
		width = after - before;
		best.tsc = before + width / 2;
		best.ns = ns;
	}
	return best;
}

static void
window_wait(const struct plx_clock_source *src, uint64_t until_ns)
{
	while (src->monotonic_ns(src->arg) < until_ns)
		;
}

/* Ticks per second between two moments; 0 if the TSC stood still or went backwards. */
static uint64_t
rate(const struct moment *from, const struct moment *to)
{
	if (to->tsc <= from->tsc || to->ns <= from->ns)
		return 0;
	return (uint64_t)((plx_uint128_t)(to->tsc - from->tsc) * NS_PER_S / (to->ns - from->ns));
}

static bool
rates_agree(uint64_t a, uint64_t b)
{
	uint64_t diff = a > b ? a - b : b - a;

	return a != 0 && b != 0 && diff <= b / PLX_CLOCK_TOLERANCE;
}

static struct plx_clock
clock_monotonic(const char *why_not)
{
	return (struct plx_clock){.hz = NS_PER_S, .tsc = false, .why_not = why_not};
}

struct plx_clock
plx_clock_calibrate(const struct plx_clock_source *src, uint64_t window_ns)
{
	struct moment at[3];

	if (!src->invariant)
		return clock_monotonic("the CPU does not promise a TSC of even rate (no invariant TSC)");

	at[0] = moment_read(src);
	window_wait(src, at[0].ns + window_ns);
	at[1] = moment_read(src);
	window_wait(src, at[1].ns + window_ns);
	at[2] = moment_read(src);

	if (!rates_agree(rate(&at[0], &at[1]), rate(&at[1], &at[2])))
		return clock_monotonic("two calibrations of the TSC differ by more than 0.1 %");
	return (struct plx_clock){.hz = rate(&at[0], &at[2]), .tsc = true};
}

static uint64_t
machine_tsc(void *arg)
{
	(void)arg;
	return rte_rdtsc_precise();
}

static uint64_t
machine_monotonic_ns(void *arg)
{
	(void)arg;
	return plx_clock_monotonic_ns();
}

static bool
machine_invariant(void)
{
#ifdef RTE_ARCH_X86
	unsigned int eax, ebx, ecx, edx;

	/* AMD APM vol. 3 E.4.6, Intel SDM vol. 3 18.17.1: CPUID 8000_0007h EDX bit 8. */
	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
#else
	/* What rte_rdtsc() reads on Arm (CNTVCT_EL0), POWER (TB) and RISC-V (time) is a timer of
	 * fixed rate by architecture. */
	return true;
#endif
}

static struct plx_clock machine_clock;

static void
machine_calibrate(void)
{
	struct plx_clock_source src = {
		.tsc = machine_tsc,
		.monotonic_ns = machine_monotonic_ns,
		.invariant = machine_invariant(),
	};

	machine_clock = plx_clock_calibrate(&src, WINDOW_NS);
}

const struct plx_clock *
plx_clock_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, machine_calibrate);
	return &machine_clock;
}
