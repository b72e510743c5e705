/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_LOOPBACK_H
#define PLX_LOOPBACK_H

/**
 * @file
 * For tests on a loopback device: raise any async event for any object, and lose the device.
 *
 * Threads: any.
 *
 * @since 0.1
 */

#include "plx_event.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Raise @p event as it is, whether or not what it names lives. -EINVAL: @p dev is no loopback device. */
int plx_loopback_raise(struct plx_device *dev, const struct plx_event *event);

/**
 * Lose the device: a device fatal event; from then on polls of its CQs fail. What is destroyed is freed, as ever
 * (plx_device.h). Another device may be opened by the same name. -EINVAL: @p dev is no loopback device.
 */
int plx_loopback_lose(struct plx_device *dev);

#ifdef __cplusplus
}
#endif

#endif
