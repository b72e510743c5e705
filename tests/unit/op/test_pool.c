/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_op_pool.h"

#include "plx_test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>

#define NB_OPS 128
#define CACHE  64
#define NB_MAX (NB_OPS + PLX_TEST_LCORES * CACHE * 3 / 2)

static struct plx_op_pool *pool;

static struct plx_op_pool *
make(unsigned int nb_ops, unsigned int cache_size, unsigned int priv_size)
{
	struct plx_op_pool_conf conf = {
		.name = "test",
		.nb_ops = nb_ops,
		.cache_size = cache_size,
		.priv_size = priv_size,
		.socket_id = SOCKET_ID_ANY,
	};

	return plx_op_pool_create(&conf);
}

static int
destroy(void **state)
{
	int err = pool != NULL ? plx_op_pool_destroy(pool) : 0;

	pool = NULL;
	return err;
}

static void
slots_are_found_by_their_id_and_no_other(void **state)
{
	static const unsigned int sizes[] = {0, 1, 64, 700, 5000};

	for (size_t s = 0; s < NB_OF(sizes); s++) {
		struct plx_op *ops[100];

		pool = make(NB_OF(ops), 0, sizes[s]);
		assert_non_null(pool);
		assert_int_equal(plx_op_get_bulk(pool, ops, NB_OF(ops)), 0);
		for (size_t i = 0; i < NB_OF(ops); i++) {
			memset(plx_op_priv(ops[i]), 0x5a, sizes[s]); /* ASan: all of it is ours */
			assert_ptr_equal(plx_op_find(pool, plx_op_id(ops[i])), ops[i]);
			assert_ptr_equal(ops[i]->pool, pool);
			assert_int_equal((uintptr_t)ops[i] % RTE_CACHE_LINE_SIZE, 0);
		}
		assert_int_equal(plx_op_put_bulk(pool, ops, NB_OF(ops)), NB_OF(ops));
		assert_int_equal(destroy(NULL), 0);
	}
}

/* case 3.5: a random wr_id; contract 2.1 */
static void
foreign_ids_find_nothing(void **state)
{
	struct plx_op_pool *other = make(4, 0, 0);
	uint64_t base;

	pool = make(4, 0, 0);
	base = (uint64_t)pool->tag << 24;
	assert_null(plx_op_find(pool, 0));
	assert_null(plx_op_find(pool, 1));
	assert_null(plx_op_find(pool, UINT64_MAX));
	assert_null(plx_op_find(pool, (uintptr_t)pool));
	assert_non_null(plx_op_find(pool, base + 3));
	assert_null(plx_op_find(pool, base + 4)); /* the slot past the end */
	assert_null(plx_op_find(pool, base - 1));
	assert_null(plx_op_find(pool, base + (1u << 24)));
	assert_null(plx_op_find(pool, base | 0xffffff));
	assert_null(plx_op_find(pool, (uint64_t)other->tag << 24));
	assert_null(plx_op_find(other, base));
	assert_int_equal(plx_op_pool_destroy(other), 0);
}

/* contract 2.1: each use of a slot has another generation */
static void
put_makes_the_old_id_stale(void **state)
{
	uint64_t id;
	struct plx_op *op;

	pool = make(1, 0, 0);
	for (unsigned int use = 0; use < 5; use++) {
		op = plx_op_get(pool);
		assert_non_null(op);
		assert_int_equal(op->state, PLX_OP_FREE);
		id = plx_op_id(op);
		assert_int_equal(id >> 32, use);
		assert_int_equal(plx_op_put(op), 0);
		assert_ptr_equal(plx_op_find(pool, id), op);
		assert_true(plx_op_id(op) != id);
	}
}

