/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_OP_KINDS_H
#define PLX_OP_KINDS_H

/**
 * @file
 * Prepare an op of each kind from raw numbers. plx_prep.h has the same on views and remotes, with range and rights checked.
 *
 *      kind                here                        there                       the result has
 *      send-imm            buffer                      a receive                   there: imm
 *      send-inv            buffer                      a receive, a window         there: inv_rkey
 *      write, read         buffer                      remote_addr, rkey           read: byte_len
 *      write-imm           buffer                      the same, and a receive     there: kind recv-write-imm, imm
 *      compare-and-swap    8 bytes for the old value   8 bytes, aligned            plx_conn_old_value()
 *      fetch-and-add       the same                    the same                    the same
 *      local-inv           the rkey of a window        -                           -
 *
 * All as plx_op_prep(): a posted op is left alone. Each op may be given flags, a home and, where there is a buffer, a list.
 * Immediates are in host order. Threads: whoever has the op.
 *
 * @since 0.1
 */

#include "plx_op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** plx_op_prep() of a send that brings @p imm. */
PLX_INLINE void
plx_op_prep_send_imm(struct plx_op *op, const void *addr, size_t len, uint32_t lkey, uint32_t imm, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_SEND_IMM, addr, len, lkey, cb, arg);
	if (plx_op_is_prepared(op))
		op->wr.imm = imm;
}

/** plx_op_prep() of a send that makes the peer's window of @p rkey, one that it bound on this connection, unbound. */
PLX_INLINE void
plx_op_prep_send_inv(struct plx_op *op, const void *addr, size_t len, uint32_t lkey, uint32_t rkey, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_SEND_INV, addr, len, lkey, cb, arg);
	if (plx_op_is_prepared(op))
		op->wr.rkey = rkey;
}

/** plx_op_prep() of a write to @p remote_addr. */
PLX_INLINE void
plx_op_prep_write(struct plx_op *op, const void *addr, size_t len, uint32_t lkey, uint64_t remote_addr, uint32_t rkey,
	plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_WRITE, addr, len, lkey, cb, arg);
	if (plx_op_is_prepared(op))
		plx_op_set_remote(op, remote_addr, rkey);
}

/** The same, which also consumes a receive of the peer's and tells it @p imm. */
PLX_INLINE void
plx_op_prep_write_imm(struct plx_op *op, const void *addr, size_t len, uint32_t lkey, uint64_t remote_addr, uint32_t rkey,
	uint32_t imm, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_WRITE_IMM, addr, len, lkey, cb, arg);
	if (!plx_op_is_prepared(op))
		return;
	plx_op_set_remote(op, remote_addr, rkey);
	op->wr.imm = imm;
}

/** plx_op_prep() of a read from @p remote_addr. */
PLX_INLINE void
plx_op_prep_read(struct plx_op *op, void *addr, size_t len, uint32_t lkey, uint64_t remote_addr, uint32_t rkey,
	plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_READ, addr, len, lkey, cb, arg);
	if (plx_op_is_prepared(op))
		plx_op_set_remote(op, remote_addr, rkey);
}

/**
 * Both atomics: @p len bytes at @p old, of which there must be 8 (EINVAL at submit) and which need no alignment, and
 * the word at
 * @p remote_addr, which does (EFAULT).
 */
PLX_INLINE void
plx_op_prep_atomic(struct plx_op *op, enum plx_opcode opcode, void *old, size_t len, uint32_t lkey, uint64_t remote_addr, uint32_t rkey,
	uint64_t compare_add, uint64_t swap, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, opcode, old, len, lkey, cb, arg);
	if (!plx_op_is_prepared(op))
		return;
	plx_op_set_remote(op, remote_addr, rkey);
	op->wr.compare_add = compare_add;
	op->wr.swap = swap;
	if (remote_addr % PLX_OP_ATOMIC_LEN != 0)
		plx_op_note(op, PLX_OP_BAD_ALIGN);
}

/** If the word at @p remote_addr is @p expected, make it @p desired. Its old value comes to @p old either way. */
PLX_INLINE void
plx_op_prep_cmp_swap(struct plx_op *op, void *old, uint32_t lkey, uint64_t remote_addr, uint32_t rkey, uint64_t expected,
	uint64_t desired, plx_op_cb_t cb, void *arg)
{
	plx_op_prep_atomic(op, PLX_OPCODE_CMP_SWAP, old, PLX_OP_ATOMIC_LEN, lkey, remote_addr, rkey, expected, desired, cb, arg);
}

/** Add @p add, modulo 2^64, to the word at @p remote_addr. Its old value comes to @p old. */
PLX_INLINE void
plx_op_prep_fetch_add(struct plx_op *op, void *old, uint32_t lkey, uint64_t remote_addr, uint32_t rkey, uint64_t add,
	plx_op_cb_t cb, void *arg)
{
	plx_op_prep_atomic(op, PLX_OPCODE_FETCH_ADD, old, PLX_OP_ATOMIC_LEN, lkey, remote_addr, rkey, add, 0, cb, arg);
}

/** Make the window of @p rkey, bound on this connection, unbound. */
PLX_INLINE void
plx_op_prep_local_inv(struct plx_op *op, uint32_t rkey, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_LOCAL_INV, NULL, 0, 0, cb, arg);
	if (plx_op_is_prepared(op))
		op->wr.rkey = rkey;
}

/**
 * The 8 bytes that a COMPLETED atomic of one buffer brought, as the device left them: plx_conn_old_value() knows the
 * order.
 */
PLX_INLINE uint64_t
plx_op_raw_value(const struct plx_op *op)
{
	uint64_t raw;

	__builtin_memcpy(&raw, (const void *)(uintptr_t)op->sge.addr, sizeof(raw));
	return raw;
}

#ifdef __cplusplus
}
#endif

#endif
