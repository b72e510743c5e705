/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_segment.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "plx_log.h"

static void piece_done(struct plx_op *op, void *arg);

/* ---- pieces -------------------------------------------------------------------------------- */

/** Piece @p i as an op. Range and rights were looked at when the transfer began. */
static void
piece_prep(struct plx_segment *seg, struct plx_op *op, uint64_t i)
{
	const struct plx_view *local = &seg->conf.local;
	uint64_t at = i * seg->piece_len;
	uint64_t len = RTE_MIN(seg->piece_len, local->len - at);

	plx_op_prep(op, seg->conf.opcode, (char *)local->addr + at, len, local->lkey, piece_done, seg);
	plx_op_set_remote(op, seg->conf.remote.addr + seg->conf.off + at, seg->conf.remote.rkey);
}

static bool
has_more(const struct plx_segment *seg)
{
	return seg->status == PLX_ST_SUCCESS && seg->refused == 0 && seg->next < seg->nb_pieces;
}

/** Submit what the window has room for. 0, or the errno of the first piece that was not taken; its op stays idle. */
static int
pieces_submit(struct plx_segment *seg)
{
	while (has_more(seg) && seg->nb_idle > 0) {
		struct plx_op *op = seg->idle[seg->nb_idle - 1];
		int err;

		piece_prep(seg, op, seg->next);
		err = plx_conn_submit(seg->conf.conn, op);
		if (err != 0)
			return err;
		seg->nb_idle--;
		seg->in_flight++;
		seg->next++;
	}
	return 0;
}

/** The ops go home. */
static void
ops_put(struct plx_segment *seg)
{
	for (unsigned int i = 0; i < seg->nb_idle; i++)
		plx_op_put(seg->idle[i]);
	seg->nb_idle = 0;
}

/** Go on, and end when all is settled. 0, or -EAGAIN: nothing is in flight that would go on. */
static int
segment_turn(struct plx_segment *seg)
{
	int err = pieces_submit(seg);

	if (err != 0 && err != -EAGAIN)
		seg->refused = err;
	if (seg->in_flight > 0)
		return 0;
	if (has_more(seg))
		return -EAGAIN;
	if (seg->status == PLX_ST_SUCCESS && seg->refused != 0) { /* all before it are there: it is the first that failed */
		seg->status = PLX_ST_POST_FAILED;
		seg->post_errno = seg->refused;
	}
	ops_put(seg);
	seg->conf.done_cb(seg, seg->conf.arg);
	return 0;
}

/** Pieces complete in order, so that those before the first failure are all there, and that is the cause. */
static void
piece_done(struct plx_op *op, void *arg)
{
	struct plx_segment *seg = arg;

	seg->in_flight--;
	seg->idle[seg->nb_idle++] = op;
	if (seg->status == PLX_ST_SUCCESS && op->status != PLX_ST_SUCCESS) {
		seg->status = op->status;
		seg->vendor_err = op->vendor_err;
		seg->raw_status = op->raw_status;
		seg->post_errno = op->status == PLX_ST_POST_FAILED ? op->post_errno : 0;
	} else if (seg->status == PLX_ST_SUCCESS) {
		seg->nb_done++;
	}
	segment_turn(seg);
}

/* ---- from outside -------------------------------------------------------------------------- */

static int
conf_check(const struct plx_segment_conf *conf)
{
	if (conf->opcode != PLX_OPCODE_WRITE && conf->opcode != PLX_OPCODE_READ) {
		PLX_LOG(ERR, "segment: a transfer is a write or a read, not a %s", plx_opcode_name(conf->opcode));
		return -ENOTSUP;
	}
	if (conf->window > PLX_SEGMENT_WINDOW) {
		PLX_LOG(ERR, "segment: a window of %u pieces, the maximum is %u", conf->window, PLX_SEGMENT_WINDOW);
		return -EINVAL;
	}
	return plx_remote_check(&conf->remote, conf->off, conf->local.len,
		conf->opcode == PLX_OPCODE_READ ? PLX_ACCESS_REMOTE_READ : PLX_ACCESS_REMOTE_WRITE);
}

int
plx_segment_start(struct plx_segment *seg, const struct plx_segment_conf *conf)
{
	unsigned int window = conf->window != 0 ? conf->window : 2;
	uint64_t piece = RTE_MAX(conf->conn->max_msg_sz, 1u), len = conf->local.len;
	int err = conf_check(conf);

	if (err != 0)
		return err;
	*seg = (struct plx_segment){
		.conf = *conf,
		.piece_len = piece,
		.nb_pieces = len == 0 ? 1 : len / piece + (len % piece != 0), /* no bytes are one op, too */
	};
	window = (unsigned int)RTE_MIN(seg->nb_pieces, window);
	err = plx_op_get_bulk(conf->conn->dispatcher->pool, seg->idle, window);
	if (err != 0)
		return err;
	seg->nb_idle = window;
	err = pieces_submit(seg);
	if (seg->in_flight > 0) /* what is wrong with a later piece shows when this one completes */
		return 0;
	ops_put(seg);
	return err;
}

int
plx_segment_advance(struct plx_segment *seg)
{
	return seg->in_flight > 0 || !has_more(seg) ? 0 : segment_turn(seg);
}
