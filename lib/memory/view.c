/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_memory.h"

static struct plx_view
view_of(const struct plx_region *region)
{
	return (struct plx_view){
		.addr = region->addr,
		.len = region->len,
		.lkey = region->lkey,
		.rkey = region->rkey,
		.rights = region->rights,
	};
}

int
plx_region_view(const struct plx_region *region, uint64_t off, uint64_t len, struct plx_view *view)
{
	struct plx_view whole = view_of(region);

	return plx_view_sub(&whole, off, len, view);
}

int
plx_view_sub(const struct plx_view *view, uint64_t off, uint64_t len, struct plx_view *sub)
{
	if (!plx_range_fits(view->len, off, len))
		return -ERANGE;
	*sub = *view;
	sub->addr = (char *)view->addr + off;
	sub->len = len;
	return 0;
}

int
plx_view_sge(const struct plx_view *view, struct plx_sge *sge)
{
	if (view->len > UINT32_MAX)
		return -EOVERFLOW;
	*sge = (struct plx_sge){
		.addr = (uintptr_t)view->addr,
		.length = (uint32_t)view->len,
		.lkey = view->lkey,
	};
	return 0;
}

struct plx_remote
plx_remote_of_region(const struct plx_region *region)
{
	struct plx_view whole = view_of(region);

	return plx_remote_of(&whole);
}

struct plx_remote
plx_remote_of(const struct plx_view *view)
{
	return (struct plx_remote){
		.addr = (uintptr_t)view->addr,
		.len = view->len,
		.rkey = view->rkey,
		.rights = view->rights & PLX_ACCESS_REMOTE,
	};
}
