/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Ports and their GID tables.
 */

#include "verbs_impl.h"

#include <net/if.h>

uint32_t
verbs_mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu; /* IBV_MTU_256 is 1 */
}

int
verbs_port_query(struct plx_device *base, unsigned int port, struct plx_port_attr *attr)
{
	struct ibv_port_attr ibv;
	int err = plx_verbs_result(ibv_query_port(to_verbs_device(base)->ctx, port, &ibv));

	if (err != 0)
		return err;
	*attr = (struct plx_port_attr){
		.active = ibv.state == IBV_PORT_ACTIVE,
		.ethernet = ibv.link_layer == IBV_LINK_LAYER_ETHERNET,
		.mtu = verbs_mtu_bytes(ibv.active_mtu),
		.max_msg_sz = ibv.max_msg_sz,
		.nb_gids = ibv.gid_tbl_len,
		.lid = ibv.lid,
	};
	return 0;
}

/** libibverbs has no word for iWARP's entries and calls them IB. */
static uint32_t
gid_type(uint32_t type, bool iwarp)
{
	if (iwarp)
		return PLX_GID_IWARP;
	switch (type) {
	case IBV_GID_TYPE_IB:
		return PLX_GID_IB;
	case IBV_GID_TYPE_ROCE_V1:
		return PLX_GID_ROCE_V1;
	case IBV_GID_TYPE_ROCE_V2:
		return PLX_GID_ROCE_V2;
	default:
		return PLX_GID_NONE;
	}
}

/** An empty entry is ENODATA for libibverbs, an index past the table EINVAL: no GID there, both. */
int
verbs_gid_query(struct plx_device *base, unsigned int port, unsigned int index, struct plx_gid *gid)
{
	const struct verbs_device *dev = to_verbs_device(base);
	struct ibv_gid_entry entry;
	int err = plx_verbs_result(ibv_query_gid_ex(dev->ctx, port, index, &entry, 0));

	if (err != 0)
		return err == -ENODATA || err == -EINVAL ? -ENOENT : err;
	*gid = (struct plx_gid){.index = index, .type = gid_type(entry.gid_type, dev->iwarp)};
	memcpy(gid->raw, entry.gid.raw, sizeof(gid->raw));
	/* No netdev, or one of another network namespace: the name stays empty. */
	static_assert(sizeof(gid->netdev) >= IF_NAMESIZE, "if_indextoname(3) writes that much");
	if (entry.ndev_ifindex == 0 || if_indextoname(entry.ndev_ifindex, gid->netdev) == NULL)
		gid->netdev[0] = '\0';
	return 0;
}
