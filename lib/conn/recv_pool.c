/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_recv_pool.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "conn_internal.h"
#include "plx_log.h"
#include "plx_memory.h"
#include "plx_op_shared.h"
#include "plx_srq.h"

#define DEFAULT_CONNS 1024

/* ---- the SRQ is filled --------------------------------------------------------------------- */

static uint32_t
posted(const struct plx_recv_pool *pool)
{
	return pool->shared.queue.head - pool->shared.queue.tail;
}

/** As when submit takes an op, but for a queue of no order. */
static void
op_arm(struct plx_recv_pool *pool, struct plx_op *op)
{
	plx_op_posted(op, (uint16_t)pool->group->dispatcher->owner);
	op->queue = &pool->shared.queue;
	plx_op_arm(op);
}

/** Post up to @p n of those on top of the stack. Returns how many it did. */
static uint16_t
srq_post(struct plx_recv_pool *pool, uint16_t n)
{
	const struct plx_wr *wrs[PLX_POST_BURST];
	struct plx_op **top = &pool->unposted[pool->nb_unposted - n];
	struct plx_dispatcher *d = pool->group->dispatcher;
	uint16_t done;
	int err = 0;

	for (uint16_t i = 0; i < n; i++) {
		/* From the top down, so that what is not taken is still a stack. */
		struct plx_op *op = top[n - 1 - i];

		op_arm(pool, op);
		wrs[i] = &op->wr;
	}
	plx_dispatcher_post_begin(d);
	done = plx_srq_post_recv(pool->srq, wrs, n, &err);
	plx_dispatcher_post_end(d);
	pool->shared.queue.head += done;
	pool->nb_unposted -= done;
	for (uint16_t i = done; i < n; i++) {
		plx_op_disarm(top[n - 1 - i]);
		plx_op_prepared_again(top[n - 1 - i]);
	}
	pool->stats.refills++;
	return done;
}

static void
srq_fill(struct plx_recv_pool *pool)
{
	for (;;) {
		uint32_t n = RTE_MIN(pool->nb_unposted, pool->depth - posted(pool));

		n = RTE_MIN(n, (uint32_t)PLX_POST_BURST);
		if (n == 0 || srq_post(pool, (uint16_t)n) < n)
			return;
	}
}

/* ---- the limit is armed -------------------------------------------------------------------- */

static int
control_arm(struct plx_control_req *req)
{
	struct plx_recv_pool *pool = plx_container_of(req, struct plx_recv_pool, arm);

	return plx_srq_arm(pool->srq, pool->limit);
}

static void arm_if_due(struct plx_recv_pool *pool);

static void
arm_done(struct plx_control_req *req)
{
	struct plx_recv_pool *pool = plx_container_of(req, struct plx_recv_pool, arm);

	pool->arming = false;
	if (req->result != 0)
		PLX_LOG(WARNING, "receive pool %s: its limit of %u is not armed: error %d; it is filled by count alone",
			pool->conf.name, pool->limit, -req->result);
	arm_if_due(pool); /* it may have fired before this answer was here */
}

/** Once there are enough: an event that is due at once would go round in circles. */
static void
arm_if_due(struct plx_recv_pool *pool)
{
	if (!pool->to_arm || pool->arming || posted(pool) < pool->limit)
		return;
	pool->arm.fn = control_arm;
	pool->arm.done = arm_done;
	if (plx_control_submit(pool->group->control, &pool->arm) != 0)
		return; /* its queue is full: with the next op that comes back */
	pool->arming = true;
	pool->to_arm = false;
}

static void
refill(struct plx_recv_pool *pool)
{
	srq_fill(pool);
	if (__builtin_expect(pool->to_arm, 0))
		arm_if_due(pool);
}

bool
recv_pool_tell(struct plx_recv_pool *pool, uint64_t id)
{
	if (pool->srq == NULL || pool->srq->id != id)
		return false;
	__atomic_store_n(&pool->told, 1, __ATOMIC_RELAXED);
	return true;
}

/* ---- ops come back ------------------------------------------------------------------------- */

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
owner_tell(struct plx_recv_pool *pool)
{
	/* Release: partner is the acquire in conn_group_heed(). */
	__atomic_fetch_or(&pool->group->told, GROUP_TOLD_POOL, __ATOMIC_RELEASE);
}

static void
keep(struct plx_recv_pool *pool, struct plx_op *op)
{
	pool->unposted[pool->nb_unposted++] = op;
}

static bool
conn_post(struct plx_op_shared_who *who, struct plx_op *op)
{
	struct plx_submit_err err;

	return plx_conn_recv_burst(plx_op_queue_conn(who->queue), &op, 1, &err) == 1;
}

/** Under the lock. */
static void
lacks(struct plx_recv_pool *pool, struct plx_conn *conn)
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

/** Until it has all of its own. One that closes takes none, and is off the list when it leaves. */
static void
conn_serve(struct plx_recv_pool *pool, struct plx_op_shared_who *who)
{
	while (who->nb_held < pool->depth && pool->nb_unposted != 0) {
		if (!conn_post(who, pool->unposted[pool->nb_unposted - 1]))
			return;
		pool->nb_unposted--;
		who->nb_held++;
	}
}

