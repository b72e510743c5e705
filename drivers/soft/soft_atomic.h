/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_ATOMIC_H
#define SOFT_ATOMIC_H

/**
 * @file
 * Compare-and-swap and fetch-and-add on a word of memory: atomic for every thread of the process, be it a device's or the
 * program's own __atomic builtin (global atomicity, IBA 9.4.5.2).
 */

#include "plx_wr.h"

#define SOFT_ATOMIC_LEN 8u /* bytes of the word, whose address is a multiple of them */

/** Do what @p wr asks for to its remote word, which has been checked. Returns the old value. */
static inline uint64_t
soft_atomic(const struct plx_wr *wr)
{
	uint64_t *word = (uint64_t *)(uintptr_t)wr->remote_addr;
	uint64_t old = wr->compare_add;

	/* SEQ_CST: what a peer's program makes of the order of two words is its own business. */
	if (wr->opcode == PLX_OPCODE_FETCH_ADD)
		return __atomic_fetch_add(word, wr->compare_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(word, &old, wr->swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

#endif
