/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_conn.h"

#include <assert.h>
#include <errno.h>

#include <rte_malloc.h>

#include "conn_internal.h"
#include "plx_clock.h"
#include "plx_log.h"
#include "recv_pool_internal.h"

static_assert(offsetof(struct plx_conn, sq) == PLX_OP_SQ_AT && offsetof(struct plx_conn, rq) == PLX_OP_RQ_AT,
	"a queue tells its connection by its address");

void
conn_let_go(struct plx_conn *conn)
{
	/* Each releases what it did to the connection, and the last one acquires it. */
	if (__atomic_sub_fetch(&conn->nb_holders, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	plx_op_queue_fini(&conn->sq);
	plx_op_queue_fini(&conn->rq);
	rte_free(conn);
}

int
conn_unmake_qp(void *arg)
{
	struct plx_qp *qp = arg;
	uint32_t qp_num = qp->qp_num;
	int err = plx_qp_destroy(qp);

	if (err != 0)
		PLX_LOG(ERR, "QP %u: cannot be destroyed: error %d", qp_num, -err);
	return err;
}

int
plx_conn_local_attr(struct plx_conn *conn, struct plx_qp_addr *addr)
{
	if (conn->group == NULL)
		return -ENOTSUP;
	/* From DRAINING on the control thread may destroy the QP at any moment. */
	if (plx_conn_state(conn) >= PLX_CONN_DRAINING)
		return -ENOTCONN;
	return plx_qp_local_addr(conn->qp, &conn->path, addr);
}

struct bring_up {
	struct plx_conn *conn;
	const struct plx_qp_addr *peer;
};

/**
 * Control thread, where the verbs of a close run too: a connection that is IDLE here has its QP, and a close that
 * begins meanwhile takes the QP to ERR behind this.
 */
static int
control_bring_up(void *arg)
{
	struct bring_up *up = arg;
	int err;

	if (plx_conn_state(up->conn) != PLX_CONN_IDLE)
		return -EISCONN;
	err = plx_qp_bring_up(up->conn->qp, &up->conn->path, up->peer);
	if (err != 0)
		return err;
	return conn_state_change(up->conn, PLX_CONN_READY) ? 0 : -EISCONN;
}

int
plx_conn_bring_up(struct plx_conn *conn, const struct plx_qp_addr *peer)
{
	struct bring_up up = {.conn = conn, .peer = peer};

	if (plx_conn_state(conn) != PLX_CONN_IDLE)
		return -EISCONN;
	return plx_control_sync(conn->group->control, control_bring_up, &up);
}

/** Whether @p conn never had an op of the application's, nor a close. Of a pool's connection no receive is. */
static bool
conn_is_unused(const struct plx_conn *conn)
{
	return plx_conn_state(conn) == PLX_CONN_IDLE && !__atomic_load_n(&conn->closing, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&conn->draining, __ATOMIC_ACQUIRE) && conn->sq.head == 0 &&
	       (conn->recv_pool != NULL || conn->rq.head == 0) && !__atomic_load_n(&conn->used_elsewhere, __ATOMIC_RELAXED);
}

/** Destroy the QP of an unused connection. An event may close it at any moment: closing is taken first, for good. */
static int
destroy_unused(struct plx_conn *conn)
{
	int err;

	if (!conn_is_unused(conn) || __atomic_exchange_n(&conn->closing, true, __ATOMIC_SEQ_CST))
		return -EBUSY;
	if (conn->recv_pool != NULL)
		recv_pool_withhold(conn->recv_pool, conn);
	err = plx_control_sync(conn->group->control, conn_unmake_qp, conn->qp);
	if (err != 0) {
		if (conn->recv_pool != NULL)
			recv_pool_offer(conn->recv_pool, conn);
		conn_close_take_back(conn, conn->group);
		return err;
	}
	if (conn->recv_pool != NULL)
		recv_pool_leave_unused(conn->recv_pool, conn);
	conn_cqes_release(conn);
	return 0;
}

int
plx_conn_destroy(struct plx_conn *conn)
{
	int err;

	if (conn == NULL)
		return 0;
	if (plx_conn_state(conn) != PLX_CONN_CLOSED) {
		err = destroy_unused(conn);
		if (err != 0)
			return err;
	}
	pthread_mutex_lock(&conn->group->lock);
	LIST_REMOVE(conn, in_group);
	pthread_mutex_unlock(&conn->group->lock);
	__atomic_fetch_sub(&conn->group->nb_conns, 1, __ATOMIC_RELEASE);
	conn_let_go(conn);
	return 0;
}

static uint64_t
stalled_ns(const struct plx_conn_stall *stall, const struct plx_op_queue *q)
{
	bool is = stall->since_ns != 0 && stall->tail == q->tail && plx_op_queue_room(q) == 0;

	return is ? plx_clock_monotonic_ns() - stall->since_ns : 0;
}

void
plx_conn_first_error(const struct plx_conn *conn, struct plx_conn_error *error)
{
	*error = conn->error;
}

void
plx_conn_stats(const struct plx_conn *conn, struct plx_conn_stats *stats)
{
	const struct plx_op_queue *sq = &conn->sq, *rq = &conn->rq;
	uint64_t lost = sq->nb_lost + rq->nb_lost, recovered = sq->nb_recovered + rq->nb_recovered;

	*stats = (struct plx_conn_stats){
		.lost = lost - recovered,
		.recovered = recovered,
		.conn_lost = conn->nb_conn_lost,
		.flushed = conn->nb_flushed,
		.implied = sq->nb_implied,
		.in_flight = (sq->head - sq->tail) + (rq->head - rq->tail),
		.waiting = conn->waiting[0].nb + conn->waiting[1].nb,
		.sends_most = sq->most,
		.recvs_most = rq->most,
		.exhausted = conn->nb_exhausted,
		.stalled_ns = stalled_ns(&conn->stall, sq),
	};
}
