/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Posting, where `fail` rules act, and the QP that it goes through.
 */

#include "fault.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_errno.h>

typedef uint16_t (*post_fn)(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err);

const struct plx_fast_ops fault_fast = {
	.post_send = fault_post_send,
	.post_recv = fault_post_recv,
	.poll_cq = fault_poll_cq,
};

/** The errno with which one more WR is refused, or 0. Every rule counts the WR, the first one that hits decides. */
static int
wr_refused(struct fault_device *dev, enum fault_action action)
{
	int err = 0;

	for (unsigned int i = 0; i < dev->script.nb_rules; i++) {
		const struct fault_rule *rule = &dev->script.rules[i];

		if (rule->action == action && fault_rule_hits(dev, i) && err == 0)
			err = (int)rule->arg;
	}
	return err;
}

/**
 * Post one by one, so that a rule has counted exactly the WRs that were tried, in their order over all QPs, with
 * no lock and nothing to give back when the inner QP is full in mid-chain. It costs a doorbell for each, and only
 * with a `fail` rule in the script.
 */
static uint16_t
post_counted(struct fault_qp *qp, enum fault_action action, post_fn post, const struct plx_wr *const *wrs,
	uint16_t n, int *err)
{
	for (uint16_t i = 0; i < n; i++) {
		int refused = wr_refused(qp->dev, action);

		if (refused != 0) {
			fault_count(&qp->dev->stats.failed_posts, 1);
			*err = -refused;
			return i;
		}
		if (post(qp->inner, &wrs[i], 1, err) != 1)
			return i;
	}
	return n;
}

uint16_t
fault_post_send(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct fault_qp *qp = fault_qp(base);
	post_fn post = qp->inner->fast->post_send;

	if (!qp->dev->fails_send)
		return post(qp->inner, wrs, n, err);
	return post_counted(qp, FAULT_FAIL_SEND, post, wrs, n, err);
}

uint16_t
fault_post_recv(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct fault_qp *qp = fault_qp(base);
	post_fn post = qp->inner->fast->post_recv;

	if (!qp->dev->fails_recv)
		return post(qp->inner, wrs, n, err);
	return post_counted(qp, FAULT_FAIL_RECV, post, wrs, n, err);
}

/* ---- control ------------------------------------------------------------------------------- */

struct plx_qp *
fault_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	struct fault_qp *qp = calloc(1, sizeof(*qp));
	struct plx_qp_conf inner = *conf;

	if (qp == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	inner.send_cq = fault_cq(conf->send_cq)->inner;
	inner.recv_cq = fault_cq(conf->recv_cq)->inner;
	qp->dev = fault_device(pd->dev);
	qp->inner = plx_qp_create(fault_pd(pd)->inner, &inner);
	if (qp->inner == NULL) {
		free(qp); /* rte_errno is inner's */
		return NULL;
	}
	qp->base.fast = &fault_fast;
	qp->base.qp_num = qp->inner->qp_num;
	qp->base.cap = qp->inner->cap;
	return &qp->base;
}

/** Its CQEs stay where they are, those that wait in the wrapper too (as on rxe). */
int
fault_qp_destroy(struct plx_qp *base)
{
	struct fault_qp *qp = fault_qp(base);
	int err = plx_qp_destroy(qp->inner);

	if (err == 0)
		free(qp);
	return err;
}

int
fault_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr)
{
	return plx_qp_local_addr(fault_qp(qp)->inner, path, addr);
}

int
fault_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	return plx_qp_bring_up(fault_qp(qp)->inner, path, peer);
}

int
fault_qp_to_error(struct plx_qp *qp)
{
	return plx_qp_to_error(fault_qp(qp)->inner);
}

int
fault_qp_query_state(struct plx_qp *qp)
{
	return plx_qp_query_state(fault_qp(qp)->inner);
}
