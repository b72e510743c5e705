/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_OP_POOL_H
#define PLX_OP_POOL_H

/**
 * @file
 * Where ops come from: one rte_mempool over one piece of memory, so that a slot index is an address.
 *
 *      base -> | hdr | op 0 | hdr | op 1 | ... | hdr | op n-1 |      op = base + index x stride
 *
 * The mempool's ops are `ring_mt_rts`, because a preempted thread in a default one stalls every other. Objects
 * rest in per-lcore caches, up to 1.5 x the cache size each, where other lcores cannot get them; the pool
 * is made larger by that, so that `nb_ops` is what one lcore can really take. Lcores are counted when it is made: a
 * thread that rte_thread_register() makes one later has a cache too, whose 1.5 x cache_size ops nobody else can get,
 * then or when it has unregistered. Register first, or leave threads alien.
 *
 * A node that is in the pool is poisoned in ASan builds, but for the two words that tell a stale wr_id.
 *
 * Threads: get and put from any thread. Threads without lcore id have no cache, and pay the shared
 * ring each time (bursts help); they need no registration and there can be any number of them.
 *
 * @since 0.1
 */

#include <string.h>

#include <rte_lcore.h>
#include <rte_mempool.h>

#include "plx_op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a pool is made of. */
struct plx_op_pool_conf {
	const char *name;	 /**< for dumps and errors; made unique */
	unsigned int nb_ops;	 /**< that can be out at once, 1 to 2^24 less the caches */
	unsigned int cache_size; /**< per lcore, up to RTE_MEMPOOL_CACHE_MAX_SIZE; 0: none */
	unsigned int priv_size;	 /**< application bytes behind each op, up to 2^24 */
	int socket_id;		 /**< NUMA node of the device, or SOCKET_ID_ANY */
};

/** Pools that a process can have at once: the tag has 8 bits, and 0 is nobody's. */
#define PLX_OP_POOLS_MAX 255

/**
 * Get and put reach into the lcore's cache themselves, which is public in rte_mempool.h, unless the mempool counts or
 * checks what passes through its own functions.
 */
#if defined(RTE_LIBRTE_MEMPOOL_DEBUG) || defined(RTE_LIBRTE_MEMPOOL_STATS)
#define PLX_OP_POOL_DIRECT 0
#else
#define PLX_OP_POOL_DIRECT 1
#endif

/** The library's; here because get and put are inline. */
struct plx_op_pool {
	struct rte_mempool *mp;
	uintptr_t base;	   /**< op 0 */
	uintptr_t stride;  /**< bytes from op to op */
	uint32_t nb_slots; /**< nb_ops and the caches' share */
	uint32_t first_id; /**< low half of op 0's wr_id */
	uint32_t nb_caches; /**< lcores below this have one of the caches; 0: nobody */
	struct rte_mempool_cache *caches; /**< the mempool's own, by lcore */
	uint32_t tag;	   /**< 1 to PLX_OP_POOLS_MAX */
	uint32_t nb_ops;   /**< as asked for */
	uint64_t nb_refused; /**< gets that found the pool empty; atomic */
	void *memory;
};

/** NULL with rte_errno: EINVAL a bad number (logged), ENOSPC no tag left, ENOMEM (logged with the need). */
struct plx_op_pool *plx_op_pool_create(const struct plx_op_pool_conf *conf);

/** Everything must be back: -EBUSY naming how many ops are out. */
int plx_op_pool_destroy(struct plx_op_pool *pool);

/** Ops that are out of the pool, those in lcore caches not counted. Slow; exact only when nobody gets or puts. */
unsigned int plx_op_pool_in_use(const struct plx_op_pool *pool);

/** Cold halves of get and put: through the mempool, when the lcore's cache will not do or there is none. */
int plx_op_get_slow(struct plx_op_pool *pool, struct plx_op **ops, unsigned int n);
/** Cold half of plx_op_put_bulk(). */
unsigned int plx_op_put_slow(struct plx_op_pool *pool, struct plx_op **ops, unsigned int n);
/** The same, when @p put ops have been stored behind the lcore's cache, and the next is none for it. */
unsigned int plx_op_put_rest(struct plx_op_pool *pool, struct plx_op **ops, unsigned int put, unsigned int n);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLX_OP_POOL_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLX_OP_POOL_CHECKED 1
#endif
#endif

#ifdef PLX_OP_POOL_CHECKED
/** Tell the sanitizers that the nodes change hands; the mempool's own code is not instrumented. */
void plx_op_pool_note_get(struct plx_op **ops, unsigned int n);
void plx_op_pool_note_put(struct plx_op **ops, unsigned int n);
#else
/** No sanitizer, nobody to tell. */
PLX_INLINE void
plx_op_pool_note_get(struct plx_op **ops, unsigned int n)
{
	(void)ops;
	(void)n;
}
/** No sanitizer, nobody to tell. */
PLX_INLINE void
plx_op_pool_note_put(struct plx_op **ops, unsigned int n)
{
	(void)ops;
	(void)n;
}
#endif

