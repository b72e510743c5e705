/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "loopback.h"

#include <errno.h>
#include <stddef.h>

#include <rte_common.h>

#define CAP(field) offsetof(struct loopback_device, base.caps.field)
#define DEV(field) offsetof(struct loopback_device, field)

/** Every limit: a devarg, its range, what it is without, and the uint32_t where it lives. */
static const struct limit {
	const char *key;
	uint32_t min, max, def;
	size_t at;
} limits[] = {
	{"max_qp", 1, 65534, 65534, CAP(max_qp)},
	{"max_qp_wr", 1, 1 << 20, 32768, CAP(max_qp_wr)},
	{"max_cq", 1, 1 << 20, 65536, CAP(max_cq)},
	{"max_cqe", 1, 1 << 24, 1 << 22, CAP(max_cqe)},
	{"max_mr", 1, SOFT_KEYS_MAX, SOFT_KEYS_MAX, CAP(max_mr)},
	{"max_srq", 0, 65534, 65534, CAP(max_srq)},
	{"max_srq_wr", 1, 1 << 20, 1 << 20, CAP(max_srq_wr)},
	{"max_srq_sge", 1, 256, 32, CAP(max_srq_sge)},
	{"max_sge", 1, 256, 32, CAP(max_sge)},
	{"max_inline", 0, 65536, 512, CAP(max_inline)},
	{"max_rd_atomic", 0, 255, 16, CAP(max_rd_atomic)},
	{"nb_ports", 1, 255, 1, CAP(nb_ports)},
	{"nb_gids", 0, 256, 4, DEV(nb_gids)},
	{"tick_us", 0, 1 << 20, 0, DEV(tick_us)},
	{"max_msg_sz", 0, 1u << 31, 1u << 31, DEV(max_msg_sz)},
};

static const char *const mtus[] = {"4096", "256", "512", "1024", "2048", NULL};
static const uint32_t mtu_values[] = {4096, 256, 512, 1024, 2048};
static const char *const statuses[] = {"iba", "rxe", NULL};
static const char *const grants[] = {"exact", "pow2", "less", NULL};
static const char *const last_wqes[] = {"on", "off", "late", "twice", NULL};
static const char *const qpns[] = {"next", "reuse", NULL};
static const char *const orders[] = {"host", "big", NULL};
static const char *const overflows[] = {"drop", "dead", NULL};
static const char *const inlines[] = {"granted", "none", NULL};
static const char *const empties[] = {"arrive", "lost", NULL};

const char *const loopback_keys[] = {"max_qp", "max_qp_wr", "max_cq", "max_cqe", "max_mr", "max_srq",
	"max_srq_wr", "max_srq_sge", "max_sge", "max_inline", "max_rd_atomic", "nb_ports", "nb_gids", "max_msg_sz", "mtu", "status", "grant", "qpn",
	"atomics", "last_wqe", "cq_overflow", "inline", "empty", "tick_us", NULL};

static int
limits_parse(struct loopback_device *dev, struct rte_kvargs *args)
{
	for (unsigned int i = 0; i < RTE_DIM(limits); i++) {
		const struct limit *limit = &limits[i];
		uint64_t value;

		if (plx_kvargs_u64(args, limit->key, limit->min, limit->max, limit->def, &value) != 0)
			return -EINVAL;
		*(uint32_t *)((char *)dev + limit->at) = value;
	}
	return 0;
}

int
loopback_args_parse(struct loopback_device *dev, struct rte_kvargs *args)
{
	int mtu = plx_kvargs_choice(args, "mtu", mtus, 0);
	int status = plx_kvargs_choice(args, "status", statuses, SOFT_STATUS_IBA);
	int grant = plx_kvargs_choice(args, "grant", grants, LOOPBACK_GRANT_EXACT);
	int qpn = plx_kvargs_choice(args, "qpn", qpns, 0);
	int order = plx_kvargs_choice(args, "atomics", orders, 0);
	int last_wqe = plx_kvargs_choice(args, "last_wqe", last_wqes, LOOPBACK_LAST_WQE_ON);
	int overflow = plx_kvargs_choice(args, "cq_overflow", overflows, 0);
	int none = plx_kvargs_choice(args, "inline", inlines, 0);
	int empty = plx_kvargs_choice(args, "empty", empties, 0);

	if (mtu < 0 || status < 0 || grant < 0 || qpn < 0 || order < 0 || overflow < 0 || none < 0 || empty < 0 || last_wqe < 0 ||
		limits_parse(dev, args) != 0)
		return -EINVAL;
	dev->mtu = mtu_values[mtu];
	dev->status = status;
	dev->grant = grant;
	dev->reuse_qpn = qpn;
	dev->base.caps.atomic_big_endian = order;
	dev->last_wqe = last_wqe;
	dev->cq_dies = overflow;
	dev->inline_none = none;
	dev->loses_empty = empty;
	return 0;
}

uint32_t
loopback_grant(const struct loopback_device *dev, uint32_t wanted, uint32_t min, uint32_t max)
{
	switch (dev->grant) {
	case LOOPBACK_GRANT_POW2:
		/* A device that rounds up stops at its limit. */
		return wanted == 0 ? 0 : RTE_MIN(rte_align32pow2(wanted), max);
	case LOOPBACK_GRANT_LESS:
		return wanted > min ? wanted - 1 : wanted;
	default:
		return wanted;
	}
}
