/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_op.h"

#include <assert.h>
#include <errno.h>

#include "plx_op_queue.h"

static_assert(sizeof(struct plx_wr) == 56, "the WR and the device word share a cache line");
static_assert(offsetof(struct plx_op, sge) == 64, "hot fields: line 1");
static_assert(offsetof(struct plx_op, pool) == 128, "hot fields: two lines");
static_assert(offsetof(struct plx_op, sges) == 192, "cold fields: one line");

bool
plx_op_begin_again(struct plx_op *op)
{
	if (op->state & PLX_OP_IN_CUSTODY)
		return false;
	if (op->state == PLX_OP_COMPLETED)
		plx_op_renew(op);
	return true;
}

int
plx_op_again(struct plx_op *op)
{
	if (op->state != PLX_OP_COMPLETED)
		return -EBUSY;
	plx_op_renew(op);
	plx_op_set_state(op, PLX_OP_PREPARED);
	return 0;
}

void
plx_op_result(const struct plx_op *op, struct plx_result *res)
{
	bool failed = op->status != PLX_ST_SUCCESS;

	*res = (struct plx_result){
		.status = (enum plx_status)op->status,
		.kind = (enum plx_opcode)op->kind,
		.byte_len = op->byte_len,
		.imm = op->imm,
		.inv_rkey = op->wc_flags & PLX_WC_WITH_INV ? op->inv_rkey : 0,
		.wc_flags = op->wc_flags,
		.qp_num = op->qp_num,
		.vendor_err = failed ? op->vendor_err : 0,
		.raw_status = failed ? op->raw_status : 0,
		.post_errno = op->status == PLX_ST_POST_FAILED ? op->post_errno : 0,
		.conn = op->queue != NULL ? op->queue->conn : NULL,
	};
}
