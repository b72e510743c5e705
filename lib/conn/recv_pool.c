/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "recv_pool_internal.h"

#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "plx_log.h"
#include "plx_memory.h"
#include "plx_srq.h"

/**
 * @file
 * A receive pool is made and destroyed.
 *
 *      create:  SRQ, CQEs --> ops with a buffer each --> filled, armed --> in its group's list, where events find it
 *      destroy: refused while connections use it or an op is neither posted nor unposted
 *
 * A create that fails, and then cannot destroy the SRQ, or not deregister the buffers, leaves the pool in the list, for the
 * group's destroy to try again. A destroy goes as far as it can, and the next one goes on there.
 *
 * What it does in between: recv_pool_fill.c, recv_pool_limit.c, recv_pool_back.c, recv_pool_conns.c.
 */

#define DEFAULT_CONNS 1024

static int
conf_check(const struct plx_recv_pool_conf *conf)
{
	const char *bad = conf->group == NULL		   ? "no group"
		: conf->pd == NULL			   ? "no pd"
		: conf->pd->dev != conf->group->cq->dev	   ? "a pd of another device than the group's CQ"
		: conf->nb_recvs == 0 || conf->buf_len == 0 ? "no receives, or none with bytes"
		: conf->cb == NULL			   ? "no callback"
		: conf->low_water > conf->nb_recvs	   ? "a low-water mark above nb_recvs"
							   : NULL;

	if (bad == NULL)
		return 0;
	PLX_LOG(ERR, "receive pool %.63s: %s", conf->name, bad);
	return -EINVAL;
}

static int
control_make(void *arg)
{
	struct plx_recv_pool *pool = arg;
	uint32_t depth = pool->conf.depth != 0 ? pool->conf.depth : pool->conf.nb_recvs;
	const struct plx_srq_conf conf = {.depth = depth, .recv_sge = 1};

	pool->srq = plx_srq_create(pool->conf.pd, &conf);
	pool->depth = depth; /* a device that grants more is not filled further */
	if (pool->srq == NULL)
		return -rte_errno;
	pool->depth = RTE_MIN(depth, pool->srq->depth);
	return 0;
}

/** An event that names the SRQ is looked up on the control thread too. */
static int
control_unmake(void *arg)
{
	struct plx_recv_pool *pool = arg;
	int err = plx_srq_destroy(pool->srq);

	if (err == 0) {
		pool->srq = NULL;
		__atomic_store_n(&pool->lost, true, __ATOMIC_RELAXED);
	} else {
		PLX_LOG(ERR, "receive pool %s: its SRQ cannot be destroyed: error %d", pool->conf.name, -err);
	}
	return err;
}

static int
control_arm_first(void *arg)
{
	struct plx_recv_pool *pool = arg;

	return plx_srq_arm(pool->srq, pool->limit);
}

/** All receives of an SRQ may complete before the CQ is polled. */
static int
cqes_reserve(struct plx_recv_pool *pool)
{
	const struct plx_cq *cq = pool->group->cq;
	uint32_t used;
	int err = conn_cq_reserve(pool->group->cq, pool->depth, &used);

	if (err == 0)
		pool->nb_cqes = pool->depth;
	else
		PLX_LOG(ERR, "CQ full: %u of %u CQEs reserved, receive pool %s needs %u", used, cq->nb_cqe, pool->conf.name,
			pool->depth);
	return err;
}

