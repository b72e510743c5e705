/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_SGE_H
#define SOFT_SGE_H

/**
 * @file
 * SGE lists: how long, whether allowed, and the copy from one list into another.
 *
 *      from:  [aaaa][bb][cccccc]
 *      to:    [aaa][abbccc][ccc ]	pieces as long as both sides allow; each byte moves once
 */

#include "plx_wr.h"
#include "soft_keys.h"

/** Bytes of a list; 64 bits hold the sum of any. */
static inline uint64_t
soft_sge_len(const struct plx_sge *sges, uint32_t n)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		len += sges[i].length;
	return len;
}

/** Whether the first @p len bytes of the list may be used with @p rights: the first refusal, or SOFT_ACCESS_OK. SGEs
 * behind those bytes are not looked at. */
static inline enum soft_access
soft_sge_check(const struct soft_keys *keys, const void *pd, const struct plx_sge *sges, uint32_t n, uint64_t len,
	uint32_t rights)
{
	for (uint32_t i = 0; i < n && len > 0; i++) {
		uint64_t piece = sges[i].length < len ? sges[i].length : len;
		enum soft_access access =
			soft_keys_check(keys, pd, sges[i].lkey, 0, sges[i].addr, piece, rights);

		if (unlikely(access != SOFT_ACCESS_OK))
			return access;
		len -= piece;
	}
	return SOFT_ACCESS_OK;
}

void soft_sge_copy_lists(const struct plx_sge *to, const struct plx_sge *from, uint64_t len);
void soft_sge_copy_piece(uint64_t to, uint64_t from, uint64_t len);

/** Copy @p len bytes; both lists are at least that long and have been checked. */
static inline void
soft_sge_copy(const struct plx_sge *to, const struct plx_sge *from, uint64_t len)
{
	if (len == 0)
		return;
	if (likely(to[0].length >= len && from[0].length >= len))
		soft_sge_copy_piece(to[0].addr, from[0].addr, len);
	else
		soft_sge_copy_lists(to, from, len);
}

#endif
