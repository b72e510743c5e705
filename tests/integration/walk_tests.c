/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Every way in which setting up can fail: plx-perf's whole stack is made, device to bring-up of its connections, and the
 * Kth control verb, then the Kth allocation fails, for K = 1, 2, 3, ... until nothing fails any more. Each time it must say why,
 * and leave nothing: no object of the device, no byte of rte_malloc, and with a sanitizer none of malloc.
 */

#include "plx_test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "perf.h"
#include "plx_drivers.h"
#include "plx_fault.h"

#define MAX_K 2000

/* ---- allocations that fail ----------------------------------------------------------------- */

static unsigned int countdown; /* atomic: the allocation with which it becomes 0 fails; 0: none does */

static bool
this_one_fails(void)
{
	unsigned int left = __atomic_load_n(&countdown, __ATOMIC_RELAXED);

	while (left != 0 && !__atomic_compare_exchange_n(&countdown, &left, left - 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return left == 1;
}

/* The linker leads our libraries' calls here, and __real_ ones back. */
#define FAILING(type, name, params, args)                                                                    \
	type __real_##name params;                                                                           \
	type __wrap_##name params;                                                                           \
	type __wrap_##name params                                                                            \
	{                                                                                                    \
		if (!this_one_fails())                                                                       \
			return __real_##name args;                                                           \
		rte_errno = errno = ENOMEM;                                                                  \
		return NULL;                                                                                 \
	}

FAILING(void *, calloc, (size_t n, size_t size), (n, size))
FAILING(void *, rte_calloc, (const char *type, size_t n, size_t size, unsigned int align), (type, n, size, align))
FAILING(void *, rte_zmalloc, (const char *type, size_t size, unsigned int align), (type, size, align))
FAILING(void *, rte_zmalloc_socket, (const char *type, size_t size, unsigned int align, int socket), (type, size, align, socket))
FAILING(struct rte_ring *, rte_ring_create, (const char *name, unsigned int n, int socket, unsigned int flags),
	(name, n, socket, flags))
FAILING(struct rte_mempool *, rte_mempool_create_empty,
	(const char *name, unsigned int n, unsigned int elt, unsigned int cache, unsigned int priv, int socket, unsigned int flags),
	(name, n, elt, cache, priv, socket, flags))

/* ---- one set-up, and its undoing ----------------------------------------------------------- */

static unsigned int
nb_mallocs(void)
{
	struct rte_malloc_socket_stats stats;
	unsigned int sum = 0;

	for (unsigned int i = 0; i < rte_socket_count(); i++)
		sum += rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0 ? stats.alloc_count : 0;
	return sum;
}

/** What the set-up said; *failed is whether what was to fail has. */
static int
walk_once(const char *script, unsigned int nth_alloc, bool *failed)
{
	static struct perf perf;
	char *argv[] = {(char *)(uintptr_t)"perf", (char *)(uintptr_t)"-q", (char *)(uintptr_t)"1", (char *)(uintptr_t)"--depth",
		(char *)(uintptr_t)"4", (char *)(uintptr_t)"--fault", strdup(script), NULL};
	struct plx_fault_stats stats = {0};
	int err;

	memset(&perf, 0, sizeof(perf));
	perf.machine.cpus = *plx_test_cpus_before_eal();
	assert_int_equal(perf_options_parse(NB_OF(argv) - 1, argv, &perf.opts, &perf.error), 0);
	assert_int_equal(perf_choose_lcores(&perf), 0);
	__atomic_store_n(&countdown, nth_alloc, __ATOMIC_RELAXED);
	err = perf_device_open(&perf);
	if (err == 0)
		err = perf_setup(&perf);
	*failed = nth_alloc != 0 && __atomic_load_n(&countdown, __ATOMIC_RELAXED) == 0;
	__atomic_store_n(&countdown, 0, __ATOMIC_RELAXED);
	if (perf.fault != NULL && plx_fault_stats(perf.fault, &stats) == 0)
		*failed |= stats.failed_verbs != 0;
	if (err != 0)
		assert_true(strlen(perf.error.text) > 10);
	assert_int_equal(perf_close(&perf), 0);
	assert_int_equal(perf_teardown(&perf), 0);
	free(argv[6]);
	return err;
}

/**
 * Walk until nothing fails. @p format is a script with K in it, or NULL for allocations. At least @p least ways to fail,
 * of which the set-up may get over @p harmless.
 */
static void
walk(const char *format, unsigned int least, unsigned int harmless)
{
	const unsigned int stride = plx_test_scale() < 1000000 ? 5 : 1; /* small is for where everything is slow */
	unsigned int k = 1, survived = 0, before;
	bool failed;

	if (walk_once("", 0, &failed) != 0) /* what is made once in a process is made now */
		fail_msg("the set-up fails as it is");
	for (failed = true; failed && k < MAX_K; k += stride) {
		char script[64] = "";
		int err;

		before = nb_mallocs();
		if (format != NULL)
			snprintf(script, sizeof(script), format, k);
		err = walk_once(script, format == NULL ? k : 0, &failed);
		survived += failed && err == 0;
		if (err != 0 && !failed)
			fail_msg("K = %u: nothing failed, and the set-up said %d", k, err);
		if (nb_mallocs() != before)
			fail_msg("K = %u: %d pieces of rte_malloc are left", k, (int)(nb_mallocs() - before));
	}
	assert_in_range(k, least, MAX_K - 1);
	assert_true(survived <= harmless);
	printf("%u ways to fail, %u seen to be harmless\n", k - stride - 1, survived);
}

static void
kth_control_verb_fails_for_all_k(void **state)
{
	walk("fail control %u ENOMEM", 15, 16); /* a GID that cannot be read is passed over: there are others */
}

static void
kth_allocation_fails_for_all_k(void **state)
{
	walk(NULL, 30, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(kth_control_verb_fails_for_all_k),
	cmocka_unit_test(kth_allocation_fails_for_all_k),
};

int
main(void)
{
	if (plx_test_eal_init(NULL) != 0 || plx_drivers_register() != 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
