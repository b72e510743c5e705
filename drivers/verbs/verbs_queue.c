/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Completion queues and queue pairs: made, measured, destroyed. Bring-up is in verbs_bring_up.c.
 */

#include "verbs_impl.h"

#include <stdlib.h>

#include <rte_random.h>

const struct plx_fast_ops *const verbs_fast = &plx_verbs_fast;

struct plx_cq *
verbs_cq_create(struct plx_device *base, uint32_t nb_cqe)
{
	struct plx_verbs_cq *cq = calloc(1, sizeof(*cq));
	int err;

	if (cq == NULL)
		return verbs_fail(ENOMEM);
	errno = 0;
	cq->ibv = ibv_create_cq(to_verbs_device(base)->ctx, nb_cqe, cq, NULL, 0);
	if (cq->ibv == NULL) {
		err = plx_verbs_errno();
		PLX_LOG(ERR, "device %s: no CQ of %u entries (max_cqe %u, max_cq %u, existing %u): %s",
			base->name, nb_cqe, base->caps.max_cqe, base->caps.max_cq, base->nb_cqs, strerror(err));
		free(cq);
		return verbs_fail(err);
	}
	cq->base.fast = verbs_fast;
	cq->base.nb_cqe = cq->ibv->cqe;
	return &cq->base;
}

int
verbs_cq_destroy(struct plx_cq *base)
{
	struct plx_verbs_cq *cq = plx_verbs_to_cq(base);
	int err = verbs_destroyed(base->dev, plx_verbs_result(ibv_destroy_cq(cq->ibv)), &cq->ibv->cq_context);

	if (err != 0) {
		PLX_LOG(ERR, "device %s: ibv_destroy_cq of %u entries: %s", base->dev->name, base->nb_cqe,
			strerror(-err));
		return err;
	}
	free(cq);
	return 0;
}

static void
qp_explain(const struct plx_device *dev, const struct plx_qp_cap *cap, int err)
{
	PLX_LOG(ERR,
		"device %s: no QP of %u + %u WRs (each at most %u), %u and %u SGEs (%u), %u inline bytes (%u), "
		"max_qp %u: %s. Limits hold one at a time; plx_qp_limits() tries them together",
		dev->name, cap->send_depth, cap->recv_depth, dev->caps.max_qp_wr, cap->send_sge, cap->recv_sge,
		dev->caps.max_sge, cap->inline_len, dev->caps.max_inline, dev->caps.max_qp, strerror(err));
}

static struct ibv_qp *
qp_make(const struct plx_pd *pd, const struct plx_qp_conf *conf, struct plx_verbs_qp *context)
{
	struct ibv_qp_init_attr attr = verbs_qp_init_attr(plx_verbs_to_cq(conf->send_cq)->ibv,
		plx_verbs_to_cq(conf->recv_cq)->ibv, &conf->cap);
	struct ibv_qp *qp;
	int err;

	attr.srq = conf->srq == NULL ? NULL : plx_verbs_to_srq(conf->srq)->ibv;
	attr.qp_context = context;
	errno = 0;
	qp = ibv_create_qp(to_verbs_pd(pd)->ibv, &attr);
	if (qp == NULL) {
		err = plx_verbs_errno();
		qp_explain(pd->dev, &conf->cap, err);
		return verbs_fail(err);
	}
	context->base.cap = verbs_qp_cap(&attr);
	return qp;
}

/** In INIT a QP takes receives, in RESET not (IBA 10.3.1.2). iWARP's stay to librdmacm. */
static int
qp_to_init(struct plx_device *dev, struct ibv_qp *qp)
{
	int port, err;

	if (to_verbs_device(dev)->iwarp)
		return 0;
	port = plx_port_default(dev);
	err = verbs_qp_init(qp, port > 0 ? port : 1); /* bring-up chooses again */
	if (err != 0)
		PLX_LOG(ERR, "device %s: QP %u: to INIT: %s", dev->name, qp->qp_num, strerror(-err));
	return err;
}

struct plx_qp *
verbs_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	struct plx_verbs_qp *qp = calloc(1, sizeof(*qp));
	int err;

	if (qp == NULL)
		return verbs_fail(ENOMEM);
	qp->ibv = qp_make(pd, conf, qp);
	if (qp->ibv == NULL) {
		err = rte_errno;
		goto free_qp;
	}
	err = -qp_to_init(pd->dev, qp->ibv);
	if (err != 0)
		goto destroy_qp;
	qp->base.fast = verbs_fast;
	qp->base.qp_num = qp->ibv->qp_num;
	qp->kinds = pd->dev->caps.kinds & ~PLX_KIND(PLX_OPCODE_BIND_MW);
	qp->binds = (pd->dev->caps.kinds & PLX_KIND(PLX_OPCODE_BIND_MW)) != 0;
	/* Random, so that packets of an earlier QP of this number do not fit (IBA 9.7.1). */
	qp->psn = rte_rand() & 0xffffff;
	return &qp->base;

destroy_qp:
	ibv_destroy_qp(qp->ibv);
free_qp:
	free(qp);
	return verbs_fail(err);
}

int
verbs_qp_destroy(struct plx_qp *base)
{
	struct plx_verbs_qp *qp = plx_verbs_to_qp(base);
	int err = verbs_destroyed(base->dev, plx_verbs_result(ibv_destroy_qp(qp->ibv)), &qp->ibv->qp_context);

	if (err != 0) {
		PLX_LOG(ERR, "device %s: ibv_destroy_qp of QP %u: %s", base->dev->name, base->qp_num,
			strerror(-err));
		return err;
	}
	free(qp);
	return 0;
}

struct ibv_cq *
plx_verbs_cq(const struct plx_cq *cq)
{
	return verbs_made(cq->dev) ? plx_verbs_to_cq(cq)->ibv : NULL;
}

struct ibv_qp *
plx_verbs_qp(const struct plx_qp *qp)
{
	return verbs_made(qp->dev) ? plx_verbs_to_qp(qp)->ibv : NULL;
}
