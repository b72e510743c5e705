/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Devices, protection domains and completion queues: arguments are checked here, then the driver
 * is asked, then dependants are counted.
 */

#include "device_impl.h"

#include <errno.h>

int
plx_device_close(struct plx_device *dev)
{
	uint32_t pds, cqs;

	if (dev == NULL)
		return 0;
	pds = device_count(&dev->nb_pds);
	cqs = device_count(&dev->nb_cqs);
	if (pds > 0 || cqs > 0) {
		PLX_LOG(ERR, "device %s is in use: %u PDs and %u CQs of it exist", dev->name, pds, cqs);
		return -EBUSY;
	}
	return dev->ops.close(dev);
}

const char *
plx_device_name(const struct plx_device *dev)
{
	return dev->name;
}

const struct plx_device_caps *
plx_device_caps(const struct plx_device *dev)
{
	return &dev->caps;
}

int
device_port_check(const struct plx_device *dev, unsigned int port)
{
	if (port != 0 && port <= dev->caps.nb_ports)
		return 0;
	PLX_LOG(ERR, "device %s: port %u asked; it has %u, which count from 1", dev->name, port, dev->caps.nb_ports);
	return -EINVAL;
}

int
plx_port_query(struct plx_device *dev, unsigned int port, struct plx_port_attr *attr)
{
	int err = device_port_check(dev, port);

	return err != 0 ? err : dev->ops.port_query(dev, port, attr);
}

int
plx_port_default(struct plx_device *dev)
{
	struct plx_port_attr attr;

	for (unsigned int port = 1; port <= dev->caps.nb_ports; port++) {
		if (plx_port_query(dev, port, &attr) == 0 && attr.active)
			return port;
	}
	return -ENOENT;
}

/* ---- protection domains -------------------------------------------------------------------- */

struct plx_pd *
plx_pd_create(struct plx_device *dev)
{
	struct plx_pd *pd = dev->ops.pd_create(dev);

	if (pd == NULL)
		return NULL;
	pd->dev = dev;
	pd->nb_mrs = 0;
	pd->nb_qps = 0;
	pd->nb_srqs = 0;
	device_count_add(&dev->nb_pds);
	return pd;
}

int
plx_pd_destroy(struct plx_pd *pd)
{
	struct plx_device *dev;
	uint32_t mrs, qps, srqs;
	int err;

	if (pd == NULL)
		return 0;
	dev = pd->dev;
	mrs = device_count(&pd->nb_mrs);
	qps = device_count(&pd->nb_qps);
	srqs = device_count(&pd->nb_srqs);
	if (mrs > 0 || qps > 0 || srqs > 0) {
		PLX_LOG(ERR, "device %s: PD is in use: %u MRs, %u QPs and %u SRQs of it exist", dev->name, mrs, qps,
			srqs);
		return -EBUSY;
	}
	err = dev->ops.pd_destroy(pd);
	if (err == 0)
		device_count_sub(&dev->nb_pds);
	return err;
}

/* ---- completion queues --------------------------------------------------------------------- */

struct plx_cq *
plx_cq_create(struct plx_device *dev, uint32_t nb_cqe)
{
	struct plx_cq *cq;

	if (nb_cqe == 0 || nb_cqe > dev->caps.max_cqe) {
		PLX_LOG(ERR, "device %s: CQ of %u entries; want 1 to %u", dev->name, nb_cqe,
			dev->caps.max_cqe);
		return device_fail(EINVAL);
	}
	cq = dev->ops.cq_create(dev, nb_cqe);
	if (cq == NULL)
		return NULL;
	cq->fast = device_fast(dev, cq->fast);
	if (cq->fast == NULL) {
		dev->ops.cq_destroy(cq);
		return device_fail(ENOSPC);
	}
	cq->dev = dev;
	cq->reserved = 0;
	cq->nb_empty = 0;
	cq->nb_polled = 0;
	cq->nb_qps = 0;
	cq->id = device_id();
	device_count_add(&dev->nb_cqs);
	return cq;
}

int
plx_cq_destroy(struct plx_cq *cq)
{
	struct plx_device *dev;
	uint32_t qps;
	int err;

	if (cq == NULL)
		return 0;
	dev = cq->dev;
	qps = device_count(&cq->nb_qps);
	if (qps > 0) {
		PLX_LOG(ERR, "device %s: CQ is in use: it is the CQ of %u queues", dev->name, qps);
		return -EBUSY;
	}
	err = dev->ops.cq_destroy(cq);
	if (err == 0)
		device_count_sub(&dev->nb_cqs);
	return err;
}
