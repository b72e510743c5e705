/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_SRQ_H
#define PLX_SRQ_H

/**
 * @file
 * Shared receive queues: one store of receives for any number of QPs.
 *
 *      plx_srq_post_recv() --> [ recv | recv | recv | ... ] --> QP a --> CQE in a's receive CQ, qp_num a
 *      (plx_fast.h)                   SRQ                  \--> QP b --> CQE in b's receive CQ, qp_num b
 *
 * A QP names its SRQ when it is made (struct plx_qp_conf) and then has no receive queue of its own: its recv_depth and
 * recv_sge are 0, whatever was asked, and post_recv on it is -EINVAL. A receive belongs to nobody until a message takes
 * it, so the CQE's qp_num alone says who sent. When a QP goes to ERR the receives of its SRQ are not flushed.
 *
 * Objects go in the order QP, SRQ, CQ, PD. An SRQ that a QP still uses is not destroyed, by our own count: there are
 * providers that would.
 *
 * The limit is one-shot: armed by plx_srq_arm(), it fires once when a message leaves fewer receives than that, and is
 * disarmed by firing.
 *
 * Threads: as in plx_device.h; arm and query from any, while nobody destroys it. Posting: one thread at a time.
 *
 * @since 0.1
 */

#include "plx_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What an SRQ is made of. */
struct plx_srq_conf {
	uint32_t depth;	   /**< WRs wanted */
	uint32_t recv_sge; /**< SGEs of a WR wanted; 0 means 1 */
};

/** An SRQ as it is at the moment. */
struct plx_srq_attr {
	uint32_t depth;	   /**< granted */
	uint32_t recv_sge; /**< granted */
	uint32_t limit;	   /**< armed; 0: not, or it has fired */
};

/**
 * An SRQ of at least that size. NULL with rte_errno: ENOTSUP without PLX_CAP_SRQ, EINVAL depth 0 or a size above
 * max_srq_wr or max_srq_sge (logged), ENOSPC max_srq, ENOMEM.
 */
struct plx_srq *plx_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf);

/** Receives that are posted are forgotten, without completions. -EBUSY while QPs use it; the log names how many. */
int plx_srq_destroy(struct plx_srq *srq);

/** Arm the limit, or disarm it with 0. -EINVAL above the granted depth; may block, as other control calls. */
int plx_srq_arm(struct plx_srq *srq, uint32_t limit);

/** Fill @p attr. -ENOTSUP: the provider cannot tell (siw), or what it says. */
int plx_srq_query(struct plx_srq *srq, struct plx_srq_attr *attr);

#ifdef __cplusplus
}
#endif

#endif
