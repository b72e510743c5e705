/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_conn_attach.h"

#include <errno.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "conn_internal.h"
#include "plx_driver.h"
#include "plx_log.h"

/** The connection, and the QP's table with a stub in each empty slot. */
struct attached {
	struct plx_conn conn;
	struct plx_fast_ops fast;
	uint64_t marks[];
};

enum detach_step { NOT_BEGUN, SETTLING, SETTLED, MARKED };

static int
conf_check(const struct plx_conn_attach_conf *conf)
{
	const struct plx_dispatcher *d = conf->dispatcher;
	const struct plx_qp_cap *cap;

	if (d == NULL || conf->qp == NULL) {
		PLX_LOG(ERR, "attach: no %s", d == NULL ? "dispatcher" : "QP");
		return -EINVAL;
	}
	cap = &conf->qp->cap;
	if (d->owner == LCORE_ID_ANY || !plx_dispatcher_has_home(d, conf->home)) {
		PLX_LOG(ERR, "attach: dispatcher %s has no owner, or lcore %u is no home of it: see "
			"plx_dispatcher_conf.owner and .homes", d->name, conf->home);
		return -EINVAL;
	}
	if (conf->qp->fast == NULL || cap->send_depth == 0 || cap->send_sge == 0) {
		PLX_LOG(ERR, "attach: QP %u has no table, or no depth (%u sends of %u SGEs)", conf->qp->qp_num,
			cap->send_depth, cap->send_sge);
		return -EINVAL;
	}
	return 0;
}

static int
queue_attach(struct plx_conn *conn, struct plx_op_queue *q, uint32_t depth)
{
	int err = plx_op_queue_init(q, RTE_MAX(depth, 1u), SOCKET_ID_ANY);

	if (err != 0) {
		PLX_LOG(ERR, "attach: QP %u: no queue of %u ops%s", conn->qp->qp_num, depth,
			err == -EINVAL ? ", 2^24 at most" : "; out of memory");
		return err;
	}
	q->qp_num = conn->qp->qp_num;
	q->overtaken = conn->lost_cb != NULL ? conn_overtaken : NULL;
	q->failed = conn_failed;
	return 0;
}

static void
attached_free(struct plx_conn *conn)
{
	plx_op_queue_fini(&conn->sq);
	plx_op_queue_fini(&conn->rq);
	rte_free(conn);
}

struct plx_conn *
plx_conn_attach(const struct plx_conn_attach_conf *conf)
{
	struct attached *attached = NULL;
	struct plx_conn *conn;
	int err = conf_check(conf);

	if (err != 0)
		goto fail;
	err = -ENOMEM;
	attached = rte_zmalloc("plx_conn", sizeof(*attached) + conf->dispatcher->nb_homes * sizeof(uint64_t),
		RTE_CACHE_LINE_SIZE);
	if (attached == NULL)
		goto fail;
	attached->fast = plx_fast_with_stubs(conf->qp->fast);
	conn = &attached->conn;
	conn->fast = &attached->fast;
	conn->nb_qp_lines = conf->qp->nb_hot_lines;
	conn->qp = conf->qp;
	conn->dispatcher = conf->dispatcher;
	conn->owner = conf->dispatcher->owner;
	conn->home = (uint16_t)(conf->home != PLX_HOME_ANY ? conf->home : conn->owner);
	conn->custody = PLX_OP_CUSTODY(conn->home, PLX_OP_POSTED, 0);
	conn->state = PLX_CONN_READY;
	conn->kinds = conf->kinds & ~PLX_KIND(PLX_OPCODE_RECV);
	if (attached->fast.kinds != 0)
		conn->kinds &= attached->fast.kinds;
	conn->max_msg_sz = conf->max_msg_sz != 0 ? conf->max_msg_sz : 1u << 31;
	conn->cap = conf->qp->cap;
	conn->max_sge_rd = conn->cap.send_sge;
	conn->lost_cb = conf->lost_cb;
	conn->arg = conf->arg;
	conn->marks = attached->marks;
	err = queue_attach(conn, &conn->sq, conn->cap.send_depth);
	if (err == 0)
		err = queue_attach(conn, &conn->rq, conn->cap.recv_depth);
	if (err == 0)
		return conn;
	attached_free(conn);
fail:
	rte_errno = -err;
	return NULL;
}

static void
detach_settle(struct plx_conn *conn)
{
	conn->close_step = SETTLING;
	conn_state_change(conn, PLX_CONN_DRAINING);
	conn_update_limit(conn, &conn->sq);
	conn_update_limit(conn, &conn->rq);
	fail_list(conn, &conn->held, PLX_ST_STOPPED);
	fail_unsettled(conn, &conn->sq);
	fail_unsettled(conn, &conn->rq);
	conn->close_step = SETTLED;
}

int
plx_conn_detach(struct plx_conn *conn)
{
	if (conn->group != NULL)
		return -ENOTSUP;
	if (rte_lcore_id() != conn->owner)
		return -EPERM;
	if (conn->close_step == NOT_BEGUN)
		detach_settle(conn);
	if (conn->close_step == SETTLING || early_has(conn))
		return -EAGAIN;
	if (conn->close_step == SETTLED) {
		plx_dispatcher_mark(conn->dispatcher, conn->marks);
		conn->close_step = MARKED;
	}
	if (!plx_dispatcher_passed(conn->dispatcher, conn->marks))
		return -EAGAIN;
	attached_free(conn);
	return 0;
}
