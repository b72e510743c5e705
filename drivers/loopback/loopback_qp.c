/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The life of a queue pair, by the control thread.
 */

#include "loopback.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "plx_log.h"
#include "soft_mem.h"
#include "soft_timer.h"

int
loopback_qp_limits(struct plx_device *base, struct plx_qp_cap *cap)
{
	const struct loopback_device *dev = loopback_device(base);
	const struct plx_device_caps *caps = &base->caps;

	cap->send_depth = loopback_grant(dev, cap->send_depth, 1, caps->max_qp_wr);
	cap->recv_depth = loopback_grant(dev, cap->recv_depth, 1, caps->max_qp_wr);
	cap->send_sge = loopback_grant(dev, cap->send_sge, 1, caps->max_sge);
	cap->recv_sge = loopback_grant(dev, cap->recv_sge, 1, caps->max_sge);
	cap->inline_len = dev->inline_none ? 0 : loopback_grant(dev, cap->inline_len, 0, caps->max_inline);
	return 0;
}

/* ---- create and destroy -------------------------------------------------------------------- */

/** Its own receive queue; with an SRQ an empty one, and a place for the receive that a message takes. */
static int
recvs_init(struct loopback_qp *qp)
{
	const struct plx_qp_cap *cap = &qp->base.cap;
	int err = soft_rq_init(&qp->rq, cap->recv_depth, cap->recv_sge);

	qp->taken = NULL;
	if (err != 0 || qp->srq == NULL)
		return err;
	qp->taken = soft_zalloc(sizeof(*qp->taken) + qp->srq->base.recv_sge * sizeof(qp->taken->sges[0]));
	if (qp->taken != NULL)
		return 0;
	soft_rq_fini(&qp->rq);
	return -ENOMEM;
}

static int
queues_init(struct loopback_qp *qp)
{
	int err = soft_sq_init(&qp->sq, &qp->base.cap, &loopback_cq(qp->base.send_cq)->dones);

	if (err != 0)
		return err;
	err = recvs_init(qp);
	if (err != 0)
		soft_sq_fini(&qp->sq, &loopback_cq(qp->base.send_cq)->dones);
	return err;
}

static void
queues_fini(struct loopback_qp *qp)
{
	soft_free(qp->taken);
	soft_rq_fini(&qp->rq);
	soft_sq_fini(&qp->sq, &loopback_cq(qp->base.send_cq)->dones);
}

static uintptr_t last_scope = 1; /* of windows; atomic */

/** Everything but life, which peers of an earlier incarnation may be looking at. */
static void
qp_fill(struct loopback_qp *qp, struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	qp->base.fast = loopback_fast;
	qp->base.nb_hot_lines = offsetof(struct loopback_qp, stall) / RTE_CACHE_LINE_SIZE;
	qp->base.dev = pd->dev;
	qp->base.pd = pd;
	qp->base.send_cq = conf->send_cq;
	qp->base.recv_cq = conf->recv_cq;
	qp->base.cap = conf->cap;
	loopback_qp_limits(pd->dev, &qp->base.cap);
	qp->stall = (struct loopback_stall){0};
	qp->send_chore = (struct soft_chore){.gate = &qp->gate, .turn = loopback_send_turn};
	qp->recv_chore = (struct soft_chore){.gate = &qp->gate, .turn = loopback_recv_turn};
	qp->flush = (struct loopback_flush){0};
	qp->last_wqe_told = false;
	qp->rights = 0;
	qp->keys = &loopback_device(pd->dev)->keys;
	qp->pd = pd;
	qp->scope = (const void *)__atomic_add_fetch(&last_scope, 2, __ATOMIC_RELAXED);
	qp->recv_cq = loopback_cq(conf->recv_cq);
	qp->srq = conf->srq == NULL ? NULL : loopback_srq(conf->srq);
	qp->qp_num = qp->base.qp_num;
	qp->status = loopback_device(pd->dev)->status;
	qp->peer = NULL;
	__atomic_store_n(&qp->linked, NULL, __ATOMIC_RELAXED);
}

struct plx_qp *
loopback_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	struct loopback_device *dev = loopback_device(pd->dev);
	struct loopback_qp *qp = loopback_qp_take(dev);
	int err;

	if (qp == NULL)
		return NULL;
	qp_fill(qp, pd, conf);
	err = queues_init(qp);
	if (err != 0) {
		PLX_LOG(ERR, "device %s: no memory for a QP of %u sends and %u receives", dev->base.name,
			qp->base.cap.send_depth, qp->base.cap.recv_depth);
		loopback_qp_forget(dev, qp);
		loopback_qp_give(qp);
		rte_errno = -err;
		return NULL;
	}
	/* Release: bring-up of a peer may find this QP by its number; it reads life first. */
	__atomic_store_n(&qp->life, (qp->life & ~LOOPBACK_LIFE_STATE) | PLX_QP_INIT, __ATOMIC_RELEASE);
	return &qp->base;
}

