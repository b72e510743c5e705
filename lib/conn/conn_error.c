/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A completion that is no success, as it comes: what the connection notes of it. What follows is in conn_fail.c; apart,
 * since a connection that was attached has no group, and a program with nothing else links no device.
 */

#include "conn_internal.h"

static void
error_keep(struct plx_conn *conn, const struct plx_op *op, const struct plx_wc *wc)
{
	conn->error = (struct plx_conn_error){
		.status = (enum plx_status)wc->status,
		.kind = (enum plx_opcode)op->wr.opcode,
		.wr_id = wc->wr_id,
		.qp_num = conn->sq.qp_num,
		.vendor_err = wc->vendor_err,
		.raw_status = wc->raw_status,
	};
}

/** Have conn_fail_once() called in the group's next turn. */
static void
tell_group(struct plx_conn *conn)
{
	if (conn->in_failed)
		return;
	conn->in_failed = true;
	conn->next_failed = conn->group->failed;
	conn->group->failed = conn;
}

void
conn_set_failed(struct plx_conn *conn)
{
	if (conn_state_change(conn, PLX_CONN_FAILED)) {
		conn_update_limit(conn, &conn->sq);
		conn_update_limit(conn, &conn->rq);
	}
	tell_group(conn);
}

void
conn_failed(struct plx_op_queue *q, const struct plx_op *op, const struct plx_wc *wc)
{
	struct plx_conn *conn = plx_op_queue_conn(q);
	bool flush = wc->status == PLX_ST_WR_FLUSH_ERR;

	conn->nb_flushed += flush;
	if (flush ? conn->error.status != PLX_ST_SUCCESS : !conn_lacks_cause(conn))
		return;
	error_keep(conn, op, wc);
	if (conn->group == NULL)
		return; /* what its completions mean for the others only its backend knows */
	conn_set_failed(conn);
}
