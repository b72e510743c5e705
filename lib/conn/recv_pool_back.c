/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "recv_pool_internal.h"

#include <errno.h>

#include "plx_log.h"

/**
 * @file
 * Receives come back to their pool.
 *
 *      give() on the owner -------------------------------> take_back() --> unposted, or posted at once
 *      give() elsewhere --> lane of the group --> back() -----^
 *      a flushed one, and the lane is full --> parked --> heed()
 *
 * And what comes and is not the application's: flushed receives, and a message that is one too many.
 */

/** Under the lock: one of those that a connection which is gone had is back. */
static void
dead_returned(struct plx_recv_pool *pool, uint32_t qp_num)
{
	for (uint32_t i = 0; i < pool->nb_dead; i++) {
		if (pool->dead[i].qp_num != qp_num)
			continue;
		if (--pool->dead[i].nb_held == 0)
			pool->dead[i] = pool->dead[--pool->nb_dead];
		return;
	}
}

static void
refill_if_low(struct plx_recv_pool *pool)
{
	if (recv_pool_posted(pool) < pool->conf.low_water || pool->nb_unposted >= PLX_POST_BURST)
		recv_pool_refill(pool);
}

/** Owner, under the lock: @p op is PREPARED; its qp_num is the one that it had completed on. */
static void
returned(struct plx_recv_pool *pool, struct plx_op *op)
{
	struct plx_op_shared_who *who = plx_op_shared_find(&pool->shared, op->qp_num);

	if (who == NULL)
		dead_returned(pool, op->qp_num);
	else if (who->nb_held-- == pool->depth && pool->srq == NULL)
		recv_pool_lacks(pool, plx_op_queue_conn(who->queue));
	recv_pool_keep(pool, op);
	if (pool->srq == NULL)
		recv_pool_serve_lacking(pool);
	else
		refill_if_low(pool);
}

/**
 * The same without the lock, for the usual case: its connection is there, and if each has its own it has the others and can
 * take it.
 */
static bool
returned_at_once(struct plx_recv_pool *pool, struct plx_op *op)
{
	struct plx_op_shared_who *who = plx_op_shared_find(&pool->shared, op->qp_num);

	if (who == NULL)
		return false;
	if (pool->srq == NULL) {
		int err = who->nb_held == pool->depth ? recv_pool_conn_post(who, op) : -EAGAIN;

		if (err != 0)
			recv_pool_refused(pool, err);
		return err == 0;
	}
	who->nb_held--;
	recv_pool_keep(pool, op);
	refill_if_low(pool);
	return true;
}

/** Owner: @p op is PREPARED. */
static void
take_back(struct plx_recv_pool *pool, struct plx_op *op)
{
	if (returned_at_once(pool, op))
		return;
	pthread_mutex_lock(&pool->group->lock);
	returned(pool, op);
	pthread_mutex_unlock(&pool->group->lock);
}

void
recv_pool_back(struct plx_op *op)
{
	take_back(plx_container_of(plx_op_shared_of(op->queue), struct plx_recv_pool, shared), op);
}

int
plx_recv_pool_give(struct plx_recv_pool *pool, struct plx_op *op)
{
	const struct plx_conn_group *group = pool->group;
	struct plx_op_queue *queue = op->queue;

	if (plx_op_again(op) != 0)
		return -EBUSY;
	if (rte_lcore_id() == group->dispatcher->owner) {
		take_back(pool, op);
		return 0;
	}
	op->queue = &pool->shared.queue; /* which says that it comes back */
	if (plx_lane_send(group->lane, &op, 1) == 1)
		return 0;
	op->queue = queue;
	plx_op_complete(op);
	return -EAGAIN;
}

/** Nobody gets the message: the receive serves again, and who sent one too many is closed. */
static void
message_refuse(struct plx_recv_pool *pool, struct plx_op *op, const struct plx_op_shared_who *who)
{
	struct plx_conn *conn = who == NULL ? NULL : plx_op_queue_conn(who->queue);

	plx_op_renew(op);
	plx_op_prepared_again(op);
	recv_pool_keep(pool, op);
	pool->stats.refused++;
	if (conn != NULL && plx_conn_close(conn) == 0)
		PLX_LOG(WARNING, "receive pool %s: connection of QP %u closed: it holds %u messages (its share is %u), and fewer than "
			"the reserve of %u receives are left: give back, or copy out, sooner",
			pool->conf.name, who->qp_num, who->nb_held, pool->conf.share, pool->conf.reserve);
}

bool
recv_pool_message_when_low(struct plx_op_shared *shared, struct plx_op *op, struct plx_op_shared_who *who)
{
	struct plx_recv_pool *pool = plx_container_of(shared, struct plx_recv_pool, shared);

	recv_pool_refill(pool); /* there may be some that were never posted */
	if (who != NULL && (recv_pool_posted(pool) >= pool->conf.reserve || who->nb_held < pool->conf.share))
		return true;
	message_refuse(pool, op, who);
	recv_pool_refill(pool);
	return false;
}

/** The owner takes it in its turn: the lane to it is full, and a callback does not wait. */
static void
park(struct plx_recv_pool *pool, struct plx_op *op)
{
	pthread_mutex_lock(&pool->group->lock);
	plx_op_list_append(&pool->parked, op);
	pthread_mutex_unlock(&pool->group->lock);
	conn_group_tell(pool->group, GROUP_TOLD_POOL);
}

static bool
is_nobodys(const struct plx_op *op)
{
	return op->status == PLX_ST_WR_FLUSH_ERR || op->status == PLX_ST_STOPPED || op->status == PLX_ST_CONN_LOST ||
	       op->status == PLX_ST_POST_FAILED;
}

void
recv_pool_completed(struct plx_op *op, void *arg)
{
	struct plx_recv_pool *pool = arg;

	if (__builtin_expect(op->status == PLX_ST_SUCCESS, 1) || !is_nobodys(op))
		pool->conf.cb(op, pool->conf.arg);
	else if (plx_recv_pool_give(pool, op) == -EAGAIN)
		park(pool, op);
}

void
recv_pool_heed(struct plx_recv_pool *pool)
{
	struct plx_op *op;

	while ((op = plx_op_list_take(&pool->parked)) != NULL) {
		plx_op_again(op);
		returned(pool, op);
	}
	recv_pool_serve_lacking(pool);
	if (pool->retry)
		recv_pool_refill(pool);
	recv_pool_heed_limit(pool);
}
