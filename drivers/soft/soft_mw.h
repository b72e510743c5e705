/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_MW_H
#define SOFT_MW_H

/**
 * @file
 * Memory windows of type 2: slots of the key table that are bound and invalidated by WRs (IBA 10.6.7.2, 10.6.7.3).
 *
 *      add: unbound --bind--> key visible, opens to one scope, a QP's --invalidate--> unbound ... hide, wait, free
 *
 * A scope is any word that no PD is and no other QP ever has; so a window of a QP that is gone opens to nobody.
 *
 * Threads: add, hide, free as of any key. Bind by the owner of the QP that the WR is posted on; invalidate by whoever
 * executes the WR; both inside a gate. Of several that bind at a time one does, and of several that invalidate. Whoever
 * says
 * "invalidated" waits for who may be using the window (the QP's peer), and not for others who may have found its key. So the next
 * bind changes the fields under who looks at them, as under a seqlock:
 *
 *      bind               claim: key 0 -> CLAIMED --> binds + 1 --> rights, scope, addr, len --> key
 *      soft_mw_opens()    binds --> key --> scope, rights, addr, len --> binds: the same, or what was read is none's
 */

#include "soft_keys.h"

/** A new unbound window onto @p mr: the rkey that it would have next to, never bound so far; 0: the table is full. */
uint32_t soft_mw_add(struct soft_keys *keys, const struct plx_mr *mr);
/**
 * From now on no bind finds it. One that had may still show the key: wait for the gates, then soft_keys_hide(), wait, and
 * soft_keys_free() as for any key.
 */
void soft_mw_hide(struct soft_keys *keys, uint32_t rkey);

/**
 * Execute a bind: the window of @p rkey, which is then its key, becomes @p len bytes at @p addr with @p rights for @p
 * scope. False: no such window, of another PD than @p pd, bound already, or not inside its region.
 */
bool soft_mw_bind(struct soft_keys *keys, const void *pd, const void *scope, uint32_t rkey, uint64_t addr, uint64_t len,
	uint32_t rights);

/**
 * Whether @p rkey, of a window, opens @p len bytes (not 0) at @p addr to @p scope with all of @p rights. Any thread
 * that is inside a gate, also one that no bind and no invalidate waits for.
 */
bool soft_mw_opens(const struct soft_keys *keys, const void *scope, uint32_t rkey, uint64_t addr, uint64_t len,
	uint32_t rights);

/** Make the window that @p rkey opens to @p scope unbound. False: no window has that key there. */
bool soft_mw_invalidate(struct soft_keys *keys, const void *scope, uint32_t rkey);

#endif
