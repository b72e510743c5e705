/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_LOOPBACK_FAST_H
#define PLX_LOOPBACK_FAST_H

/**
 * @file
 * Post and poll of the loopback device as a constant table, for programs that are compiled for it alone: submit ends in
 * a direct call of the functions below.
 *
 * The table is for QPs and CQs that the loopback driver made. Each file that names it has a copy; the one that they
 * have at run time has the same functions.
 * Threads: as the contract says, one owner per QP and CQ.
 *
 * @since 0.1
 */

#include "plx_fast.h"

#ifdef __cplusplus
extern "C" {
#endif

/** post_send of the table. */
uint16_t plx_loopback_post_send(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err);
/** post_recv of the table. */
uint16_t plx_loopback_post_recv(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err);
/** post_srq_recv of the table. */
uint16_t plx_loopback_post_srq_recv(struct plx_srq *srq, const struct plx_wr *const *wrs, uint16_t n, int *err);
/** poll_cq of the table. */
int plx_loopback_poll_cq(struct plx_cq *cq, struct plx_wc *wcs, uint16_t n);

/** Everything that a send queue takes. */
#define PLX_LOOPBACK_KINDS (PLX_KIND(PLX_OPCODE_LOCAL_INV + 1) - 1)

/** post_send, post_recv, poll_cq, kinds, post_srq_recv */
static const struct plx_fast_ops plx_loopback_fast = {plx_loopback_post_send, plx_loopback_post_recv,
	plx_loopback_poll_cq, PLX_LOOPBACK_KINDS, plx_loopback_post_srq_recv};

#ifdef __cplusplus
}
#endif

#endif
