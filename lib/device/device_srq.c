/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Shared receive queues: checked here, made by the driver, counted here.
 */

#include "device_impl.h"

#include <errno.h>

static int
conf_check(const struct plx_device *dev, const struct plx_srq_conf *conf)
{
	const struct plx_device_caps *caps = &dev->caps;

	if (!(caps->flags & PLX_CAP_SRQ)) {
		PLX_LOG(ERR, "device %s has no shared receive queues", dev->name);
		return ENOTSUP;
	}
	if (conf->depth == 0 || conf->depth > caps->max_srq_wr || conf->recv_sge > caps->max_srq_sge) {
		PLX_LOG(ERR, "device %s: SRQ of %u WRs with %u SGEs; want 1 to %u with at most %u", dev->name,
			conf->depth, conf->recv_sge, caps->max_srq_wr, caps->max_srq_sge);
		return EINVAL;
	}
	return 0;
}

struct plx_srq *
plx_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf)
{
	struct plx_srq_conf want = *conf;
	struct plx_srq *srq;
	int err;

	if (want.recv_sge == 0)
		want.recv_sge = 1;
	err = conf_check(pd->dev, &want);
	if (err != 0)
		return device_fail(err);
	srq = pd->dev->ops.srq_create(pd, &want);
	if (srq == NULL)
		return NULL;
	srq->fast = device_fast(pd->dev, srq->fast);
	if (srq->fast == NULL) {
		pd->dev->ops.srq_destroy(srq);
		return device_fail(ENOSPC);
	}
	srq->dev = pd->dev;
	srq->pd = pd;
	srq->nb_qps = 0;
	srq->id = device_id();
	device_count_add(&pd->nb_srqs);
	return srq;
}

int
plx_srq_destroy(struct plx_srq *srq)
{
	struct plx_pd *pd;
	uint32_t qps;
	int err;

	if (srq == NULL)
		return 0;
	pd = srq->pd;
	qps = device_count(&srq->nb_qps);
	if (qps > 0) {
		PLX_LOG(ERR, "device %s: SRQ is in use: %u QPs take their receives from it", pd->dev->name, qps);
		return -EBUSY;
	}
	err = pd->dev->ops.srq_destroy(srq);
	if (err == 0)
		device_count_sub(&pd->nb_srqs);
	return err;
}

int
plx_srq_arm(struct plx_srq *srq, uint32_t limit)
{
	if (limit > srq->depth) {
		PLX_LOG(ERR, "device %s: limit of %u on an SRQ of %u WRs", srq->dev->name, limit, srq->depth);
		return -EINVAL;
	}
	return srq->dev->ops.srq_arm(srq, limit);
}

int
plx_srq_query(struct plx_srq *srq, struct plx_srq_attr *attr)
{
	int err = srq->dev->ops.srq_query(srq, attr);

	/* What was granted counts; rxe says how large its ring is. */
	attr->depth = srq->depth;
	attr->recv_sge = srq->recv_sge;
	return err;
}
