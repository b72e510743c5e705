/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Shared receive queues.
 */

#include "verbs_impl.h"

#include <stdlib.h>

struct plx_srq *
verbs_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = conf->depth, .max_sge = conf->recv_sge}};
	struct plx_verbs_srq *srq = calloc(1, sizeof(*srq));
	int err;

	if (srq == NULL)
		return verbs_fail(ENOMEM);
	attr.srq_context = srq;
	errno = 0;
	srq->ibv = ibv_create_srq(to_verbs_pd(pd)->ibv, &attr);
	if (srq->ibv == NULL) {
		err = plx_verbs_errno();
		PLX_LOG(ERR, "device %s: no SRQ of %u WRs (max_srq_wr %u) with %u SGEs (max_srq_sge %u), max_srq %u: %s",
			pd->dev->name, conf->depth, pd->dev->caps.max_srq_wr, conf->recv_sge,
			pd->dev->caps.max_srq_sge, pd->dev->caps.max_srq, strerror(err));
		free(srq);
		return verbs_fail(err);
	}
	srq->base.fast = verbs_fast;
	/* As granted; a provider that leaves the structure alone grants what was asked. */
	srq->base.depth = attr.attr.max_wr;
	srq->base.recv_sge = attr.attr.max_sge;
	return &srq->base;
}

int
verbs_srq_destroy(struct plx_srq *base)
{
	struct plx_verbs_srq *srq = plx_verbs_to_srq(base);
	int err = verbs_destroyed(base->dev, plx_verbs_result(ibv_destroy_srq(srq->ibv)), &srq->ibv->srq_context);

	if (err != 0) {
		PLX_LOG(ERR, "device %s: ibv_destroy_srq of %u WRs: %s", base->dev->name, base->depth, strerror(-err));
		return err;
	}
	free(srq);
	return 0;
}

int
verbs_srq_arm(struct plx_srq *base, uint32_t limit)
{
	struct ibv_srq_attr attr = {.srq_limit = limit};
	int err = plx_verbs_result(ibv_modify_srq(plx_verbs_to_srq(base)->ibv, &attr, IBV_SRQ_LIMIT));

	if (err != 0)
		PLX_LOG(ERR, "device %s: SRQ of %u WRs: limit %u: %s", base->dev->name, base->depth, limit,
			strerror(-err));
	return err;
}

int
verbs_srq_query(struct plx_srq *base, struct plx_srq_attr *to)
{
	struct ibv_srq_attr attr = {0};
	int err = plx_verbs_result(ibv_query_srq(plx_verbs_to_srq(base)->ibv, &attr));

	to->limit = attr.srq_limit;
	return err;
}

struct ibv_srq *
plx_verbs_srq(const struct plx_srq *srq)
{
	return verbs_made(srq->dev) ? plx_verbs_to_srq(srq)->ibv : NULL;
}
