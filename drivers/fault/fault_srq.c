/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Shared receive queues. What a script makes of their posts is in fault_post.c.
 */

#include "fault.h"

#include <stdlib.h>

struct plx_srq *
fault_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf)
{
	struct fault_device *dev = fault_device(pd->dev);
	struct fault_srq *srq = fault_object(dev, FAULT_SRQ_CREATE, sizeof(*srq));

	if (srq == NULL)
		return NULL;
	srq->dev = dev;
	srq->inner = plx_srq_create(fault_pd(pd)->inner, conf);
	if (srq->inner == NULL) {
		free(srq); /* rte_errno is inner's */
		return NULL;
	}
	srq->base.fast = &fault_fast;
	srq->base.depth = srq->inner->depth;
	srq->base.recv_sge = srq->inner->recv_sge;
	fault_link(dev, &srq->link, &srq->inner->id, &srq->base.id);
	return &srq->base;
}

int
fault_srq_destroy(struct plx_srq *base)
{
	struct fault_srq *srq = fault_srq(base);
	int err = -fault_verb(srq->dev, FAULT_SRQ_DESTROY);

	if (err != 0)
		return err;
	fault_unlink(srq->dev, &srq->link);
	err = plx_srq_destroy(srq->inner);
	if (err == 0)
		free(srq);
	else
		fault_link(srq->dev, &srq->link, &srq->inner->id, &srq->base.id);
	return err;
}

int
fault_srq_arm(struct plx_srq *base, uint32_t limit)
{
	int err = -fault_verb(fault_srq(base)->dev, FAULT_SRQ_ARM);

	return err != 0 ? err : plx_srq_arm(fault_srq(base)->inner, limit);
}

int
fault_srq_query(struct plx_srq *base, struct plx_srq_attr *attr)
{
	int err = -fault_verb(fault_srq(base)->dev, FAULT_SRQ_QUERY);

	return err != 0 ? err : plx_srq_query(fault_srq(base)->inner, attr);
}
