/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Destroying what was on a device that is lost.
 *
 *      the device goes: the kernel frees all that was made through our file, raises IBV_EVENT_DEVICE_FATAL once, and from then
 *      on answers commands with EIO
 *
 *                                 kernel's object   libibverbs' struct   ours
 *      ibv_destroy_...(): 0       gone              freed                freed
 *                         EIO     gone              kept for ever        freed    the device is lost
 *                         EIO,..  there             kept                 kept     it is not: the caller tries again
 *
 * Newer kernels let a destroy pass, and libibverbs turns EIO into 0 and frees its struct where
 * RDMAV_ALLOW_DISASSOC_DESTROY is set (ibv_close_device(3)); that is the program's to choose, since then
 * ibv_destroy_...() waits for no event's ack.
 */

#include "verbs_impl.h"

/** Whether it is, though nobody may have read the event: a command that needs nothing but the device says EIO then. */
static bool
is_lost(const struct verbs_device *dev)
{
	struct ibv_port_attr attr;

	return plx_device_is_lost(&dev->base) || plx_verbs_result(ibv_query_port(dev->ctx, 1, &attr)) == -EIO;
}

int
verbs_destroyed(struct plx_device *base, int err, void **context)
{
	struct verbs_device *dev = to_verbs_device(base);

	if (err != -EIO || !is_lost(dev))
		return err;
	if (context != NULL) {
		/* Whoever is reading an event that names it is done with ours first; whoever comes later meets NULL. */
		pthread_mutex_lock(&dev->reading);
		*context = NULL;
		pthread_mutex_unlock(&dev->reading);
	}
	return 0;
}
