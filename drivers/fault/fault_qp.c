/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The QP that a wrapper posts through.
 */

#include "fault.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_errno.h>

int
fault_qp_limits(struct plx_device *base, struct plx_qp_cap *cap)
{
	struct fault_device *dev = fault_device(base);
	int err = -fault_verb(dev, FAULT_QP_LIMITS);

	return err != 0 ? err : plx_qp_limits(dev->inner, cap);
}

/* ---- create and destroy -------------------------------------------------------------------- */

static int
inner_create(struct fault_qp *qp, struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	struct plx_qp_conf inner = *conf;
	int err;

	inner.send_cq = fault_cq(conf->send_cq)->inner;
	inner.recv_cq = fault_cq(conf->recv_cq)->inner;
	if (conf->srq != NULL)
		inner.srq = fault_srq(conf->srq)->inner;
	qp->inner = plx_qp_create(fault_pd(pd)->inner, &inner);
	if (qp->inner == NULL)
		return -rte_errno;
	err = fault_qps_add(qp->dev, qp);
	if (err != 0)
		plx_qp_destroy(qp->inner);
	return err;
}

struct plx_qp *
fault_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	struct fault_device *dev = fault_device(pd->dev);
	struct fault_qp *qp = fault_object(dev, FAULT_QP_CREATE, sizeof(*qp));
	int err;

	if (qp == NULL)
		return NULL;
	qp->dev = dev;
	err = inner_create(qp, pd, conf);
	if (err != 0) {
		free(qp);
		rte_errno = -err;
		return NULL;
	}
	qp->base.fast = &fault_fast;
	qp->base.cap = qp->inner->cap;
	fault_link(dev, &qp->link, &qp->inner->id, &qp->base.id);
	return &qp->base;
}

/** Its CQEs stay where they are, those that wait in the wrapper too (as on rxe). */
int
fault_qp_destroy(struct plx_qp *base)
{
	struct fault_qp *qp = fault_qp(base);
	struct fault_device *dev = qp->dev;
	int err = -fault_verb(dev, FAULT_QP_DESTROY);

	if (err != 0)
		return err;
	fault_qps_hide(dev, qp);
	fault_unlink(dev, &qp->link);
	err = plx_qp_destroy(qp->inner);
	if (err != 0) {
		fault_link(dev, &qp->link, &qp->inner->id, &qp->base.id);
		fault_qps_show(dev, qp);
		return err;
	}
	fault_qps_free_number(dev, base->qp_num);
	free(qp);
	return 0;
}

/* ---- modify -------------------------------------------------------------------------------- */

int
fault_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr)
{
	int err = -fault_verb(fault_qp(qp)->dev, FAULT_QP_LOCAL_ADDR);

	return err != 0 ? err : plx_qp_local_addr(fault_qp(qp)->inner, path, addr);
}

int
fault_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	int err = -fault_verb(fault_qp(qp)->dev, FAULT_QP_BRING_UP);

	return err != 0 ? err : plx_qp_bring_up(fault_qp(qp)->inner, path, peer);
}

int
fault_qp_to_error(struct plx_qp *qp)
{
	int err = -fault_verb(fault_qp(qp)->dev, FAULT_QP_TO_ERROR);

	return err != 0 ? err : plx_qp_to_error(fault_qp(qp)->inner);
}

int
fault_qp_query_state(struct plx_qp *qp)
{
	int err = -fault_verb(fault_qp(qp)->dev, FAULT_QP_QUERY_STATE);

	return err != 0 ? err : plx_qp_query_state(fault_qp(qp)->inner);
}
