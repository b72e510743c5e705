/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Async events: asked of the driver; that a device is lost is remembered here.
 */

#include "device_impl.h"

uint64_t
device_id(void)
{
	static uint64_t last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

bool
plx_device_is_lost(const struct plx_device *dev)
{
	return __atomic_load_n(&dev->lost, __ATOMIC_RELAXED) != 0;
}

const char *
plx_event_name(unsigned int type)
{
	static const char *const names[] = {"CQ error", "QP fatal", "last WQE reached", "SRQ limit reached", "SRQ error",
		"port down", "port up", "device fatal", "other"};

	return type < PLX_NB_EVENTS ? names[type] : "unknown";
}

int
plx_device_event_fd(struct plx_device *dev)
{
	return dev->ops.event_fd(dev);
}

int
plx_device_next_event(struct plx_device *dev, struct plx_event *event)
{
	int got = dev->ops.event_next(dev, event);

	if (got > 0 && event->type == PLX_EVENT_DEVICE_FATAL)
		__atomic_store_n(&dev->lost, 1, __ATOMIC_RELAXED);
	return got;
}
