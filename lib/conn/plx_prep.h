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
#include "plx_op.h"

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
}

/** Write the view @p from to @p to at @p off. */
PLX_INLINE void
plx_prep_write(struct plx_op *op, const struct plx_view *from, const struct plx_remote *to, uint64_t off,
	plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_WRITE, from->addr, from->len, from->lkey, cb, arg);
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

/**
 * Give a prepared write or read the @p n SGEs at @p list, and look at the remote range again: with
 * plx_op_set_sges() alone it would be that of the one buffer.
 */
PLX_INLINE void
plx_prep_set_sges(struct plx_op *op, const struct plx_sge *list, uint32_t n, const struct plx_remote *to, uint64_t off)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		len += list[i].length;
	plx_op_set_sges(op, list, n);
	plx_prep_set_remote(op, to, off, len,
		op->wr.opcode == PLX_OPCODE_READ ? PLX_ACCESS_REMOTE_READ : PLX_ACCESS_REMOTE_WRITE);
}

/** Send the view @p from. */
PLX_INLINE void
plx_prep_send(struct plx_op *op, const struct plx_view *from, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_SEND, from->addr, from->len, from->lkey, cb, arg);
}

/** Receive into the view @p into, which needs local write. */
PLX_INLINE void
plx_prep_recv(struct plx_op *op, const struct plx_view *into, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_RECV, into->addr, into->len, into->lkey, cb, arg);
}

#ifdef __cplusplus
}
#endif

#endif
