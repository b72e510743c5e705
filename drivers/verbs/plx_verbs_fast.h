/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_VERBS_FAST_H
#define PLX_VERBS_FAST_H

/**
 * @file
 * Post and poll on libibverbs: exactly the calls that a program on libibverbs would make. And as a constant table, for
 * programs that are compiled for it alone: from submit to `qp->context->ops.post_send` there is no indirect call then.
 *
 *      plx_wr *[n]  -->  ibv_send_wr[PLX_POST_BURST], a chain on the stack  -->  one ibv_post_send()
 *      plx_wc [n]   <--  ibv_wc[PLX_POLL_BURST] on the stack                <--  one ibv_poll_cq()
 *
 * The WRs are translated; their SGE lists are not, they are passed as they lie. A bind-mw is a chain of its own, since
 * the provider takes the window's old key from the window while it posts.
 *
 * Two things are refused here rather than left to the provider, because a provider (rxe, siw) puts
 * such a WR into the queue and then fails: the WR that was reported as not posted could complete
 * later. They are an opcode that the device does not have, and a send before the QP is up.
 *
 * The table is for QPs and CQs that the verbs driver made. Each file that names it has a copy, which does the same as
 * the one that they have at run time.
 * Threads: as the contract says, one owner per QP and CQ.
 *
 * @since 0.1
 */

#include <endian.h>
#include <errno.h>

#include "plx_verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The driver's CQ. */
struct plx_verbs_cq {
	struct plx_cq base;
	struct ibv_cq *ibv;
};

/** The driver's QP. */
struct plx_verbs_qp {
	struct plx_qp base;
	struct ibv_qp *ibv;
	uint32_t kinds; /**< the device's caps.kinds but bind-mw, beside what the post touches anyway */
	uint32_t psn;	/**< where our requests begin: fixed at creation, 24 bits */
	uint32_t binds; /**< 1: the device has bind-mw */
};

/** The driver's SRQ. */
struct plx_verbs_srq {
	struct plx_srq base;
	struct ibv_srq *ibv;
};

/** The verbs driver's CQ behind @p cq. */
PLX_INLINE struct plx_verbs_cq *
plx_verbs_to_cq(const struct plx_cq *cq)
{
	return plx_container_of(cq, struct plx_verbs_cq, base);
}

/** The verbs driver's QP behind @p qp. */
PLX_INLINE struct plx_verbs_qp *
plx_verbs_to_qp(const struct plx_qp *qp)
{
	return plx_container_of(qp, struct plx_verbs_qp, base);
}

/** The verbs driver's SRQ behind @p srq. */
PLX_INLINE struct plx_verbs_srq *
plx_verbs_to_srq(const struct plx_srq *srq)
{
	return plx_container_of(srq, struct plx_verbs_srq, base);
}

/** Why a libibverbs call that returns a pointer failed; some providers forget to say. */
PLX_INLINE int
plx_verbs_errno(void)
{
	return errno != 0 ? errno : EIO;
}

/**
 * One result of a libibverbs call that returns an int as 0 or -errno. Providers return a positive
 * errno (as documented), a negative one, or -1 with errno set.
 */
PLX_INLINE int
plx_verbs_result(int ret)
{
	if (ret == -1)
		return -plx_verbs_errno();
	return ret > 0 ? -ret : ret;
}

/** As much of @p left as one chain, or one poll, takes. */
PLX_INLINE uint16_t
plx_verbs_part(int left, int most)
{
	return (uint16_t)(left < most ? left : most);
}

/** Where we have opcodes that a device may take; the others never come here (plx_verbs_sendable()). */
PLX_INLINE enum ibv_wr_opcode
plx_verbs_opcode(uint8_t opcode)
{
	static const uint8_t table[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_INV, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD, 0 /* bind */, IBV_WR_LOCAL_INV};

	return (enum ibv_wr_opcode)table[opcode];
}

