/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_SEGMENT_H
#define PLX_SEGMENT_H

/**
 * @file
 * One write or read that is longer than a message may be: cut into ops, completed once.
 *
 *      |------------------------------- len ------------------------------|
 *      | max_msg_sz       | max_msg_sz       | max_msg_sz       | rest    |      pieces, in order
 *        done               in flight          in flight          to come        at most `window` in flight
 *                                                                      '-- done_cb, once, behind the last
 *
 * The ops are taken from the pool at the start and used again from piece to piece: nothing is allocated. A send queue that
 * is full stops nothing while a piece is in flight, for its completion goes on. Only if others fill the queue and no piece
 * of this transfer is in flight does it stand still, until plx_segment_advance() is called after progress.
 *
 * Threads: all of it on the lcore where the connection's callbacks run.
 *
 * @since 0.1
 */

#include "plx_conn.h"
#include "plx_prep.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Pieces in flight at most. */
#define PLX_SEGMENT_WINDOW 8

struct plx_segment;

/** All pieces are settled. The struct is the caller's again: it may be started anew here. */
typedef void (*plx_segment_cb_t)(struct plx_segment *seg, void *arg);

/** What is to be moved. */
struct plx_segment_conf {
	struct plx_conn *conn;
	enum plx_opcode opcode;	  /**< PLX_OPCODE_WRITE or PLX_OPCODE_READ */
	struct plx_view local;	  /**< source of a write, target of a read; any length */
	struct plx_remote remote; /**< the peer's memory */
	uint64_t off;		  /**< where in there */
	unsigned int window;	  /**< pieces in flight, up to PLX_SEGMENT_WINDOW; 0: 2 */
	plx_segment_cb_t done_cb;
	void *arg;
};

/** One transfer. The caller's memory, until done_cb. Read the result; the rest is the library's. */
struct plx_segment {
	uint32_t status;     /**< PLX_ST_SUCCESS, or that of the first piece that failed */
	uint32_t vendor_err; /**< of that piece, as of any op; likewise the next two */
	uint32_t raw_status;
	int32_t post_errno;  /**< -errno with PLX_ST_POST_FAILED: of submit, or of the owner's post */
	uint64_t nb_done;    /**< pieces that succeeded, from the first on without a gap */

	uint64_t nb_pieces, next; /**< next: the first that was not submitted yet */
	uint64_t piece_len;
	int refused; /**< what submit said of piece `next`, unless it may be asked again */
	unsigned int in_flight, nb_idle;
	struct plx_op *idle[PLX_SEGMENT_WINDOW];
	struct plx_segment_conf conf;
};

/**
 * Begin. 0: taken, and done_cb will come. Else nothing was taken:
 * -ENOTSUP neither write nor read; -EINVAL the window; -ERANGE, -EACCES the remote range or its rights; -EAGAIN no op in the
 * pool, or no room in the queue for a first piece: retry after progress; and what plx_conn_submit() says.
 */
int plx_segment_start(struct plx_segment *seg, const struct plx_segment_conf *conf);

/**
 * Go on, if the transfer stands still (see above); else nothing happens.
 * 0: it goes on, or has ended with done_cb in here; -EAGAIN: still no room, retry after progress.
 */
int plx_segment_advance(struct plx_segment *seg);

/** Bytes that have been moved, from the beginning on without a gap; of a transfer that failed too. */
PLX_INLINE uint64_t
plx_segment_moved(const struct plx_segment *seg)
{
	return seg->nb_done == seg->nb_pieces ? seg->conf.local.len : seg->nb_done * seg->piece_len;
}

#ifdef __cplusplus
}
#endif

#endif
