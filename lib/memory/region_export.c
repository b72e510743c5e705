/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_export.h"

/** A view is a plain value: that it is of this region is seen by its keys and its place. */
static bool
is_part_of(const struct plx_region *region, const struct plx_view *part)
{
	/* An address in front of the region is an offset far behind it. */
	return part->rkey == region->rkey && part->lkey == region->lkey &&
		plx_range_fits(region->len, (uintptr_t)part->addr - (uintptr_t)region->addr, part->len);
}

int
plx_region_export(struct plx_region *region, const struct plx_view *part, struct plx_export *out)
{
	struct plx_remote remote = part != NULL ? plx_remote_of(part) : plx_remote_of_region(region);
	int err;

	if (part != NULL && !is_part_of(region, part))
		return -ERANGE;
	remote.rights &= region->rights;
	if (remote.rights == 0)
		return -EACCES;
	err = plx_remote_export(&remote, plx_device_caps(region->mr->pd->dev)->guid, out);
	if (err == 0)
		plx_region_hold(region);
	return err;
}
