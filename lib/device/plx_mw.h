/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_MW_H
#define PLX_MW_H

/**
 * @file
 * Memory windows of type 2: remote rights to a part of a region, given and taken back by work requests, in order with the
 * others on the QP and at no cost in system calls.
 *
 *      region    addr ........................................ addr + len     its rkey need have no right at all
 *      window              [ bound: PLX_ACCESS_REMOTE_* ]                      rkey, through one QP alone
 *
 *      create --> unbound --bind (PLX_OPCODE_BIND_MW)--> bound --local-inv, or the peer's send-inv--> unbound --> ...
 *
 *      31                     8 7          0
 *     +------------------------+------------+
 *     |    of the device       |   yours    |     rkey: each bind has the next one, so that older ones open nothing
 *     +------------------------+------------+
 *
 * A window opens memory to the peer of the QP that it was bound on, and to nobody else. To bind it again, invalidate it
 * first. A bind that fails takes its QP to ERR (PLX_ST_MW_BIND_ERR), and so does an invalidate of what is not bound; a
 * window whose bind failed or was flushed is good for being destroyed. Onto memory that the process itself may only
 * read, kernels allow no window: binds fail.
 *
 * When to destroy one: while no bind or invalidate of it is posted, before the QP that it was bound on, and before its
 * region. Bound or not makes no difference, it takes back what it lent. Of a connection: between drained_cb and
 * plx_conn_close(), on the control thread; the close destroys the QP, so that closed_cb is too late. Not for each
 * transfer: it can be bound again, on another QP too, as often as it is invalidated.
 *
 * Threads: made and destroyed as any object of plx_device.h; bound by the owner of a QP.
 *
 * @since 0.1
 */

#include "plx_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A window. */
struct plx_mw {
	struct plx_mr *mr; /**< the region that it looks onto */
	uint32_t rkey;	   /**< what the bind that was prepared last gives it: what is bound may have an older one */
	uint32_t reserved;
};

/**
 * A window onto @p mr, unbound. The region lives at least as long: plx_mr_deregister() refuses meanwhile.
 * NULL with rte_errno: ENOTSUP without PLX_CAP_MW, ENOMEM, or the provider's.
 */
struct plx_mw *plx_mw_create(struct plx_mr *mr);

/** Its rkey opens nothing any more when this returns, bound or not. 0, or the provider's -errno; then it is as it was. */
int plx_mw_destroy(struct plx_mw *mw);

/**
 * Make @p wr the bind of @p len bytes at @p addr with @p rights (PLX_ACCESS_REMOTE_*) under the window's next rkey, which
 * mw->rkey has from now on: keep wr->rkey, to take back what this bind gives. Remote write and atomic need a region
 * with local write. Keeps wr_id; flags are PLX_WR_SIGNALED.
 * -EINVAL, nothing changed: no bytes, or rights that are none; -ERANGE: not inside the region; -EACCES: it lacks local write.
 */
int plx_mw_bind_wr(struct plx_mw *mw, uint64_t addr, uint64_t len, uint32_t rights, struct plx_wr *wr);

#ifdef __cplusplus
}
#endif

#endif
