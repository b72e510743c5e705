/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Completions, from libibverbs' words to ours. Which fields count when is ibv_poll_cq(3)'s.
 */

#include "plx_verbs.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>

static_assert(sizeof(struct plx_sge) == sizeof(struct ibv_sge), "SGE lists are passed without a copy");
static_assert(offsetof(struct plx_sge, addr) == offsetof(struct ibv_sge, addr), "addr");
static_assert(offsetof(struct plx_sge, length) == offsetof(struct ibv_sge, length), "length");
static_assert(offsetof(struct plx_sge, lkey) == offsetof(struct ibv_sge, lkey), "lkey");
static_assert(PLX_OPCODE_SEND == 0 && PLX_OPCODE_LOCAL_INV == 9, "the order in plx_verbs_opcode()");

#define SAME(st) static_assert((int)PLX_ST_##st == (int)IBV_WC_##st, "our status numbers are ibv's")

SAME(SUCCESS);
SAME(LOC_LEN_ERR);
SAME(LOC_QP_OP_ERR);
SAME(LOC_EEC_OP_ERR);
SAME(LOC_PROT_ERR);
SAME(WR_FLUSH_ERR);
SAME(MW_BIND_ERR);
SAME(BAD_RESP_ERR);
SAME(LOC_ACCESS_ERR);
SAME(REM_INV_REQ_ERR);
SAME(REM_ACCESS_ERR);
SAME(REM_OP_ERR);
SAME(RETRY_EXC_ERR);
SAME(RNR_RETRY_EXC_ERR);
SAME(LOC_RDD_VIOL_ERR);
SAME(REM_INV_RD_REQ_ERR);
SAME(REM_ABORT_ERR);
SAME(INV_EECN_ERR);
SAME(INV_EEC_STATE_ERR);
SAME(FATAL_ERR);
SAME(RESP_TIMEOUT_ERR);
SAME(GENERAL_ERR);
SAME(TM_ERR);
SAME(TM_RNDV_INCOMPLETE);

static int
wc_error(struct plx_wc *wc, const struct ibv_wc *ibv)
{
	bool known = ibv->status <= IBV_WC_TM_RNDV_INCOMPLETE;

	*wc = (struct plx_wc){
		.wr_id = ibv->wr_id,
		.qp_num = ibv->qp_num,
		.vendor_err = ibv->vendor_err,
		.raw_status = ibv->status,
		.status = known ? ibv->status : PLX_ST_OTHER,
	};
	return known ? 0 : -EINVAL;
}

/*
 * rxe of Linux 6.1 hands the kernel's number of the flag to programs, where it is another one. That one is of raw
 * packets and of datagrams; a reliable connection never has it.
 */
#define RXE_WC_WITH_INV IBV_WC_IP_CSUM_OK

static unsigned int
wc_opcode(enum ibv_wc_opcode opcode)
{
	switch (opcode) {
	case IBV_WC_SEND:
		return PLX_OPCODE_SEND;
	case IBV_WC_RDMA_WRITE:
		return PLX_OPCODE_WRITE;
	case IBV_WC_RDMA_READ:
		return PLX_OPCODE_READ;
	case IBV_WC_COMP_SWAP:
		return PLX_OPCODE_CMP_SWAP;
	case IBV_WC_FETCH_ADD:
		return PLX_OPCODE_FETCH_ADD;
	case IBV_WC_BIND_MW:
		return PLX_OPCODE_BIND_MW;
	case IBV_WC_LOCAL_INV:
		return PLX_OPCODE_LOCAL_INV;
	case IBV_WC_RECV:
		return PLX_OPCODE_RECV;
	case IBV_WC_RECV_RDMA_WITH_IMM:
		return PLX_OPCODE_RECV_WRITE_IMM;
	default:
		return PLX_NB_OPCODES;
	}
}

#define HAS_LEN                                                                                              \
	(PLX_KIND(PLX_OPCODE_READ) | PLX_KIND(PLX_OPCODE_RECV) | PLX_KIND(PLX_OPCODE_RECV_WRITE_IMM))
#define IS_ATOMIC (PLX_KIND(PLX_OPCODE_CMP_SWAP) | PLX_KIND(PLX_OPCODE_FETCH_ADD))

static uint32_t
wc_len(unsigned int opcode, uint32_t byte_len)
{
	if (PLX_KIND(opcode) & HAS_LEN)
		return byte_len;
	return PLX_KIND(opcode) & IS_ATOMIC ? sizeof(uint64_t) : 0;
}

int
plx_wc_from_ibv(struct plx_wc *wc, const struct ibv_wc *ibv)
{
	unsigned int opcode;

	if (ibv->status != IBV_WC_SUCCESS)
		return wc_error(wc, ibv);
	opcode = wc_opcode(ibv->opcode);
	*wc = (struct plx_wc){
		.wr_id = ibv->wr_id,
		.byte_len = wc_len(opcode, ibv->byte_len),
		.qp_num = ibv->qp_num,
		.opcode = opcode,
	};
	if (ibv->wc_flags & IBV_WC_WITH_IMM) {
		wc->imm = be32toh(ibv->imm_data);
		wc->flags = PLX_WC_WITH_IMM;
	} else if (ibv->wc_flags & (IBV_WC_WITH_INV | RXE_WC_WITH_INV)) {
		wc->inv_rkey = ibv->invalidated_rkey;
		wc->flags = PLX_WC_WITH_INV;
	}
	return opcode < PLX_NB_OPCODES ? 0 : -EINVAL;
}
