/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_MEM_H
#define SOFT_MEM_H

/**
 * @file
 * Zeroed memory on its own cache lines, from libc: a software device needs no DMA addresses, and pages of a
 * large ring that was never used cost nothing. And a line of somebody else's, fetched ahead.
 */

#include <stddef.h>

/** NULL: no memory. */
void *soft_zalloc(size_t size);
void soft_free(void *mem);

/** Ask for the line of @p at, to write: a plain load would have its last writer keep a copy, to be asked for again. */
static inline void
soft_fetch_to_write(const void *at)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
	__builtin_prefetch(at, 1);
#endif
}

#endif
