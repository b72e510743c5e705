/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Registered memory: what is asked for is checked before the driver sees it.
 */

#include "device_impl.h"

#include <errno.h>
#include <inttypes.h>

/** IBA 10.6.3.1: who lets a peer write must let the device write. */
static bool
rights_sane(uint32_t rights)
{
	const uint32_t writes = PLX_ACCESS_REMOTE_WRITE | PLX_ACCESS_REMOTE_ATOMIC;

	return (rights & ~(uint32_t)PLX_ACCESS_ALL) == 0 &&
		((rights & writes) == 0 || (rights & PLX_ACCESS_LOCAL_WRITE) != 0);
}

static int
mr_check(const struct plx_device *dev, const void *addr, uint64_t len, uint32_t rights)
{
	if (addr == NULL || len == 0) {
		PLX_LOG(ERR, "device %s: register %" PRIu64 " bytes at %p: nothing to register", dev->name,
			len, addr);
		return EINVAL;
	}
	if (!rights_sane(rights)) {
		PLX_LOG(ERR, "device %s: rights 0x%x: unknown, or remote write or atomic without local write",
			dev->name, rights);
		return EINVAL;
	}
	if (len > dev->caps.max_mr_size || (uintptr_t)addr + len < len) {
		PLX_LOG(ERR, "device %s: register %" PRIu64 " bytes at %p: above max_mr_size %" PRIu64
			" or past the end of memory", dev->name, len, addr, dev->caps.max_mr_size);
		return ERANGE;
	}
	return 0;
}

struct plx_mr *
plx_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	int err = mr_check(pd->dev, addr, len, rights);
	struct plx_mr *mr;

	if (err != 0)
		return device_fail(err);
	mr = pd->dev->ops.mr_register(pd, addr, len, rights);
	if (mr == NULL)
		return NULL;
	mr->pd = pd;
	mr->addr = addr;
	mr->len = len;
	mr->rights = rights;
	mr->nb_mws = 0;
	device_count_add(&pd->nb_mrs);
	return mr;
}

int
plx_mr_deregister(struct plx_mr *mr)
{
	struct plx_pd *pd;
	int err;

	if (mr == NULL)
		return 0;
	pd = mr->pd;
	if (device_count(&mr->nb_mws) != 0) {
		PLX_LOG(ERR, "device %s: lkey 0x%x: %u windows look onto the region", pd->dev->name, mr->lkey,
			device_count(&mr->nb_mws));
		return -EBUSY;
	}
	err = pd->dev->ops.mr_deregister(mr);
	if (err == 0)
		device_count_sub(&pd->nb_mrs);
	return err;
}
