/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Protection domains and memory regions. A registration that fails says what to change.
 */

#include "verbs_impl.h"

#include <inttypes.h>
#include <stdlib.h>

#include "plx_pin.h"

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
	int err = verbs_destroyed(base->dev, plx_verbs_result(ibv_dealloc_pd(pd->ibv)), NULL);

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

/**
 * Rights as ibv_reg_mr() takes them. On iWARP the sink of a read is written by a tagged message of the peer, and needs
 * remote write (RFC 5040 5.3); so there every region that may be written here may be by a peer that knows its rkey.
 */
static unsigned int
mr_access(const struct verbs_device *dev, uint32_t rights)
{
	if (dev->iwarp && (rights & PLX_ACCESS_LOCAL_WRITE))
		rights |= PLX_ACCESS_REMOTE_WRITE;
	return verbs_access(rights);
}

/** Whatever has windows may have them onto any region (IBA 10.6.5.2 asks for it to be said). */
static unsigned int
windows_access(const struct plx_device *dev)
{
	return dev->caps.flags & PLX_CAP_MW ? IBV_ACCESS_MW_BIND : 0;
}

/* ---- failures ------------------------------------------------------------------------------ */

static bool
is_set(const char *variable)
{
	return getenv(variable) != NULL;
}

/** Fork protection marks pages do-not-fork, in small ones unless it is told to look for huge ones (ibv_fork_init(3)). */
static bool
fork_breaks_hugepages(void)
{
	bool on = is_set("RDMAV_FORK_SAFE") || is_set("IBV_FORK_SAFE") || ibv_is_fork_initialized() == IBV_FORK_ENABLED;

	return on && !is_set("RDMAV_HUGEPAGES_SAFE");
}

/** @p pin_full: RLIMIT_MEMLOCK would be exceeded. */
static const char *
mr_hint(int err, bool pin_full)
{
	switch (err) {
	case ENOMEM:
	case EAGAIN:
	case EPERM:
		return pin_full ? "pinned + needed must fit RLIMIT_MEMLOCK: ulimit -l, LimitMEMLOCK= of the service, --ulimit "
				  "memlock= of the container, or CAP_IPC_LOCK"
				: "RLIMIT_MEMLOCK is not it; the kernel or the device is out of memory, or of regions";
	case EFAULT:
		return "part of the range is not mapped, or is read-only and a write right was asked";
	case EINVAL:
		return fork_breaks_hugepages()
			? "fork protection is on, and memory in hugepages then needs RDMAV_HUGEPAGES_SAFE=1 as well"
			: "the device refuses this address, length or these rights";
	case ENOSPC:
		return "the device is out of regions, see max_mr";
	default:
		return "no common cause is known";
	}
}

static void
mr_explain(const struct plx_device *dev, const char *call, uint64_t where, uint64_t len, int err)
{
	uint64_t need = plx_pin_pages(where, len);
	struct plx_pin pin;
	bool full;

	plx_pin_query(&pin);
	full = !pin.exempt && (pin.pinned > pin.limit || need > pin.limit - pin.pinned);
	PLX_LOG(ERR,
		"device %s: %s of %" PRIu64 " bytes at 0x%" PRIx64 ": %s. Needed %" PRIu64 ", pinned already %" PRIu64
		", RLIMIT_MEMLOCK %" PRIu64 "%s, max_mr_size %" PRIu64 ", max_mr %u: %s",
		dev->name, call, len, where, strerror(err), need, pin.pinned, pin.limit,
		pin.limit == UINT64_MAX ? " (unlimited)" : pin.exempt ? " (CAP_IPC_LOCK: does not count)" : "",
		dev->caps.max_mr_size, dev->caps.max_mr, mr_hint(err, full));
}

/* ---- registration -------------------------------------------------------------------------- */

/** @p mr with what @p call made of it, or NULL with rte_errno, and @p mr is gone. */
static struct plx_mr *
mr_made(struct plx_pd *pd, struct verbs_mr *mr, const char *call, uint64_t where, uint64_t len)
{
	int err;

	if (mr->ibv == NULL) {
		err = plx_verbs_errno();
		mr_explain(pd->dev, call, where, len, err);
		free(mr);
		return verbs_fail(err);
	}
	mr->base.lkey = mr->ibv->lkey;
	mr->base.rkey = mr->ibv->rkey;
	return &mr->base;
}

struct plx_mr *
verbs_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	unsigned int access = mr_access(to_verbs_device(pd->dev), rights);

	if (mr == NULL)
		return verbs_fail(ENOMEM);
	errno = 0;
	mr->ibv = ibv_reg_mr(to_verbs_pd(pd)->ibv, addr, len, access | windows_access(pd->dev));
	/* For the kernel a right to bind is one to write. Memory that is read-only can still be a source, without windows. */
	if (mr->ibv == NULL && errno == EFAULT && windows_access(pd->dev) != 0 && !(rights & PLX_ACCESS_LOCAL_WRITE)) {
		errno = 0;
		mr->ibv = ibv_reg_mr(to_verbs_pd(pd)->ibv, addr, len, access);
	}
	return mr_made(pd, mr, "ibv_reg_mr", (uintptr_t)addr, len);
}

struct plx_mr *
verbs_mr_register_dmabuf(struct plx_pd *pd, int fd, uint64_t offset, uint64_t len, uint64_t iova, uint32_t rights)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));

	if (mr == NULL)
		return verbs_fail(ENOMEM);
	errno = 0;
	mr->ibv = ibv_reg_dmabuf_mr(to_verbs_pd(pd)->ibv, offset, len, iova, fd,
		(int)mr_access(to_verbs_device(pd->dev), rights));
	return mr_made(pd, mr, "ibv_reg_dmabuf_mr", iova, len);
}

int
verbs_mr_deregister(struct plx_mr *base)
{
	struct verbs_mr *mr = to_verbs_mr(base);
	int err = verbs_destroyed(base->pd->dev, plx_verbs_result(ibv_dereg_mr(mr->ibv)), NULL);

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
	return verbs_made(pd->dev) ? to_verbs_pd(pd)->ibv : NULL;
}

struct ibv_mr *
plx_verbs_mr(const struct plx_mr *mr)
{
	return verbs_made(mr->pd->dev) ? to_verbs_mr(mr)->ibv : NULL;
}