/** Owner, under the lock: what is kept goes to who lacks some, the first first. */
static void
serve_lacking(struct plx_recv_pool *pool)
{
	for (uint32_t i = 0; i < pool->nb_lacking && pool->nb_unposted != 0;) {
		struct plx_conn *conn = pool->lacking[i];
		struct plx_op_shared_who *who = plx_op_shared_find(&pool->shared, conn->rq.qp_num);

		conn_serve(pool, who);
		if (who->nb_held == pool->depth)
			lacks_no_more(pool, conn);
		else
			i++;
	}
}

static void
refill_if_low(struct plx_recv_pool *pool)
{
	if (posted(pool) < pool->conf.low_water || pool->nb_unposted >= PLX_POST_BURST)
		refill(pool);
}

/** Owner, under the lock: @p op is PREPARED; its qp_num is the one that it had completed on. */
static void
returned(struct plx_recv_pool *pool, struct plx_op *op)
{
	struct plx_op_shared_who *who = plx_op_shared_find(&pool->shared, op->qp_num);

	if (who == NULL)
		dead_returned(pool, op->qp_num);
	else if (who->nb_held-- == pool->depth && pool->srq == NULL)
		lacks(pool, plx_op_queue_conn(who->queue));
	keep(pool, op);
	if (pool->srq == NULL)
		serve_lacking(pool);
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
	if (pool->srq == NULL)
		return who->nb_held == pool->depth && conn_post(who, op);
	who->nb_held--;
	keep(pool, op);
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
	keep(pool, op);
	pool->stats.refused++;
	if (conn != NULL && plx_conn_close(conn) == 0)
		PLX_LOG(WARNING, "receive pool %s: connection of QP %u closed: it holds %u messages (its share is %u), and fewer than "
			"the reserve of %u receives are left: give back, or copy out, sooner",
			pool->conf.name, who->qp_num, who->nb_held, pool->conf.share, pool->conf.reserve);
}

/** A message came and few receives are left, or nobody knows from whom. Whether it is delivered. */
static bool
message_when_low(struct plx_op_shared *shared, struct plx_op *op, struct plx_op_shared_who *who)
{
	struct plx_recv_pool *pool = plx_container_of(shared, struct plx_recv_pool, shared);

	refill(pool); /* there may be some that were never posted */
	if (who != NULL && (posted(pool) >= pool->conf.reserve || who->nb_held < pool->conf.share))
		return true;
	message_refuse(pool, op, who);
	refill(pool);
	return false;
}

/** The owner takes it in its turn: the lane to it is full, and a callback does not wait. */
static void
park(struct plx_recv_pool *pool, struct plx_op *op)
{
	pthread_mutex_lock(&pool->group->lock);
	plx_op_list_append(&pool->parked, op);
	pthread_mutex_unlock(&pool->group->lock);
	owner_tell(pool);
}

static bool
is_nobodys(const struct plx_op *op)
{
	return op->status == PLX_ST_WR_FLUSH_ERR || op->status == PLX_ST_STOPPED || op->status == PLX_ST_CONN_LOST ||
	       op->status == PLX_ST_POST_FAILED;
}

/** The callback of all its ops: what was flushed is nobody's message and is given back. */
static void
completed(struct plx_op *op, void *arg)
{
	struct plx_recv_pool *pool = arg;

	if (__builtin_expect(op->status == PLX_ST_SUCCESS, 1) || !is_nobodys(op))
		pool->conf.cb(op, pool->conf.arg);
	else if (plx_recv_pool_give(pool, op) == -EAGAIN)
		park(pool, op);
}

/* ---- the owner's turn ------------------------------------------------------------------------ */

void
recv_pool_heed(struct plx_recv_pool *pool)
{
	struct plx_op *op;

	while ((op = plx_op_list_take(&pool->parked)) != NULL) {
		plx_op_again(op);
		returned(pool, op);
	}
	serve_lacking(pool);
	if (__atomic_exchange_n(&pool->told, 0, __ATOMIC_RELAXED) == 0)
		return;
	pool->stats.limit_events++;
	pool->to_arm = pool->limit != 0;
	refill(pool);
}

/* ---- connections come and go --------------------------------------------------------------- */

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
	int err = -ENOSPC;

	pthread_mutex_lock(&pool->group->lock);
	if (pool->nb_conns < fit)
		err = plx_op_shared_join(&pool->shared, conn->qp->qp_num, &conn->rq, conn->home);
	if (err == 0)
		pool->nb_conns++;
	pthread_mutex_unlock(&pool->group->lock);
	if (err != 0)
		PLX_LOG(ERR, "receive pool %s: %u of %u connections, and one more does not fit (%u receives, each takes %u)",
			pool->conf.name, pool->nb_conns, fit, pool->nb_ops, pool->srq != NULL ? 0 : pool->depth);
	return err;
}