/** Each bit of ours is that of ibv's; four shifts that the compiler folds. */
PLX_INLINE unsigned int
plx_verbs_send_flags(uint8_t flags)
{
	return (flags & PLX_WR_SIGNALED ? IBV_SEND_SIGNALED : 0) | (flags & PLX_WR_FENCE ? IBV_SEND_FENCE : 0) |
		(flags & PLX_WR_SOLICITED ? IBV_SEND_SOLICITED : 0) |
		(flags & PLX_WR_INLINE ? IBV_SEND_INLINE : 0);
}

/** Writes what its opcode makes the provider read, not all of the 128 bytes. */
PLX_INLINE void
plx_verbs_send_wr_fill(struct ibv_send_wr *to, const struct plx_wr *from)
{
	to->wr_id = from->wr_id;
	/* libibverbs has no const here, and no provider writes to the list. */
	to->sg_list = (struct ibv_sge *)(uintptr_t)from->sg_list;
	to->num_sge = (int)from->num_sge;
	to->opcode = plx_verbs_opcode(from->opcode);
	to->send_flags = plx_verbs_send_flags(from->flags);
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
PLX_INLINE uint16_t
plx_verbs_post_failed(int ret, ptrdiff_t bad, uint16_t n, int *err)
{
	*err = plx_verbs_result(ret);
	return (uint16_t)(bad > 0 && bad < n ? bad : 0);
}

/** Whether the device has the operation of @p wr. */
PLX_INLINE bool
plx_verbs_sendable(const struct plx_verbs_qp *qp, const struct plx_wr *wr)
{
	return wr->opcode < PLX_OPCODE_RECV && (qp->kinds & PLX_KIND(wr->opcode));
}

/** Post @p n, at most PLX_POST_BURST, as one chain. */
PLX_INLINE uint16_t
plx_verbs_send_chain(struct plx_verbs_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct ibv_send_wr chain[PLX_POST_BURST];
	struct ibv_send_wr *bad = NULL;
	uint16_t len;
	int ret;

	for (len = 0; len < n && plx_verbs_sendable(qp, wrs[len]); len++) {
		plx_verbs_send_wr_fill(&chain[len], wrs[len]);
		chain[len].next = &chain[len + 1];
	}
	if (__builtin_expect(len < n, 0))
		*err = -ENOTSUP; /* behind the part that can be posted */
	if (__builtin_expect(len == 0, 0))
		return 0;
	chain[len - 1].next = NULL;
	errno = 0;
	ret = ibv_post_send(qp->ibv, chain, &bad);
	if (__builtin_expect(ret == 0, 1))
		return len;
	return plx_verbs_post_failed(ret, bad == NULL ? 0 : bad - chain, len, err);
}

/** Cold: post a bind-mw that the chain stopped at, alone. 1; or 0 with *err, -ENOTSUP for any other opcode. */
uint16_t plx_verbs_post_bind(struct plx_verbs_qp *qp, const struct plx_wr *wr, int *err);

/** post_send of the table. */
PLX_INLINE uint16_t
plx_verbs_post_send(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct plx_verbs_qp *qp = plx_verbs_to_qp(base);
	uint16_t done = 0;

	if (__builtin_expect(qp->ibv->state < IBV_QPS_RTS, 0)) {
		*err = n == 0 || plx_verbs_sendable(qp, wrs[0]) ? -EINVAL : -ENOTSUP;
		return 0;
	}
	while (done < n) {
		uint16_t part = plx_verbs_part(n - done, PLX_POST_BURST);
		uint16_t posted = plx_verbs_send_chain(qp, &wrs[done], part, err);

		done += posted;
		if (__builtin_expect(posted == part, 1))
			continue;
		if (*err != -ENOTSUP || plx_verbs_post_bind(qp, wrs[done], err) == 0)
			break;
		done++;
	}
	return done;
}

/** Translate @p n receives, at most PLX_POST_BURST, into @p chain. */
PLX_INLINE void
plx_verbs_recv_wrs_fill(struct ibv_recv_wr *chain, const struct plx_wr *const *wrs, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		chain[i].wr_id = wrs[i]->wr_id;
		chain[i].next = &chain[i + 1];
		chain[i].sg_list = (struct ibv_sge *)(uintptr_t)wrs[i]->sg_list;
		chain[i].num_sge = (int)wrs[i]->num_sge;
	}
	chain[n - 1].next = NULL;
}