static void
posted_op_cannot_be_put(void **state)
{
	struct plx_op *ops[4];

	pool = make(4, 0, 0);
	assert_int_equal(plx_op_get_bulk(pool, ops, 4), 0);
	plx_op_set_state(ops[0], PLX_OP_PREPARED);
	plx_op_set_state(ops[1], PLX_OP_COMPLETED);
	plx_op_set_state(ops[2], PLX_OP_POSTED);
	assert_int_equal(plx_op_put_bulk(pool, ops, 4), 2); /* and says where it stopped */
	assert_int_equal(plx_op_put(ops[2]), -EBUSY);
	assert_int_equal(ops[2]->state, PLX_OP_POSTED);
	assert_int_equal(plx_op_generation(ops[2]), 0);
	plx_op_set_state(ops[2], PLX_OP_ORPHANED);
	assert_int_equal(plx_op_put(ops[2]), -EBUSY);
	assert_int_equal(plx_op_pool_in_use(pool), 2);
	plx_op_set_state(ops[2], PLX_OP_COMPLETED);
	assert_int_equal(plx_op_put_bulk(pool, ops + 2, 2), 2);
	assert_int_equal(plx_op_pool_in_use(pool), 0);
}

static void
empty_pool_says_retry_and_counts(void **state)
{
	struct plx_op *ops[9];

	pool = make(8, 0, 0);
	assert_int_equal(plx_op_get_bulk(pool, ops, 9), -EAGAIN); /* all or none */
	assert_true(plx_is_retry(plx_op_get_bulk(pool, ops, 9)));
	assert_int_equal(plx_op_get_bulk(pool, ops, 8), 0);
	assert_null(plx_op_get(pool));
	assert_int_equal(pool->nb_refused, 3);
	assert_int_equal(plx_op_pool_in_use(pool), 8);
	plx_op_put_bulk(pool, ops, 8);
}

static void
pool_with_ops_out_is_not_destroyed(void **state)
{
	struct plx_op *op;

	pool = make(8, 4, 0);
	op = plx_op_get(pool);
	assert_int_equal(plx_op_pool_destroy(pool), -EBUSY);
	assert_int_equal(plx_op_put(op), 0);
}

/* Fill this lcore's cache to its brim. */
static void
load_cache(unsigned int lcore)
{
	unsigned int was = plx_test_as_lcore(lcore);
	struct plx_op *ops[CACHE];

	for (unsigned int n = 1; n <= CACHE; n++) {
		assert_int_equal(plx_op_get_bulk(pool, ops, n), 0);
		assert_int_equal(plx_op_put_bulk(pool, ops, n), n);
	}
	plx_test_as_lcore(was);
}

static unsigned int
cached(void)
{
	unsigned int sum = 0;

	for (unsigned int lcore = 0; lcore < PLX_TEST_LCORES; lcore++)
		sum += pool->mp->local_cache[lcore].len;
	return sum;
}

/* case 14.9: the documented number can be had from one lcore whatever the others' caches hold */
static void
one_lcore_gets_every_op_while_all_caches_are_loaded(void **state)
{
	for (unsigned int taker = 0; taker <= PLX_TEST_LCORES; taker++) {
		struct plx_op *ops[NB_OPS];
		unsigned int got = 0, was;

		pool = make(NB_OPS, CACHE, 0);
		for (unsigned int lcore = 0; lcore < PLX_TEST_LCORES; lcore++)
			load_cache(lcore);
		assert_true(cached() >= PLX_TEST_LCORES * CACHE);
		/* one by one, as a get in bulk would go past the caches; the last taker has none */
		was = plx_test_as_lcore(taker < PLX_TEST_LCORES ? taker : LCORE_ID_ANY);
		while (got < NB_OPS && (ops[got] = plx_op_get(pool)) != NULL)
			got++;
		plx_test_as_lcore(was);
		assert_int_equal(got, NB_OPS);
		plx_op_put_bulk(pool, ops, got);
		assert_int_equal(destroy(NULL), 0);
	}
}

/* Every slot is a different op, wherever it rested. */
static void
every_slot_can_be_out_once(void **state)
{
	static struct plx_op *ops[NB_MAX];
	static bool seen[NB_MAX];

	memset(seen, 0, sizeof(seen));
	pool = make(NB_OPS, CACHE, 0);
	assert_int_equal(pool->nb_slots, NB_MAX);
	assert_int_equal(plx_op_get_bulk(pool, ops, NB_MAX), 0);
	assert_null(plx_op_get(pool));
	for (unsigned int i = 0; i < NB_MAX; i++) {
		uint32_t slot = plx_op_id(ops[i]) & 0xffffff;

		assert_false(seen[slot]);
		seen[slot] = true;
	}
	plx_op_put_bulk(pool, ops, NB_MAX);
}

