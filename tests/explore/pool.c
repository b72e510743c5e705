/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "internal.h"

#include <errno.h>
#include <string.h>

#include <rte_mempool.h>

#include "plx_op.h"

/**
 * @file
 * A mempool's objects, last in first out, so that a slot is used again as soon as it can be. Each put and each get is one
 * step. DPDK's own rings do that in their library, where nothing can be seen.
 *
 * Nothing is put twice, and nothing that the device has.
 */

#define MAX_OBJECTS 256

struct stack {
	uint64_t nb;
	void *objects[MAX_OBJECTS];
};

static void
turn(struct stack *stack, const char *what)
{
	struct step step = {.word = (uintptr_t)&stack->nb / 8, .write = true, .what = what};

	run_step(&step);
	arena_touch(stack, sizeof(*stack));
}

static int
stack_alloc(struct rte_mempool *mp)
{
	mp->pool_data = explore_alloc(sizeof(struct stack));
	return 0;
}

static void
stack_free(struct rte_mempool *mp)
{
	mp->pool_data = NULL;
}

static void
check_put(const struct stack *stack, const void *object)
{
	const struct plx_op *op = object;

	for (uint64_t i = 0; i < stack->nb; i++)
		if (stack->objects[i] == object)
			explore_fail("an op is put into the pool twice");
	if (op->device_word != 0)
		explore_fail("an op is put into the pool while the device has it");
}

static int
stack_put(struct rte_mempool *mp, void *const *objects, unsigned int n)
{
	struct stack *stack = mp->pool_data;

	turn(stack, "put");
	if (stack->nb + n > MAX_OBJECTS)
		explore_fail("more than %u ops", MAX_OBJECTS);
	for (unsigned int i = 0; i < n; i++) {
		check_put(stack, objects[i]);
		stack->objects[stack->nb++] = objects[i];
	}
	return 0;
}

static int
stack_get(struct rte_mempool *mp, void **objects, unsigned int n)
{
	struct stack *stack = mp->pool_data;

	turn(stack, "get");
	if (stack->nb < n)
		return -ENOBUFS;
	for (unsigned int i = 0; i < n; i++)
		objects[i] = stack->objects[--stack->nb];
	return 0;
}

static unsigned int
stack_count(const struct rte_mempool *mp)
{
	return (unsigned int)((const struct stack *)mp->pool_data)->nb;
}

void
pool_take_over(void)
{
	for (uint32_t i = 0; i < rte_mempool_ops_table.num_ops; i++) {
		struct rte_mempool_ops *ops = &rte_mempool_ops_table.ops[i];

		if (strcmp(ops->name, "ring_mt_rts") != 0)
			continue;
		ops->alloc = stack_alloc;
		ops->free = stack_free;
		ops->enqueue = stack_put;
		ops->dequeue = stack_get;
		ops->get_count = stack_count;
	}
}