/** Post @p n receives, at most PLX_POST_BURST, as one chain. */
PLX_INLINE uint16_t
plx_verbs_recv_chain(struct plx_verbs_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct ibv_recv_wr chain[PLX_POST_BURST];
	struct ibv_recv_wr *bad = NULL;
	int ret;

	plx_verbs_recv_wrs_fill(chain, wrs, n);
	errno = 0;
	ret = ibv_post_recv(qp->ibv, chain, &bad);
	if (__builtin_expect(ret == 0, 1))
		return n;
	return plx_verbs_post_failed(ret, bad == NULL ? 0 : bad - chain, n, err);
}

/** post_recv of the table. */
PLX_INLINE uint16_t
plx_verbs_post_recv(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct plx_verbs_qp *qp = plx_verbs_to_qp(base);
	uint16_t done = 0;

	if (__builtin_expect(base->srq != NULL, 0)) { /* siw divides by the size of the queue that is not there */
		*err = -EINVAL;
		return 0;
	}
	while (done < n) {
		uint16_t part = plx_verbs_part(n - done, PLX_POST_BURST);
		uint16_t posted = plx_verbs_recv_chain(qp, &wrs[done], part, err);

		done += posted;
		if (posted < part)
			break;
	}
	return done;
}

/** Post @p n receives, at most PLX_POST_BURST, as one chain; more SGEs than granted siw would take. */
PLX_INLINE uint16_t
plx_verbs_srq_chain(struct plx_verbs_srq *srq, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct ibv_recv_wr chain[PLX_POST_BURST];
	struct ibv_recv_wr *bad = NULL;
	uint16_t len = 0;
	int ret;

	while (len < n && wrs[len]->num_sge <= srq->base.recv_sge)
		len++;
	if (__builtin_expect(len < n, 0))
		*err = -EINVAL;
	if (__builtin_expect(len == 0, 0))
		return 0;
	plx_verbs_recv_wrs_fill(chain, wrs, len);
	errno = 0;
	ret = ibv_post_srq_recv(srq->ibv, chain, &bad);
	if (__builtin_expect(ret == 0, 1))
		return len;
	return plx_verbs_post_failed(ret, bad == NULL ? 0 : bad - chain, len, err);
}

/** post_srq_recv of the table. */
PLX_INLINE uint16_t
plx_verbs_post_srq_recv(struct plx_srq *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	uint16_t done = 0;

	while (done < n) {
		uint16_t part = plx_verbs_part(n - done, PLX_POST_BURST);
		uint16_t posted = plx_verbs_srq_chain(plx_verbs_to_srq(base), &wrs[done], part, err);

		done += posted;
		if (posted < part)
			break;
	}
	return done;
}

/** One ibv_poll_cq() unless @p n is above PLX_POLL_BURST and there is more. */
PLX_INLINE int
plx_verbs_poll_cq(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct ibv_cq *cq = plx_verbs_to_cq(base)->ibv;
	struct ibv_wc ibv[PLX_POLL_BURST];
	uint16_t done = 0;

	while (done < n) {
		int part = plx_verbs_part(n - done, PLX_POLL_BURST);
		int got = ibv_poll_cq(cq, part, ibv);

		if (__builtin_expect(got < 0, 0))
			return done > 0 ? done : -EIO;
		/* What a completion says that we do not know is in the WC; see plx_wc_from_ibv(). */
		for (int i = 0; i < got; i++)
			(void)plx_wc_from_ibv(&wcs[done + i], &ibv[i]);
		done += (uint16_t)got;
		if (got < part)
			break;
	}
	return done;
}

/** Everything that a send queue takes; which of it, the device says. */
#define PLX_VERBS_KINDS (PLX_KIND(PLX_OPCODE_LOCAL_INV + 1) - 1)

/** post_send, post_recv, poll_cq, kinds, post_srq_recv */
static const struct plx_fast_ops plx_verbs_fast = {plx_verbs_post_send, plx_verbs_post_recv, plx_verbs_poll_cq,
	PLX_VERBS_KINDS, plx_verbs_post_srq_recv};

#ifdef __cplusplus
}
#endif

#endif
