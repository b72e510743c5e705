/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A QP's way to its peer by attribute exchange, and to its end.
 *
 *      create --> INIT --bring_up--> (INIT again: port and rights) --> RTR --> RTS --to_error--> ERR
 *
 * ibv_qp's own `state` is what ibv_modify_qp() last set; what happened on the wire is told by
 * ibv_query_qp() only.
 */

#include "verbs_impl.h"

#include <rte_common.h>

static int
qp_init(struct ibv_qp *qp, unsigned int port, uint32_t rights)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = port,
		.qp_access_flags = verbs_access(rights),
	};

	return plx_verbs_result(ibv_modify_qp(qp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

int
verbs_qp_init(struct ibv_qp *qp, unsigned int port)
{
	return qp_init(qp, port, 0);
}

/* ---- address ------------------------------------------------------------------------------- */

int
verbs_qp_local_addr(struct plx_qp *base, const struct plx_qp_path *path, struct plx_qp_addr *addr)
{
	struct plx_port_attr port;
	struct plx_gid gid;
	int err = verbs_port_query(base->dev, path->port, &port);

	if (err == 0)
		err = verbs_gid_query(base->dev, path->port, path->gid_index, &gid);
	if (err != 0)
		return err;
	*addr = (struct plx_qp_addr){
		.qp_num = base->qp_num,
		.psn = plx_verbs_to_qp(base)->psn,
		.lid = port.lid,
		.gid_index = path->gid_index,
		.gid_type = gid.type,
		.mtu = port.mtu,
		.port = path->port,
		.rd_atomic = RTE_MIN(path->rd_atomic, base->dev->caps.max_rd_atomic),
	};
	memcpy(addr->gid, gid.raw, sizeof(addr->gid));
	return 0;
}

/** @p bytes as IBV_MTU_*: the largest that is not above it. */
static enum ibv_mtu
mtu_of(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && verbs_mtu_bytes(mtu + 1) <= bytes)
		mtu++;
	return mtu;
}

/** On Ethernet the GID is the address; on InfiniBand it is needed only between subnets. */
static struct ibv_ah_attr
ah_of(const struct plx_qp_path *path, const struct plx_qp_addr *peer, bool global)
{
	struct ibv_ah_attr ah = {
		.dlid = peer->lid,
		.sl = path->service_level,
		.port_num = path->port,
		.is_global = global,
		.grh = {
			.sgid_index = path->gid_index,
			.hop_limit = path->hop_limit,
			.traffic_class = path->traffic_class,
		},
	};

	memcpy(ah.grh.dgid.raw, peer->gid, sizeof(peer->gid));
	return ah;
}

static bool
other_subnet(struct plx_device *dev, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	struct plx_gid gid;

	return verbs_gid_query(dev, path->port, path->gid_index, &gid) == 0 &&
		memcmp(gid.raw, peer->gid, 8) != 0;
}

/* ---- bring-up ------------------------------------------------------------------------------ */

static int
qp_to_rtr(struct plx_verbs_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer,
	const struct plx_port_attr *port)
{
	bool global = port->ethernet || other_subnet(qp->base.dev, path, peer);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.ah_attr = ah_of(path, peer, global),
		.path_mtu = mtu_of(RTE_MIN(port->mtu, peer->mtu)),
		.dest_qp_num = peer->qp_num,
		.rq_psn = peer->psn,
		/* Cut to what both accept, so it is right for either direction. */
		.max_dest_rd_atomic = path->rd_atomic,
		.min_rnr_timer = path->min_rnr_timer,
	};

	return plx_verbs_result(ibv_modify_qp(qp->ibv, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
}

static int
qp_to_rts(struct plx_verbs_qp *qp, const struct plx_qp_path *path)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = qp->psn,
		.timeout = path->timeout,
		.retry_cnt = path->retry_cnt,
		.rnr_retry = path->rnr_retry,
		.max_rd_atomic = path->rd_atomic,
	};

	return plx_verbs_result(ibv_modify_qp(qp->ibv, &attr,
		IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC));
}

static int
bring_up_failed(const struct plx_qp *qp, const char *step, const struct plx_qp_path *path,
	const struct plx_qp_addr *peer, int err)
{
	PLX_LOG(ERR,
		"device %s: QP %u: to %s: %s (port %u, GID index %d, peer QP %u, %s, mtu %u, rd_atomic %u of %u)",
		qp->dev->name, qp->qp_num, step, strerror(-err), path->port, path->gid_index, peer->qp_num,
		plx_gid_type_name(peer->gid_type), peer->mtu, path->rd_atomic, qp->dev->caps.max_rd_atomic);
	return err;
}

/** 0 when bring-up may begin. */
static int
bring_up_state(const struct plx_verbs_qp *qp)
{
	switch (qp->ibv->state) {
	case IBV_QPS_INIT:
		return 0;
	case IBV_QPS_RTR:
	case IBV_QPS_RTS:
		return -EISCONN;
	default:
		return -EINVAL;
	}
}

/** A step that fails changes nothing (IBA 11.2.5.2); behind RTR there is no way back but ERR. */
int
verbs_qp_bring_up(struct plx_qp *base, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	struct plx_verbs_qp *qp = plx_verbs_to_qp(base);
	struct plx_port_attr port;
	int err = bring_up_state(qp);

	if (err == 0)
		err = verbs_port_query(base->dev, path->port, &port);
	if (err != 0)
		return err;
	err = qp_init(qp->ibv, path->port, path->rights);
	if (err != 0)
		return bring_up_failed(base, "INIT", path, peer, err);
	err = qp_to_rtr(qp, path, peer, &port);
	if (err != 0)
		return bring_up_failed(base, "RTR", path, peer, err);
	err = qp_to_rts(qp, path);
	if (err != 0) {
		verbs_qp_to_error(base);
		return bring_up_failed(base, "RTS", path, peer, err);
	}
	return 0;
}

/* ---- the end ------------------------------------------------------------------------------- */

/**
 * Also when the QP is in ERR already: rxe flushes receives that were posted since only when it is
 * told once more. The specification allows ERR to ERR (IBA 11.2.5.2).
 */
int
verbs_qp_to_error(struct plx_qp *base)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct plx_verbs_qp *qp = plx_verbs_to_qp(base);
	int err = plx_verbs_result(ibv_modify_qp(qp->ibv, &attr, IBV_QP_STATE));

	if (err != 0)
		PLX_LOG(ERR, "device %s: QP %u: to ERR: %s", base->dev->name, base->qp_num, strerror(-err));
	return err;
}

static int
state_of(enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_RESET:
		return PLX_QP_RESET;
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
		return PLX_QP_INIT;
	case IBV_QPS_RTS:
	case IBV_QPS_SQD:
		return PLX_QP_RTS;
	case IBV_QPS_SQE:
	case IBV_QPS_ERR:
		return PLX_QP_ERR;
	default:
		return -EIO;
	}
}

int
verbs_qp_query_state(struct plx_qp *base)
{
	struct plx_verbs_qp *qp = plx_verbs_to_qp(base);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err;

	if (to_verbs_device(base->dev)->iwarp) /* siw answers RESET, whatever it is */
		return state_of(qp->ibv->state);
	err = plx_verbs_result(ibv_query_qp(qp->ibv, &attr, IBV_QP_STATE, &init));
	return err != 0 ? err : state_of(attr.qp_state);
}