/** Take @p n ops, all or none. 0, or -EAGAIN: retry after progress. */
PLX_INLINE int
plx_op_get_bulk(struct plx_op_pool *pool, struct plx_op **ops, unsigned int n)
{
	unsigned int lcore = rte_lcore_id();
	struct rte_mempool_cache *cache;

	if (__builtin_expect(lcore >= pool->nb_caches, 0))
		return plx_op_get_slow(pool, ops, n);
	cache = &pool->caches[lcore];
	if (__builtin_expect(cache->len < n, 0))
		return plx_op_get_slow(pool, ops, n);
	cache->len -= n;
	memcpy(ops, &cache->objs[cache->len], n * sizeof(*ops));
	plx_op_pool_note_get(ops, n);
	return 0;
}

/** Take one op, or NULL: retry after progress. */
PLX_INLINE struct plx_op *
plx_op_get(struct plx_op_pool *pool)
{
	struct plx_op *op;

	return plx_op_get_bulk(pool, &op, 1) == 0 ? op : NULL;
}

/** Cold half of plx_op_end(): SGE list and deadline are gone. */
bool plx_op_end_more(struct plx_op *op);

/** End this use of an op on its way into the pool; false, and nothing changed, if it is in custody or the device's. */
PLX_INLINE bool
plx_op_end(struct plx_op *op)
{
	if (__builtin_expect((op->custody & PLX_OP_CUSTODY(0, PLX_OP_IN_CUSTODY, PLX_OP_OWN_MORE)) != 0, 0) &&
		!plx_op_end_more(op))
		return false;
	plx_op_renew(op);
	plx_op_set_state(op, PLX_OP_FREE);
	return true;
}

/**
 * Give back @p n ops of @p pool, PREPARED or COMPLETED, or FREE and not put yet; results are discarded, the handles
 * dead. Returns how many were put: fewer than @p n means that ops[returned] is posted, and stays so (plx_op_abandon()
 * gives up on a posted op). One that the device still has, TIMED_OUT or CANCELLED, is no longer the caller's either,
 * and goes back when the device is done.
 */
PLX_INLINE unsigned int
plx_op_put_bulk(struct plx_op_pool *pool, struct plx_op **ops, unsigned int n)
{
	unsigned int lcore = rte_lcore_id(), len;
	struct rte_mempool_cache *cache;
	void **to;
	size_t i;

	if (__builtin_expect(lcore >= pool->nb_caches, 0))
		return plx_op_put_slow(pool, ops, n);
	cache = &pool->caches[lcore];
	len = cache->len;
	if (__builtin_expect(len + n > cache->flushthresh, 0))
		return plx_op_put_slow(pool, ops, n);
	to = &cache->objs[len];
	for (i = 0; i < n; i++) {
		struct plx_op *op = ops[i]; /* once: what is stored below could be the table, for the compiler */

		if (__builtin_expect(!plx_op_end(op), 0))
			return plx_op_put_rest(pool, ops, (unsigned int)i, n);
		to[i] = op;
	}
	plx_op_pool_note_put(ops, n);
	cache->len = len + n;
	return n;
}

/** Give back one op. 0, or -EBUSY: it is posted. */
PLX_INLINE int
plx_op_put(struct plx_op *op)
{
	return plx_op_put_bulk(op->pool, &op, 1) == 1 ? 0 : -16; /* -EBUSY */
}

/** The slot that @p wr_id names; nb_slots or more if it is none of this pool's. */
PLX_INLINE uint32_t
plx_op_slot(const struct plx_op_pool *pool, uint64_t wr_id)
{
	/* With another tag the difference is at least 2^24, which no pool has. */
	return (uint32_t)wr_id - pool->first_id;
}

/** The op of a slot below nb_slots. */
PLX_INLINE struct plx_op *
plx_op_at(const struct plx_op_pool *pool, uint32_t slot)
{
	return (struct plx_op *)(pool->base + slot * pool->stride);
}

/** The op whose slot and tag @p wr_id has, of whatever generation; NULL if it is none of this pool's. */
PLX_INLINE struct plx_op *
plx_op_find(const struct plx_op_pool *pool, uint64_t wr_id)
{
	uint32_t slot = plx_op_slot(pool, wr_id);

	return __builtin_expect(slot < pool->nb_slots, 1) ? plx_op_at(pool, slot) : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
