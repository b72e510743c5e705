/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * GIDs, and which one to use when nobody says.
 *
 * A RoCE port lists each address several times, once a type, in the order in which addresses came up; index 0 is
 * often a link-local RoCE v1 entry that no router forwards. So the default goes by type, never by index.
 */

#include "device_impl.h"

#include <errno.h>
#include <string.h>

static const char *const type_names[] = {
	[PLX_GID_NONE] = "none",
	[PLX_GID_IB] = "IB",
	[PLX_GID_ROCE_V1] = "RoCE v1",
	[PLX_GID_ROCE_V2] = "RoCE v2",
	[PLX_GID_IWARP] = "iWARP",
};

const char *
plx_gid_type_name(unsigned int type)
{
	return type < sizeof(type_names) / sizeof(type_names[0]) ? type_names[type] : "unknown";
}

int
plx_gid_query(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid)
{
	int err = device_port_check(dev, port);

	return err != 0 ? err : dev->ops.gid_query(dev, port, index, gid);
}

/** ::ffff:a.b.c.d (RFC 4291 2.5.5.2) */
static bool
gid_is_ipv4(const struct plx_gid *gid)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

/** How good an entry is as the default; 0: never. */
static int
gid_rank(const struct plx_gid *gid, bool ethernet)
{
	if (!ethernet)
		return gid->type == PLX_GID_IB;
	switch (gid->type) {
	case PLX_GID_ROCE_V2:
		return gid_is_ipv4(gid) ? 3 : 2;
	case PLX_GID_IWARP:
		return 1;
	default:
		return 0;
	}
}

int
plx_gid_default(struct plx_device *dev, unsigned int port, struct plx_gid *gid)
{
	struct plx_port_attr attr;
	struct plx_gid entry;
	int best = 0;
	int err = plx_port_query(dev, port, &attr);

	if (err != 0)
		return err;
	for (unsigned int i = 0; i < attr.nb_gids; i++) {
		if (plx_gid_query(dev, port, i, &entry) != 0)
			continue;
		if (gid_rank(&entry, attr.ethernet) > best) {
			best = gid_rank(&entry, attr.ethernet);
			*gid = entry;
		}
	}
	return best > 0 ? 0 : -ENOENT;
}
