/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_op.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "plx_op_pool.h"
#include "plx_op_queue.h"

static_assert(sizeof(struct plx_wr) == 56, "the WR and the device word share a cache line");
static_assert(offsetof(struct plx_op, sge) == 64, "hot fields: line 1");
static_assert(offsetof(struct plx_op, pool) == 128, "hot fields: two lines");
static_assert(offsetof(struct plx_op, sges) == 192, "cold fields: one line");
static_assert(offsetof(struct plx_op, wr) == 0, "a table of ops is a table of WRs");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "PLX_OP_CUSTODY()");

#define SAME(of_op, of_wc)                                                                                   \
	static_assert(offsetof(struct plx_op, of_op) - offsetof(struct plx_op, byte_len) ==                  \
			offsetof(struct plx_wc, of_wc) - offsetof(struct plx_wc, byte_len),                  \
		"results are taken over as a whole")

SAME(imm, imm);
SAME(qp_num, qp_num);
SAME(status, status);
SAME(reported, opcode);
SAME(wc_flags, flags);
SAME(reserved, no_qp_num);

void
plx_op_polled(struct plx_op *op, void *arg)
{
}

void
plx_op_init(struct plx_op *op, struct plx_op_pool *pool, uint64_t id)
{
	memset(op, 0, sizeof(*op));
	op->wr.wr_id = id;
	op->wr.sg_list = &op->sge;
	op->cb = plx_op_polled;
	op->home = PLX_HOME_ANY;
	plx_op_leave_queue(op);
	op->pool = pool;
}

/** Forget what is rare about a use that is over; false if it is not, since the device still has the op. */
static bool
forget_more(struct plx_op *op)
{
	/* Acquire pairs with plx_op_device_done(), whose half may have been the first. */
	if (__atomic_load_n(&op->halves, __ATOMIC_ACQUIRE) > 1)
		return false;
	__atomic_store_n(&op->halves, 0, __ATOMIC_RELAXED);
	op->deadline = 0;
	return true;
}

bool
plx_op_begin_again(struct plx_op *op)
{
	if (op->state & PLX_OP_IN_CUSTODY)
		return false;
	if (op->attention & PLX_OP_OWN_MORE) {
		if (!forget_more(op))
			return false;
		op->list_kept = false;
	}
	if (op->state == PLX_OP_COMPLETED)
		plx_op_renew(op);
	op->wr.sg_list = &op->sge;
	return true;
}

bool
plx_op_end_more(struct plx_op *op)
{
	if ((op->state & PLX_OP_IN_CUSTODY) || !forget_more(op))
		return false;
	op->list_kept = false;
	op->wr.sg_list = &op->sge;
	__atomic_store_n(&op->attention, 0, __ATOMIC_RELAXED); /* others may look at its custody, by an id that they know */
	return true;
}

int
plx_op_again(struct plx_op *op)
{
	if (op->state != PLX_OP_COMPLETED || ((op->attention & PLX_OP_OWN_MORE) && !forget_more(op)))
		return -EBUSY;
	plx_op_renew(op);
	plx_op_prepared_again(op);
	return 0;
}

/* ---- an op that was settled while the device has it ----------------------------------------- */

/** One of the two lets go; the second one has the node for itself. */
static void
half_done(struct plx_op *op)
{
	/* Each releases what it did to the op, and the second one acquires it. */
	if (__atomic_sub_fetch(&op->halves, 1, __ATOMIC_ACQ_REL) == 0)
		plx_op_put(op);
}

void
plx_op_split(struct plx_op *op)
{
	__atomic_store_n(&op->halves, 2, __ATOMIC_RELAXED); /* whoever waits for it gets it from here */
	/* A byte of its own: home may be writing the state. */
	__atomic_store_n(&op->attention, op->attention | PLX_OP_OWN_MORE, __ATOMIC_RELAXED);
	plx_op_arm_watched(op);
}

void
plx_op_device_done(struct plx_op *op)
{
	/* Pairs with the acquire in plx_op_in_device(). */
	__atomic_store_n(&op->device_word, 0, __ATOMIC_RELEASE);
	half_done(op);
}

bool
plx_op_leave(struct plx_op *op)
{
	if (op->state & PLX_OP_IN_CUSTODY)
		return false;
	plx_op_set_state(op, PLX_OP_FREE);
	half_done(op);
	return true;
}

/* ---- its list ------------------------------------------------------------------------------- */

void
plx_op_own_sges(struct plx_op *op)
{
	const struct plx_sge *list = op->wr.sg_list;
	uint32_t nb = 0;

	for (uint32_t i = 0; i < op->wr.num_sge; i++)
		if (list[i].length != 0)
			op->sges[nb++] = list[i];
	if (list != op->sges && list != &op->sge) { /* nobody needs that one while there is a list */
		op->sge.addr = (uintptr_t)list;
		op->sge.length = op->wr.num_sge;
		op->list_kept = true;
	}
	op->wr.sg_list = op->sges;
	op->wr.num_sge = nb;
}

static void
callers_list_again(struct plx_op *op)
{
	op->wr.sg_list = (const struct plx_sge *)(uintptr_t)op->sge.addr;
	op->wr.num_sge = op->sge.length;
	op->list_kept = false;
}

void
plx_op_prepared_again(struct plx_op *op)
{
	uint16_t home = op->attention & PLX_OP_OWN_HOME ? op->home : PLX_HOME_ANY;
	uint8_t flags;

	if ((op->attention & PLX_OP_OWN_MORE) && op->list_kept)
		callers_list_again(op);
	if (op->wr.flags & PLX_OP_LATE_OK)
		op->wr.flags |= PLX_WR_SIGNALED; /* the next post decides anew */
	flags = op->wr.flags != PLX_WR_SIGNALED ? PLX_OP_OWN_FLAGS : 0;

	plx_op_set_custody(op, PLX_OP_CUSTODY(home, PLX_OP_PREPARED, op->attention | flags));
}

void
plx_op_result(const struct plx_op *op, struct plx_result *res)
{
	bool failed = op->status != PLX_ST_SUCCESS;

	*res = (struct plx_result){
		.status = (enum plx_status)op->status,
		.kind = plx_op_kind(op),
		.byte_len = op->byte_len,
		.imm = op->imm,
		.inv_rkey = op->wc_flags & PLX_WC_WITH_INV ? op->inv_rkey : 0,
		.wc_flags = op->wc_flags,
		.qp_num = op->qp_num,
		.vendor_err = failed ? op->vendor_err : 0,
		.raw_status = failed ? op->raw_status : 0,
		.post_errno = op->status == PLX_ST_POST_FAILED ? op->post_errno : 0,
		.conn = plx_op_queue_conn(op->queue),
	};
}
