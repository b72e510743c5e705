/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_VERBS_H
#define PLX_VERBS_H

/**
 * @file
 * For programs that use libibverbs themselves beside Pollux: the objects below ours, and the
 * translation of a completion that such a program has polled.
 *
 * An accessor hands out a pointer and no ownership: destroy the Pollux object, never the raw one.
 * Given an object of another driver it returns NULL.
 *
 * @since 0.1
 */

#include <infiniband/verbs.h>

#include "plx_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The context that @p dev was opened with. Objects that a program makes on it itself have NULL as their own context
 * (qp_context, cq_context, srq_context): by that an event tells that its object is none of ours.
 */
struct ibv_context *plx_verbs_context(const struct plx_device *dev);
/** The PD below @p pd. */
struct ibv_pd *plx_verbs_pd(const struct plx_pd *pd);
/** The MR below @p mr. */
struct ibv_mr *plx_verbs_mr(const struct plx_mr *mr);
/** The CQ below @p cq. Poll it yourself only if no poller does. */
struct ibv_cq *plx_verbs_cq(const struct plx_cq *cq);
/** The SRQ below @p srq. */
struct ibv_srq *plx_verbs_srq(const struct plx_srq *srq);
/** The QP below @p qp. */
struct ibv_qp *plx_verbs_qp(const struct plx_qp *qp);

/**
 * Translate a completion. Fills all of @p wc; what libibverbs leaves undefined is zero, and so is
 * byte_len where it says nothing (send, write).
 * 0; or -EINVAL, the status or opcode is none that we know: @p wc then has PLX_ST_OTHER and
 * the raw status, or an opcode of PLX_NB_OPCODES.
 *
 * Of reliable connections: IBV_WC_IP_CSUM_OK, which those never have, is taken for what rxe means by it, an invalidated
 * rkey. The opcode of a send or a write is told without its immediate or invalidate variant, which a completion does
 * not carry. Threads: any; touches nothing but its arguments.
 */
int plx_wc_from_ibv(struct plx_wc *wc, const struct ibv_wc *ibv);

#ifdef __cplusplus
}
#endif

#endif
