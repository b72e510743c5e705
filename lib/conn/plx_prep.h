/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_PREP_H
#define PLX_PREP_H

/**
 * @file
 * Prepare ops on views and remote memory: range and rights are looked at here, and what is wrong is told by
 * submit, before the wire (plx_conn_submit_burst() lists the errors).
 *
 * @since 0.1
 */

#include <errno.h>

#include "plx_memory.h"
#include "plx_mw.h"
#include "plx_op_kinds.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Aim a prepared op of @p len bytes at @p to at @p off, where it needs @p right. */
PLX_INLINE void
plx_prep_set_remote(struct plx_op *op, const struct plx_remote *to, uint64_t off, uint64_t len, uint32_t right)
{
	int err = plx_remote_check(to, off, len, right);

	if (!plx_op_is_prepared(op))
		return;
	plx_op_unnote(op, PLX_OP_BAD_RANGE | PLX_OP_BAD_RIGHTS);
	plx_op_set_remote(op, to->addr + off, to->rkey);
	if (err != 0)
		plx_op_note(op, err == -ERANGE ? PLX_OP_BAD_RANGE : PLX_OP_BAD_RIGHTS);
	if (right == PLX_ACCESS_REMOTE_ATOMIC && (to->addr + off) % PLX_OP_ATOMIC_LEN != 0)
		plx_op_note(op, PLX_OP_BAD_ALIGN);
}

/** Write the view @p from to @p to at @p off. */
PLX_INLINE void
plx_prep_write(struct plx_op *op, const struct plx_view *from, const struct plx_remote *to, uint64_t off,
	plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_WRITE, from->addr, from->len, from->lkey, cb, arg);
	plx_prep_set_remote(op, to, off, from->len, PLX_ACCESS_REMOTE_WRITE);
}

/** The same, which also consumes a receive of the peer's and tells it @p imm. */
PLX_INLINE void
plx_prep_write_imm(struct plx_op *op, const struct plx_view *from, const struct plx_remote *to, uint64_t off, uint32_t imm,
	plx_op_cb_t cb, void *arg)
{
	plx_op_prep_write_imm(op, from->addr, from->len, from->lkey, 0, 0, imm, cb, arg);
	plx_prep_set_remote(op, to, off, from->len, PLX_ACCESS_REMOTE_WRITE);
}

/** Read as many bytes as @p into has from @p from at @p off. */
PLX_INLINE void
plx_prep_read(struct plx_op *op, const struct plx_view *into, const struct plx_remote *from, uint64_t off,
	plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_READ, into->addr, into->len, into->lkey, cb, arg);
	plx_prep_set_remote(op, from, off, into->len, PLX_ACCESS_REMOTE_READ);
}

/** plx_op_prep_cmp_swap() on the word of @p at at @p off; the old value comes to @p old, a view of 8 bytes. */
PLX_INLINE void
plx_prep_cmp_swap(struct plx_op *op, const struct plx_view *old, const struct plx_remote *at, uint64_t off,
	uint64_t expected, uint64_t desired, plx_op_cb_t cb, void *arg)
{
	plx_op_prep_atomic(op, PLX_OPCODE_CMP_SWAP, old->addr, old->len, old->lkey, 0, 0, expected, desired, cb, arg);
	plx_prep_set_remote(op, at, off, PLX_OP_ATOMIC_LEN, PLX_ACCESS_REMOTE_ATOMIC);
}

/** plx_op_prep_fetch_add(), likewise. */
PLX_INLINE void
plx_prep_fetch_add(struct plx_op *op, const struct plx_view *old, const struct plx_remote *at, uint64_t off, uint64_t add,
	plx_op_cb_t cb, void *arg)
{
	plx_op_prep_atomic(op, PLX_OPCODE_FETCH_ADD, old->addr, old->len, old->lkey, 0, 0, add, 0, cb, arg);
	plx_prep_set_remote(op, at, off, PLX_OP_ATOMIC_LEN, PLX_ACCESS_REMOTE_ATOMIC);
}

