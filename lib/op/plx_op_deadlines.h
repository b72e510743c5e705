/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_OP_DEADLINES_H
#define PLX_OP_DEADLINES_H

/**
 * @file
 * The ops with a deadline that one owner has, the earliest first: a binary heap of pointers.
 *
 *                  ops[0]  earliest
 *                /        \
 *           ops[1]        ops[2]        op->deadline_at is the op's place + 1, so that
 *          /     \       /     \        one that completes is taken out from wherever it is
 *        ...     ...   ...     ...
 *
 * It has room for every op of the pool, 8 bytes each, so that it cannot be full.
 *
 * Threads: the owner lcore only.
 *
 * @since 0.1
 */

#include "plx_op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The library's. Zero is the empty one, without room. */
struct plx_op_deadlines {
	struct plx_op **ops;
	uint32_t nb;
};

/** Room for @p max ops. 0, -ENOMEM. */
int plx_op_deadlines_init(struct plx_op_deadlines *heap, uint32_t max, int socket_id);
/** Free what init took. */
void plx_op_deadlines_fini(struct plx_op_deadlines *heap);

/** Add @p op, which has a deadline and is in no heap. */
void plx_op_deadlines_add(struct plx_op_deadlines *heap, struct plx_op *op);
/** Take @p op out; nothing happens if it is not in. */
void plx_op_deadlines_remove(struct plx_op_deadlines *heap, struct plx_op *op);

/** The op whose deadline is the earliest, if it is not after @p now; else NULL. It stays in. */
PLX_INLINE struct plx_op *
plx_op_deadlines_due(const struct plx_op_deadlines *heap, uint64_t now)
{
	return heap->nb != 0 && heap->ops[0]->deadline <= now ? heap->ops[0] : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
