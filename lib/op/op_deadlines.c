/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_op_deadlines.h"

#include <errno.h>

#include <rte_malloc.h>

int
plx_op_deadlines_init(struct plx_op_deadlines *heap, uint32_t max, int socket_id)
{
	heap->nb = 0;
	heap->ops = rte_zmalloc_socket("plx_op_deadlines", max * sizeof(struct plx_op *), 0, socket_id);
	return heap->ops != NULL ? 0 : -ENOMEM;
}

void
plx_op_deadlines_fini(struct plx_op_deadlines *heap)
{
	rte_free(heap->ops);
	heap->ops = NULL;
}

static void
place(struct plx_op_deadlines *heap, struct plx_op *op, uint32_t at)
{
	heap->ops[at] = op;
	op->deadline_at = at + 1;
}

/** Put @p op where @p at is free, or above: whoever is later moves down. */
static void
sift_up(struct plx_op_deadlines *heap, struct plx_op *op, uint32_t at)
{
	while (at != 0) {
		uint32_t parent = (at - 1) / 2;

		if (heap->ops[parent]->deadline <= op->deadline)
			break;
		place(heap, heap->ops[parent], at);
		at = parent;
	}
	place(heap, op, at);
}

/** The same, or below: whoever is earlier moves up. */
static void
sift_down(struct plx_op_deadlines *heap, struct plx_op *op, uint32_t at)
{
	for (uint32_t child; (child = 2 * at + 1) < heap->nb; at = child) {
		if (child + 1 < heap->nb && heap->ops[child + 1]->deadline < heap->ops[child]->deadline)
			child++;
		if (heap->ops[child]->deadline >= op->deadline)
			break;
		place(heap, heap->ops[child], at);
	}
	place(heap, op, at);
}

void
plx_op_deadlines_add(struct plx_op_deadlines *heap, struct plx_op *op)
{
	sift_up(heap, op, heap->nb++);
}

void
plx_op_deadlines_remove(struct plx_op_deadlines *heap, struct plx_op *op)
{
	uint32_t at = op->deadline_at - 1;
	struct plx_op *last;

	if (op->deadline_at == 0)
		return;
	op->deadline_at = 0;
	last = heap->ops[--heap->nb];
	if (last == op)
		return;
	if (last->deadline < op->deadline)
		sift_up(heap, last, at);
	else
		sift_down(heap, last, at);
}
