/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "perf_tests.h"

#include "plx_op_pool.h"

static void
get_put(void *arg, uint64_t nb)
{
	while (nb-- > 0)
		plx_op_put(plx_op_get(arg));
}

static void
get_put_bulk(void *arg, uint64_t nb)
{
	struct plx_op *ops[PERF_BURST];

	for (; nb >= PERF_BURST; nb -= PERF_BURST) {
		plx_op_get_bulk(arg, ops, PERF_BURST);
		plx_op_put_bulk(arg, ops, PERF_BURST);
	}
}

static void
prep(void *arg, uint64_t nb)
{
	struct plx_op *op = plx_op_get(arg);

	while (nb-- > 0) {
		plx_op_prep_send(op, op, 64, 1, NULL, NULL);
		__asm__ volatile("" ::: "memory");
	}
	plx_op_put(op);
}

static void
find(void *arg, uint64_t nb)
{
	struct plx_op *op = plx_op_get(arg);
	uint64_t id = plx_op_id(op);

	while (nb-- > 0) {
		struct plx_op *found = plx_op_find(arg, id);

		__asm__ volatile("" : : "r"(found) : "memory");
	}
	plx_op_put(op);
}

static enum plx_suite_result
run(void)
{
	struct plx_op_pool_conf conf = {.name = "perf", .nb_ops = 512, .cache_size = 128, .socket_id = SOCKET_ID_ANY};
	struct plx_op_pool *pool = plx_op_pool_create(&conf);
	struct bench_work works[] = {
		{.name = "get, put", .run = get_put, .arg = pool},
		{.name = "get, put in bursts of 32", .run = get_put_bulk, .arg = pool},
		{.name = "prepare", .run = prep, .arg = pool},
		{.name = "find by wr_id", .run = find, .arg = pool},
	};

	if (pool == NULL)
		return PLX_SUITE_FAILED;
	perf_print("op", works, NB_OF(works), 32768);
	return plx_op_pool_destroy(pool) == 0 ? PLX_SUITE_OK : PLX_SUITE_FAILED;
}

PLX_TEST_FUNCTION(op, perf, run, .lcores = 1, .perf = true);
