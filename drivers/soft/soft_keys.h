/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_KEYS_H
#define SOFT_KEYS_H

/**
 * @file
 * The key table: which memory a key opens, for whom, and for what.
 *
 *      31  30          15 14           0
 *     +---+--------------+--------------+
 *     | R |  slot index  |  generation  |	R: 0 for an lkey, 1 for the same region's rkey
 *     +---+--------------+--------------+
 *
 * The two keys of a region differ, so that mixing them up is caught here and not on the first NIC. The
 * generation changes when a slot is used again, and the slot that was freed longest ago is used first: a stale key
 * opens nothing for a long time.
 *
 * A window (soft_mw.h) takes a slot too. Its generation ends in the eight bits that are its consumer's, and it opens to
 * a QP and not to a PD: whoever looks for a PD's key finds none.
 *
 * Threads: keys are added and removed under a lock; checked by any thread that is inside a gate (soft_gate.h). Who
 * removes a key waits for the gates before the memory goes: soft_keys_hide(), wait, soft_keys_free().
 */

#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>

#include <rte_branch_prediction.h>

struct plx_mr;

#define SOFT_KEY_REMOTE	   0x80000000u
#define SOFT_KEYS_MAX	   0xffff
#define SOFT_KEY_SHIFT	   15 /* of the slot index */
#define SOFT_KEY_GEN_MASK  0x7fffu
#define SOFT_KEY_CONSUMERS 0xffu /* of a window's key */
#define SOFT_KEY_CLAIMED   UINT32_MAX /* of no slot: a window that is being bound */

/**
 * One region or window. All but `key` stands still while a region's key is visible; what a window's fields say may
 * change under who has found its key, and `binds` tells.
 */
struct soft_region {
	uint32_t key; /**< lkey, 0 while the slot is free or the window unbound; generations are never 0 */
	uint32_t rights;
	const void *pd; /**< a window: the scope of the QP that it is bound on */
	uint64_t addr;
	uint64_t len;
	uint32_t generation;
	uint32_t next_free;
	uint32_t window; /**< not 0: a window, whose keys are these bits and the consumer's */
	uint32_t binds;	 /**< of the slot's windows so far */
	const struct plx_mr *onto; /**< of a window */
};

struct soft_keys {
	struct soft_region *regions;
	uint32_t nb_slots;
	uint32_t nb_touched; /**< slots from here on were never used: as old as can be */
	uint32_t first_free; /**< oldest of the others; index, nb_slots at the end of the list */
	uint32_t last_free;
	pthread_mutex_t lock;
};

/** 0 or -ENOMEM. At most SOFT_KEYS_MAX regions. */
int soft_keys_init(struct soft_keys *keys, uint32_t max_regions);
void soft_keys_fini(struct soft_keys *keys);

/** The slot of @p key, which need not be one; nb_slots and above: none. */
static inline uint32_t
soft_keys_index(uint32_t key)
{
	return key >> SOFT_KEY_SHIFT & SOFT_KEYS_MAX;
}

/** Take a slot: its region, whose generation is another one, above @p low bits of zero; NULL: the table is full. */
struct soft_region *soft_keys_take(struct soft_keys *keys, uint32_t low);

/** The lkey of a new region (the rkey is that | SOFT_KEY_REMOTE), or 0: the table is full. */
uint32_t soft_keys_add(struct soft_keys *keys, const void *pd, uint64_t addr, uint64_t len, uint32_t rights);
/** From now on nobody finds the key; who has found it may still be copying. */
void soft_keys_hide(struct soft_keys *keys, uint32_t lkey);
/** Give the slot back, after the gates. */
void soft_keys_free(struct soft_keys *keys, uint32_t lkey);

enum soft_access {
	SOFT_ACCESS_OK,
	SOFT_ACCESS_KEY,   /**< no such key, or of another PD */
	SOFT_ACCESS_RIGHT, /**< the region lacks a right */
	SOFT_ACCESS_RANGE, /**< not wholly inside the region */
};

/** Whether @p key (lkey or rkey, as @p remote says) opens @p len bytes at @p addr to @p pd with all of @p rights.
 * No bytes need no key (IBA 10.6.2.2). @p remote is SOFT_KEY_REMOTE for an rkey, 0 for an lkey. */
static inline enum soft_access
soft_keys_check(const struct soft_keys *keys, const void *pd, uint32_t key, uint32_t remote, uint64_t addr,
	uint64_t len, uint32_t rights)
{
	uint32_t index = soft_keys_index(key);
	const struct soft_region *region = &keys->regions[index];
	uint64_t off, end;

	if (len == 0)
		return SOFT_ACCESS_OK;
	/* SEQ_CST, for the gate's argument; also the acquire to soft_keys_add()'s release. The fields: acquire, for
	 * soft_mw_opens(), which looks again behind them; that of a region's PD needs none of it. */
	if (unlikely(index >= keys->nb_slots ||
		    __atomic_load_n(&region->key, __ATOMIC_SEQ_CST) != (key ^ remote) ||
		    __atomic_load_n(&region->pd, __ATOMIC_ACQUIRE) != pd))
		return SOFT_ACCESS_KEY;
	if (unlikely((__atomic_load_n(&region->rights, __ATOMIC_ACQUIRE) & rights) != rights))
		return SOFT_ACCESS_RIGHT;
	/* An address in front of the region is an offset far behind it; then nothing overflows any more. */
	off = addr - __atomic_load_n(&region->addr, __ATOMIC_ACQUIRE);
	end = __atomic_load_n(&region->len, __ATOMIC_ACQUIRE);
	if (unlikely(off > end || len > end - off))
		return SOFT_ACCESS_RANGE;
	return SOFT_ACCESS_OK;
}

#endif