/* ---- get and put by the cache itself, against what the mempool's own functions would leave there ---- */

#define SMALL  8u
#define FLUSH  (SMALL * 3 / 2)
#define NB_ALL (64 + PLX_TEST_LCORES * FLUSH)

static struct plx_op *all[NB_ALL];

static void
small_caches(void **state)
{
	pool = make(64, SMALL, 0);
	assert_non_null(pool);
	assert_int_equal(pool->nb_slots, NB_ALL);
	assert_int_equal(pool->mp->local_cache[0].flushthresh, FLUSH);
}

static struct rte_mempool_cache *
cache_of(unsigned int lcore)
{
	return &pool->mp->local_cache[lcore];
}

/* The whole pool: each op once, all of them there, from wherever they rest. */
static void
nothing_is_lost_or_twice_in_the_pool(void)
{
	static bool seen[NB_ALL];
	unsigned int got = 0, was = rte_lcore_id();

	assert_int_equal(plx_op_pool_in_use(pool), 0);
	memset(seen, 0, sizeof(seen));
	for (unsigned int lcore = 0; lcore < PLX_TEST_LCORES; lcore++) {
		plx_test_as_lcore(lcore);
		while (got < NB_ALL && (all[got] = plx_op_get(pool)) != NULL)
			got++;
	}
	plx_test_as_lcore(was);
	assert_int_equal(got, NB_ALL);
	for (unsigned int i = 0; i < got; i++) {
		uint32_t slot = plx_op_slot(pool, plx_op_id(all[i]));

		assert_true(slot < NB_ALL);
		assert_false(seen[slot]);
		seen[slot] = true;
	}
	assert_int_equal(plx_op_put_bulk(pool, all, got), got);
}

/* Put @p n ops in bursts of @p burst; the cache never holds more than it may, and nothing behind that is written. */
static void
put_past_the_threshold(unsigned int burst)
{
	static struct plx_op *ops[64];
	struct rte_mempool_cache *cache = cache_of(0), beside;

	assert_int_equal(plx_op_get_bulk(pool, ops, 48), 0);
	beside = *cache_of(1);
	for (unsigned int i = FLUSH; i < NB_OF(cache->objs); i++)
		cache->objs[i] = &beside;
	for (unsigned int i = 0; i < 48; i += burst) {
		assert_int_equal(plx_op_put_bulk(pool, ops + i, burst), burst);
		assert_in_range(cache->len, 0, FLUSH);
	}
	for (unsigned int i = FLUSH; i < NB_OF(cache->objs); i++)
		assert_ptr_equal(cache->objs[i], &beside);
	assert_memory_equal(cache_of(1), &beside, sizeof(beside));
	nothing_is_lost_or_twice_in_the_pool();
}

static void
put_stops_filling_the_cache_at_its_flush_threshold(void **state)
{
	static const unsigned int bursts[] = {1, 3, SMALL, FLUSH, 16, 48}; /* 16 and 48: more than a cache can hold */

	small_caches(NULL);
	for (size_t i = 0; i < NB_OF(bursts); i++)
		put_past_the_threshold(bursts[i]);
}

static void
put_that_ends_at_a_posted_op_caches_those_before_it(void **state)
{
	struct rte_mempool_cache *cache;
	struct plx_op *ops[4], *again;
	unsigned int len;

	small_caches(NULL);
	cache = cache_of(0);
	assert_int_equal(plx_op_get_bulk(pool, ops, 4), 0);
	len = cache->len;
	assert_true(len + 4 <= FLUSH);
	plx_op_set_state(ops[1], PLX_OP_POSTED);
	assert_int_equal(plx_op_put_bulk(pool, ops, 4), 1);
	assert_int_equal(cache->len, len + 1);
	assert_ptr_equal(cache->objs[len], ops[0]);
	again = plx_op_get(pool);
	assert_ptr_equal(again, ops[0]);
	plx_op_set_state(ops[1], PLX_OP_COMPLETED);
	assert_int_equal(plx_op_put_bulk(pool, ops, 4), 4);
	nothing_is_lost_or_twice_in_the_pool();
}

