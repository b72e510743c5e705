/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Memory windows: what is asked for is checked before the driver sees it.
 */

#include "plx_mw.h"

#include <errno.h>

#include "device_impl.h"

#define RKEY_OURS 0xffu /* the byte of an rkey that its consumer chooses (IBA 10.6.5.2) */

struct plx_mw *
plx_mw_create(struct plx_mr *mr)
{
	struct plx_device *dev = mr->pd->dev;
	struct plx_mw *mw;

	if (!(dev->caps.flags & PLX_CAP_MW)) {
		PLX_LOG(ERR, "device %s: has no memory windows", dev->name);
		return device_fail(ENOTSUP);
	}
	mw = dev->ops.mw_create(mr);
	if (mw == NULL)
		return NULL;
	mw->mr = mr;
	device_count_add(&mr->nb_mws);
	return mw;
}

int
plx_mw_destroy(struct plx_mw *mw)
{
	struct plx_mr *mr;
	int err;

	if (mw == NULL)
		return 0;
	mr = mw->mr;
	err = mr->pd->dev->ops.mw_destroy(mw);
	if (err == 0)
		device_count_sub(&mr->nb_mws);
	return err;
}

/** IBA 10.6.5.2: as of a region, who lets a peer write must let the device write. */
static int
bind_check(const struct plx_mr *mr, uint64_t addr, uint64_t len, uint32_t rights)
{
	uint64_t off = addr - (uintptr_t)mr->addr; /* in front of the region: far behind it */

	if (len == 0 || rights == 0 || (rights & ~(uint32_t)PLX_ACCESS_REMOTE) != 0)
		return -EINVAL;
	if (off > mr->len || len > mr->len - off)
		return -ERANGE;
	if ((rights & ~(uint32_t)PLX_ACCESS_REMOTE_READ) != 0 && !(mr->rights & PLX_ACCESS_LOCAL_WRITE))
		return -EACCES;
	return 0;
}

int
plx_mw_bind_wr(struct plx_mw *mw, uint64_t addr, uint64_t len, uint32_t rights, struct plx_wr *wr)
{
	int err = bind_check(mw->mr, addr, len, rights);

	if (err != 0)
		return err;
	mw->rkey = (mw->rkey & ~RKEY_OURS) | ((mw->rkey + 1) & RKEY_OURS);
	wr->num_sge = 0;
	wr->opcode = PLX_OPCODE_BIND_MW;
	wr->flags = PLX_WR_SIGNALED;
	wr->imm = rights;
	wr->rkey = mw->rkey;
	wr->remote_addr = addr;
	wr->compare_add = len;
	wr->swap = (uintptr_t)mw;
	return 0;
}
