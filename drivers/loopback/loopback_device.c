/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The device as a table; ports, GIDs, PDs, MRs and CQs.
 */

#include "loopback.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_memory.h>

#include "plx_log.h"
#include "soft_mem.h"
#include "soft_mw.h"

/* ---- open and close ------------------------------------------------------------------------ */

static int
loopback_list(struct plx_device_info *infos, unsigned int n)
{
	for (unsigned int i = 0; i < n && i < 2; i++)
		snprintf(infos[i].name, sizeof(infos[i].name), "loopback%u", i);
	return 2;
}

/** "loopback" and a number: more devices exist than are listed. */
static int
loopback_match(const char *name)
{
	static const char prefix[] = "loopback";
	const char *digit = name + sizeof(prefix) - 1;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 || *digit == '\0')
		return 0;
	while (isdigit((unsigned char)*digit))
		digit++;
	return *digit == '\0';
}

static void
caps_fill(struct plx_device_caps *caps)
{
	caps->kinds = PLX_LOOPBACK_KINDS | PLX_KIND(PLX_OPCODE_RECV);
	if (caps->max_rd_atomic == 0)
		caps->kinds &= ~PLX_KINDS_RD_ATOMIC;
	caps->flags = PLX_CAP_ATTR_EXCHANGE | PLX_CAP_RNR | PLX_CAP_SOLICITED | PLX_CAP_FENCE | PLX_CAP_MW;
	if (caps->max_srq > 0)
		caps->flags |= PLX_CAP_SRQ;
	else
		caps->max_srq_wr = caps->max_srq_sge = 0;
	caps->transports = 1u << PLX_TRANSPORT_RC;
	caps->max_sge_rd = caps->max_sge;
	caps->max_mw = caps->max_mr; /* of both together: they share the key table */
	caps->max_mr_size = UINT64_C(1) << 47;
	caps->socket_id = SOCKET_ID_ANY;
}

static struct plx_device *
loopback_open(const char *name, struct rte_kvargs *args)
{
	struct loopback_device *dev = soft_zalloc(sizeof(*dev));
	int err = -ENOMEM;

	if (dev == NULL)
		goto fail;
	err = loopback_args_parse(dev, args);
	if (err != 0)
		goto free_dev;
	caps_fill(&dev->base.caps);
	err = soft_keys_init(&dev->keys, dev->base.caps.max_mr);
	if (err != 0)
		goto free_dev;
	err = soft_events_init(&dev->events);
	if (err != 0)
		goto fini_keys;
	err = loopback_device_enter(dev);
	if (err != 0)
		goto fini_events;
	return &dev->base;

fini_events:
	soft_events_fini(&dev->events);
fini_keys:
	soft_keys_fini(&dev->keys);
free_dev:
	soft_free(dev);
fail:
	rte_errno = -err;
	return NULL;
}

static int
loopback_close(struct plx_device *base)
{
	struct loopback_device *dev = loopback_device(base);

	loopback_device_leave(dev);
	soft_events_fini(&dev->events);
	soft_keys_fini(&dev->keys);
	soft_free(dev);
	return 0;
}

/* ---- ports and GIDs ------------------------------------------------------------------------ */

static int
loopback_port_query(struct plx_device *base, unsigned int port, struct plx_port_attr *attr)
{
	const struct loopback_device *dev = loopback_device(base);

	*attr = (struct plx_port_attr){
		.active = 1,
		.ethernet = 1,
		.mtu = dev->mtu,
		.max_msg_sz = dev->max_msg_sz,
		.nb_gids = dev->nb_gids,
	};
	return 0;
}

/**
 * As on a RoCE port, each address is there twice, and the best entry is not the first: fe80:: as v1 and v2, then
 * ::ffff:127.I.P.X as v1 and v2. I, P and X are instance, port and index: who gets the GID finds the device.
 */
int
loopback_gid_query(struct plx_device *base, unsigned int port, unsigned int index, struct plx_gid *gid)
{
	static const uint8_t link_local[12] = {0xfe, 0x80, [8] = 0x02, [11] = 0xff};
	static const uint8_t ipv4_mapped[12] = {[10] = 0xff, [11] = 0xff};
	const struct loopback_device *dev = loopback_device(base);
	bool ipv4 = index & 2;

	if (index >= dev->nb_gids)
		return -ENOENT;
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, ipv4 ? ipv4_mapped : link_local, 12);
	gid->raw[12] = ipv4 ? 127 : 0xfe;
	gid->raw[13] = dev->instance;
	gid->raw[14] = port;
	gid->raw[15] = index;
	gid->index = index;
	gid->type = index & 1 ? PLX_GID_ROCE_V2 : PLX_GID_ROCE_V1;
	snprintf(gid->netdev, sizeof(gid->netdev), "lo");
	return 0;
}

/* ---- PDs, MRs, CQs ------------------------------------------------------------------------- */

static struct plx_pd *
loopback_pd_create(struct plx_device *dev)
{
	struct plx_pd *pd = soft_zalloc(sizeof(*pd));

	if (pd == NULL)
		rte_errno = ENOMEM;
	return pd;
}

