/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <inttypes.h>

#include "conn_internal.h"
#include "plx_log.h"

/**
 * @file
 * A queue pair that fails, seen from its connection:
 *
 *      first completion that is no success        the group's next turn
 *      -----------------------------------        ---------------------
 *      READY -> FAILED: nothing is taken   ---->  what waits or is held: STOPPED
 *      it is kept as the first error              one ERR line, if it is no flush
 *      flushes behind it are counted              failed_cb, once
 *
 * A flush is nobody's cause: it is kept only until something else comes.
 */

static bool
is_flush(unsigned int status)
{
	return status == PLX_ST_WR_FLUSH_ERR;
}

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

void
conn_failed(struct plx_op_queue *q, const struct plx_op *op, const struct plx_wc *wc)
{
	struct plx_conn *conn = plx_op_queue_conn(q);
	unsigned int first = conn->error.status;
	bool flush = is_flush(wc->status);

	conn->nb_flushed += flush;
	if (first != PLX_ST_SUCCESS && (flush || !is_flush(first)))
		return;
	error_keep(conn, op, wc);
	if (conn->group == NULL)
		return; /* what its completions mean for the others only its backend knows */
	if (conn_state_change(conn, PLX_CONN_FAILED)) {
		conn_update_limit(conn, &conn->sq);
		conn_update_limit(conn, &conn->rq);
	}
	conn_group_add_failed(conn->group, conn);
}

/** The group's turn: say it once. */
void
conn_fail_once(struct plx_conn *conn)
{
	const struct plx_conn_error *e = &conn->error;

	if (!is_flush(e->status) && !conn->error_logged) {
		conn->error_logged = true;
		PLX_LOG(ERR, "QP %u: %s 0x%" PRIx64 ": %s (vendor_err 0x%x, raw status %u): %s", e->qp_num,
			plx_opcode_name(e->kind), e->wr_id, plx_status_name(e->status), e->vendor_err, e->raw_status,
			plx_status_str(e->status));
	}
	if (plx_conn_state(conn) != PLX_CONN_FAILED || conn->failed_told)
		return;
	conn->failed_told = true;
	conn_fail_unposted(conn);
	if (conn->failed_cb != NULL)
		conn->failed_cb(conn, e, conn->arg);
}
