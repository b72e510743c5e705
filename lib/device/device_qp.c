/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Queue pairs: sizes, creation, and bring-up by attribute exchange.
 */

#include "device_impl.h"

#include <errno.h>

#include <rte_common.h>

/* ---- sizes --------------------------------------------------------------------------------- */

static int
size_check(const struct plx_device *dev, const char *what, uint32_t want, uint32_t limit)
{
	if (want <= limit)
		return 0;
	PLX_LOG(ERR, "device %s: %s of %u; the limit is %u", dev->name, what, want, limit);
	return -EINVAL;
}

/** Whether @p dev can post @p cap; logs the first size that is above its limit. 0 or -EINVAL. */
static int
cap_check(const struct plx_device *dev, const struct plx_qp_cap *cap)
{
	const struct plx_device_caps *caps = &dev->caps;
	const struct {
		const char *what;
		uint32_t want, limit;
	} sizes[] = {
		{"send_depth", cap->send_depth, caps->max_qp_wr},
		{"recv_depth", cap->recv_depth, caps->max_qp_wr},
		{"send_sge", cap->send_sge, caps->max_sge},
		{"recv_sge", cap->recv_sge, caps->max_sge},
		{"inline_len", cap->inline_len, caps->max_inline},
	};

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (size_check(dev, sizes[i].what, sizes[i].want, sizes[i].limit) != 0)
			return -EINVAL;
	}
	return 0;
}

static void
cap_defaults(struct plx_qp_cap *cap)
{
	if (cap->send_sge == 0)
		cap->send_sge = 1;
	if (cap->recv_sge == 0)
		cap->recv_sge = 1;
}

int
plx_qp_limits(struct plx_device *dev, struct plx_qp_cap *cap)
{
	struct plx_qp_cap want = *cap;
	int err;

	cap_defaults(&want);
	err = cap_check(dev, &want);
	if (err == 0)
		err = dev->ops.qp_limits(dev, &want);
	if (err == 0)
		*cap = want;
	return err;
}

/* ---- creation ------------------------------------------------------------------------------ */

static int
conf_check(const struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	const struct plx_device *dev = pd->dev;

	if (conf->transport > PLX_TRANSPORT_UD || !(dev->caps.transports & (1u << conf->transport))) {
		PLX_LOG(ERR, "device %s: transport %u is not supported (mask 0x%x)", dev->name,
			(unsigned int)conf->transport, dev->caps.transports);
		return ENOTSUP;
	}
	if (conf->send_cq == NULL || conf->recv_cq == NULL || conf->send_cq->dev != dev ||
		conf->recv_cq->dev != dev) {
		PLX_LOG(ERR, "device %s: a QP needs a send and a receive CQ of its own device", dev->name);
		return EINVAL;
	}
	if (conf->srq != NULL && conf->srq->pd != pd) {
		PLX_LOG(ERR, "device %s: the SRQ of a QP must be of the QP's PD", dev->name);
		return EINVAL;
	}
	return -cap_check(dev, &conf->cap);
}

/** With an SRQ a QP has no receive queue. Some drivers check the sizes all the same, others grant them. */
static void
cap_without_recv(struct plx_qp_cap *cap)
{
	cap->recv_depth = 0;
	cap->recv_sge = 0;
}

struct plx_qp *
plx_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	struct plx_qp_conf want = *conf;
	struct plx_qp *qp;
	int err;

	cap_defaults(&want.cap);
	if (want.srq != NULL)
		cap_without_recv(&want.cap);
	err = conf_check(pd, &want);
	if (err != 0)
		return device_fail(err);
	qp = pd->dev->ops.qp_create(pd, &want);
	if (qp == NULL)
		return NULL;
	qp->fast = device_fast(pd->dev, qp->fast);
	if (qp->fast == NULL) {
		pd->dev->ops.qp_destroy(qp);
		return device_fail(ENOSPC);
	}
	qp->dev = pd->dev;
	qp->pd = pd;
	qp->send_cq = want.send_cq;
	qp->recv_cq = want.recv_cq;
	qp->srq = want.srq;
	qp->rights = 0;
	qp->id = device_id();
	if (qp->srq != NULL) {
		cap_without_recv(&qp->cap);
		device_count_add(&qp->srq->nb_qps);
	}
	device_count_add(&pd->nb_qps);
	device_count_add(&want.send_cq->nb_qps);
	device_count_add(&want.recv_cq->nb_qps);
	return qp;
}

int
plx_qp_destroy(struct plx_qp *qp)
{
	struct plx_cq *send_cq, *recv_cq;
	struct plx_srq *srq;
	struct plx_pd *pd;
	int err;

	if (qp == NULL)
		return 0;
	pd = qp->pd;
	send_cq = qp->send_cq;
	recv_cq = qp->recv_cq;
	srq = qp->srq;
	err = pd->dev->ops.qp_destroy(qp);
	if (err != 0)
		return err;
	if (srq != NULL)
		device_count_sub(&srq->nb_qps);
	device_count_sub(&recv_cq->nb_qps);
	device_count_sub(&send_cq->nb_qps);
	device_count_sub(&pd->nb_qps);
	return 0;
}

/* ---- bring-up ------------------------------------------------------------------------------ */

