/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "perf_tests.h"

#include "plx_dispatcher.h"

#define OWNER  0u
#define WORKER 1u /* main passes for it, turn by turn */

static uint64_t nb_called;

static void
count_and_put(struct plx_op *op, void *arg)
{
	(void)arg;
	nb_called++;
	plx_op_put(op);
}

/** As a burst that a device took: prepared, posted, and here are its completions. */
static void
post(struct plx_dispatcher *d, struct plx_wc *wcs, unsigned int n, unsigned int home)
{
	for (unsigned int i = 0; i < n; i++) {
		struct plx_op *op = plx_op_get(d->pool);

		plx_op_prep_send(op, NULL, 0, 0, count_and_put, NULL);
		plx_op_set_home(op, home);
		plx_dispatcher_posting(d, op);
		plx_dispatcher_posted(d, op, true);
		wcs[i] = (struct plx_wc){.wr_id = plx_op_id(op)};
	}
}

static void
inline_singly(void *d, uint64_t nb)
{
	struct plx_wc wc;

	while (nb-- > 0) {
		post(d, &wc, 1, OWNER);
		plx_dispatcher_deliver_burst(d, &wc, 1);
	}
}

static void
inline_bursts(void *d, uint64_t nb)
{
	struct plx_wc wcs[PERF_BURST];

	for (; nb >= PERF_BURST; nb -= PERF_BURST) {
		post(d, wcs, PERF_BURST, OWNER);
		plx_dispatcher_deliver_burst(d, wcs, PERF_BURST);
	}
}

static void
handed_bursts(void *d, uint64_t nb)
{
	struct plx_wc wcs[PERF_BURST];

	for (; nb >= PERF_BURST; nb -= PERF_BURST) {
		post(d, wcs, PERF_BURST, WORKER);
		plx_dispatcher_deliver_burst(d, wcs, PERF_BURST);
		plx_test_as_lcore(WORKER);
		plx_dispatcher_once(d);
		plx_test_as_lcore(OWNER);
	}
}

static void
stale(void *d, uint64_t nb)
{
	struct plx_wc wc;

	post(d, &wc, 1, OWNER);
	plx_dispatcher_deliver_burst(d, &wc, 1);
	while (nb-- > 0)
		plx_dispatcher_deliver_burst(d, &wc, 1);
}

static enum plx_suite_result
run(void)
{
	static const unsigned int homes[] = {WORKER};
	struct plx_dispatcher_conf conf = {
		.name = "perf",
		.owner = OWNER,
		.homes = homes,
		.nb_homes = NB_OF(homes),
		.pool = {.nb_ops = 1024, .cache_size = 128, .socket_id = SOCKET_ID_ANY},
	};
	struct plx_dispatcher *d = plx_dispatcher_create(&conf);
	struct bench_work works[] = {
		{.name = "post, deliver, call back", .run = inline_singly, .arg = d},
		{.name = "the same in bursts of 32", .run = inline_bursts, .arg = d},
		{.name = "handed to a worker, bursts of 32", .run = handed_bursts, .arg = d},
		{.name = "refuse a stale wr_id", .run = stale, .arg = d},
	};
	struct plx_dispatcher_stats stats;
	bool all;

	if (d == NULL)
		return PLX_SUITE_FAILED;
	nb_called = 0;
	perf_print("dispatcher", works, NB_OF(works), 32768);
	plx_dispatcher_stats(d, &stats);
	all = nb_called == stats.delivered && nb_called > 0;
	return plx_dispatcher_destroy(d) == 0 && all ? PLX_SUITE_OK : PLX_SUITE_FAILED;
}

PLX_TEST_FUNCTION(dispatcher, perf, run, .lcores = 2, .perf = true);
