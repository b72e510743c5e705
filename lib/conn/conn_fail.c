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
 *      (conn_error.c)
 *      -----------------------------------        ---------------------------
 *      READY -> FAILED: nothing is taken   ---->  what waits or is held: STOPPED
 *      it is kept as the first error              one ERR line, if it is no flush
 *      flushes behind it are counted              failed_cb, once
 *
 * A flush is nobody's cause: it is kept only until something else comes.
 */

/** The group's turn: say it once. */
void
conn_fail_once(struct plx_conn *conn)
{
	const struct plx_conn_error *e = &conn->error;

	if (e->status != PLX_ST_WR_FLUSH_ERR && !conn->error_logged) {
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
