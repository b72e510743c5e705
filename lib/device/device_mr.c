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

/** What holds for memory of any kind; @p where is the address that peers and SGEs use. errno, logged. */
static int
mr_check(const struct plx_device *dev, uint64_t where, uint64_t len, uint32_t rights)
{
	if (len == 0) {
		PLX_LOG(ERR, "device %s: register 0 bytes at 0x%" PRIx64 ": nothing to register", dev->name, where);
		return EINVAL;
	}
	if (!rights_sane(rights)) {
		PLX_LOG(ERR, "device %s: rights 0x%x: unknown, or remote write or atomic without local write",
			dev->name, rights);
		return EINVAL;
	}
	if (len > dev->caps.max_mr_size || where + len < len) {
		PLX_LOG(ERR, "device %s: register %" PRIu64 " bytes at 0x%" PRIx64 ": above max_mr_size %" PRIu64
			" or past the end of memory", dev->name, len, where, dev->caps.max_mr_size);
		return ERANGE;
	}
	return 0;
}

/** What the driver made, or failed to. */
static struct plx_mr *
mr_made(struct plx_pd *pd, struct plx_mr *mr, void *addr, uint64_t len, uint32_t rights)
{
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

struct plx_mr *
plx_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	int err = mr_check(pd->dev, (uintptr_t)addr, len, rights);

	if (err == 0 && addr == NULL) {
		PLX_LOG(ERR, "device %s: register %" PRIu64 " bytes at NULL", pd->dev->name, len);
		err = EINVAL;
	}
	if (err != 0)
		return device_fail(err);
	return mr_made(pd, pd->dev->ops.mr_register(pd, addr, len, rights), addr, len, rights);
}

struct plx_mr *
plx_mr_register_dmabuf(struct plx_pd *pd, int fd, uint64_t offset, uint64_t len, uint64_t iova, uint32_t rights)
{
	struct plx_device *dev = pd->dev;
	int err;

	if (!(dev->caps.flags & PLX_CAP_DMABUF)) {
		PLX_LOG(ERR, "device %s: cannot register a dma-buf", dev->name);
		return device_fail(ENOTSUP);
	}
	err = mr_check(dev, iova, len, rights);
	if (err == 0 && (fd < 0 || offset + len < len)) {
		PLX_LOG(ERR, "device %s: register %" PRIu64 " bytes at offset %" PRIu64 " of dma-buf fd %d", dev->name, len,
			offset, fd);
		err = fd < 0 ? EINVAL : ERANGE;
	}
	if (err != 0)
		return device_fail(err);
	return mr_made(pd, dev->ops.mr_register_dmabuf(pd, fd, offset, len, iova, rights), (void *)(uintptr_t)iova, len,
		rights);
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