static int
ops_make(struct plx_recv_pool *pool)
{
	const struct plx_recv_pool_conf *conf = &pool->conf;
	char *buf;

	pool->lacking = rte_zmalloc("plx_recv_pool", conf->max_conns * sizeof(pool->lacking[0]), 0);
	pool->dead = rte_zmalloc("plx_recv_pool", conf->nb_recvs * sizeof(pool->dead[0]), 0);
	if (pool->lacking == NULL || pool->dead == NULL)
		return -ENOMEM;
	pool->ops = rte_zmalloc("plx_recv_pool", 2 * conf->nb_recvs * sizeof(pool->ops[0]), 0);
	if (pool->ops == NULL)
		return -ENOMEM;
	pool->unposted = pool->ops + conf->nb_recvs;
	pool->memory = plx_region_alloc(conf->pd, (uint64_t)conf->nb_recvs * conf->buf_len, PLX_ACCESS_LOCAL_WRITE);
	if (pool->memory == NULL)
		return -rte_errno;
	buf = pool->memory->addr;
	for (; pool->nb_ops < conf->nb_recvs; pool->nb_ops++, buf += conf->buf_len) {
		struct plx_op *op = plx_op_get(pool->group->dispatcher->pool);

		if (op == NULL) {
			PLX_LOG(ERR, "receive pool %.63s: dispatcher %s has %u ops for it, not %u", conf->name,
				pool->group->dispatcher->name, pool->nb_ops, conf->nb_recvs);
			return -EAGAIN;
		}
		plx_op_prep_recv(op, buf, conf->buf_len, pool->memory->lkey, recv_pool_completed, pool);
		pool->ops[pool->nb_ops] = op;
		recv_pool_keep(pool, op);
	}
	return 0;
}

static void
ops_unmake(struct plx_recv_pool *pool)
{
	for (uint32_t i = 0; i < pool->nb_ops; i++) {
		struct plx_op *op = pool->ops[i];

		plx_op_disarm(op); /* the SRQ is gone, and what it had with it */
		plx_op_set_state(op, PLX_OP_PREPARED);
		plx_op_put(op);
	}
	rte_free(pool->ops);
	rte_free(pool->lacking);
	rte_free(pool->dead);
}

static int
srq_make(struct plx_recv_pool *pool)
{
	const struct plx_recv_pool_conf *conf = &pool->conf;
	int err;

	if (conf->no_srq || !(plx_device_caps(conf->pd->dev)->flags & PLX_CAP_SRQ)) {
		pool->depth = conf->per_conn != 0 ? conf->per_conn : RTE_MAX(conf->nb_recvs / conf->max_conns, 1u);
		return 0;
	}
	err = plx_control_sync(pool->group->control, control_make, pool);
	return err != 0 ? err : cqes_reserve(pool);
}

static void
conf_defaults(struct plx_recv_pool *pool)
{
	struct plx_recv_pool_conf *conf = &pool->conf;

	if (conf->max_conns == 0)
		conf->max_conns = DEFAULT_CONNS;
	if (conf->share == 0)
		conf->share = 1;
	if (pool->group->events == NULL) {
		conf->no_event = true;
		conf->last_wqe = false;
	}
}

static int
arm_make(struct plx_recv_pool *pool)
{
	pool->arm = rte_zmalloc("plx_recv_pool", sizeof(*pool->arm), 0);
	if (pool->arm == NULL)
		return -ENOMEM;
	pool->arm->pool = pool;
	return 0;
}

/** Without it nothing is posted nor armed, and no connection can have the pool. */
static int
srq_unmake(struct plx_recv_pool *pool)
{
	int err = pool->srq == NULL ? 0 : plx_control_sync(pool->group->control, control_unmake, pool);

	if (err == 0) {
		pool->retry = false;
		pool->to_arm = false;
		__atomic_store_n(&pool->told, 0, __ATOMIC_RELAXED);
	}
	return err;
}

static int
memory_unmake(struct plx_recv_pool *pool)
{
	int err = plx_region_destroy(pool->memory);

	if (err == 0)
		pool->memory = NULL;
	else
		PLX_LOG(ERR, "receive pool %s: its buffers cannot be deregistered: error %d", pool->conf.name, -err);
	return err;
}

/** The device has none of it any more: the rest. */
static void
pool_free(struct plx_recv_pool *pool)
{
	ops_unmake(pool);
	recv_pool_arm_free(pool);
	conn_cq_release(pool->group->cq, pool->nb_cqes);
	plx_op_shared_fini(&pool->shared);
	rte_free(pool);
}

