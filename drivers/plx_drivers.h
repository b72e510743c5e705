/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_DRIVERS_H
#define PLX_DRIVERS_H

/**
 * @file
 * The drivers that come with Pollux.
 *
 * @since 0.1
 */

#ifdef __cplusplus
extern "C" {
#endif

/** Register every driver of this build, once, after rte_eal_init(); again is harmless. 0 or -errno. */
int plx_drivers_register(void);

#ifdef __cplusplus
}
#endif

#endif
