/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef OWN_DRIVER_H
#define OWN_DRIVER_H

#include <pollux/plx_driver.h>

/** Devices "own0", "own1", ...: each send completes at once, with the status that `status=NUMBER` told. */
extern const struct plx_driver own_driver;

#endif
