/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The null device as a table. Bring-up accepts any peer.
 */

#include "null.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "plx_log.h"

#define GID_INDEX 0
#define QPN_FIRST 2

struct null_device {
	struct plx_device base;
	uint32_t last_qpn; /**< atomic */
	uint32_t last_key; /**< atomic */
};

/** NULL with rte_errno. */
static void *
zalloc(size_t size)
{
	void *mem = calloc(1, size);

	if (mem == NULL)
		rte_errno = ENOMEM;
	return mem;
}

/* ---- device -------------------------------------------------------------------------------- */

static int
null_list(struct plx_device_info *infos, unsigned int n)
{
	if (n > 0)
		snprintf(infos[0].name, sizeof(infos[0].name), "null0");
	return 1;
}

static int
null_match(const char *name)
{
	return strncmp(name, "null", 4) == 0 && name[4] != '\0' && strspn(&name[4], "0123456789") == strlen(&name[4]);
}

static const struct plx_device_caps null_caps = {
	.kinds = PLX_NULL_KINDS | PLX_KIND(PLX_OPCODE_RECV),
	.flags = PLX_CAP_ATTR_EXCHANGE | PLX_CAP_FENCE | PLX_CAP_SOLICITED,
	.transports = 1u << PLX_TRANSPORT_RC,
	.max_qp = 1 << 22,
	.max_qp_wr = 1 << 20,
	.max_cq = 1 << 20,
	.max_cqe = 1 << 24,
	.max_mr = 1 << 24,
	.max_sge = 32,
	.max_sge_rd = 32,
	.max_inline = 512,
	.max_rd_atomic = 16,
	.max_mr_size = UINT64_C(1) << 47,
	.nb_ports = 1,
	.socket_id = SOCKET_ID_ANY,
};

static struct plx_device *
null_open(const char *name, struct rte_kvargs *args)
{
	struct null_device *dev = zalloc(sizeof(*dev));

	if (dev == NULL)
		return NULL;
	dev->base.caps = null_caps;
	dev->last_qpn = QPN_FIRST - 1;
	return &dev->base;
}

static int
null_close(struct plx_device *dev)
{
	free(dev);
	return 0;
}

static int
null_port_query(struct plx_device *dev, unsigned int port, struct plx_port_attr *attr)
{
	*attr = (struct plx_port_attr){
		.active = 1, .ethernet = 1, .mtu = 4096, .max_msg_sz = 1u << 31, .nb_gids = GID_INDEX + 1};
	return 0;
}

static int
null_gid_query(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid)
{
	if (index != GID_INDEX)
		return -ENOENT;
	*gid = (struct plx_gid){
		.raw = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}, /* ::ffff:127.0.0.1 */
		.index = index,
		.type = PLX_GID_ROCE_V2,
	};
	return 0;
}

/* ---- PD, MR, CQ ---------------------------------------------------------------------------- */

static struct plx_pd *
null_pd_create(struct plx_device *dev)
{
	return zalloc(sizeof(struct plx_pd));
}

static int
null_pd_destroy(struct plx_pd *pd)
{
	free(pd);
	return 0;
}

static struct plx_mr *
null_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	struct null_device *dev = plx_container_of(pd->dev, struct null_device, base);
	struct plx_mr *mr = zalloc(sizeof(*mr));

	if (mr == NULL)
		return NULL;
	mr->lkey = __atomic_add_fetch(&dev->last_key, 1, __ATOMIC_RELAXED);
	mr->rkey = mr->lkey;
	return mr;
}

static int
null_mr_deregister(struct plx_mr *mr)
{
	free(mr);
	return 0;
}

static struct plx_cq *
null_cq_create(struct plx_device *dev, uint32_t nb_cqe)
{
	uint32_t granted = rte_align32pow2(nb_cqe);
	struct plx_null_cq *cq = zalloc(sizeof(*cq));

	if (cq == NULL)
		return NULL;
	cq->ring = zalloc(granted * sizeof(cq->ring[0]));
	if (cq->ring == NULL) {
		PLX_LOG(ERR, "device %s: no memory for a CQ of %u entries", dev->name, nb_cqe);
		free(cq);
		return NULL;
	}
	cq->base.fast = &plx_null_fast;
	cq->base.nb_cqe = granted;
	cq->mask = granted - 1;
	pthread_mutex_init(&cq->lock, NULL);
	TAILQ_INIT(&cq->qps);
	return &cq->base;
}