void
plx_qp_path_default(struct plx_qp_path *path)
{
	*path = (struct plx_qp_path){
		.gid_index = -1,
		.rd_atomic = 16,     /* bring-up cuts it to the device and the peer */
		.timeout = 14,	     /* 67 ms */
		.retry_cnt = 6,	     /* 7 is for ever on rxe */
		.rnr_retry = 7,	     /* for ever: see the header for why */
		.min_rnr_timer = 12, /* 0.64 ms */
		.hop_limit = 64,
	};
}

/** Every code is within the field that it travels in (IBA 9.7.5.2.8, table 45; 12.7). */
static int
path_check(const struct plx_device *dev, const struct plx_qp_path *path)
{
	if (path->rights & ~(uint32_t)PLX_ACCESS_REMOTE || path->timeout > 31 || path->retry_cnt > 7 ||
		path->rnr_retry > 7 || path->min_rnr_timer > 31 || path->service_level > 15) {
		PLX_LOG(ERR, "device %s: bad path: rights 0x%x of 0x%x, timeout %u of 31, retry_cnt %u of 7, "
			"rnr_retry %u of 7, min_rnr_timer %u of 31, service_level %u of 15",
			dev->name, path->rights, PLX_ACCESS_REMOTE, path->timeout, path->retry_cnt,
			path->rnr_retry, path->min_rnr_timer, path->service_level);
		return -EINVAL;
	}
	return 0;
}

static int
path_port_resolve(struct plx_device *dev, struct plx_qp_path *path)
{
	int port = path->port == 0 ? plx_port_default(dev) : (int)path->port;

	if (port < 1 || (uint32_t)port > dev->caps.nb_ports) {
		PLX_LOG(ERR, "device %s: port %u asked, %u ports, %s", dev->name, path->port, dev->caps.nb_ports,
			path->port == 0 ? "none active" : "no such port");
		return -EINVAL;
	}
	path->port = port;
	return 0;
}

static void
gid_type_warn(struct plx_device *dev, const struct plx_gid *gid)
{
	if (gid->type == PLX_GID_ROCE_V1)
		PLX_LOG(WARNING, "device %s: GID %u is RoCE v1, which no router forwards", dev->name, gid->index);
}

static int
path_gid_resolve(struct plx_device *dev, struct plx_qp_path *path)
{
	struct plx_gid gid;
	int err;

	if (path->gid_index < 0) {
		err = plx_gid_default(dev, path->port, &gid);
		if (err != 0) {
			PLX_LOG(ERR, "device %s: port %u has no GID of its link layer's type", dev->name,
				path->port);
			return -EINVAL;
		}
		path->gid_index = gid.index;
		return 0;
	}
	err = plx_gid_query(dev, path->port, path->gid_index, &gid);
	if (err != 0) {
		PLX_LOG(ERR, "device %s: port %u has no GID at index %d", dev->name, path->port, path->gid_index);
		return -EINVAL;
	}
	gid_type_warn(dev, &gid);
	return 0;
}

static int
path_resolve(struct plx_device *dev, struct plx_qp_path *path)
{
	int err;

	if (!(dev->caps.flags & PLX_CAP_ATTR_EXCHANGE)) {
		PLX_LOG(ERR, "device %s: QPs do not come up by attribute exchange", dev->name);
		return -ENOTSUP;
	}
	err = path_check(dev, path);
	if (err == 0)
		err = path_port_resolve(dev, path);
	if (err == 0)
		err = path_gid_resolve(dev, path);
	path->rd_atomic = RTE_MIN(path->rd_atomic, dev->caps.max_rd_atomic);
	return err;
}

int
plx_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr)
{
	struct plx_qp_path full = *path;
	int err = path_resolve(qp->dev, &full);

	if (err == 0)
		err = qp->dev->ops.qp_local_addr(qp, &full, addr);
	if (err == 0)
		addr->guid = qp->dev->caps.guid;
	return err;
}

static int
peer_check(const struct plx_device *dev, const struct plx_qp_addr *peer)
{
	if (device_addr_is_sane(peer))
		return 0;
	PLX_LOG(ERR, "device %s: bad peer address: qp_num 0x%x and psn 0x%x (24 bits), lid 0x%x (16 bits), gid_type %u of %u, mtu %u "
		"(256, 512, 1024, 2048 or 4096)", dev->name, peer->qp_num, peer->psn, peer->lid, peer->gid_type, PLX_GID_IWARP,
		peer->mtu);
	return -EINVAL;
}

int
plx_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	struct plx_qp_path full = *path;
	int err = path_resolve(qp->dev, &full);

	if (err == 0)
		err = peer_check(qp->dev, peer);
	if (err != 0)
		return err;
	if (peer->rd_atomic == 0 && full.rd_atomic != 0)
		PLX_LOG(WARNING, "device %s: QP %u: its peer accepts no reads and no atomics (rd_atomic 0, here %u): a post of one fails",
			qp->dev->name, qp->qp_num, full.rd_atomic);
	full.rd_atomic = RTE_MIN(full.rd_atomic, peer->rd_atomic);
	err = qp->dev->ops.qp_bring_up(qp, &full, peer);
	if (err == 0)
		qp->rights = full.rights;
	return err;
}

int
plx_qp_to_error(struct plx_qp *qp)
{
	return qp->dev->ops.qp_to_error(qp);
}

int
plx_qp_query_state(struct plx_qp *qp)
{
	return qp->dev->ops.qp_query_state(qp);
}
