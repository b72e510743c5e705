/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "plx_log.h"

/** A region around @p mr; NULL with rte_errno, and @p mr is deregistered. */
static struct plx_region *
region_of(struct plx_mr *mr)
{
	struct plx_region *region;

	if (mr == NULL)
		return NULL; /* rte_errno is the device's */
	region = calloc(1, sizeof(*region));
	if (region == NULL) {
		plx_mr_deregister(mr);
		rte_errno = ENOMEM;
		return NULL;
	}
	region->mr = mr;
	region->addr = mr->addr;
	region->len = mr->len;
	region->lkey = mr->lkey;
	region->rkey = mr->rkey;
	region->rights = mr->rights;
	return region;
}

struct plx_region *
plx_region_create(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	return region_of(plx_mr_register(pd, addr, len, rights));
}

struct plx_region *
plx_region_create_dmabuf(struct plx_pd *pd, int fd, uint64_t offset, uint64_t len, uint64_t iova, uint32_t rights)
{
	return region_of(plx_mr_register_dmabuf(pd, fd, offset, len, iova, rights));
}

/** Zeroed, from a page's start to a page's end: a child that is forked must not share a page with the device. */
static void *
pages_alloc(uint64_t len, int socket_id)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	void *addr = NULL;

	if (len <= SIZE_MAX - page)
		addr = rte_zmalloc_socket("plx_region", (len + page - 1) / page * page, (unsigned int)page, socket_id);
	if (addr == NULL)
		PLX_LOG(ERR, "no %" PRIu64 " bytes for a region on socket %d: see EAL's -m, and hugepages", len,
			socket_id);
	return addr;
}

struct plx_region *
plx_region_alloc(struct plx_pd *pd, uint64_t len, uint32_t rights)
{
	struct plx_region *region;
	void *addr;

	if (len == 0) {
		PLX_LOG(ERR, "device %s: a region of 0 bytes: nothing to allocate", plx_device_name(pd->dev));
		rte_errno = EINVAL;
		return NULL;
	}
	addr = pages_alloc(len, plx_device_caps(pd->dev)->socket_id);
	if (addr == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	region = plx_region_create(pd, addr, len, rights);
	if (region == NULL) {
		int err = rte_errno;

		rte_free(addr);
		rte_errno = err;
		return NULL;
	}
	region->owns = 1;
	return region;
}

int
plx_region_destroy(struct plx_region *region)
{
	uint32_t holders;
	int err;

	if (region == NULL)
		return 0;
	/* Acquire: what a holder did with the memory before its release (which releases) is over for us too. */
	holders = __atomic_load_n(&region->nb_holders, __ATOMIC_ACQUIRE);
	if (holders > 0) {
		PLX_LOG(ERR, "region of %" PRIu64 " bytes at %p is held by %u", region->len, region->addr,
			holders);
		return -EBUSY;
	}
	err = plx_mr_deregister(region->mr);
	if (err != 0)
		return err;
	if (region->owns)
		rte_free(region->addr);
	free(region);
	return 0;
}

void
plx_region_hold(struct plx_region *region)
{
	/* Relaxed: the caller knows already that the region lives. */
	__atomic_fetch_add(&region->nb_holders, 1, __ATOMIC_RELAXED);
}

int
plx_region_release(struct plx_region *region)
{
	uint32_t holders = __atomic_load_n(&region->nb_holders, __ATOMIC_RELAXED);

	do {
		if (holders == 0) {
			PLX_LOG(ERR, "region of %" PRIu64 " bytes at %p is released, but nobody holds it",
				region->len, region->addr);
			return -EINVAL;
		}
		/* Release: partner of the load in plx_region_destroy(). */
	} while (!__atomic_compare_exchange_n(&region->nb_holders, &holders, holders - 1, false,
		__ATOMIC_RELEASE, __ATOMIC_RELAXED));
	return 0;
}
