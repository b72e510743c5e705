/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef NULL_H
#define NULL_H

/**
 * @file
 * A device that does nothing, at once: every send-queue WR succeeds while it is posted and its completion waits in
 * the CQ; nothing is moved, looked up or checked. Receives are taken and complete only as flushed. Peers need not exist.
 *
 * It is what the framework's own cost is measured on, so a post is two stores and a poll two loads per WR:
 *
 *      post_send --> [ wr_id | what ][ wr_id | what ] ... --> poll_cq
 *
 * A full ring takes no further sends (-ENOMEM), signaled or not.
 *
 * Threads: as the contract says, one owner per QP and CQ; to-error and destroy from the control thread.
 */

#include <pthread.h>
#include <sys/queue.h>

#include "plx_driver.h"

/** What a completion says besides its wr_id. */
struct null_cqe {
	uint64_t wr_id;
	uint64_t what; /**< qp_num << 16 | status << 8 | opcode */
};

TAILQ_HEAD(null_qp_list, null_qp);

struct null_cq {
	struct plx_cq base;
	struct null_cqe *ring;
	uint64_t head; /**< the polling thread's, as is all of the ring */
	uint64_t tail;
	uint32_t mask;
	uint32_t flush; /**< some QP went to ERR since the last poll; atomic */
	/* The QPs whose receives complete here; under the lock. */
	pthread_mutex_t lock;
	struct null_qp_list qps;
};

struct null_qp {
	struct plx_qp base;
	uint32_t state; /**< enum plx_qp_state, atomic */
	/* wr_ids of the receives: the owner's. */
	uint32_t nb_recvs;
	uint64_t *recvs;
	TAILQ_ENTRY(null_qp) link;
};

static inline struct null_cq *
null_cq(const struct plx_cq *cq)
{
	return plx_container_of(cq, struct null_cq, base);
}

static inline struct null_qp *
null_qp(const struct plx_qp *qp)
{
	return plx_container_of(qp, struct null_qp, base);
}

extern const struct plx_fast_ops null_fast;

#endif
