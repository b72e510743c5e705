/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_MEM_H
#define SOFT_MEM_H

/**
 * @file
 * Zeroed memory on its own cache lines, from libc: a software device needs no DMA addresses, and pages of a
 * large ring that was never used cost nothing.
 */

#include <stddef.h>

/** NULL: no memory. */
void *soft_zalloc(size_t size);
void soft_free(void *mem);

#endif
