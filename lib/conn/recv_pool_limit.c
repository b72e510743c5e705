/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "recv_pool_internal.h"

#include <rte_malloc.h>

#include "plx_log.h"
#include "plx_srq.h"

/**
 * @file
 * The limit event of a receive pool's SRQ, which is one-shot: it comes, the SRQ is filled, and it is armed again.
 *
 *      control thread      event --> told                    plx_srq_arm()
 *                                     |                        ^       |
 *      owner               heed: to_arm, refill --enough?--> arming    '--> arming is over; to_arm again?
 *                                                                           The pool is gone by then: arm is freed
 */

static int
control_arm(struct plx_control_req *req)
{
	const struct plx_recv_pool *pool = plx_container_of(req, struct recv_pool_arm, req)->pool;

	return plx_srq_arm(pool->srq, pool->limit);
}

static void
arm_done(struct plx_control_req *req)
{
	struct recv_pool_arm *arm = plx_container_of(req, struct recv_pool_arm, req);
	struct plx_recv_pool *pool = arm->pool;

	if (pool == NULL) {
		rte_free(arm);
		return;
	}
	pool->arming = false;
	if (req->result != 0)
		PLX_LOG(WARNING, "receive pool %s: its limit of %u is not armed: error %d; it is filled by count alone",
			pool->conf.name, pool->limit, -req->result);
	recv_pool_arm_if_due(pool); /* it may have fired before this answer was here */
}

void
recv_pool_arm_if_due(struct plx_recv_pool *pool)
{
	if (!pool->to_arm || pool->arming || recv_pool_posted(pool) < pool->limit)
		return;
	pool->arm->req.fn = control_arm;
	pool->arm->req.done = arm_done;
	if (plx_control_submit(pool->group->control, &pool->arm->req) != 0)
		return; /* its queue is full: with the next op that comes back */
	pool->arming = true;
	pool->to_arm = false;
}

void
recv_pool_arm_free(struct plx_recv_pool *pool)
{
	if (pool->arming)
		pool->arm->pool = NULL; /* the control thread is done with it, in front of destroying the SRQ */
	else
		rte_free(pool->arm);
}

bool
recv_pool_tell(struct plx_recv_pool *pool, const struct plx_event *event)
{
	if (pool->srq == NULL || pool->srq->id != event->object)
		return false;
	if (event->type != PLX_EVENT_SRQ_ERROR) {
		__atomic_store_n(&pool->told, 1, __ATOMIC_RELAXED);
	} else if (!recv_pool_is_lost(pool)) {
		PLX_LOG(ERR, "receive pool %s: its SRQ is in error (event %d): its connections are closed", pool->conf.name,
			event->raw);
		__atomic_store_n(&pool->lost, true, __ATOMIC_RELAXED);
	}
	return true;
}

void
recv_pool_heed_limit(struct plx_recv_pool *pool)
{
	if (__atomic_exchange_n(&pool->told, 0, __ATOMIC_RELAXED) == 0)
		return;
	pool->stats.limit_events++;
	pool->to_arm = pool->limit != 0;
	recv_pool_refill(pool);
}
