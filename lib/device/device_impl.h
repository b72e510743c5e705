/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef DEVICE_IMPL_H
#define DEVICE_IMPL_H

/**
 * @file
 * What the files of this room share: how a constructor fails, and how dependants are counted.
 */

#include <rte_errno.h>

#include "plx_driver.h"
#include "plx_log.h"

/** The end of a constructor that failed with errno @p err. */
static inline void *
device_fail(int err)
{
	rte_errno = err;
	return NULL;
}

/* Two threads may make objects of one PD or device at a time, so the counts are atomic. Relaxed:
 * a count guards nothing but itself, and whoever destroys has ended all use of the object anyway. */

static inline void
device_count_add(uint32_t *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

static inline void
device_count_sub(uint32_t *count)
{
	__atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
}

static inline uint32_t
device_count(const uint32_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

/** A number for an object, never given before. */
uint64_t device_id(void);

/** Whether @p dev has @p port, or the log says so. 0 or -EINVAL. */
int device_port_check(const struct plx_device *dev, unsigned int port);

/** Whether a QP can have this address: each number within the field that it travels in, and an MTU that there is. */
bool device_addr_is_sane(const struct plx_qp_addr *addr);

/**
 * @p fast, the table of a QP or CQ of @p dev, if it has a function in every slot; else the same with stubs, made once.
 * NULL, logged: the driver has more such tables than PLX_DEVICE_FAST_TABLES. Any thread.
 */
const struct plx_fast_ops *device_fast(struct plx_device *dev, const struct plx_fast_ops *fast);

#endif
