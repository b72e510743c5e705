/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "recv_pool_internal.h"

#include <errno.h>
#include <string.h>

#include "plx_log.h"

/**
 * @file
 * Connections of a receive pool come and go, and get receives of their own where there is no SRQ.
 *
 *      join --> who[qp_num] --leave--> dead[qp_num], while messages of it are held
 *                 |    ^
 *            lacks|    |served until it has depth of them, or closes
 *                 v    |
 *               lacking, the first first
 */

void
recv_pool_lacks(struct plx_recv_pool *pool, struct plx_conn *conn)
{
	pool->lacking[pool->nb_lacking++] = conn;
}

/** Under the lock. */
static void
lacks_no_more(struct plx_recv_pool *pool, const struct plx_conn *conn)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < pool->nb_lacking; i++)
		if (pool->lacking[i] != conn)
			pool->lacking[nb++] = pool->lacking[i];
	pool->nb_lacking = nb;
}

/** Until it has all of its own. Whether it has, or takes none any more because it closes. */
static bool
conn_serve(struct plx_recv_pool *pool, struct plx_conn *conn)
{
	struct plx_op_shared_who *who = plx_op_shared_find(&pool->shared, conn->rq.qp_num);

	if (!conn_state_admits(conn, &conn->rq))
		return true;
	while (who->nb_held < pool->depth && pool->nb_unposted != 0) {
		int err = recv_pool_conn_post(who, pool->unposted[pool->nb_unposted - 1]);

		if (err != 0) {
			if (recv_pool_refused(pool, err))
				recv_pool_doubt(pool);
			return false;
		}
		pool->nb_unposted--;
		pool->nb_doubted = RTE_MIN(pool->nb_doubted, pool->nb_unposted);
		who->nb_held++;
	}
	return who->nb_held == pool->depth;
}

void
recv_pool_serve_lacking(struct plx_recv_pool *pool)
{
	struct plx_conn **const lacking = pool->lacking;
	uint32_t i, nb = 0;

	for (i = 0; i < pool->nb_lacking && pool->nb_unposted != 0; i++)
		if (!conn_serve(pool, lacking[i]))
			lacking[nb++] = lacking[i];
	if (nb == i)
		return;
	memmove(&lacking[nb], &lacking[i], (pool->nb_lacking - i) * sizeof(lacking[0]));
	pool->nb_lacking -= i - nb;
}

bool
recv_pool_knows(struct plx_recv_pool *pool, uint32_t qp_num)
{
	bool knows;

	pthread_mutex_lock(&pool->group->lock);
	knows = plx_op_shared_find(&pool->shared, qp_num) != NULL;
	for (uint32_t i = 0; i < pool->nb_dead; i++)
		knows |= pool->dead[i].qp_num == qp_num;
	pthread_mutex_unlock(&pool->group->lock);
	return knows;
}

int
recv_pool_join(struct plx_recv_pool *pool, struct plx_conn *conn)
{
	uint32_t fit = pool->srq != NULL ? pool->conf.max_conns : RTE_MIN(pool->conf.max_conns, pool->nb_ops / pool->depth);
	uint32_t nb_conns;
	int err = -ENOSPC;

	pthread_mutex_lock(&pool->group->lock);
	nb_conns = pool->nb_conns;
	if (nb_conns < fit)
		err = plx_op_shared_join(&pool->shared, conn->qp->qp_num, &conn->rq, conn->home);
	if (err == 0)
		pool->nb_conns++;
	pthread_mutex_unlock(&pool->group->lock);
	if (err != 0)
		PLX_LOG(ERR, "receive pool %s: %u of %u connections, and one more does not fit (%u receives, each takes %u)",
			pool->conf.name, nb_conns, fit, pool->nb_ops, pool->srq != NULL ? 0 : pool->depth);
	return err;
}

void
recv_pool_leave(struct plx_recv_pool *pool, struct plx_conn *conn, uint32_t qp_num)
{
	const struct plx_op_shared_who *who;

	pthread_mutex_lock(&pool->group->lock);
	who = plx_op_shared_find(&pool->shared, qp_num);
	if (who->nb_held != 0)
		pool->dead[pool->nb_dead++] = (struct recv_pool_dead){who->qp_num, who->nb_held};
	plx_op_shared_leave(&pool->shared, qp_num);
	lacks_no_more(pool, conn);
	pool->nb_conns--;
	pthread_mutex_unlock(&pool->group->lock);
}

void
recv_pool_serve(struct plx_recv_pool *pool)
{
	if (rte_lcore_id() != pool->group->dispatcher->owner) {
		conn_group_tell(pool->group, GROUP_TOLD_POOL);
		return;
	}
	pthread_mutex_lock(&pool->group->lock);
	recv_pool_serve_lacking(pool);
	pthread_mutex_unlock(&pool->group->lock);
}

void
recv_pool_withhold(struct plx_recv_pool *pool, struct plx_conn *conn)
{
	pthread_mutex_lock(&pool->group->lock);
	lacks_no_more(pool, conn);
	pthread_mutex_unlock(&pool->group->lock);
}

void
recv_pool_offer(struct plx_recv_pool *pool, struct plx_conn *conn)
{
	if (pool->srq != NULL)
		return;
	pthread_mutex_lock(&pool->group->lock);
	recv_pool_lacks(pool, conn);
	pthread_mutex_unlock(&pool->group->lock);
	recv_pool_serve(pool);
}

/** Its QP is gone, and the owner has touched its queue under the lock alone: nothing ever completed there. */
void
recv_pool_leave_unused(struct plx_recv_pool *pool, struct plx_conn *conn)
{
	struct plx_op_shared_who *who;
	struct plx_op *op;

	pthread_mutex_lock(&pool->group->lock);
	who = plx_op_shared_find(&pool->shared, conn->rq.qp_num);
	while ((op = plx_op_queue_take_unsettled(&conn->rq)) != NULL) {
		plx_op_disarm(op);
		plx_op_renew(op); /* what the device may have after all is stale */
		plx_op_prepared_again(op);
		recv_pool_keep(pool, op);
		who->nb_held--;
	}
	pthread_mutex_unlock(&pool->group->lock);
	recv_pool_leave(pool, conn, conn->rq.qp_num);
	if (pool->srq == NULL)
		recv_pool_serve(pool);
}
