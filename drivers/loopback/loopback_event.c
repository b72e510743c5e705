/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Async events, raised by the device itself or by a test; and a device that is lost.
 */

#include "loopback.h"

#include <errno.h>

#include "plx_log.h"
#include "plx_loopback.h"

extern const struct plx_driver plx_loopback_driver;

static void
cqs_kill(struct loopback_device *dev)
{
	struct soft_cq *cq;

	loopback_lock();
	LIST_FOREACH(cq, &dev->cqs, link)
		soft_cq_kill(cq);
	loopback_unlock();
}

int
loopback_event_fd(struct plx_device *dev)
{
	return loopback_device(dev)->events.fd;
}

int
loopback_event_next(struct plx_device *dev, struct plx_event *event)
{
	return soft_events_next(&loopback_device(dev)->events, event);
}

/** Raise @p type for the object @p id. */
static void
event_raise(struct loopback_device *dev, enum plx_event_type type, uint64_t id)
{
	const struct plx_event event = {.type = type, .object = id, .raw = -1};

	soft_events_raise(&dev->events, &event);
}

void
loopback_event_last_wqe(struct loopback_qp *qp, bool gone)
{
	struct loopback_device *dev = loopback_device(qp->base.dev);
	bool late = dev->last_wqe == LOOPBACK_LAST_WQE_LATE;

	if (qp->srq == NULL || dev->last_wqe == LOOPBACK_LAST_WQE_OFF || late != gone || qp->last_wqe_told)
		return;
	qp->last_wqe_told = true;
	event_raise(dev, PLX_EVENT_LAST_WQE, qp->base.id);
	if (dev->last_wqe == LOOPBACK_LAST_WQE_TWICE)
		event_raise(dev, PLX_EVENT_LAST_WQE, qp->base.id);
}

void
loopback_event_refused(struct loopback_qp *qp)
{
	if (qp->status != SOFT_STATUS_RXE)
		event_raise(loopback_device(qp->base.dev), PLX_EVENT_QP_FATAL, qp->base.id);
}

void
loopback_cq_overflowed(struct soft_cq *cq)
{
	event_raise(loopback_device(cq->base.dev), PLX_EVENT_CQ_ERROR, cq->base.id);
}

void
loopback_srq_limit(struct soft_srq *srq)
{
	event_raise(loopback_device(srq->base.dev), PLX_EVENT_SRQ_LIMIT, srq->base.id);
}

static int
not_a_loopback(const struct plx_device *dev)
{
	PLX_LOG(ERR, "device %s: it is of driver %s and no loopback device", dev->name, dev->driver->name);
	return -EINVAL;
}

int
plx_loopback_raise(struct plx_device *dev, const struct plx_event *event)
{
	if (dev->driver != &plx_loopback_driver)
		return not_a_loopback(dev);
	soft_events_raise(&loopback_device(dev)->events, event);
	return 0;
}

int
plx_loopback_lose(struct plx_device *dev)
{
	if (dev->driver != &plx_loopback_driver)
		return not_a_loopback(dev);
	if (!__atomic_exchange_n(&loopback_device(dev)->lost, 1, __ATOMIC_RELAXED)) {
		cqs_kill(loopback_device(dev));
		event_raise(loopback_device(dev), PLX_EVENT_DEVICE_FATAL, 0);
	}
	return 0;
}