static void
get_of_more_than_the_cache_has_goes_past_it(void **state)
{
	struct plx_op *ops[32];

	small_caches(NULL);
	for (unsigned int n = 1; n <= 32; n++) {
		assert_int_equal(plx_op_get_bulk(pool, ops, n), 0);
		assert_in_range(cache_of(0)->len, 0, FLUSH);
		assert_int_equal(plx_op_pool_in_use(pool), n);
		for (unsigned int i = 0; i < n; i++)
			for (unsigned int k = 0; k < i; k++)
				assert_ptr_not_equal(ops[i], ops[k]);
		assert_int_equal(plx_op_put_bulk(pool, ops, n), n);
	}
	nothing_is_lost_or_twice_in_the_pool();
}

static void
alien_touches_no_cache(void **state)
{
	struct plx_op *ops[4];
	unsigned int was;

	small_caches(NULL);
	was = plx_test_as_lcore(LCORE_ID_ANY);
	assert_int_equal(plx_op_get_bulk(pool, ops, 4), 0);
	plx_op_set_state(ops[1], PLX_OP_POSTED);
	assert_int_equal(plx_op_put_bulk(pool, ops, 4), 1);
	plx_op_set_state(ops[1], PLX_OP_COMPLETED);
	assert_int_equal(plx_op_put_bulk(pool, ops + 1, 3), 3);
	plx_test_as_lcore(was);
	assert_int_equal(cached(), 0);
	nothing_is_lost_or_twice_in_the_pool();
}

#define NB_ALIENS 257 /* more than EAL has lcore ids */

static void *
get_and_put(void *arg)
{
	unsigned long *bad = arg;
	struct plx_op *ops[4];

	pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), plx_test_cpus_before_eal());
	*bad += rte_lcore_id() != LCORE_ID_ANY;
	for (unsigned int i = 0; i < 50; i++) {
		while (plx_op_get_bulk(pool, ops, 4) != 0)
			sched_yield();
		for (unsigned int k = 0; k < 4; k++) {
			*bad += ops[k]->arg != NULL;
			ops[k]->arg = bad; /* ours alone now */
		}
		for (unsigned int k = 0; k < 4; k++) {
			*bad += ops[k]->arg != bad;
			ops[k]->arg = NULL;
		}
		*bad += plx_op_put_bulk(pool, ops, 4) != 4;
	}
	*bad += rte_lcore_id() != LCORE_ID_ANY;
	return NULL;
}

/* case 14.8: threads that EAL does not know need no registration */
static void
hundreds_of_alien_threads_get_and_put(void **state)
{
	static pthread_t threads[NB_ALIENS];
	static unsigned long bad[NB_ALIENS];
	unsigned int lcores = rte_lcore_count();

	pool = make(64, 8, 0);
	for (unsigned int i = 0; i < NB_ALIENS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_and_put, &bad[i]), 0);
	for (unsigned int i = 0; i < NB_ALIENS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < NB_ALIENS; i++)
		assert_int_equal(bad[i], 0);
	assert_int_equal(rte_lcore_count(), lcores);
	assert_int_equal(plx_op_pool_in_use(pool), 0);
}

/* case 14.8: one that does register has a cache like every lcore */
static void *
register_get_and_put(void *arg)
{
	unsigned long *bad = arg;
	struct plx_op *op;

	*bad += rte_thread_register() != 0;
	*bad += rte_lcore_id() == LCORE_ID_ANY;
	for (unsigned int i = 0; i < 200; i++) {
		op = plx_op_get(pool);
		*bad += op == NULL || plx_op_put(op) != 0;
	}
	*bad += pool->mp->local_cache[rte_lcore_id()].len == 0;
	rte_thread_unregister();
	return NULL;
}

static void
registered_thread_gets_and_puts_through_its_cache(void **state)
{
	unsigned long bad = 0;
	pthread_t thread;

	pool = make(64, 8, 0);
	assert_int_equal(pthread_create(&thread, NULL, register_get_and_put, &bad), 0);
	pthread_join(thread, NULL);
	assert_int_equal(bad, 0);
	assert_int_equal(plx_op_pool_in_use(pool), 0);
}