int
loopback_qp_destroy(struct plx_qp *base)
{
	struct loopback_qp *qp = loopback_qp(base);
	struct loopback_qp *peer = qp->peer;
	uint32_t life = (qp->life & ~LOOPBACK_LIFE_STATE) + LOOPBACK_LIFE_STEP;

	loopback_qp_forget(loopback_device(base->dev), qp);
	/* SEQ_CST: before the looks at gates. From here on the peer finds nobody, and chores do nothing. */
	__atomic_store_n(&qp->life, life | LOOPBACK_QP_DEAD, __ATOMIC_SEQ_CST);
	if (peer != NULL)
		soft_gate_wait(&peer->gate); /* first: a message that fails in there lists our chores */
	soft_chores_remove(&loopback_cq(base->send_cq)->chores, &qp->send_chore);
	soft_chores_remove(&loopback_cq(base->recv_cq)->chores, &qp->recv_chore);
	loopback_event_last_wqe(qp, true); /* last_wqe=late: it names one that is gone */
	queues_fini(qp);
	loopback_qp_give(qp);
	return 0;
}

/* ---- bring-up ------------------------------------------------------------------------------ */

int
loopback_qp_local_addr(struct plx_qp *base, const struct plx_qp_path *path, struct plx_qp_addr *addr)
{
	struct loopback_device *dev = loopback_device(base->dev);
	struct plx_gid gid;
	int err = loopback_gid_query(&dev->base, path->port, path->gid_index, &gid);

	if (err != 0)
		return err;
	*addr = (struct plx_qp_addr){
		.qp_num = base->qp_num,
		.gid_index = gid.index,
		.gid_type = gid.type,
		.mtu = dev->mtu,
		.port = path->port,
		.rd_atomic = path->rd_atomic,
	};
	memcpy(addr->gid, gid.raw, sizeof(addr->gid));
	return 0;
}

/** Find the peer and remember which incarnation it is. Nobody there: as on a wire, that shows when nobody answers.
 * Locked. */
static void
peer_link(struct loopback_qp *qp, const struct plx_qp_addr *addr)
{
	struct loopback_device *dev = loopback_device_find(addr->gid);
	struct loopback_qp *peer = dev == NULL ? NULL : loopback_qp_find(dev, addr->qp_num);
	const struct plx_cq *cq = qp->base.recv_cq;

	if (peer == NULL)
		return;
	qp->peer_life = (loopback_life(peer) & ~LOOPBACK_LIFE_STATE) | PLX_QP_RTS;
	qp->recv_cqe_local = cq == peer->base.send_cq || cq == peer->base.recv_cq;
	qp->peer = peer;
	/* Relaxed: life, which is stored later, publishes it. Partner: peer_get(). */
	__atomic_store_n(&qp->linked, peer, __ATOMIC_RELAXED);
}

static void
path_fill(struct loopback_qp *qp, const struct plx_qp_path *path)
{
	qp->rights = path->rights;
	qp->rd_atomic = path->rd_atomic;
	qp->ack_ns = soft_timer_ack_ns(path->timeout);
	qp->rnr_ns = soft_timer_rnr_ns(path->min_rnr_timer);
	qp->retry_cnt = path->retry_cnt;
	qp->rnr_retry = path->rnr_retry;
}

int
loopback_qp_bring_up(struct plx_qp *base, const struct plx_qp_path *path, const struct plx_qp_addr *addr)
{
	struct loopback_qp *qp = loopback_qp(base);
	uint32_t life = loopback_life(qp);
	uint32_t state = life & LOOPBACK_LIFE_STATE;

	if (state != PLX_QP_INIT)
		return state == PLX_QP_RTS ? -EISCONN : -EINVAL;
	path_fill(qp, path);
	loopback_lock();
	peer_link(qp, addr);
	loopback_unlock();
	/* Release: who sees RTS sees the peer and the path. SEQ_CST costs no more here. */
	__atomic_store_n(&qp->life, (life & ~LOOPBACK_LIFE_STATE) | PLX_QP_RTS, __ATOMIC_SEQ_CST);
	return 0;
}

/* ---- error --------------------------------------------------------------------------------- */

bool
loopback_qp_fail(struct loopback_qp *qp)
{
	uint32_t life = loopback_life(qp);

	do {
		if ((life & LOOPBACK_LIFE_STATE) >= PLX_QP_ERR)
			return false; /* somebody was first, or it is gone */
		/* SEQ_CST: before the flush looks at the peer's gate. */
	} while (!__atomic_compare_exchange_n(&qp->life, &life, (life & ~LOOPBACK_LIFE_STATE) | PLX_QP_ERR, false,
		__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	soft_chores_add(&loopback_cq(qp->base.send_cq)->chores, &qp->send_chore);
	soft_chores_add(&loopback_cq(qp->base.recv_cq)->chores, &qp->recv_chore);
	return true;
}

int
loopback_qp_to_error(struct plx_qp *base)
{
	loopback_qp_fail(loopback_qp(base));
	return 0;
}

int
loopback_qp_query_state(struct plx_qp *base)
{
	return loopback_state(loopback_qp(base));
}
