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
 *      first completion that is no success        the group's next turn: here
 *      (conn_error.c), or an event
 *      -----------------------------------        ---------------------------
 *      READY -> FAILED: nothing is taken   ---->  what waits or is held: STOPPED
 *      it is kept as the first error              one ERR line
 *      flushes behind it are counted              failed_cb, once
 *                                                 an event: close
 *
 * A flush is nobody's cause: it is kept only until something else comes, which then has a line of its own.
 */

static void
error_log(const struct plx_conn_error *e)
{
	PLX_LOG(ERR, "QP %u: %s 0x%" PRIx64 ": %s (vendor_err 0x%x, raw status %u): %s", e->qp_num, plx_opcode_name(e->kind),
		e->wr_id, plx_status_name(e->status), e->vendor_err, e->raw_status, plx_status_str(e->status));
}

/** The group's turn: say it once. */
void
conn_fail_once(struct plx_conn *conn)
{
	const struct plx_conn_error *e = &conn->error;
	bool tell = plx_conn_state(conn) == PLX_CONN_FAILED && !conn->failed_told;

	if (e->status == PLX_ST_WR_FLUSH_ERR ? tell : !conn->error_logged)
		error_log(e);
	conn->error_logged |= e->status != PLX_ST_WR_FLUSH_ERR;
	if (tell) {
		conn->failed_told = true;
		conn_fail_unposted(conn);
		if (conn->failed_cb != NULL)
			conn->failed_cb(conn, e, conn->arg);
	}
	if (conn->close_due) {
		conn->close_due = false;
		conn_close_begin(conn);
	}
}
