/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_MEMORY_H
#define PLX_MEMORY_H

/**
 * @file
 * Registered memory: regions, views into them, and remote memory.
 *
 *      region   addr ............................ addr + len      registered, counts its holders
 *      view            addr ....... addr + len                    a part of it, same keys; a plain value
 *      remote          addr ....... addr + len                    the same seen from a peer: rkey and remote rights
 *
 * An op carries addresses and keys, not regions, so that the warm path touches no region; whoever keeps keys for
 * longer holds the region. Who needs which right (IBA 9.4, 10.6):
 *
 *      op                      the peer's memory               memory here
 *      send                    -                               -
 *      receive                 -                               local write
 *      write, write-imm        remote write                    -
 *      read                    remote read                     local write
 *      atomics                 remote atomic                   local write (the old value)
 *
 * Local read is always there. Remote write or atomic without local write is refused.
 *
 * Threads: a region is made and destroyed by one thread; hold and release from any. Views and remotes are
 * values. The inline calls touch only what they are given.
 *
 * @since 0.1
 */

#include <errno.h>

#include "plx_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- regions ------------------------------------------------------------------------------- */

/** Read it, write nothing but through the calls below. */
struct plx_region {
	struct plx_mr *mr;
	void *addr;
	uint64_t len;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t rights;     /**< PLX_ACCESS_* */
	uint32_t nb_holders; /**< atomic */
	uint32_t owns;	     /**< 1: the memory is the region's own */
};

/**
 * Register @p len bytes at @p addr, which are the caller's (static, malloc, rte_malloc, a mempool, hugepages) and
 * must stay until the region is destroyed.
 * NULL with rte_errno: those of plx_mr_register(), ENOMEM.
 */
struct plx_region *plx_region_create(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights);

/**
 * The same over zeroed memory from rte_malloc on the device's NUMA socket, in whole pages of its own so that
 * nothing else shares a registered page. Destroying the region frees it.
 * NULL with rte_errno as above; EINVAL for @p len 0.
 */
struct plx_region *plx_region_alloc(struct plx_pd *pd, uint64_t len, uint32_t rights);

/**
 * A region over @p len bytes at @p offset of the dma-buf behind @p fd, which SGEs and peers address from @p iova on.
 * NULL with rte_errno: those of plx_mr_register_dmabuf(), ENOMEM.
 */
struct plx_region *plx_region_create_dmabuf(struct plx_pd *pd, int fd, uint64_t offset, uint64_t len, uint64_t iova,
	uint32_t rights);

/**
 * Deregister, and free what is the region's own. NULL: nothing.
 * -EBUSY while it is held, the log has the count; or the device's error. Then the region is as it was.
 */
int plx_region_destroy(struct plx_region *region);

/**
 * Say that its keys are in use, by an export, a receive pool, ... Whoever holds must know that the region lives:
 * because it made it, or by another hold.
 */
void plx_region_hold(struct plx_region *region);

/** Give one hold back. -EINVAL, logged: nobody held it. */
int plx_region_release(struct plx_region *region);

/* ---- views --------------------------------------------------------------------------------- */

/** A part of a region. Dies with the region, without being told. */
struct plx_view {
	void *addr;
	uint64_t len;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t rights;
};

/** @p len bytes at @p off of @p region; none at all is fine, at its end too. -ERANGE: outside; @p view untouched. */
int plx_region_view(const struct plx_region *region, uint64_t off, uint64_t len, struct plx_view *view);

/** The same of a view. @p sub may be @p view. */
int plx_view_sub(const struct plx_view *view, uint64_t off, uint64_t len, struct plx_view *sub);

/** The view as one SGE. -EOVERFLOW: longer than an SGE can say (32 bits). */
int plx_view_sge(const struct plx_view *view, struct plx_sge *sge);

/* ---- remote memory ------------------------------------------------------------------------- */

/** Memory of a peer that it let us use. */
struct plx_remote {
	uint64_t addr; /**< in the peer's address space */
	uint64_t len;
	uint32_t rkey;
	uint32_t rights; /**< PLX_ACCESS_REMOTE_* */
};

/** What a peer may be given of a region: all of it, with the remote ones of its rights. */
struct plx_remote plx_remote_of_region(const struct plx_region *region);
/** The same of a view. */
struct plx_remote plx_remote_of(const struct plx_view *view);

/** Whether @p len bytes at @p off lie in @p whole bytes, however large the numbers. */
PLX_INLINE bool
plx_range_fits(uint64_t whole, uint64_t off, uint64_t len)
{
	return off <= whole && len <= whole - off; /* off + len could overflow */
}

/**
 * Whether an op may touch @p len bytes at @p off of @p r with @p right (PLX_ACCESS_REMOTE_*), so that it is refused
 * here and not on the wire. 0, -ERANGE, -EACCES; the range is looked at first.
 */
PLX_INLINE int
plx_remote_check(const struct plx_remote *r, uint64_t off, uint64_t len, uint32_t right)
{
	if (!plx_range_fits(r->len, off, len))
		return -ERANGE;
	return (r->rights & right) == right ? 0 : -EACCES;
}

#ifdef __cplusplus
}
#endif

#endif
