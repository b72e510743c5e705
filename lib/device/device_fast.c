/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What a driver leaves out of its fast table refuses, so that nobody tests for NULL when posting and polling.
 */

#include <pthread.h>

#include "device_impl.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all devices' fast[]: taken while a QP or CQ is made */

/** Under the lock. */
static const struct plx_fast_ops *
filled_once(struct plx_device *dev, const struct plx_fast_ops *fast)
{
	struct plx_device_fast *known;

	for (uint32_t i = 0; i < dev->nb_fast; i++)
		if (dev->fast[i].of == fast)
			return &dev->fast[i].filled;
	if (dev->nb_fast == PLX_DEVICE_FAST_TABLES)
		return NULL;
	known = &dev->fast[dev->nb_fast++];
	known->of = fast;
	known->filled = plx_fast_with_stubs(fast);
	return &known->filled;
}

const struct plx_fast_ops *
device_fast(struct plx_device *dev, const struct plx_fast_ops *fast)
{
	static const struct plx_fast_ops none;
	const struct plx_fast_ops *filled;

	if (fast == NULL)
		fast = &none;
	if (fast->post_send != NULL && fast->post_recv != NULL && fast->poll_cq != NULL && fast->post_srq_recv != NULL)
		return fast;
	pthread_mutex_lock(&lock);
	filled = filled_once(dev, fast);
	pthread_mutex_unlock(&lock);
	if (filled == NULL)
		PLX_LOG(ERR, "device %s: its driver has more than %u fast tables with empty slots", dev->name,
			PLX_DEVICE_FAST_TABLES);
	return filled;
}
