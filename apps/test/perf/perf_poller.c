/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "perf_tests.h"

#include "plx_device.h"
#include "plx_poller.h"

/** A poller with one or sixteen CQs of the null device, on which nothing completes. */
static struct plx_poller *poller;

static void
turns(void *arg, uint64_t nb)
{
	(void)arg;
	while (nb-- > 0)
		plx_poller_once(poller);
}

static unsigned int
nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void
measure(const char *name, struct plx_cq **cqs, unsigned int nb_cqs, struct plx_dispatcher *d, bool hook)
{
	struct bench_work work = {.name = name, .run = turns};

	poller = plx_poller_create(&(struct plx_poller_conf){.name = "perf"});
	assert_non_null(poller);
	for (unsigned int i = 0; i < nb_cqs; i++)
		assert_int_equal(plx_poller_add_cq(poller, cqs[i], d), 0);
	if (hook)
		assert_int_equal(plx_poller_add_hook(poller, nothing, NULL), 0);
	perf_print("poller", &work, 1, 32768);
	assert_int_equal(plx_poller_destroy(poller), 0);
}

static void
empty_turns(void **state)
{
	struct plx_device *dev = plx_device_open("null0");
	struct plx_cq *cqs[PLX_POLLER_MAX_CQS];
	struct plx_dispatcher *d = plx_dispatcher_create(&(struct plx_dispatcher_conf){
		.name = "perf", .pool = {.nb_ops = 64, .socket_id = SOCKET_ID_ANY}});

	(void)state;
	assert_non_null(dev);
	assert_non_null(d);
	for (unsigned int i = 0; i < NB_OF(cqs); i++)
		assert_non_null(cqs[i] = plx_cq_create(dev, 64));
	measure("empty turn, no CQ", cqs, 0, d, false);
	measure("empty turn, no CQ, a hook", cqs, 0, d, true);
	measure("empty turn, 1 CQ", cqs, 1, d, false);
	measure("empty turn, 16 CQs", cqs, 16, d, false);
	for (unsigned int i = 0; i < NB_OF(cqs); i++)
		assert_int_equal(plx_cq_destroy(cqs[i]), 0);
	assert_int_equal(plx_dispatcher_destroy(d), 0);
	assert_int_equal(plx_device_close(dev), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(empty_turns),
};

PLX_TEST_SUITE(poller, perf, tests, .lcores = 1, .perf = true);
