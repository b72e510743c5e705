/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_OP_QUEUE_H
#define PLX_OP_QUEUE_H

/**
 * @file
 * The books of one work queue: what is posted on it, in order, and how much room is left.
 *
 *      slots   | . | . | 7 | 8 | 9 | 10| . | . |
 *                        ^tail           ^head       room = depth - (head - tail)
 *
 * Credit comes from the granted depth and these two counters, never from a provider's ENOMEM. An op
 * is found by its wr_id; the order here serves accounting alone: RC completes a queue in order (IBA 10.8.6), so a
 * completion says that every op before it is over:
 *
 *      slots   | u | u | s | u | S | . |		S completes: both u in front of it succeeded, s is lost, u succeeded
 *
 *      u unsignaled   it would have had a completion of its own had it failed; so this is its success
 *      s signaled     its completion did not come. Its slot is free again; it stays in custody on the lost list until
 *                     the QP is destroyed, or until the completion comes late
 *
 * Once an op of the queue has failed, each one behind it completes, as flushed, whatever it asked for. An unsignaled one
 * that is overtaken then is lost too.
 *
 * The most that were posted at once is known without counting: it is the limit that a submit is held against, and who
 * would pass it takes the slow path, which moves it, up to the depth.
 *
 * Threads: the owner lcore only.
 *
 * @since 0.1
 */

#include "plx_op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Ops in custody, first in first out, linked by op->next. Zero is the empty list. */
struct plx_op_list {
	struct plx_op *first;
	struct plx_op *last;
	uint32_t nb;
};

/** Put @p op, which is on no list, behind the others. */
PLX_INLINE void
plx_op_list_append(struct plx_op_list *list, struct plx_op *op)
{
	op->next = NULL;
	if (list->nb++ != 0)
		list->last->next = op;
	else
		list->first = op;
	list->last = op;
}

/** The oldest op of @p list, taken off it; NULL when it is empty. */
PLX_INLINE struct plx_op *
plx_op_list_take(struct plx_op_list *list)
{
	struct plx_op *op = list->first;

	if (list->nb == 0)
		return NULL;
	list->nb--;
	list->first = op->next;
	return op;
}

/** Take @p op out of the middle of @p list; false if it is not on it. A walk. */
bool plx_op_list_remove(struct plx_op_list *list, struct plx_op *op);

/** The owner's, but for what is read from elsewhere (qp_num), which stands still. */
struct plx_op_queue {
	uint32_t head;	/**< posts so far */
	uint32_t tail;	/**< posts before this one are over */
	uint32_t limit; /**< most; or 0: submitters must take the slow path */
	uint32_t mask;
	struct plx_op **slots;
	uint32_t qp_num;
	uint32_t depth; /**< granted */
	uint32_t most;	/**< ops that were posted at once */
	bool in_error;	/**< a completion said so */
	void (*overtaken)(struct plx_op_queue *q, struct plx_op *op); /**< told of each; may be NULL */
	/** Told of each completion that a device gave and that is no success, before anybody else; may be NULL. */
	void (*failed)(struct plx_op_queue *q, const struct plx_op *op, const struct plx_wc *wc);
	struct plx_op *lost; /**< overtaken, unsettled; oldest first */
	struct plx_op *lost_tail;
	uint64_t nb_lost;    /**< ops ever overtaken */
	uint64_t nb_recovered; /**< of those, ops that were settled after all: completion, deadline or cancel came */
	uint64_t nb_implied; /**< unsignaled ops that a later one's completion ended */
};

/**
 * Where a connection, which begins at a multiple of 64, has its two queues (conn.c asserts it). By its address alone a
 * queue tells whose it is: an op may outlive the connection that it was posted on, and its result names that one.
 */
#define PLX_OP_SQ_AT 128
#define PLX_OP_RQ_AT (256 + 8) /**< the 8 tells it from the other */
#define PLX_OP_NONE_AT 16      /**< of the one that is no connection's, likewise */
#define PLX_OP_SHARED_AT 32    /**< of one that is many connections' (plx_op_shared.h), likewise */

/** Whether @p q is that of ops posted by hand: no connection's, constant, nothing is booked there. */
PLX_INLINE bool
plx_op_queue_is_none(const struct plx_op_queue *q)
{
	return ((uintptr_t)q & PLX_OP_NONE_AT) != 0;
}

/** Whether @p q is that of an SRQ: its ops are no connection's until they complete. */
PLX_INLINE bool
plx_op_queue_is_shared(const struct plx_op_queue *q)
{
	return ((uintptr_t)q & PLX_OP_SHARED_AT) != 0;
}

/** The connection, living or gone, whose queue is or was at @p q; NULL if none's. */
PLX_INLINE void *
plx_op_queue_conn(const struct plx_op_queue *q)
{
	uintptr_t at = (uintptr_t)q;

	if ((at & (PLX_OP_NONE_AT | PLX_OP_SHARED_AT)) != 0)
		return NULL;
	return (void *)(at - (at & 8 ? PLX_OP_RQ_AT : PLX_OP_SQ_AT));
}

/** @p op is to be posted by hand, on no connection's queue. */
void plx_op_leave_queue(struct plx_op *op);

/** Room for @p depth ops. 0, -EINVAL, -ENOMEM. */
int plx_op_queue_init(struct plx_op_queue *q, uint32_t depth, int socket_id);
/** Free what init took; nothing is posted there any more. */
void plx_op_queue_fini(struct plx_op_queue *q);

/** Whether @p n more posts fit, and are no more than there ever were; never when submitters must take the slow path. */
PLX_INLINE bool
plx_op_queue_fits(const struct plx_op_queue *q, uint16_t n)
{
	return (int32_t)(q->limit - (q->head - q->tail)) >= n;
}

/** Posts that still fit. */
PLX_INLINE uint32_t
plx_op_queue_room(const struct plx_op_queue *q)
{
	return q->depth - (q->head - q->tail);
}

/** So many ops are posted now: remember the most. */
PLX_INLINE void
plx_op_queue_note_most(struct plx_op_queue *q)
{
	if (q->head - q->tail > q->most)
		q->most = q->head - q->tail;
}

/** Whether an op of the queue is still in the device's hands. */
PLX_INLINE bool
plx_op_queue_idle(const struct plx_op_queue *q)
{
	return q->head == q->tail && q->lost == NULL;
}

/** Unsignaled ops behind the last signaled one that is in flight. */
uint32_t plx_op_queue_unsignaled_tail(const struct plx_op_queue *q);

/** Cold half of plx_op_queue_retire(): @p op overtook others, or was overtaken itself. */
bool plx_op_queue_retire_out_of_order(struct plx_op_queue *q, struct plx_op *op, struct plx_op_list *over);

/**
 * The completion of @p op, posted on @p q, is here. Whether unsignaled ops before it are over too: then they stand on
 * @p over, oldest first, out of the device's hands and with their results, to be settled before @p op.
 */
PLX_INLINE bool
plx_op_queue_retire(struct plx_op_queue *q, struct plx_op *op, struct plx_op_list *over)
{
	if (__builtin_expect(op->seq != q->tail, 0))
		return plx_op_queue_retire_out_of_order(q, op, over);
	q->tail++;
	return false;
}

/** Take @p op, posted on @p q, off the lost list, to be settled without its completion; false: it is not there. */
bool plx_op_queue_forget_lost(struct plx_op_queue *q, struct plx_op *op);

/** Once the QP is gone: take an op whose completion will not come, oldest first; NULL when none is left. */
struct plx_op *plx_op_queue_take_unsettled(struct plx_op_queue *q);

#ifdef __cplusplus
}
#endif

#endif
