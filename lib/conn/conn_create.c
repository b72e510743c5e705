/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_conn.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "conn_internal.h"
#include "plx_log.h"
#include "recv_pool_internal.h"

#define DEFAULT_DEPTH	 128
#define DEFAULT_DRAIN_MS 1000

/** What plx_conn_create() hands to the control thread. */
struct make {
	struct plx_conn *conn;
	const struct plx_conn_conf *conf;
	struct plx_qp_cap cap;
	struct plx_srq *srq;
};

/** Reserve the CQEs of a connection with @p cap; -ENOSPC, and nothing reserved, if they do not fit. */
static int
cqes_reserve(struct plx_conn *conn, const struct plx_qp_cap *cap)
{
	const struct plx_cq *cq = conn->group->cq;
	uint32_t need = plx_conn_cqes(cap), used;
	int err = conn_cq_reserve(conn->group->cq, need, &used);

	if (err == 0)
		conn->nb_cqes = need;
	else
		PLX_LOG(ERR, "CQ full: %u of %u CQEs reserved, connection needs %u (%u sends, %u receives)", used,
			cq->nb_cqe, need, cap->send_depth, cap->recv_depth);
	return err;
}

void
conn_cqes_release(struct plx_conn *conn)
{
	conn_cq_release(conn->group->cq, conn->nb_cqes);
	conn->nb_cqes = 0;
}

/** Nobody means that: no time-outs, no retries, GID 0. */
static bool
path_is_zero(const struct plx_qp_path *path)
{
	static const struct plx_qp_path zero;

	return memcmp(path, &zero, sizeof(zero)) == 0;
}

static bool
group_has_lost_its_cq(const struct plx_conn_group *group)
{
	if (!__atomic_load_n(&group->cq_lost, __ATOMIC_RELAXED))
		return false;
	PLX_LOG(ERR, "connection: the CQ of group %s has lost completions", group->name);
	return true;
}

