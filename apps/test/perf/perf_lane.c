/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "perf_tests.h"

#include <sched.h>

#include <rte_launch.h>

#include "plx_lane.h"

#define CONSUMER 0u
#define PRODUCER 1u

static struct plx_lane *
lane_make(unsigned int producer)
{
	struct plx_lane_conf conf = {
		.name = "perf",
		.consumer = CONSUMER,
		.producers = &producer,
		.nb_producers = 1,
		.nb_elem = 1023,
		.elem_size = sizeof(void *),
		.socket_id = SOCKET_ID_ANY,
	};

	return plx_lane_create(&conf);
}

static void
one_by_one(void *arg, uint64_t nb)
{
	void *elem = arg;

	while (nb-- > 0) {
		plx_lane_send(arg, &elem, 1);
		plx_lane_recv(arg, &elem, 1);
	}
}

static void
in_bursts(void *arg, uint64_t nb)
{
	void *elems[PERF_BURST] = {arg};

	for (; nb >= PERF_BURST; nb -= PERF_BURST) {
		plx_lane_send(arg, elems, PERF_BURST);
		plx_lane_recv(arg, elems, PERF_BURST);
	}
}

static enum plx_suite_result
run(void)
{
	struct plx_lane *lane = lane_make(CONSUMER);
	struct bench_work works[] = {
		{.name = "send, receive", .run = one_by_one, .arg = lane},
		{.name = "send, receive in bursts of 32", .run = in_bursts, .arg = lane},
	};

	if (lane == NULL)
		return PLX_SUITE_FAILED;
	perf_print("lane", works, NB_OF(works), 32768);
	plx_lane_destroy(lane);
	return PLX_SUITE_OK;
}

PLX_TEST_FUNCTION(lane, perf, run, .lcores = 1, .perf = true);

/* ---- from one lcore to another; they may share a CPU, so who finds no room or nothing yields ------------- */

static uint64_t nb_to_send;

static int
produce(void *lane)
{
	void *elems[PERF_BURST] = {lane};

	for (uint64_t left = nb_to_send; left > 0;) {
		unsigned int n = plx_lane_send(lane, elems, left < PERF_BURST ? (unsigned int)left : PERF_BURST);

		left -= n;
		if (n == 0)
			sched_yield();
	}
	return 0;
}

static void
across(void *arg, uint64_t nb)
{
	void *elems[PERF_BURST];

	nb_to_send = nb;
	rte_eal_remote_launch(produce, arg, PRODUCER);
	while (nb > 0) {
		unsigned int n = plx_lane_recv(arg, elems, PERF_BURST);

		nb -= n;
		if (n == 0)
			sched_yield();
	}
	rte_eal_wait_lcore(PRODUCER);
}

static enum plx_suite_result
run_across(void)
{
	struct plx_lane *lane = lane_make(PRODUCER);
	struct bench_work work = {.name = "lcore 1 to lcore 0, bursts of 32", .run = across, .arg = lane};

	if (lane == NULL)
		return PLX_SUITE_FAILED;
	perf_print("lane", &work, 1, 32768);
	plx_lane_destroy(lane);
	return PLX_SUITE_OK;
}

PLX_TEST_FUNCTION(lane, perf_across, run_across, .lcores = 2, .perf = true);
