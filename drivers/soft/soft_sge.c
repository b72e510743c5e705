/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_sge.h"

#include <string.h>

/** A place in a list. */
struct cursor {
	const struct plx_sge *sge;
	uint32_t offset;
};

static uint64_t
cursor_addr(const struct cursor *cursor)
{
	return cursor->sge->addr + cursor->offset;
}

static uint32_t
cursor_left(const struct cursor *cursor)
{
	return cursor->sge->length - cursor->offset;
}

/** Step over used-up and empty SGEs. The caller knows that more bytes follow. */
static void
cursor_settle(struct cursor *cursor)
{
	while (cursor_left(cursor) == 0) {
		cursor->sge++;
		cursor->offset = 0;
	}
}

void
soft_sge_copy_piece(uint64_t to, uint64_t from, uint64_t len)
{
	/* memmove: both ends of a loopback may be the same memory. */
	memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, len);
}

void
soft_sge_copy_lists(const struct plx_sge *to_sges, const struct plx_sge *from_sges, uint64_t len)
{
	struct cursor to = {.sge = to_sges}, from = {.sge = from_sges};

	while (len > 0) {
		uint64_t piece = len;

		cursor_settle(&to);
		cursor_settle(&from);
		if (piece > cursor_left(&to))
			piece = cursor_left(&to);
		if (piece > cursor_left(&from))
			piece = cursor_left(&from);
		soft_sge_copy_piece(cursor_addr(&to), cursor_addr(&from), piece);
		to.offset += piece;
		from.offset += piece;
		len -= piece;
	}
}
