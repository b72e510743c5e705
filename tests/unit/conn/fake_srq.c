/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "fake_device.h"

#include <errno.h>
#include <stdlib.h>

/**
 * @file
 * The fake device's shared receive queue: a message takes the oldest receive, and the limit fires once.
 *
 *      post --> [ wr_id | wr_id | wr_id ] --fake_arrive(qp)--> CQE { wr_id, qp_num } in the QP's CQ
 *                                                      fewer than limit are left: on_limit()
 */

/* The owner posts while whoever is the device takes. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint16_t
post(struct plx_srq *srq, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct fake_device *dev = plx_container_of(srq->dev, struct fake_device, base);
	struct fake_queue *q = &fake_srq(srq)->q;
	uint16_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < n; i++) {
		bool refused = fake_refuses(dev, err);

		if (!refused || dev->deny_posts)
			q->wr_ids[q->head++ % FAKE_DEPTH] = wrs[i]->wr_id;
		if (refused)
			break;
	}
	pthread_mutex_unlock(&lock);
	return i;
}

static const struct plx_fast_ops srq_fast = {.post_srq_recv = post};

/** Under the lock: whether the limit fires now. */
static bool
limit_fires(struct fake_srq *srq)
{
	if (srq->q.head - srq->q.tail >= srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

/** Behind the lock: who is told takes locks of its own. */
static void
limit_tell(struct plx_srq *srq, bool fires)
{
	const struct fake_device *dev = plx_container_of(srq->dev, struct fake_device, base);

	if (fires && dev->on_limit != NULL)
		dev->on_limit(srq);
}

bool
fake_arrive(struct plx_qp *qp, enum plx_status status)
{
	struct fake_srq *srq = fake_srq(qp->srq);
	bool took, fires = false;

	pthread_mutex_lock(&lock);
	took = srq->q.head != srq->q.tail;
	if (took) {
		struct plx_wc wc = {
			.wr_id = srq->q.wr_ids[srq->q.tail++ % FAKE_DEPTH],
			.status = (uint8_t)status,
			.opcode = PLX_OPCODE_RECV,
			.qp_num = qp->qp_num,
		};

		fake_cq_push(qp->recv_cq, &wc);
		fires = limit_fires(srq);
	}
	pthread_mutex_unlock(&lock);
	limit_tell(&srq->base, fires);
	return took;
}

struct plx_srq *
fake_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf)
{
	struct fake_srq *srq = calloc(1, sizeof(*srq));

	srq->base.fast = &srq_fast;
	srq->base.depth = conf->depth;
	srq->base.recv_sge = conf->recv_sge;
	return &srq->base;
}

int
fake_srq_destroy(struct plx_srq *srq)
{
	struct fake_device *dev = plx_container_of(srq->dev, struct fake_device, base);

	if (dev->fail_srq_destroys != 0) {
		dev->fail_srq_destroys--;
		return -EIO;
	}
	free(fake_srq(srq));
	return 0;
}

int
fake_srq_arm(struct plx_srq *srq, uint32_t limit)
{
	bool fires;

	pthread_mutex_lock(&lock);
	fake_srq(srq)->limit = limit;
	fires = limit_fires(fake_srq(srq));
	pthread_mutex_unlock(&lock);
	limit_tell(srq, fires);
	return 0;
}
