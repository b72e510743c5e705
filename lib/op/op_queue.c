/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_op_queue.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

/* No QP has its number, but a wrong completion may. Then the op, whose seq is 0, is none of it (no store, it is constant). */
static const struct {
	char before[PLX_OP_NONE_AT];
	struct plx_op_queue queue;
} nowhere __attribute__((aligned(64))) = {.queue = {.head = 1, .tail = 1, .qp_num = UINT32_MAX}};

void
plx_op_leave_queue(struct plx_op *op)
{
	op->queue = (struct plx_op_queue *)(uintptr_t)&nowhere.queue;
	op->seq = 0;
}

int
plx_op_queue_init(struct plx_op_queue *q, uint32_t depth, int socket_id)
{
	uint32_t size;

	if (depth == 0 || depth > (1u << 24))
		return -EINVAL;
	size = rte_align32pow2(depth);
	memset(q, 0, sizeof(*q));
	q->slots = rte_zmalloc_socket("plx_op_queue", size * sizeof(*q->slots), 0, socket_id);
	if (q->slots == NULL)
		return -ENOMEM;
	q->mask = size - 1;
	q->depth = depth;
	/* limit and most are 0: the first post moves them. */
	return 0;
}

void
plx_op_queue_fini(struct plx_op_queue *q)
{
	rte_free(q->slots);
	q->slots = NULL;
}

bool
plx_op_list_remove(struct plx_op_list *list, struct plx_op *op)
{
	struct plx_op *before = NULL, *at = list->first;

	for (uint32_t nb = list->nb; nb != 0; nb--, before = at, at = at->next) {
		if (at != op)
			continue;
		if (before != NULL)
			before->next = op->next;
		else
			list->first = op->next;
		if (list->last == op)
			list->last = before;
		list->nb--;
		return true;
	}
	return false;
}

static void
lost_append(struct plx_op_queue *q, struct plx_op *op)
{
	op->next = NULL;
	op->prev = q->lost_tail;
	if (q->lost_tail != NULL)
		q->lost_tail->next = op;
	else
		q->lost = op;
	q->lost_tail = op;
	q->nb_lost++;
	if (q->overtaken != NULL)
		q->overtaken(q, op);
}

static void
lost_remove(struct plx_op_queue *q, struct plx_op *op)
{
	if (op->prev != NULL)
		op->prev->next = op->next;
	else
		q->lost = op->next;
	if (op->next != NULL)
		op->next->prev = op->prev;
	else
		q->lost_tail = op->prev;
}

/** An unsignaled op succeeded: the result that the device does not give. byte_len stands there since the post. */
static void
over_append(struct plx_op_queue *q, struct plx_op *op, struct plx_op_list *over)
{
	plx_op_disarm(op);
	op->imm = 0;
	op->qp_num = q->qp_num;
	op->status = PLX_ST_SUCCESS;
	op->reported = op->wr.opcode;
	op->wc_flags = 0;
	q->nb_implied++;
	plx_op_list_append(over, op);
}

/** A later op's completion came before one of @p op. Whether that was its success. */
static bool
overtake(struct plx_op_queue *q, struct plx_op *op, struct plx_op_list *over)
{
	if (plx_op_is_split(op)) {
		/* Nobody waits any more for one that was settled early: what the device did with it, it has done. */
		plx_op_device_done(op);
	} else if (plx_op_is_unsignaled(op) && !q->in_error) {
		over_append(q, op, over);
		return true;
	} else {
		lost_append(q, op);
	}
	return false;
}

/** Whether @p op, which is posted on @p q, is not on the lost list. */
static bool
is_in_flight(const struct plx_op_queue *q, const struct plx_op *op)
{
	/* Not by the sign of the distance: seq may be any number of posts, and laps of its 32 bits, behind. */
	return op->seq - q->tail < q->head - q->tail && q->slots[op->seq & q->mask] == op;
}

bool
plx_op_queue_retire_out_of_order(struct plx_op_queue *q, struct plx_op *op, struct plx_op_list *over)
{
	bool any = false;

	if (plx_op_queue_is_none(q) || plx_op_queue_forget_lost(q, op))
		return false;
	while (q->tail != op->seq)
		any |= overtake(q, q->slots[q->tail++ & q->mask], over);
	q->tail++;
	return any;
}

uint32_t
plx_op_queue_unsignaled_tail(const struct plx_op_queue *q)
{
	uint32_t n = 0;

	while (n != q->head - q->tail && plx_op_is_unsignaled(q->slots[(q->head - 1 - n) & q->mask]))
		n++;
	return n;
}

bool
plx_op_queue_forget_lost(struct plx_op_queue *q, struct plx_op *op)
{
	if (is_in_flight(q, op))
		return false;
	lost_remove(q, op);
	q->nb_recovered++;
	return true;
}

struct plx_op *
plx_op_queue_take_unsettled(struct plx_op_queue *q)
{
	struct plx_op *op = q->lost;

	if (op != NULL) {
		lost_remove(q, op);
		return op;
	}
	return q->tail != q->head ? q->slots[q->tail++ & q->mask] : NULL;
}
