/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Post and poll: exactly the calls that a program on libibverbs would make.
 *
 *      plx_wr *[n]  -->  ibv_send_wr[PLX_POST_BURST], a chain on the stack  -->  one ibv_post_send()
 *      plx_wc [n]   <--  ibv_wc[PLX_POLL_BURST] on the stack                <--  one ibv_poll_cq()
 *
 * The WRs are translated; their SGE lists are not, they are passed as they lie.
 *
 * Two things are refused here rather than left to the provider, because a provider (rxe, siw) puts
 * such a WR into the queue and then fails: the WR that was reported as not posted could complete
 * later. They are an opcode that the device does not have, and a send before the QP is up.
 */

#include "verbs_impl.h"

#include <assert.h>
#include <endian.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

static_assert(sizeof(struct plx_sge) == sizeof(struct ibv_sge), "SGE lists are passed without a copy");
static_assert(offsetof(struct plx_sge, addr) == offsetof(struct ibv_sge, addr), "addr");
static_assert(offsetof(struct plx_sge, length) == offsetof(struct ibv_sge, length), "length");
static_assert(offsetof(struct plx_sge, lkey) == offsetof(struct ibv_sge, lkey), "lkey");

static const uint8_t send_opcodes[PLX_NB_OPCODES] = {
	[PLX_OPCODE_SEND] = IBV_WR_SEND,
	[PLX_OPCODE_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
	[PLX_OPCODE_SEND_INV] = IBV_WR_SEND_WITH_INV,
	[PLX_OPCODE_WRITE] = IBV_WR_RDMA_WRITE,
	[PLX_OPCODE_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
	[PLX_OPCODE_READ] = IBV_WR_RDMA_READ,
	[PLX_OPCODE_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	[PLX_OPCODE_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	[PLX_OPCODE_LOCAL_INV] = IBV_WR_LOCAL_INV,
};

/** Each bit of ours is that of ibv's; four shifts that the compiler folds. */
static unsigned int
send_flags(uint8_t flags)
{
	return (flags & PLX_WR_SIGNALED ? IBV_SEND_SIGNALED : 0) | (flags & PLX_WR_FENCE ? IBV_SEND_FENCE : 0) |
		(flags & PLX_WR_SOLICITED ? IBV_SEND_SOLICITED : 0) |
		(flags & PLX_WR_INLINE ? IBV_SEND_INLINE : 0);
}

/** Writes what its opcode makes the provider read, not all of the 128 bytes. */
static void
send_wr_fill(struct ibv_send_wr *to, const struct plx_wr *from)
{
	to->wr_id = from->wr_id;
	/* libibverbs has no const here, and no provider writes to the list. */
	to->sg_list = (struct ibv_sge *)(uintptr_t)from->sg_list;
	to->num_sge = from->num_sge;
	to->opcode = send_opcodes[from->opcode];
	to->send_flags = send_flags(from->flags);
	switch (from->opcode) {
	case PLX_OPCODE_WRITE_IMM:
		to->imm_data = htobe32(from->imm);
		/* fallthrough */
	case PLX_OPCODE_WRITE:
	case PLX_OPCODE_READ:
		to->wr.rdma.remote_addr = from->remote_addr;
		to->wr.rdma.rkey = from->rkey;
		break;
	case PLX_OPCODE_CMP_SWAP:
	case PLX_OPCODE_FETCH_ADD:
		to->wr.atomic.remote_addr = from->remote_addr;
		to->wr.atomic.compare_add = from->compare_add;
		to->wr.atomic.swap = from->swap;
		to->wr.atomic.rkey = from->rkey;
		break;
	case PLX_OPCODE_SEND_IMM:
		to->imm_data = htobe32(from->imm);
		break;
	case PLX_OPCODE_SEND_INV:
	case PLX_OPCODE_LOCAL_INV:
		to->invalidate_rkey = from->rkey;
		break;
	default:
		break;
	}
}

/**
 * What a failed post did: *err, and how many of the chain were posted. A provider that does not
 * say where it stopped stopped at the first.
 */
static uint16_t
post_failed(int ret, ptrdiff_t bad, uint16_t n, int *err)
{
	*err = verbs_result(ret);
	return bad > 0 && bad < n ? bad : 0;
}

static bool
sendable(const struct verbs_qp *qp, const struct plx_wr *wr)
{
	return wr->opcode < PLX_OPCODE_RECV && (qp->kinds & PLX_KIND(wr->opcode));
}

/** Post @p n, at most PLX_POST_BURST, as one chain. */
static uint16_t
send_chain(struct verbs_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct ibv_send_wr chain[PLX_POST_BURST];
	struct ibv_send_wr *bad = NULL;
	uint16_t len;
	int ret;

	for (len = 0; len < n && sendable(qp, wrs[len]); len++) {
		send_wr_fill(&chain[len], wrs[len]);
		chain[len].next = &chain[len + 1];
	}
	if (unlikely(len < n))
		*err = -ENOTSUP; /* behind the part that can be posted */
	if (unlikely(len == 0))
		return 0;
	chain[len - 1].next = NULL;
	errno = 0;
	ret = ibv_post_send(qp->ibv, chain, &bad);
	if (likely(ret == 0))
		return len;
	return post_failed(ret, bad == NULL ? 0 : bad - chain, len, err);
}

static uint16_t
verbs_post_send(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct verbs_qp *qp = to_verbs_qp(base);
	uint16_t done = 0;

	if (unlikely(qp->ibv->state < IBV_QPS_RTS)) {
		*err = n == 0 || sendable(qp, wrs[0]) ? -EINVAL : -ENOTSUP;
		return 0;
	}
	while (done < n) {
		uint16_t part = RTE_MIN(n - done, PLX_POST_BURST);
		uint16_t posted = send_chain(qp, &wrs[done], part, err);

		done += posted;
		if (posted < part)
			break;
	}
	return done;
}

static uint16_t
recv_chain(struct verbs_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct ibv_recv_wr chain[PLX_POST_BURST];
	struct ibv_recv_wr *bad = NULL;
	int ret;

	for (uint16_t i = 0; i < n; i++) {
		chain[i].wr_id = wrs[i]->wr_id;
		chain[i].next = &chain[i + 1];
		chain[i].sg_list = (struct ibv_sge *)(uintptr_t)wrs[i]->sg_list;
		chain[i].num_sge = wrs[i]->num_sge;
	}
	chain[n - 1].next = NULL;
	errno = 0;
	ret = ibv_post_recv(qp->ibv, chain, &bad);
	if (likely(ret == 0))
		return n;
	return post_failed(ret, bad == NULL ? 0 : bad - chain, n, err);
}

static uint16_t
verbs_post_recv(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct verbs_qp *qp = to_verbs_qp(base);
	uint16_t done = 0;

	while (done < n) {
		uint16_t part = RTE_MIN(n - done, PLX_POST_BURST);
		uint16_t posted = recv_chain(qp, &wrs[done], part, err);

		done += posted;
		if (posted < part)
			break;
	}
	return done;
}

/** One ibv_poll_cq() unless @p n is above PLX_POLL_BURST and there is more. */
static int
verbs_poll_cq(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct ibv_cq *cq = to_verbs_cq(base)->ibv;
	struct ibv_wc ibv[PLX_POLL_BURST];
	uint16_t done = 0;

	while (done < n) {
		int part = RTE_MIN(n - done, PLX_POLL_BURST);
		int got = ibv_poll_cq(cq, part, ibv);

		if (unlikely(got < 0))
			return done > 0 ? done : -EIO;
		/* What a completion says that we do not know is in the WC; see plx_wc_from_ibv(). */
		for (int i = 0; i < got; i++)
			(void)plx_wc_from_ibv(&wcs[done + i], &ibv[i]);
		done += got;
		if (got < part)
			break;
	}
	return done;
}

const struct plx_fast_ops verbs_fast_ops = {
	.post_send = verbs_post_send,
	.post_recv = verbs_post_recv,
	.poll_cq = verbs_poll_cq,
};
