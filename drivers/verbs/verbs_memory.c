/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Protection domains and memory regions. A registration that fails says what to change.
 */

#include "verbs_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct plx_pd *
verbs_pd_create(struct plx_device *base)
{
	struct verbs_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (pd == NULL)
		return verbs_fail(ENOMEM);
	errno = 0;
	pd->ibv = ibv_alloc_pd(to_verbs_device(base)->ctx);
	if (pd->ibv == NULL) {
		err = plx_verbs_errno();
		PLX_LOG(ERR, "device %s: ibv_alloc_pd: %s", base->name, strerror(err));
		free(pd);
		return verbs_fail(err);
	}
	return &pd->base;
}

int
verbs_pd_destroy(struct plx_pd *base)
{
	struct verbs_pd *pd = to_verbs_pd(base);
	int err = plx_verbs_result(ibv_dealloc_pd(pd->ibv));

	if (err != 0) {
		PLX_LOG(ERR, "device %s: ibv_dealloc_pd: %s", base->dev->name, strerror(-err));
		return err;
	}
	free(pd);
	return 0;
}

unsigned int
verbs_access(uint32_t rights)
{
	return (rights & PLX_ACCESS_LOCAL_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0) |
		(rights & PLX_ACCESS_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
		(rights & PLX_ACCESS_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
		(rights & PLX_ACCESS_REMOTE_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

/** Bytes that this process has pinned so far, from VmPin in /proc/self/status; 0 when unknown. */
static uint64_t
pinned_bytes(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t kib = 0;
	char line[128];

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "VmPin: %" SCNu64, &kib) == 1)
			break;
	}
	fclose(file);
	return kib * 1024;
}

/** Whole pages are pinned. */
static uint64_t
pin_need(uintptr_t addr, uint64_t len)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	return ((addr + len + page - 1) & ~(page - 1)) - (addr & ~(page - 1));
}

static const char *
mr_hint(int err)
{
	switch (err) {
	case ENOMEM:
	case EAGAIN:
		return "pinned + needed must fit RLIMIT_MEMLOCK (ulimit -l, or run with CAP_IPC_LOCK)";
	case EFAULT:
		return "part of the range is not mapped, or is read-only and a write right was asked";
	case EINVAL:
		return "hugepages with RDMAV_FORK_SAFE need RDMAV_HUGEPAGES_SAFE=1 as well";
	case ENOSPC:
		return "the device is out of regions, see max_mr";
	default:
		return "no common cause is known";
	}
}

static void
mr_explain(const struct plx_device *dev, const void *addr, uint64_t len, int err)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_MEMLOCK, &limit);
	PLX_LOG(ERR,
		"device %s: cannot register %" PRIu64 " bytes at %p: %s. Needed %" PRIu64 ", pinned already %" PRIu64
		", RLIMIT_MEMLOCK %" PRIu64 "%s, max_mr_size %" PRIu64 ", max_mr %u: %s",
		dev->name, len, addr, strerror(err), pin_need((uintptr_t)addr, len), pinned_bytes(),
		(uint64_t)limit.rlim_cur, limit.rlim_cur == RLIM_INFINITY ? " (unlimited)" : "",
		dev->caps.max_mr_size, dev->caps.max_mr, mr_hint(err));
}

/** Whatever has windows may have them onto any region (IBA 10.6.5.2 asks for it to be said). */
static unsigned int
windows_access(const struct plx_device *dev)
{
	return dev->caps.flags & PLX_CAP_MW ? IBV_ACCESS_MW_BIND : 0;
}

struct plx_mr *
verbs_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (mr == NULL)
		return verbs_fail(ENOMEM);
	errno = 0;
	mr->ibv = ibv_reg_mr(to_verbs_pd(pd)->ibv, addr, len, verbs_access(rights) | windows_access(pd->dev));
	if (mr->ibv == NULL) {
		err = plx_verbs_errno();
		mr_explain(pd->dev, addr, len, err);
		free(mr);
		return verbs_fail(err);
	}
	mr->base.lkey = mr->ibv->lkey;
	mr->base.rkey = mr->ibv->rkey;
	return &mr->base;
}

int
verbs_mr_deregister(struct plx_mr *base)
{
	struct verbs_mr *mr = to_verbs_mr(base);
	int err = plx_verbs_result(ibv_dereg_mr(mr->ibv));

	if (err != 0) {
		PLX_LOG(ERR, "device %s: ibv_dereg_mr of lkey 0x%x: %s", base->pd->dev->name, base->lkey,
			strerror(-err));
		return err;
	}
	free(mr);
	return 0;
}

struct ibv_pd *
plx_verbs_pd(const struct plx_pd *pd)
{
	return pd->dev->driver == &plx_verbs_driver ? to_verbs_pd(pd)->ibv : NULL;
}

struct ibv_mr *
plx_verbs_mr(const struct plx_mr *mr)
{
	return mr->pd->dev->driver == &plx_verbs_driver ? to_verbs_mr(mr)->ibv : NULL;
}