static int
loopback_pd_destroy(struct plx_pd *pd)
{
	soft_free(pd);
	return 0;
}

static struct plx_mr *
loopback_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	struct loopback_device *dev = loopback_device(pd->dev);
	struct plx_mr *mr = soft_zalloc(sizeof(*mr));

	if (mr == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	mr->lkey = soft_keys_add(&dev->keys, pd, (uintptr_t)addr, len, rights);
	if (mr->lkey == 0) {
		PLX_LOG(ERR, "device %s: all of max_mr %u regions are registered", dev->base.name,
			dev->base.caps.max_mr);
		soft_free(mr);
		rte_errno = ENOMEM;
		return NULL;
	}
	mr->rkey = mr->lkey | SOFT_KEY_REMOTE;
	return mr;
}

static int
loopback_mr_deregister(struct plx_mr *mr)
{
	struct loopback_device *dev = loopback_device(mr->pd->dev);

	soft_keys_hide(&dev->keys, mr->lkey);
	loopback_quiesce(); /* a copy that found the key is over before the caller may free the memory */
	soft_keys_free(&dev->keys, mr->lkey);
	soft_free(mr);
	return 0;
}

static struct plx_mw *
loopback_mw_create(struct plx_mr *mr)
{
	struct loopback_device *dev = loopback_device(mr->pd->dev);
	struct plx_mw *mw = soft_zalloc(sizeof(*mw));

	if (mw != NULL)
		mw->rkey = soft_mw_add(&dev->keys, mr);
	if (mw == NULL || mw->rkey == 0) {
		PLX_LOG(ERR, "device %s: no window: no memory, or all of max_mr %u regions and windows exist",
			dev->base.name, dev->base.caps.max_mr);
		soft_free(mw);
		rte_errno = ENOMEM;
		return NULL;
	}
	return mw;
}

static int
loopback_mw_destroy(struct plx_mw *mw)
{
	struct loopback_device *dev = loopback_device(mw->mr->pd->dev);

	soft_mw_hide(&dev->keys, mw->rkey);
	loopback_quiesce(); /* a bind that found the window is over, */
	soft_keys_hide(&dev->keys, mw->rkey);
	loopback_quiesce(); /* and so is a copy that found its key */
	soft_keys_free(&dev->keys, mw->rkey);
	soft_free(mw);
	return 0;
}

static struct plx_cq *
loopback_cq_create(struct plx_device *base, uint32_t nb_cqe)
{
	struct loopback_device *dev = loopback_device(base);
	struct soft_cq *cq;

	if (base->nb_cqs >= base->caps.max_cq) {
		PLX_LOG(ERR, "device %s: all of max_cq %u CQs exist", base->name, base->caps.max_cq);
		rte_errno = ENOSPC;
		return NULL;
	}
	cq = soft_zalloc(sizeof(*cq));
	if (cq == NULL || soft_cq_init(cq, loopback_grant(dev, nb_cqe, 1, base->caps.max_cqe)) != 0) {
		PLX_LOG(ERR, "device %s: no memory for a CQ of %u entries", base->name, nb_cqe);
		soft_free(cq);
		rte_errno = ENOMEM;
		return NULL;
	}
	cq->base.fast = dev->cq_dies ? &loopback_fast_dying : loopback_fast;
	cq->overflowed = loopback_cq_overflowed;
	loopback_lock();
	LIST_INSERT_HEAD(&dev->cqs, cq, link);
	loopback_unlock();
	return &cq->base;
}

static int
loopback_cq_destroy(struct plx_cq *base)
{
	struct soft_cq *cq = loopback_cq(base);

	loopback_lock();
	LIST_REMOVE(cq, link);
	loopback_unlock();
	soft_cq_fini(cq);
	soft_free(cq);
	return 0;
}

/* ---- the table ----------------------------------------------------------------------------- */

const struct plx_driver plx_loopback_driver = {
	.name = "loopback",
	.keys = loopback_keys,
	.list = loopback_list,
	.match = loopback_match,
	.open = loopback_open,
	.ops = {
		.close = loopback_close,
		.port_query = loopback_port_query,
		.gid_query = loopback_gid_query,
		.pd_create = loopback_pd_create,
		.pd_destroy = loopback_pd_destroy,
		.mr_register = loopback_mr_register,
		.mr_deregister = loopback_mr_deregister,
		.mw_create = loopback_mw_create,
		.mw_destroy = loopback_mw_destroy,
		.cq_create = loopback_cq_create,
		.cq_destroy = loopback_cq_destroy,
		.qp_limits = loopback_qp_limits,
		.qp_create = loopback_qp_create,
		.qp_destroy = loopback_qp_destroy,
		.srq_create = loopback_srq_create,
		.srq_destroy = loopback_srq_destroy,
		.srq_arm = loopback_srq_arm,
		.srq_query = loopback_srq_query,
		.qp_local_addr = loopback_qp_local_addr,
		.qp_bring_up = loopback_qp_bring_up,
		.qp_to_error = loopback_qp_to_error,
		.qp_query_state = loopback_qp_query_state,
		.event_fd = loopback_event_fd,
		.event_next = loopback_event_next,
	},
};
