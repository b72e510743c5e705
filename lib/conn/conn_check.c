/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include "conn_internal.h"

uint64_t
conn_op_length(const struct plx_op *op)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < op->wr.num_sge; i++)
		len += op->wr.sg_list[i].length;
	return len;
}

static bool
op_is_atomic(const struct plx_op *op)
{
	return op->wr.opcode == PLX_OPCODE_CMP_SWAP || op->wr.opcode == PLX_OPCODE_FETCH_ADD;
}

/** SGEs that have bytes. */
static uint32_t
op_sges(const struct plx_op *op)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < op->wr.num_sge; i++)
		nb += op->wr.sg_list[i].length != 0;
	return nb;
}

/** Bytes that may be inline: of what carries none from here, none. */
static uint32_t
inline_limit(const struct plx_conn *conn, const struct plx_op *op)
{
	return op->wr.opcode < PLX_OPCODE_READ ? conn->cap.inline_len : 0;
}

static uint32_t
sge_limit(const struct plx_conn *conn, const struct plx_op *op)
{
	if (op->wr.opcode == PLX_OPCODE_RECV)
		return conn->cap.recv_sge;
	if (op->wr.opcode == PLX_OPCODE_READ)
		return RTE_MIN(conn->cap.send_sge, conn->max_sge_rd);
	return conn->cap.send_sge;
}

static int
refuse(struct plx_submit_err *err, int code, uint64_t got, uint64_t limit)
{
	*err = (struct plx_submit_err){.code = code, .got = got, .limit = limit};
	return code;
}

/** Sizes, in the order that plx_conn_submit_burst() lists. */
static int
check_sizes(const struct plx_conn *conn, const struct plx_op *op, struct plx_submit_err *err)
{
	uint64_t len = conn_op_length(op);

	if (op->attention & PLX_OP_BAD_LENGTH)
		return refuse(err, -EOVERFLOW, UINT64_C(1) << 32, UINT32_MAX);
	/* A receive may be larger than any message. */
	if (len > conn->max_msg_sz && op->wr.opcode != PLX_OPCODE_RECV)
		return refuse(err, -EMSGSIZE, len, conn->max_msg_sz);
	if (op->attention & PLX_OP_BAD_RANGE)
		return refuse(err, -ERANGE, len, 0);
	if ((op->wr.flags & PLX_WR_INLINE) && op->wr.opcode != PLX_OPCODE_RECV && len > inline_limit(conn, op))
		return refuse(err, -ENOBUFS, len, inline_limit(conn, op));
	if (op_sges(op) > sge_limit(conn, op))
		return refuse(err, -E2BIG, op_sges(op), sge_limit(conn, op));
	if (op_sges(op) < op->wr.num_sge && op_sges(op) > PLX_OP_SGES)
		return refuse(err, -E2BIG, op_sges(op), PLX_OP_SGES); /* conn_strip_sges() needs room for them */
	return 0;
}

void
conn_strip_sges(struct plx_op *op)
{
	if (op_sges(op) != op->wr.num_sge)
		plx_op_own_sges(op);
}

int
plx_conn_check(const struct plx_conn *conn, const struct plx_op_queue *q, const struct plx_op *op,
	struct plx_submit_err *err)
{
	uint32_t kinds = q == &conn->sq ? conn->kinds : PLX_KIND(PLX_OPCODE_RECV);
	uint8_t state = __atomic_load_n(&op->state, __ATOMIC_RELAXED);
	int code;

	if (state != PLX_OP_PREPARED)
		return refuse(err, -EBUSY, state, PLX_OP_PREPARED);
	if (op->wr.opcode >= PLX_NB_OPCODES || !(kinds >> op->wr.opcode & 1))
		return refuse(err, -ENOTSUP, op->wr.opcode, kinds);
	/* Without a completion of its own it would pass for lost, and its node would not come back before the close. */
	if (op->wr.opcode != PLX_OPCODE_RECV && !(op->wr.flags & (PLX_WR_SIGNALED | PLX_OP_LATE_OK)))
		return refuse(err, -ENOTSUP, op->wr.flags, op->wr.flags | PLX_WR_SIGNALED);
	if ((op->attention & PLX_OP_OWN_HOME) && !plx_dispatcher_has_home(conn->dispatcher, op->home))
		return refuse(err, -EINVAL, op->home, conn->home);
	if ((op->attention & PLX_OP_OWN_MORE) && op->deadline != 0) {
		if (conn->group == NULL)
			return refuse(err, -ENOTSUP, op->deadline, 0);
		if (op->pool != conn->dispatcher->pool) /* the deadlines have room for the ops of that one */
			return refuse(err, -EINVAL, op->deadline, 0);
	}
	code = check_sizes(conn, op, err);
	if (code != 0)
		return code;
	if (((op->attention & PLX_OP_BAD_ATOMIC) || op_is_atomic(op)) && conn_op_length(op) != PLX_OP_ATOMIC_LEN)
		return refuse(err, -EINVAL, conn_op_length(op), 8);
	/* Noted at prep, of an address that another may have replaced since. */
	if (((op->attention & PLX_OP_BAD_ALIGN) || op_is_atomic(op)) && op->wr.remote_addr % 8 != 0)
		return refuse(err, -EFAULT, op->wr.remote_addr % 8, 0);
	if (op->attention & PLX_OP_BAD_RIGHTS)
		return refuse(err, -EACCES, 0, 0);
	return 0;
}
