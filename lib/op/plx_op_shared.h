/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_OP_SHARED_H
#define PLX_OP_SHARED_H

/**
 * @file
 * The books of a shared receive queue: how many ops are posted there, and which QP is whose.
 *
 *      CQE { wr_id, qp_num } --> op.queue is that of an SRQ --> who[qp_num] --> op.queue = the sender's own
 *
 * An op on an SRQ is nobody's until its completion names a QP. Its queue has the number of no QP, so the completion takes
 * the dispatcher's way for those that do not match, which is where it finds the sender; all other ops pay nothing for
 * that. A number is looked up among the QPs of this one SRQ, hence of one device. Who numbers QPs again at once is met
 * where they are made: no two that can have completions at the same time have the same number here.
 *
 * SRQs complete in any order, so there is no order in these books, and nothing can be overtaken.
 *
 * Threads: the owner of the connections; joining and leaving under a lock of the caller's, beside an owner that looks up.
 *
 * @since 0.1
 */

#include "plx_op_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plx_op_shared;

/** A QP that takes its receives from the SRQ. */
struct plx_op_shared_who {
	uint32_t qp_num; /**< atomic; PLX_OP_SHARED_FREE, PLX_OP_SHARED_LEFT: nobody */
	uint32_t nb_held; /**< its messages that are not given back; the owner's */
	struct plx_op_queue *queue; /**< its connection's */
	uint64_t home;	 /**< on which its messages complete; PLX_HOME_ANY: as the op says */
};

#define PLX_OP_SHARED_FREE UINT32_MAX	    /**< a look-up ends here */
#define PLX_OP_SHARED_LEFT (UINT32_MAX - 1) /**< nobody's, and somebody is found past it */

/**
 * @p op came, and fewer than `low` are posted now, or its QP is not among these (@p who is NULL). Whether it is delivered;
 * if not, the op is the callee's, in custody still. On the owner, inside the batch.
 */
typedef bool (*plx_op_shared_low_t)(struct plx_op_shared *shared, struct plx_op *op, struct plx_op_shared_who *who);

/** Made by plx_op_shared_init(); begins at a multiple of 64. */
struct plx_op_shared {
	char apart[PLX_OP_SHARED_AT];
	struct plx_op_queue queue; /**< of its ops; head - tail are posted */
	uint32_t mask;
	uint32_t low;	  /**< with fewer posted low_cb is asked */
	struct plx_op_shared_who *who; /**< by qp_num, mask + 1 of them */
	plx_op_shared_low_t low_cb;
} __attribute__((aligned(64)));

/** Books for up to @p nb_qps QPs. 0, -EINVAL 0 or too many, -ENOMEM. */
int plx_op_shared_init(struct plx_op_shared *shared, uint32_t nb_qps, plx_op_shared_low_t low_cb);
/** Free what init took. */
void plx_op_shared_fini(struct plx_op_shared *shared);

/** The books of which @p q is the queue. */
PLX_INLINE struct plx_op_shared *
plx_op_shared_of(struct plx_op_queue *q)
{
	return (struct plx_op_shared *)((uintptr_t)q - PLX_OP_SHARED_AT);
}

/** The QP with that number, or NULL. It stays where it is until it leaves. Owner, or under the lock. */
struct plx_op_shared_who *plx_op_shared_find(const struct plx_op_shared *shared, uint32_t qp_num);

/** A QP more. 0, -EEXIST: the number is here, -ENOSPC. Under the lock. */
int plx_op_shared_join(struct plx_op_shared *shared, uint32_t qp_num, struct plx_op_queue *queue, uint16_t home);
/** No completion of it will come. Under the lock. */
void plx_op_shared_leave(struct plx_op_shared *shared, uint32_t qp_num);

/**
 * The completion of @p op, posted here, came from QP @p qp_num (of @p named). True: the op's queue and home are its
 * sender's; false: it was refused. Owner.
 */
bool plx_op_shared_arrived(struct plx_op_shared *shared, struct plx_op *op, bool named, uint32_t qp_num);

#ifdef __cplusplus
}
#endif

#endif