void
recv_pool_leave(struct plx_recv_pool *pool, struct plx_conn *conn)
{
	const struct plx_op_shared_who *who;

	pthread_mutex_lock(&pool->group->lock);
	who = plx_op_shared_find(&pool->shared, conn->sq.qp_num);
	if (who->nb_held != 0)
		pool->dead[pool->nb_dead++] = (struct recv_pool_dead){who->qp_num, who->nb_held};
	plx_op_shared_leave(&pool->shared, conn->sq.qp_num);
	lacks_no_more(pool, conn);
	pool->nb_conns--;
	pthread_mutex_unlock(&pool->group->lock);
}

void
recv_pool_expects(struct plx_conn *conn)
{
	lacks(conn->recv_pool, conn);
}

void
recv_pool_serve(struct plx_recv_pool *pool)
{
	if (rte_lcore_id() != pool->group->dispatcher->owner) {
		owner_tell(pool);
		return;
	}
	pthread_mutex_lock(&pool->group->lock);
	serve_lacking(pool);
	pthread_mutex_unlock(&pool->group->lock);
}

/* ---- life ---------------------------------------------------------------------------------- */

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
	PLX_LOG(ERR, "receive pool %s: %s", conf->name, bad);
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

	if (err == 0)
		pool->srq = NULL;
	else
		PLX_LOG(ERR, "receive pool %s: its SRQ cannot be destroyed: error %d", pool->conf.name, -err);
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
	struct plx_cq *cq = pool->group->cq;
	uint32_t used = __atomic_fetch_add(&cq->reserved, pool->depth, __ATOMIC_RELAXED);

	pool->nb_cqes = pool->depth;
	if ((uint64_t)used + pool->depth <= cq->nb_cqe)
		return 0;
	PLX_LOG(ERR, "CQ full: %u of %u CQEs reserved, receive pool %s needs %u", used, cq->nb_cqe, pool->conf.name,
		pool->depth);
	return -ENOSPC;
}

static void
cqes_release(struct plx_recv_pool *pool)
{
	__atomic_fetch_sub(&pool->group->cq->reserved, pool->nb_cqes, __ATOMIC_RELAXED);
	pool->nb_cqes = 0;
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
			PLX_LOG(ERR, "receive pool %s: dispatcher %s has %u ops for it, not %u", conf->name,
				pool->group->dispatcher->name, pool->nb_ops, conf->nb_recvs);
			return -EAGAIN;
		}
		plx_op_prep_recv(op, buf, conf->buf_len, pool->memory->lkey, completed, pool);
		pool->ops[pool->nb_ops] = op;
		keep(pool, op);
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
	if (pool->memory != NULL)
		plx_region_destroy(pool->memory);
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
srq_unmake(struct plx_recv_pool *pool)
{
	return pool->srq == NULL ? 0 : plx_control_sync(pool->group->control, control_unmake, pool);
}

/** The rest. */
static void
pool_free(struct plx_recv_pool *pool)
{
	ops_unmake(pool);
	cqes_release(pool);
	plx_op_shared_fini(&pool->shared);
	rte_free(pool);
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
	pool->group = conf->group;
	conf_defaults(pool);
	err = plx_op_shared_init(&pool->shared, pool->conf.max_conns, message_when_low);
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
		srq_fill(pool);
		pool->limit = pool->conf.no_event ? 0 : RTE_MIN(pool->conf.low_water, pool->depth);
		if (pool->limit != 0)
			err = plx_control_sync(pool->group->control, control_arm_first, pool);
	}
	if (err != 0)
		goto fail;
	pthread_mutex_lock(&pool->group->lock);
	LIST_INSERT_HEAD(&pool->group->pools, pool, in_group);
	pthread_mutex_unlock(&pool->group->lock);
	return pool;

fail:
	srq_unmake(pool);
	pool_free(pool);
	rte_errno = -err;
	return NULL;
}

/** Ops that are neither posted nor unposted. Without an SRQ the posted ones are all flushed once no connection is left. */
static uint32_t
nb_held(const struct plx_recv_pool *pool)
{
	return pool->nb_ops - pool->nb_unposted - posted(pool);
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
	if (nb_conns != 0 || held != 0 || pool->arming) {
		PLX_LOG(ERR, "receive pool %s: %u connections use it, %u ops are held", pool->conf.name, nb_conns, held);
		return -EBUSY;
	}
	err = srq_unmake(pool);
	if (err != 0)
		return err;
	pthread_mutex_lock(&pool->group->lock);
	LIST_REMOVE(pool, in_group);
	pthread_mutex_unlock(&pool->group->lock);
	pool_free(pool);
	return 0;
}

void
plx_recv_pool_stats(const struct plx_recv_pool *pool, struct plx_recv_pool_stats *stats)
{
	*stats = pool->stats;
	stats->posted = posted(pool);
	stats->unposted = pool->nb_unposted;
	stats->held = pool->srq != NULL ? nb_held(pool) : 0;
	stats->uses_srq = pool->srq != NULL;
}
