/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_op_pool.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "plx_log.h"
#include "plx_op_queue.h"

#ifdef PLX_OP_POOL_CHECKED
#include "op_pool_sanitize.h"
#else
static void
poison(struct plx_op_pool *pool)
{
	(void)pool;
}
static void
unpoison(struct plx_op_pool *pool)
{
	(void)pool;
}
#endif

/* A put stores up to the flush threshold, which is 1.5 x the cache size (rte_mempool.c), before it looks again. */
static_assert(sizeof(((struct rte_mempool_cache *)0)->objs) / sizeof(void *) >= RTE_MEMPOOL_CACHE_MAX_SIZE * 3 / 2,
	"a cache has room for what it may hold");
static_assert(sizeof(((struct rte_mempool_cache *)0)->len) == sizeof(uint32_t) &&
	sizeof(((struct rte_mempool_cache *)0)->flushthresh) == sizeof(uint32_t), "plx_op_put_bulk() counts in these");

#define MAX_SLOTS (1u << 24)
#define MAX_PRIV (1u << 24)

static uint64_t tags[(PLX_OP_POOLS_MAX + 1) / 64] = {1}; /* tag 0 is nobody's */

/** The lowest free tag, from now on taken; 0 if there is none. */
static uint32_t
tag_take(void)
{
	for (uint32_t tag = 1; tag <= PLX_OP_POOLS_MAX; tag++) {
		uint64_t bit = UINT64_C(1) << (tag % 64);

		if (!(__atomic_fetch_or(&tags[tag / 64], bit, __ATOMIC_RELAXED) & bit))
			return tag;
	}
	return 0;
}

static void
tag_give(uint32_t tag)
{
	__atomic_fetch_and(&tags[tag / 64], ~(UINT64_C(1) << (tag % 64)), __ATOMIC_RELAXED);
}

/** The slots that make nb_ops available to one lcore: the caches of all may hold 1.5 x their size. */
static uint64_t
slots_needed(const struct plx_op_pool_conf *conf)
{
	return conf->nb_ops + (uint64_t)rte_lcore_count() * (conf->cache_size + conf->cache_size / 2);
}

static int
conf_check(const struct plx_op_pool_conf *conf)
{
	if (conf->nb_ops == 0 || slots_needed(conf) > MAX_SLOTS) {
		PLX_LOG(ERR, "op pool %.63s: %u ops and %u lcores' caches of %u need %" PRIu64
			" slots; 1 to %u can be had", conf->name, conf->nb_ops, rte_lcore_count(),
			conf->cache_size, slots_needed(conf), MAX_SLOTS);
		return -EINVAL;
	}
	if (conf->cache_size > RTE_MEMPOOL_CACHE_MAX_SIZE) {
		PLX_LOG(ERR, "op pool %.63s: cache of %u objects, the maximum is %u", conf->name,
			conf->cache_size, RTE_MEMPOOL_CACHE_MAX_SIZE);
		return -EINVAL;
	}
	if (conf->priv_size > MAX_PRIV) {
		PLX_LOG(ERR, "op pool %.63s: %u private bytes behind each op, the maximum is %u", conf->name,
			conf->priv_size, MAX_PRIV);
		return -EINVAL;
	}
	return 0;
}

static void
slot_init(struct rte_mempool *mp, void *arg, void *obj, unsigned int index)
{
	struct plx_op_pool *pool = arg;
	struct plx_op *op = obj;

	memset(op, 0, mp->elt_size);
	plx_op_init(op, pool, pool->first_id | index);
	if (index == 0)
		pool->base = (uintptr_t)op;
	if ((uintptr_t)op != pool->base + (uintptr_t)index * pool->stride)
		pool->stride = 0; /* objects are not evenly spaced: pool_populate() refuses */
}

/** The name that the user gave, which stands in the mempool's behind "plxTAG_"; cut to what fits there. */
static const char *
pool_name(const struct plx_op_pool *pool)
{
	return strchr(pool->mp->name, '_') + 1;
}

/** One piece of memory for all slots, so that index and address are a multiplication apart. */
static int
pool_populate(struct plx_op_pool *pool)
{
	struct rte_mempool *mp = pool->mp;
	size_t stride = (size_t)mp->header_size + mp->elt_size + mp->trailer_size;
	size_t len = stride * pool->nb_slots + RTE_CACHE_LINE_SIZE;
	int populated;

	pool->memory = rte_zmalloc_socket("plx_op_pool", len, RTE_CACHE_LINE_SIZE, mp->socket_id);
	if (pool->memory == NULL) {
		PLX_LOG(ERR, "op pool %s: no %zu bytes for %u slots of %zu (EAL has what -m or hugepages give)",
			pool_name(pool), len, pool->nb_slots, stride);
		return -ENOMEM;
	}
	populated = rte_mempool_populate_iova(mp, pool->memory, RTE_BAD_IOVA, len, NULL, NULL);
	pool->stride = stride;
	if (populated == (int)pool->nb_slots)
		rte_mempool_obj_iter(mp, slot_init, pool);
	if (PLX_OP_POOL_DIRECT && mp->cache_size != 0) {
		pool->caches = mp->local_cache;
		pool->nb_caches = RTE_MAX_LCORE;
	}
	if (populated != (int)pool->nb_slots || pool->stride == 0) {
		PLX_LOG(ERR, "op pool %s: mempool made %d of %u slots of %zu bytes, %s", pool_name(pool), populated,
			pool->nb_slots, stride, pool->stride != 0 ? "too few" : "not evenly spaced");
		return -ENOMEM;
	}
	return 0;
}

