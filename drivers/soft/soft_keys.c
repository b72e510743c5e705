/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_keys.h"

#include <errno.h>

#include "soft_mem.h"

/* Slots that were used are a FIFO list through next_free: the one freed longest ago goes first, behind those
 * that were never used. All under the lock. */

static uint32_t
free_take(struct soft_keys *keys)
{
	uint32_t index = keys->first_free;

	if (keys->nb_touched < keys->nb_slots)
		return keys->nb_touched++;
	if (index != keys->nb_slots)
		keys->first_free = keys->regions[index].next_free;
	return index;
}

static void
free_append(struct soft_keys *keys, uint32_t index)
{
	keys->regions[index].next_free = keys->nb_slots;
	if (keys->first_free == keys->nb_slots)
		keys->first_free = index;
	else
		keys->regions[keys->last_free].next_free = index;
	keys->last_free = index;
}

int
soft_keys_init(struct soft_keys *keys, uint32_t max_regions)
{
	keys->regions = soft_zalloc((size_t)max_regions * sizeof(keys->regions[0]));
	if (keys->regions == NULL)
		return -ENOMEM;
	pthread_mutex_init(&keys->lock, NULL);
	keys->nb_slots = max_regions;
	keys->nb_touched = 0;
	keys->first_free = max_regions;
	return 0;
}

void
soft_keys_fini(struct soft_keys *keys)
{
	pthread_mutex_destroy(&keys->lock);
	soft_free(keys->regions);
}

/** The next with @p low bits of zero: never 0, so that no key ever is, and none that a window's consumer had before. */
static uint32_t
generation_next(uint32_t generation, uint32_t low)
{
	generation = ((generation | low) + 1) & SOFT_KEY_GEN_MASK;
	return generation != 0 ? generation : low + 1;
}

struct soft_region *
soft_keys_take(struct soft_keys *keys, uint32_t low)
{
	struct soft_region *region;
	uint32_t index;

	pthread_mutex_lock(&keys->lock);
	index = free_take(keys);
	pthread_mutex_unlock(&keys->lock);
	if (index == keys->nb_slots)
		return NULL;
	region = &keys->regions[index];
	region->generation = generation_next(region->generation, low);
	return region;
}

uint32_t
soft_keys_add(struct soft_keys *keys, const void *pd, uint64_t addr, uint64_t len, uint32_t rights)
{
	struct soft_region *region = soft_keys_take(keys, 0);
	uint32_t key;

	if (region == NULL)
		return 0;
	region->rights = rights;
	region->pd = pd;
	region->addr = addr;
	region->len = len;
	key = (uint32_t)(region - keys->regions) << SOFT_KEY_SHIFT | region->generation;
	/* Release: who finds the key in soft_keys_check() finds the region filled in. */
	__atomic_store_n(&region->key, key, __ATOMIC_RELEASE);
	return key;
}

void
soft_keys_hide(struct soft_keys *keys, uint32_t lkey)
{
	/* SEQ_CST: before the look at the gates. Partner: soft_keys_check() behind soft_gate_enter(). */
	__atomic_store_n(&keys->regions[soft_keys_index(lkey)].key, 0, __ATOMIC_SEQ_CST);
}

void
soft_keys_free(struct soft_keys *keys, uint32_t lkey)
{
	pthread_mutex_lock(&keys->lock);
	free_append(keys, soft_keys_index(lkey));
	pthread_mutex_unlock(&keys->lock);
}
