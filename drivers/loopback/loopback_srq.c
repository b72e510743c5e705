/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Shared receive queues, by the control thread. How a message takes a receive is in loopback_execute.c.
 */

#include "loopback.h"

#include <errno.h>

#include <rte_errno.h>

#include "plx_log.h"
#include "soft_mem.h"

/** Count one more SRQ, unless all of max_srq exist. */
static bool
srq_count(struct loopback_device *dev)
{
	bool fits;

	loopback_lock();
	fits = dev->nb_srqs < dev->base.caps.max_srq;
	dev->nb_srqs += fits;
	loopback_unlock();
	if (!fits)
		PLX_LOG(ERR, "device %s: all of max_srq %u SRQs exist", dev->base.name, dev->base.caps.max_srq);
	return fits;
}

static void
srq_uncount(struct loopback_device *dev)
{
	loopback_lock();
	dev->nb_srqs--;
	loopback_unlock();
}

struct plx_srq *
loopback_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf)
{
	struct loopback_device *dev = loopback_device(pd->dev);
	const struct plx_device_caps *caps = &dev->base.caps;
	struct soft_srq *srq;

	if (!srq_count(dev)) {
		rte_errno = ENOSPC;
		return NULL;
	}
	srq = soft_zalloc(sizeof(*srq));
	if (srq == NULL || soft_srq_init(srq, loopback_grant(dev, conf->depth, 1, caps->max_srq_wr),
				   loopback_grant(dev, conf->recv_sge, 1, caps->max_srq_sge)) != 0) {
		PLX_LOG(ERR, "device %s: no memory for an SRQ of %u WRs", dev->base.name, conf->depth);
		soft_free(srq);
		srq_uncount(dev);
		rte_errno = ENOMEM;
		return NULL;
	}
	srq->base.fast = loopback_fast;
	srq->limit_reached = loopback_srq_limit;
	return &srq->base;
}

/** No QP uses it, and each that did waited for its peer's gate when it went: nobody is in here. */
int
loopback_srq_destroy(struct plx_srq *base)
{
	struct soft_srq *srq = loopback_srq(base);

	srq_uncount(loopback_device(base->dev));
	soft_srq_fini(srq);
	soft_free(srq);
	return 0;
}

int
loopback_srq_arm(struct plx_srq *srq, uint32_t limit)
{
	soft_srq_arm(loopback_srq(srq), limit);
	return 0;
}

int
loopback_srq_query(struct plx_srq *srq, struct plx_srq_attr *attr)
{
	attr->limit = soft_srq_limit(loopback_srq(srq));
	return 0;
}
