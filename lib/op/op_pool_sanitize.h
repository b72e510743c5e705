/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef OP_POOL_SANITIZE_H
#define OP_POOL_SANITIZE_H

/**
 * @file
 * What the sanitizers must be told about nodes in the pool; part of op_pool.c in their builds.
 *
 * ASan: a node that is in the pool is poisoned, except the wr_id and the device word, by which a stale
 * completion is known. TSan: the mempool's ring is in a shared library that is not instrumented, so
 * the hand-over from put to get is told by hand.
 */

#if defined(__SANITIZE_ADDRESS__)
#define CHECK_ADDRESS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECK_ADDRESS 1
#endif
#endif

#ifdef CHECK_ADDRESS
#include <sanitizer/asan_interface.h>

static void
node_hide(struct plx_op *op, size_t size)
{
	char *start = (char *)op;

	ASAN_POISON_MEMORY_REGION(start + 8, offsetof(struct plx_op, device_word) - 8);
	ASAN_POISON_MEMORY_REGION(start + 64, size - 64);
}

static void
node_show(struct plx_op *op, size_t size)
{
	ASAN_UNPOISON_MEMORY_REGION(op, size);
}
#else
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);

static void
node_hide(struct plx_op *op, size_t size)
{
	(void)size;
	__tsan_release(op);
}

static void
node_show(struct plx_op *op, size_t size)
{
	(void)size;
	__tsan_acquire(op);
}
#endif

void
plx_op_pool_note_get(struct plx_op **ops, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		node_show(ops[i], rte_mempool_from_obj(ops[i])->elt_size);
}

void
plx_op_pool_note_put(struct plx_op **ops, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		node_hide(ops[i], rte_mempool_from_obj(ops[i])->elt_size);
}

static void
poison(struct plx_op_pool *pool)
{
	for (uint32_t i = 0; i < pool->nb_slots; i++)
		node_hide((struct plx_op *)(pool->base + (uintptr_t)i * pool->stride), pool->mp->elt_size);
}

static void
unpoison(struct plx_op_pool *pool)
{
	for (uint32_t i = 0; i < pool->nb_slots; i++)
		node_show((struct plx_op *)(pool->base + (uintptr_t)i * pool->stride), pool->mp->elt_size);
}

#endif