/** The right that an op of @p opcode needs there. */
PLX_INLINE uint32_t
plx_prep_right(unsigned int opcode)
{
	switch (opcode) {
	case PLX_OPCODE_READ:
		return PLX_ACCESS_REMOTE_READ;
	case PLX_OPCODE_CMP_SWAP:
	case PLX_OPCODE_FETCH_ADD:
		return PLX_ACCESS_REMOTE_ATOMIC;
	default:
		return PLX_ACCESS_REMOTE_WRITE;
	}
}

/**
 * Give a prepared write, read or atomic the @p n SGEs at @p list, and look again at all that is remote, as if it had been
 * prepared so: with plx_op_set_sges() alone the range would be that of the one buffer.
 */
PLX_INLINE void
plx_prep_set_sges(struct plx_op *op, const struct plx_sge *list, uint32_t n, const struct plx_remote *to, uint64_t off)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		len += list[i].length;
	plx_op_set_sges(op, list, n);
	plx_prep_set_remote(op, to, off, len, plx_prep_right(op->wr.opcode));
}

/** Send the view @p from. */
PLX_INLINE void
plx_prep_send(struct plx_op *op, const struct plx_view *from, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_SEND, from->addr, from->len, from->lkey, cb, arg);
}

/** The same with @p imm. */
PLX_INLINE void
plx_prep_send_imm(struct plx_op *op, const struct plx_view *from, uint32_t imm, plx_op_cb_t cb, void *arg)
{
	plx_op_prep_send_imm(op, from->addr, from->len, from->lkey, imm, cb, arg);
}

/** The same, which gives @p window back to the peer: its rkey, that of a window, opens nothing any more. */
PLX_INLINE void
plx_prep_send_inv(struct plx_op *op, const struct plx_view *from, const struct plx_remote *window, plx_op_cb_t cb, void *arg)
{
	plx_op_prep_send_inv(op, from->addr, from->len, from->lkey, window->rkey, cb, arg);
}

/** Receive into the view @p into, which needs local write. */
PLX_INLINE void
plx_prep_recv(struct plx_op *op, const struct plx_view *into, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_RECV, into->addr, into->len, into->lkey, cb, arg);
}

/**
 * Bind @p mw to the view @p part of its region with @p rights, for the peer of the connection that the op is submitted on.
 * *remote, unless NULL, is what that peer may be given once the op has completed, and what takes it back: mw->rkey is its
 * rkey until the next bind of the window is prepared, submitted or not.
 * 0; or those of plx_mw_bind_wr(), or -EBUSY, it is posted: the op and the window are as they were. Whoever has the window.
 */
PLX_INLINE int
plx_prep_bind(struct plx_op *op, struct plx_mw *mw, const struct plx_view *part, uint32_t rights, struct plx_remote *remote,
	plx_op_cb_t cb, void *arg)
{
	uint32_t bound = mw->rkey;
	struct plx_wr wr;
	int err = plx_mw_bind_wr(mw, (uintptr_t)part->addr, part->len, rights, &wr);

	if (err != 0)
		return err;
	plx_op_prep(op, PLX_OPCODE_BIND_MW, NULL, 0, 0, cb, arg);
	if (!plx_op_is_prepared(op)) {
		mw->rkey = bound;
		return -EBUSY;
	}
	op->wr.imm = wr.imm;
	op->wr.rkey = wr.rkey;
	plx_op_set_remote(op, wr.remote_addr, wr.rkey);
	op->wr.compare_add = wr.compare_add;
	op->wr.swap = wr.swap;
	if (remote != NULL) {
		remote->addr = wr.remote_addr;
		remote->len = part->len;
		remote->rkey = wr.rkey;
		remote->rights = rights;
	}
	return 0;
}

/** Take back @p window, which plx_prep_bind() made: only its bind knows its rkey for certain. */
PLX_INLINE void
plx_prep_local_inv(struct plx_op *op, const struct plx_remote *window, plx_op_cb_t cb, void *arg)
{
	plx_op_prep_local_inv(op, window->rkey, cb, arg);
}

#ifdef __cplusplus
}
#endif

#endif