struct plx_op_pool *
plx_op_pool_create(const struct plx_op_pool_conf *conf)
{
	size_t size = RTE_ALIGN_CEIL(sizeof(struct plx_op) + conf->priv_size, RTE_CACHE_LINE_SIZE);
	char name[RTE_MEMPOOL_NAMESIZE];
	struct plx_op_pool *pool;
	int err = conf_check(conf);

	if (err != 0) {
		rte_errno = -err;
		return NULL;
	}
	pool = rte_zmalloc_socket("plx_op_pool", sizeof(*pool), RTE_CACHE_LINE_SIZE, conf->socket_id);
	if (pool == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	pool->nb_ops = conf->nb_ops;
	pool->nb_slots = (uint32_t)slots_needed(conf);
	err = -ENOSPC;
	pool->tag = tag_take();
	if (pool->tag == 0) {
		PLX_LOG(ERR, "op pool %.63s: all %u pool tags are taken", conf->name, PLX_OP_POOLS_MAX);
		goto free_pool;
	}
	pool->first_id = pool->tag << 24;
	snprintf(name, sizeof(name), "plx%u_%.14s", pool->tag, conf->name);
	err = -ENOMEM;
	/* Devices get virtual addresses; without the flag EAL leaves a gap at each page that an op would cross. */
	pool->mp = rte_mempool_create_empty(name, pool->nb_slots, size, conf->cache_size, 0, conf->socket_id,
		RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	if (pool->mp == NULL) {
		err = -rte_errno;
		PLX_LOG(ERR, "op pool %.63s: no mempool of %u slots: %s", conf->name, pool->nb_slots, rte_strerror(-err));
		goto free_tag;
	}
	err = rte_mempool_set_ops_byname(pool->mp, "ring_mt_rts", NULL);
	if (err != 0) {
		PLX_LOG(ERR, "op pool %.63s: no mempool driver ring_mt_rts: %s", conf->name, rte_strerror(-err));
		goto free_mempool;
	}
	err = pool_populate(pool);
	if (err != 0)
		goto free_mempool;
	poison(pool);
	return pool;

free_mempool:
	rte_mempool_free(pool->mp);
	rte_free(pool->memory);
free_tag:
	tag_give(pool->tag);
free_pool:
	rte_free(pool);
	rte_errno = -err;
	return NULL;
}

unsigned int
plx_op_pool_in_use(const struct plx_op_pool *pool)
{
	return rte_mempool_in_use_count(pool->mp);
}

int
plx_op_pool_destroy(struct plx_op_pool *pool)
{
	unsigned int out = plx_op_pool_in_use(pool);

	if (out != 0) {
		PLX_LOG(ERR, "op pool %s: %u ops are still out", pool_name(pool), out);
		return -EBUSY;
	}
	unpoison(pool);
	rte_mempool_free(pool->mp);
	rte_free(pool->memory);
	tag_give(pool->tag);
	rte_free(pool);
	return 0;
}

int
plx_op_get_slow(struct plx_op_pool *pool, struct plx_op **ops, unsigned int n)
{
	if (rte_mempool_get_bulk(pool->mp, (void **)ops, n) != 0) {
		__atomic_fetch_add(&pool->nb_refused, 1, __ATOMIC_RELAXED);
		return -EAGAIN;
	}
	plx_op_pool_note_get(ops, n);
	return 0;
}

unsigned int
plx_op_put_rest(struct plx_op_pool *pool, struct plx_op **ops, unsigned int put, unsigned int n)
{
	plx_op_pool_note_put(ops, put);
	pool->caches[rte_lcore_id()].len += put;
	return put + plx_op_put_slow(pool, ops + put, n - put);
}

unsigned int
plx_op_put_slow(struct plx_op_pool *pool, struct plx_op **ops, unsigned int n)
{
	unsigned int put = 0;

	while (put < n) {
		unsigned int end = put;

		while (end < n && plx_op_end(ops[end]))
			end++;
		plx_op_pool_note_put(ops + put, end - put);
		rte_mempool_put_bulk(pool->mp, (void *const *)(ops + put), end - put);
		put = end;
		if (put < n && !plx_op_leave(ops[put++]))
			return put - 1;
	}
	return put;
}
