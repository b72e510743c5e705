/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A refusing stub for every slot that a driver leaves empty, so that no caller tests for NULL.
 *
 * A new slot needs a stub and a line here; the compiler finds neither, `empty_slots_refuse` of
 * tests/unit/device finds both.
 */

#include "plx_driver.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_errno.h>

/* ---- control ------------------------------------------------------------------------------- */

static int
no_device_op(struct plx_device *dev)
{
	return -ENOTSUP;
}

static int
no_qp_limits(struct plx_device *dev, struct plx_qp_cap *cap)
{
	return -ENOTSUP;
}

static int
no_port_query(struct plx_device *dev, unsigned int port, struct plx_port_attr *attr)
{
	return -ENOTSUP;
}

static int
no_gid_query(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid)
{
	return -ENOTSUP;
}

static struct plx_pd *
no_pd_create(struct plx_device *dev)
{
	rte_errno = ENOTSUP;
	return NULL;
}

static int
no_pd_op(struct plx_pd *pd)
{
	return -ENOTSUP;
}

static struct plx_mr *
no_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	rte_errno = ENOTSUP;
	return NULL;
}

static struct plx_mr *
no_mr_register_dmabuf(struct plx_pd *pd, int fd, uint64_t offset, uint64_t len, uint64_t iova, uint32_t rights)
{
	rte_errno = ENOTSUP;
	return NULL;
}

static int
no_mr_op(struct plx_mr *mr)
{
	return -ENOTSUP;
}

static struct plx_mw *
no_mw_create(struct plx_mr *mr)
{
	rte_errno = ENOTSUP;
	return NULL;
}

static int
no_mw_op(struct plx_mw *mw)
{
	return -ENOTSUP;
}

static struct plx_cq *
no_cq_create(struct plx_device *dev, uint32_t nb_cqe)
{
	rte_errno = ENOTSUP;
	return NULL;
}

static int
no_cq_op(struct plx_cq *cq)
{
	return -ENOTSUP;
}

static struct plx_qp *
no_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	rte_errno = ENOTSUP;
	return NULL;
}

static int
no_qp_op(struct plx_qp *qp)
{
	return -ENOTSUP;
}

static struct plx_srq *
no_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf)
{
	rte_errno = ENOTSUP;
	return NULL;
}

static int
no_srq_op(struct plx_srq *srq)
{
	return -ENOTSUP;
}

static int
no_srq_arm(struct plx_srq *srq, uint32_t limit)
{
	return -ENOTSUP;
}

static int
no_srq_query(struct plx_srq *srq, struct plx_srq_attr *attr)
{
	return -ENOTSUP;
}

static int
no_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr)
{
	return -ENOTSUP;
}

static int
no_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	return -ENOTSUP;
}

static int
no_event_next(struct plx_device *dev, struct plx_event *event)
{
	return -ENOTSUP;
}

#define FILL(slot, stub)                                                                                     \
	do {                                                                                                 \
		if ((slot) == NULL)                                                                          \
			(slot) = (stub);                                                                     \
	} while (0)

static void
device_ops_fill(struct plx_device_ops *ops)
{
	FILL(ops->close, no_device_op);
	FILL(ops->qp_limits, no_qp_limits);
	FILL(ops->port_query, no_port_query);
	FILL(ops->gid_query, no_gid_query);
	FILL(ops->pd_create, no_pd_create);
	FILL(ops->pd_destroy, no_pd_op);
	FILL(ops->mr_register, no_mr_register);
	FILL(ops->mr_register_dmabuf, no_mr_register_dmabuf);
	FILL(ops->mr_deregister, no_mr_op);
	FILL(ops->mw_create, no_mw_create);
	FILL(ops->mw_destroy, no_mw_op);
	FILL(ops->cq_create, no_cq_create);
	FILL(ops->cq_destroy, no_cq_op);
	FILL(ops->qp_create, no_qp_create);
	FILL(ops->qp_destroy, no_qp_op);
	FILL(ops->srq_create, no_srq_create);
	FILL(ops->srq_destroy, no_srq_op);
	FILL(ops->srq_arm, no_srq_arm);
	FILL(ops->srq_query, no_srq_query);
	FILL(ops->qp_local_addr, no_qp_local_addr);
	FILL(ops->qp_bring_up, no_qp_bring_up);
	FILL(ops->qp_to_error, no_qp_op);
	FILL(ops->qp_query_state, no_qp_op);
	FILL(ops->event_fd, no_device_op);
	FILL(ops->event_next, no_event_next);
}

/** A number that no other device of this process has; the process id keeps other processes' apart. */
static uint64_t
guid_make(void)
{
	static uint32_t last; /* atomic */

	return (uint64_t)getpid() << 32 | __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

void
plx_device_init(struct plx_device *dev, const struct plx_driver *driver, const char *name)
{
	dev->driver = driver;
	dev->ops = driver->ops;
	device_ops_fill(&dev->ops);
	if (dev->caps.guid == 0)
		dev->caps.guid = guid_make();
	dev->nb_pds = 0;
	dev->nb_cqs = 0;
	dev->lost = 0;
	/* plx_device_open() has refused longer names; a wrapper's may be cut. */
	snprintf(dev->name, sizeof(dev->name), "%s", name);
}
