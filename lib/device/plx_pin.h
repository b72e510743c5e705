/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_PIN_H
#define PLX_PIN_H

/**
 * @file
 * May this process pin as much memory as it is going to register?
 *
 *      |-- pinned by this process --|-- what is to come --|        RLIMIT_MEMLOCK
 *      0                                                           |
 *
 * Registration pins pages on a device with PLX_CAP_PINS, and the kernel counts them against RLIMIT_MEMLOCK, 8 MiB or 64 KiB
 * as a rule in a container, unless the process has CAP_IPC_LOCK. Who asks before the first registration need not stop
 * half-way.
 *
 * Threads: any, not on a polling lcore: it reads /proc.
 *
 * @since 0.1
 */

#include <stdbool.h>

#include "plx_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What counts for pinning, in bytes. */
struct plx_pin {
	uint64_t pinned; /**< by this process, through any device */
	uint64_t limit;	 /**< RLIMIT_MEMLOCK; UINT64_MAX without one */
	bool exempt;	 /**< CAP_IPC_LOCK: no limit counts */
};

/** As it is now. What /proc does not tell is 0. */
void plx_pin_query(struct plx_pin *pin);

/** Bytes of the pages that @p len bytes at @p addr lie in: whole ones are pinned. */
uint64_t plx_pin_pages(uintptr_t addr, uint64_t len);

/**
 * Whether @p len bytes more can be registered on @p dev, as far as RLIMIT_MEMLOCK tells. 0, also where nothing is pinned.
 * -ENOMEM, and the log has what is pinned, what is needed, the limit, and how to raise it.
 */
int plx_pin_check(const struct plx_device *dev, uint64_t len);

#ifdef __cplusplus
}
#endif

#endif