static int
null_cq_destroy(struct plx_cq *base)
{
	struct plx_null_cq *cq = plx_null_cq(base);

	pthread_mutex_destroy(&cq->lock);
	free(cq->ring);
	free(cq);
	return 0;
}

/* ---- QP ------------------------------------------------------------------------------------ */

static int
null_qp_limits(struct plx_device *dev, struct plx_qp_cap *cap)
{
	return 0; /* as wanted */
}

static struct plx_qp *
null_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	struct null_device *dev = plx_container_of(pd->dev, struct null_device, base);
	struct plx_null_cq *cq = plx_null_cq(conf->recv_cq);
	struct plx_null_qp *qp = zalloc(sizeof(*qp));

	if (qp == NULL)
		return NULL;
	qp->recvs = zalloc((conf->cap.recv_depth + 1) * sizeof(qp->recvs[0]));
	if (qp->recvs == NULL) {
		free(qp);
		return NULL;
	}
	qp->base.fast = &plx_null_fast;
	qp->base.nb_hot_lines = sizeof(*qp) / RTE_CACHE_LINE_SIZE + 2; /* it begins and ends inside one */
	qp->base.cap = conf->cap;
	qp->base.qp_num = __atomic_add_fetch(&dev->last_qpn, 1, __ATOMIC_RELAXED) & 0xffffff;
	qp->state = PLX_QP_INIT;
	pthread_mutex_lock(&cq->lock);
	TAILQ_INSERT_TAIL(&cq->qps, qp, link);
	pthread_mutex_unlock(&cq->lock);
	return &qp->base;
}

static int
null_qp_destroy(struct plx_qp *base)
{
	struct plx_null_cq *cq = plx_null_cq(base->recv_cq);
	struct plx_null_qp *qp = plx_null_qp(base);

	pthread_mutex_lock(&cq->lock); /* a flush that goes through the list is over */
	TAILQ_REMOVE(&cq->qps, qp, link);
	pthread_mutex_unlock(&cq->lock);
	free(qp->recvs);
	free(qp);
	return 0;
}

static int
null_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr)
{
	struct plx_gid gid;
	int err = null_gid_query(qp->dev, path->port, path->gid_index, &gid);

	if (err != 0)
		return err;
	*addr = (struct plx_qp_addr){
		.qp_num = qp->qp_num,
		.gid_index = gid.index,
		.gid_type = gid.type,
		.mtu = 4096,
		.port = path->port,
		.rd_atomic = path->rd_atomic,
	};
	memcpy(addr->gid, gid.raw, sizeof(addr->gid));
	return 0;
}

static int
null_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	uint32_t state = PLX_QP_INIT;

	if (__atomic_compare_exchange_n(&plx_null_qp(qp)->state, &state, PLX_QP_RTS, false, __ATOMIC_RELEASE,
		    __ATOMIC_RELAXED))
		return 0;
	return state == PLX_QP_RTS ? -EISCONN : -EINVAL;
}

static int
null_qp_to_error(struct plx_qp *base)
{
	__atomic_store_n(&plx_null_qp(base)->state, PLX_QP_ERR, __ATOMIC_RELAXED);
	/* Release: the flush that this asks for sees ERR. Partner: plx_null_flush(). */
	__atomic_store_n(&plx_null_cq(base->recv_cq)->flush, 1, __ATOMIC_RELEASE);
	return 0;
}

static int
null_qp_query_state(struct plx_qp *qp)
{
	return __atomic_load_n(&plx_null_qp(qp)->state, __ATOMIC_ACQUIRE);
}

const struct plx_driver plx_null_driver = {
	.name = "null",
	.list = null_list,
	.match = null_match,
	.open = null_open,
	.ops = {
		.close = null_close,
		.port_query = null_port_query,
		.gid_query = null_gid_query,
		.pd_create = null_pd_create,
		.pd_destroy = null_pd_destroy,
		.mr_register = null_mr_register,
		.mr_deregister = null_mr_deregister,
		.cq_create = null_cq_create,
		.cq_destroy = null_cq_destroy,
		.qp_limits = null_qp_limits,
		.qp_create = null_qp_create,
		.qp_destroy = null_qp_destroy,
		.qp_local_addr = null_qp_local_addr,
		.qp_bring_up = null_qp_bring_up,
		.qp_to_error = null_qp_to_error,
		.qp_query_state = null_qp_query_state,
	},
};
