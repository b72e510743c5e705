/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_mw.h"

#include "plx_device.h"

/** The slot of @p rkey if it is a window's, whatever the consumer's bits; else NULL. Inside a gate. */
static struct soft_region *
window_of(const struct soft_keys *keys, uint32_t rkey)
{
	uint32_t index = soft_keys_index(rkey);
	struct soft_region *region = &keys->regions[index];

	if (index >= keys->nb_slots)
		return NULL;
	/* SEQ_CST, for the gate's argument: who hides it waits for us. Also the acquire to soft_mw_add()'s release. */
	return __atomic_load_n(&region->window, __ATOMIC_SEQ_CST) == (rkey & ~SOFT_KEY_CONSUMERS) ? region : NULL;
}

uint32_t
soft_mw_add(struct soft_keys *keys, const struct plx_mr *mr)
{
	struct soft_region *region = soft_keys_take(keys, SOFT_KEY_CONSUMERS);
	uint32_t base;

	if (region == NULL)
		return 0;
	base = SOFT_KEY_REMOTE | (uint32_t)(region - keys->regions) << SOFT_KEY_SHIFT | region->generation;
	region->generation |= SOFT_KEY_CONSUMERS; /* the slot's next key is none that the consumer may have made */
	region->onto = mr;
	/* Release: who finds the window finds what it looks onto. Partner: window_of(). */
	__atomic_store_n(&region->window, base, __ATOMIC_RELEASE);
	return base;
}

void
soft_mw_hide(struct soft_keys *keys, uint32_t rkey)
{
	/* SEQ_CST: before the look at the gates. Partner: window_of() behind soft_gate_enter(). */
	__atomic_store_n(&keys->regions[soft_keys_index(rkey)].window, 0, __ATOMIC_SEQ_CST);
}

static bool
inside(const struct plx_mr *mr, uint64_t addr, uint64_t len)
{
	uint64_t off = addr - (uintptr_t)mr->addr;

	return len != 0 && off <= mr->len && len <= mr->len - off;
}

bool
soft_mw_bind(struct soft_keys *keys, const void *pd, const void *scope, uint32_t rkey, uint64_t addr, uint64_t len,
	uint32_t rights)
{
	struct soft_region *region = window_of(keys, rkey);
	uint32_t writes = PLX_ACCESS_REMOTE_WRITE | PLX_ACCESS_REMOTE_ATOMIC;
	uint32_t unbound = 0;

	if (region == NULL || region->onto->pd != pd || !inside(region->onto, addr, len) ||
		((rights & writes) && !(region->onto->rights & PLX_ACCESS_LOCAL_WRITE)))
		return false;
	/* Acquire: who invalidated it had done with the fields. Partner: soft_mw_invalidate(). */
	if (!__atomic_compare_exchange_n(&region->key, &unbound, SOFT_KEY_CLAIMED, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	/* Release, the count: who reads it finds the key of no earlier bind. The fields: who reads one of them finds the count
	 * changed. Partner: soft_mw_opens(). */
	__atomic_store_n(&region->binds, region->binds + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&region->rights, rights, __ATOMIC_RELEASE);
	__atomic_store_n(&region->pd, scope, __ATOMIC_RELEASE);
	__atomic_store_n(&region->addr, addr, __ATOMIC_RELEASE);
	__atomic_store_n(&region->len, len, __ATOMIC_RELEASE);
	/* Release: as in soft_keys_add(). */
	__atomic_store_n(&region->key, rkey ^ SOFT_KEY_REMOTE, __ATOMIC_RELEASE);
	return true;
}

bool
soft_mw_opens(const struct soft_keys *keys, const void *scope, uint32_t rkey, uint64_t addr, uint64_t len, uint32_t rights)
{
	const uint32_t index = soft_keys_index(rkey);
	const struct soft_region *region = &keys->regions[index];
	enum soft_access access;
	uint32_t binds;

	if (index >= keys->nb_slots)
		return false;
	/* Acquire: in front of the key; the check's loads acquire, so the second look comes behind them. Partner: soft_mw_bind(). */
	binds = __atomic_load_n(&region->binds, __ATOMIC_ACQUIRE);
	access = soft_keys_check(keys, scope, rkey, SOFT_KEY_REMOTE, addr, len, rights);
	/* Another bind: the key that was found has been invalidated meanwhile. */
	return access == SOFT_ACCESS_OK && __atomic_load_n(&region->binds, __ATOMIC_RELAXED) == binds;
}

bool
soft_mw_invalidate(struct soft_keys *keys, const void *scope, uint32_t rkey)
{
	struct soft_region *region = window_of(keys, rkey);
	uint32_t key = rkey ^ SOFT_KEY_REMOTE;

	if (region == NULL || __atomic_load_n(&region->key, __ATOMIC_ACQUIRE) != key ||
		__atomic_load_n(&region->pd, __ATOMIC_RELAXED) != scope)
		return false;
	/* SEQ_CST: before the look at the peer's gate. */
	return __atomic_compare_exchange_n(&region->key, &key, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}