static struct plx_conn *
conn_alloc(const struct plx_conn_conf *conf)
{
	struct plx_dispatcher *d;
	struct plx_conn *conn;

	if (conf->group == NULL || conf->pd == NULL) {
		PLX_LOG(ERR, "connection: no %s in its conf", conf->group == NULL ? "group" : "pd");
		rte_errno = EINVAL;
		return NULL;
	}
	d = conf->group->dispatcher;
	if (conf->recv_pool != NULL && (conf->recv_pool->group != conf->group || conf->recv_pool->conf.pd != conf->pd)) {
		PLX_LOG(ERR, "connection: its receive pool %s is of another group or PD", conf->recv_pool->conf.name);
		rte_errno = EINVAL;
		return NULL;
	}
	if (group_has_lost_its_cq(conf->group)) {
		rte_errno = EIO;
		return NULL;
	}
	if (path_is_zero(&conf->path)) {
		PLX_LOG(ERR, "connection: its path is all zero; plx_qp_path_default() comes first");
		rte_errno = EINVAL;
		return NULL;
	}
	if (!plx_dispatcher_has_home(d, conf->home)) {
		PLX_LOG(ERR, "connection: lcore %u is no home of dispatcher %s (owner %u, %u homes): "
			"name it in plx_dispatcher_conf.homes", conf->home, d->name, d->owner, d->nb_homes);
		rte_errno = EINVAL;
		return NULL;
	}
	conn = rte_zmalloc_socket("plx_conn", sizeof(*conn) + d->nb_homes * sizeof(uint64_t),
		RTE_CACHE_LINE_SIZE, plx_device_caps(conf->pd->dev)->socket_id);
	if (conn == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	conn->nb_holders = 1; /* whoever destroys it */
	conn->nb_words = 1;   /* until plx_conn_create() is done with it */
	conn->marks = (uint64_t *)(conn + 1);
	conn->group = conf->group;
	conn->dispatcher = d;
	conn->owner = d->owner;
	conn->home = (uint16_t)(conf->home != PLX_HOME_ANY ? conf->home : d->owner); /* who delivers */
	conn->custody = PLX_OP_CUSTODY(conn->home, PLX_OP_POSTED, 0);
	conn->path = conf->path;
	conn->recv_pool = conf->recv_pool;
	conn->drain_ms = conf->drain_ms != 0 ? conf->drain_ms : DEFAULT_DRAIN_MS;
	conn->max_queued = conf->max_queued;
	conn->closed_cb = conf->closed_cb;
	conn->lost_cb = conf->lost_cb;
	conn->failed_cb = conf->failed_cb;
	conn->drained_cb = conf->drained_cb;
	conn->arg = conf->arg;
	return conn;
}

/** It cannot be destroyed now: a connection that is nobody's has it, and closes. Without memory for one it stays. */
static void
qp_keep(const struct plx_conn_conf *conf, struct plx_qp *qp)
{
	struct plx_conn *conn = conn_alloc(conf);

	if (conn == NULL)
		return;
	conn->qp = qp;
	conn->recv_pool = NULL; /* which it has not joined */
	conn_keep(conn);
}

/**
 * A QP whose number no completion of another can have: messages of a pool are told apart by it, and a number may be given
 * again as soon as it is free, while completions of its last bearer are still in the CQ, or its messages are held.
 */
static struct plx_qp *
qp_of_fresh_number(const struct make *make, const struct plx_qp_conf *conf)
{
	struct plx_recv_pool *pool = make->conn->recv_pool;
	struct plx_qp *qp = plx_qp_create(make->conf->pd, conf), *again;
	int err;

	if (qp == NULL || pool == NULL || !recv_pool_knows(pool, qp->qp_num))
		return qp;
	again = qp_of_fresh_number(make, conf); /* with this one in the way of its number */
	err = rte_errno;
	if (conn_unmake_qp(qp) != 0)
		qp_keep(make->conf, qp);
	rte_errno = err;
	return again;
}

/** Control thread: the QP, once its CQEs are reserved. A device may grant more than it had said. */
static int
make_qp(void *arg)
{
	struct make *make = arg;
	struct plx_conn *conn = make->conn;
	struct plx_qp_conf conf = {
		.send_cq = conn->group->cq,
		.recv_cq = conn->group->cq,
		.cap = make->cap,
		.transport = PLX_TRANSPORT_RC,
		.srq = make->srq,
	};
	struct plx_qp_cap granted = make->cap;
	int err = plx_qp_limits(make->conf->pd->dev, &granted);

	if (make->srq != NULL)
		granted.recv_depth = 0; /* the pool has reserved the CQEs of the SRQ */
	if (err == 0)
		err = cqes_reserve(conn, &granted);
	if (err != 0)
		return err;
	conn->qp = qp_of_fresh_number(make, &conf);
	if (conn->qp == NULL)
		return -rte_errno;
	if (plx_conn_cqes(&conn->qp->cap) != conn->nb_cqes) {
		conn_cqes_release(conn);
		err = cqes_reserve(conn, &conn->qp->cap);
	}
	if (err == 0 && conn->recv_pool != NULL)
		err = recv_pool_join(conn->recv_pool, conn);
	if (err == 0)
		conn->qp_id = conn->qp->id;
	return err; /* conn_unmake() undoes */
}

static int
queue_make(struct plx_conn *conn, struct plx_op_queue *q, uint32_t depth, int socket_id)
{
	int err = plx_op_queue_init(q, RTE_MAX(depth, 1u), socket_id);

	if (err != 0)
		return err;
	q->depth = depth; /* 0: the receives are an SRQ's */
	q->qp_num = conn->qp->qp_num;
	q->overtaken = conn->lost_cb != NULL ? conn_overtaken : NULL;
	q->failed = conn_failed;
	conn_update_limit(conn, q);
	return 0;
}

/** The port of @p path on @p dev, or -errno. */
static int
conn_port(struct plx_device *dev, const struct plx_qp_path *path)
{
	uint32_t nb_ports = plx_device_caps(dev)->nb_ports;
	int port = path->port == 0 ? plx_port_default(dev) : (int)path->port;

	if (port >= 0 && (uint32_t)port <= nb_ports)
		return port;
	PLX_LOG(ERR, "connection: device %s: port %u asked, %u ports, %s", plx_device_name(dev), path->port, nb_ports,
		path->port == 0 ? "none active" : "no such port");
	return path->port == 0 ? port : -EINVAL;
}

/** The part of a connection that submit reads, from what was granted. */
static int
conn_fill(struct plx_conn *conn, const struct plx_pd *pd)
{
	const struct plx_device_caps *caps = plx_device_caps(pd->dev);
	int port = conn_port(pd->dev, &conn->path), err;
	struct plx_port_attr attr;

	if (port < 0)
		return port;
	err = plx_port_query(pd->dev, (unsigned int)port, &attr);
	if (err != 0)
		return err;
	conn->fast = conn->qp->fast;
	conn->nb_qp_lines = conn->qp->nb_hot_lines;
	conn->cap = conn->qp->cap;
	conn->kinds = caps->kinds & ~PLX_KIND(PLX_OPCODE_RECV);
	if (conn->path.rd_atomic == 0)
		conn->kinds &= ~PLX_KINDS_RD_ATOMIC;
	conn->max_msg_sz = attr.max_msg_sz;
	conn->max_sge_rd = caps->max_sge_rd;
	conn->atomic_big_endian = caps->atomic_big_endian;
	if (conn->max_queued == 0)
		conn->max_queued = 4 * plx_conn_cqes(&conn->cap);
	err = queue_make(conn, &conn->sq, conn->cap.send_depth, caps->socket_id);
	if (err != 0)
		return err;
	return queue_make(conn, &conn->rq, conn->cap.recv_depth, caps->socket_id);
}

static void
cap_defaults(struct plx_qp_cap *cap)
{
	if (cap->send_depth == 0)
		cap->send_depth = DEFAULT_DEPTH;
	if (cap->recv_depth == 0)
		cap->recv_depth = DEFAULT_DEPTH;
	if (cap->send_sge == 0)
		cap->send_sge = 1;
	if (cap->recv_sge == 0)
		cap->recv_sge = 1;
}

static void
insert(struct plx_conn_group *group, struct plx_conn *conn)
{
	LIST_INSERT_HEAD(&group->conns, conn, in_group);
	__atomic_fetch_add(&group->nb_conns, 1, __ATOMIC_RELAXED);
}

void
conn_group_insert(struct plx_conn_group *group, struct plx_conn *conn)
{
	pthread_mutex_lock(&group->lock);
	insert(group, conn);
	pthread_mutex_unlock(&group->lock);
}

/** From here on events find @p conn. Those that were heeded before it was in the list did not: -EIO. */
static int
group_add(struct plx_conn_group *group, struct plx_conn *conn, bool to_fill)
{
	int err = -EIO;

	pthread_mutex_lock(&group->lock);
	if (!group_has_lost_its_cq(group) && !recv_pool_is_lost(conn->recv_pool)) {
		insert(group, conn);
		if (to_fill)
			recv_pool_lacks(conn->recv_pool, conn);
		err = 0;
	}
	pthread_mutex_unlock(&group->lock);
	return err;
}

/** The making of @p conn has failed: undo it, or keep what cannot be undone. */
static void
conn_unmake(struct plx_conn *conn)
{
	if (conn->recv_pool != NULL) /* its queues may not have been made: the QP itself knows the number */
		recv_pool_leave(conn->recv_pool, conn, conn->qp->qp_num);
	conn->recv_pool = NULL;
	if (conn->qp != NULL && plx_control_sync(conn->group->control, conn_unmake_qp, conn->qp) != 0) {
		conn_keep(conn);
		return;
	}
	conn_cqes_release(conn);
	conn_let_go(conn);
}

struct plx_conn *
plx_conn_create(const struct plx_conn_conf *conf)
{
	struct plx_conn *conn = conn_alloc(conf);
	struct make make = {.conn = conn, .conf = conf, .cap = conf->cap};
	bool to_fill;
	int err;

	if (conn == NULL)
		return NULL;
	cap_defaults(&make.cap);
	if (conf->recv_pool != NULL) {
		make.srq = conf->recv_pool->srq;
		make.cap.recv_depth = make.srq != NULL ? 0 : conf->recv_pool->depth;
		make.cap.recv_sge = make.srq != NULL ? 0 : 1;
	}
	err = plx_control_sync(conf->group->control, make_qp, &make);
	if (err != 0) {
		conn->recv_pool = NULL; /* which it has not joined */
		goto unmake;
	}
	err = conn_fill(conn, conf->pd);
	if (err != 0)
		goto unmake;
	to_fill = conf->recv_pool != NULL && make.srq == NULL;
	err = group_add(conf->group, conn, to_fill);
	if (err != 0)
		goto unmake;
	if (to_fill)
		recv_pool_serve(conf->recv_pool);
	conn_word_end(conn);
	return conn;

unmake:
	conn_unmake(conn);
	rte_errno = -err;
	return NULL;
}