static void
tags_are_exhausted_with_enospc_and_come_back(void **state)
{
	static struct plx_op_pool *pools[PLX_OP_POOLS_MAX + 1];
	unsigned int nb = 0;
	uint32_t tag;

	while (nb < NB_OF(pools) && (pools[nb] = make(1, 0, 0)) != NULL)
		nb++;
	assert_int_equal(nb, PLX_OP_POOLS_MAX);
	assert_int_equal(rte_errno, ENOSPC);
	tag = pools[77]->tag;
	assert_int_equal(plx_op_pool_destroy(pools[77]), 0);
	pools[77] = make(1, 0, 0);
	assert_non_null(pools[77]);
	assert_int_equal(pools[77]->tag, tag);
	for (unsigned int i = 0; i < nb; i++)
		assert_int_equal(plx_op_pool_destroy(pools[i]), 0);
}

static void
bad_numbers_are_refused(void **state)
{
	static const unsigned int bad[][2] = {
		{0, 0}, {UINT32_MAX, 0}, {(1u << 24) + 1, 0}, {1u << 24, 1}, {8, RTE_MEMPOOL_CACHE_MAX_SIZE + 1},
	};
	static const unsigned int private[] = {(1u << 24) + 1, UINT32_MAX - 300, UINT32_MAX};

	for (size_t i = 0; i < NB_OF(bad); i++) {
		rte_errno = 0;
		assert_null(make(bad[i][0], bad[i][1], 0));
		assert_int_equal(rte_errno, EINVAL);
	}
	/* An element's size is 32 bits for a mempool. */
	for (size_t i = 0; i < NB_OF(private); i++) {
		rte_errno = 0;
		assert_null(make(4, 0, private[i]));
		assert_int_equal(rte_errno, EINVAL);
	}
}

static void
name_of_any_length_is_cut_in_the_log(void **state)
{
	struct plx_op_pool_conf conf = {.name = plx_test_long_name(), .socket_id = SOCKET_ID_ANY};

	plx_test_refusal((intptr_t)plx_op_pool_create(&conf), 0, "n: 0 ops and ");
	conf.nb_ops = 8;
	conf.cache_size = RTE_MEMPOOL_CACHE_MAX_SIZE + 1;
	plx_test_refusal((intptr_t)plx_op_pool_create(&conf), 0, "n: cache of 513 objects, the maximum is 512");
}

static void
pool_too_large_for_memory_is_refused_and_leaves_no_tag_behind(void **state)
{
	uint32_t tag;

	pool = make(1, 0, 0);
	tag = pool->tag;
	assert_int_equal(destroy(NULL), 0);
	assert_null(make(1u << 22, 0, 4096));
	assert_int_equal(rte_errno, ENOMEM);
	pool = make(1, 0, 0);
	assert_int_equal(pool->tag, tag);
}

#define TEST(name) cmocka_unit_test_teardown(name, destroy)
static const struct CMUnitTest tests[] = {
	TEST(slots_are_found_by_their_id_and_no_other),
	TEST(foreign_ids_find_nothing),
	TEST(put_makes_the_old_id_stale),
	TEST(posted_op_cannot_be_put),
	TEST(empty_pool_says_retry_and_counts),
	TEST(pool_with_ops_out_is_not_destroyed),
	TEST(one_lcore_gets_every_op_while_all_caches_are_loaded),
	TEST(every_slot_can_be_out_once),
	TEST(put_stops_filling_the_cache_at_its_flush_threshold),
	TEST(put_that_ends_at_a_posted_op_caches_those_before_it),
	TEST(get_of_more_than_the_cache_has_goes_past_it),
	TEST(alien_touches_no_cache),
	TEST(hundreds_of_alien_threads_get_and_put),
	TEST(registered_thread_gets_and_puts_through_its_cache),
	TEST(tags_are_exhausted_with_enospc_and_come_back),
	TEST(bad_numbers_are_refused),
	TEST(name_of_any_length_is_cut_in_the_log),
	TEST(pool_too_large_for_memory_is_refused_and_leaves_no_tag_behind),
};

PLX_TEST_SUITE(op, pool, tests, .lcores = 4);