/** From here on events find it. */
static void
group_add(struct plx_recv_pool *pool)
{
	pthread_mutex_lock(&pool->group->lock);
	LIST_INSERT_HEAD(&pool->group->pools, pool, in_group);
	pthread_mutex_unlock(&pool->group->lock);
}

struct plx_recv_pool *
plx_recv_pool_create(const struct plx_recv_pool_conf *conf)
{
	struct plx_recv_pool *pool;
	int err = conf_check(conf);

	if (err != 0) {
		rte_errno = -err;
		return NULL;
	}
	pool = rte_zmalloc("plx_recv_pool", sizeof(*pool), RTE_CACHE_LINE_SIZE);
	if (pool == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	pool->conf = *conf;
	snprintf(pool->name, sizeof(pool->name), "%s", conf->name);
	pool->conf.name = pool->name;
	pool->group = conf->group;
	conf_defaults(pool);
	err = arm_make(pool);
	if (err == 0)
		err = plx_op_shared_init(&pool->shared, pool->conf.max_conns, recv_pool_message_when_low);
	if (err == 0)
		err = srq_make(pool);
	if (err == 0)
		err = ops_make(pool);
	if (err != 0)
		goto fail;
	if (pool->conf.low_water == 0)
		pool->conf.low_water = RTE_MAX(pool->depth / 2, 1u);
	pool->shared.low = RTE_MAX(pool->conf.low_water, conf->reserve);
	if (pool->srq != NULL) {
		pool->limit = pool->conf.no_event ? 0 : RTE_MIN(pool->conf.low_water, pool->depth);
		err = recv_pool_srq_fill(pool);
		if (err == 0 && pool->limit != 0)
			err = plx_control_sync(pool->group->control, control_arm_first, pool);
	}
	if (err != 0)
		goto fail;
	group_add(pool);
	return pool;

fail:
	if (srq_unmake(pool) == 0 && memory_unmake(pool) == 0) {
		pool_free(pool);
	} else { /* the device may write into its buffers yet */
		pool->unmade = true;
		pool->retry = false;
		group_add(pool);
	}
	rte_errno = -err;
	return NULL;
}

/** Ops that are neither posted nor unposted. Without an SRQ the posted ones are all flushed once no connection is left. */
static uint32_t
nb_held(const struct plx_recv_pool *pool)
{
	return pool->nb_ops - pool->nb_unposted - recv_pool_posted(pool);
}

int
plx_recv_pool_destroy(struct plx_recv_pool *pool)
{
	uint32_t nb_conns, held;
	int err;

	if (pool == NULL)
		return 0;
	pthread_mutex_lock(&pool->group->lock);
	nb_conns = pool->nb_conns;
	pthread_mutex_unlock(&pool->group->lock);
	held = nb_held(pool);
	if (nb_conns != 0 || held != 0) {
		PLX_LOG(ERR, "receive pool %s: %u connections use it, %u ops are held", pool->conf.name, nb_conns, held);
		return -EBUSY;
	}
	err = srq_unmake(pool);
	if (err == 0)
		err = memory_unmake(pool);
	if (err != 0)
		return err;
	pthread_mutex_lock(&pool->group->lock);
	LIST_REMOVE(pool, in_group);
	pthread_mutex_unlock(&pool->group->lock);
	pool_free(pool);
	return 0;
}

void
recv_pools_bury(struct plx_conn_group *group)
{
	struct plx_recv_pool *pool = LIST_FIRST(&group->pools), *next;

	for (; pool != NULL; pool = next) {
		next = LIST_NEXT(pool, in_group);
		if (pool->unmade)
			plx_recv_pool_destroy(pool);
	}
}

void
plx_recv_pool_stats(const struct plx_recv_pool *pool, struct plx_recv_pool_stats *stats)
{
	*stats = pool->stats;
	stats->posted = recv_pool_posted(pool);
	stats->unposted = pool->nb_unposted;
	stats->held = pool->srq != NULL ? nb_held(pool) : 0;
	stats->uses_srq = pool->srq != NULL;
}
