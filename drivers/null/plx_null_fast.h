/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_NULL_FAST_H
#define PLX_NULL_FAST_H

/**
 * @file
 * Post and poll of the null device, and as a constant table, for programs that are compiled for it alone:
 *
 *      plx_conn_post_burst_with(&plx_null_fast, ...)   no call between submit and the device's ring
 *      plx_poll_with(&plx_null_fast, ...)              nor between the ring and deliver
 *
 *      post_send --> [ wr_id | what ][ wr_id | what ] ... --> poll_cq
 *
 * A full ring takes no further sends (-ENOMEM), signaled or not. The table is for QPs and CQs that the null driver made;
 * each file that names it has a copy, which does the same as the one that they have at run time.
 *
 * Threads: as the contract says, one owner per QP and CQ.
 *
 * @since 0.1
 */

#include <errno.h>
#include <pthread.h>

#include "plx_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a completion says besides its wr_id. */
struct plx_null_cqe {
	uint64_t wr_id;
	uint64_t what; /**< qp_num << 16 | status << 8 | opcode */
};

/** A TAILQ_HEAD() of QPs. */
struct plx_null_qp_list {
	struct plx_null_qp *tqh_first;
	struct plx_null_qp **tqh_last;
};

/** The driver's CQ: a ring of what posts have completed. */
struct plx_null_cq {
	struct plx_cq base;
	struct plx_null_cqe *ring;
	uint64_t head; /**< the polling thread's, as is all of the ring */
	uint64_t tail;
	uint32_t mask;
	uint32_t flush; /**< some QP went to ERR since the last poll; atomic */
	/* The QPs whose receives complete here; under the lock. */
	pthread_mutex_t lock;
	struct plx_null_qp_list qps;
};

/** The driver's QP. */
struct plx_null_qp {
	struct plx_qp base;
	uint32_t state; /**< enum plx_qp_state, atomic */
	/* wr_ids of the receives: the owner's. */
	uint32_t nb_recvs;
	uint64_t *recvs;
	/** A TAILQ_ENTRY(). */
	struct {
		struct plx_null_qp *tqe_next;
		struct plx_null_qp **tqe_prev;
	} link;
};

/** The second word of a struct plx_null_cqe. */
#define PLX_NULL_WHAT(qp_num, status, opcode) ((uint64_t)(qp_num) << 16 | (uint64_t)(status) << 8 | (opcode))

/** The null device's CQ behind @p cq. */
PLX_INLINE struct plx_null_cq *
plx_null_cq(const struct plx_cq *cq)
{
	return plx_container_of(cq, struct plx_null_cq, base);
}

/** The null device's QP behind @p qp. */
PLX_INLINE struct plx_null_qp *
plx_null_qp(const struct plx_qp *qp)
{
	return plx_container_of(qp, struct plx_null_qp, base);
}

/** CQEs for which the ring has room. */
PLX_INLINE uint64_t
plx_null_room(const struct plx_null_cq *cq)
{
	return cq->mask + UINT64_C(1) - (cq->head - cq->tail);
}

/** Cold: some QP of this CQ went to ERR. Never waits for the control thread. */
void plx_null_flush(struct plx_null_cq *cq);

/** In ERR every WR completes, and as flushed. */
PLX_INLINE uint64_t
plx_null_send_flush(const struct plx_null_qp *qp, struct plx_null_cq *cq, uint64_t head, const struct plx_wr *wr)
{
	struct plx_null_cqe *cqe = &cq->ring[head & cq->mask];

	cqe->wr_id = wr->wr_id;
	cqe->what = PLX_NULL_WHAT(qp->base.qp_num, PLX_ST_WR_FLUSH_ERR, wr->opcode);
	return head + 1;
}

/** post_send of the table: each signaled WR completes at once. */
PLX_INLINE uint16_t
plx_null_post_send(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct plx_null_qp *qp = plx_null_qp(base);
	struct plx_null_cq *cq = plx_null_cq(base->send_cq);
	uint32_t state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);
	uint64_t room = plx_null_room(cq);
	uint64_t what = PLX_NULL_WHAT(base->qp_num, PLX_ST_SUCCESS, 0);
	uint64_t head = cq->head;
	uint16_t fit = room < n ? (uint16_t)room : n;

	if (__builtin_expect(state == PLX_QP_INIT, 0)) {
		*err = -EINVAL;
		return 0;
	}
	if (__builtin_expect(fit < n, 0))
		*err = -ENOMEM;
	for (uint16_t i = 0; i < fit; i++) {
		struct plx_null_cqe *cqe = &cq->ring[head & cq->mask];

		if (__builtin_expect(state == PLX_QP_ERR, 0)) {
			head = plx_null_send_flush(qp, cq, head, wrs[i]);
			continue;
		}
		/* Written in any case; an unsignaled one is written over by the next. */
		cqe->wr_id = wrs[i]->wr_id;
		cqe->what = what | wrs[i]->opcode;
		head += wrs[i]->flags & PLX_WR_SIGNALED;
	}
	cq->head = head;
	return fit;
}

/** post_recv of the table: kept until the QP is in ERR. */
PLX_INLINE uint16_t
plx_null_post_recv(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct plx_null_qp *qp = plx_null_qp(base);

	for (uint16_t i = 0; i < n; i++) {
		if (__builtin_expect(qp->nb_recvs == base->cap.recv_depth, 0)) {
			*err = -ENOMEM;
			return i;
		}
		qp->recvs[qp->nb_recvs++] = wrs[i]->wr_id;
	}
	/* To ERR has passed already, or will find these: its flag is looked at by the next poll either way. */
	if (__builtin_expect(__atomic_load_n(&qp->state, __ATOMIC_RELAXED) == PLX_QP_ERR, 0))
		__atomic_store_n(&plx_null_cq(base->recv_cq)->flush, 1, __ATOMIC_RELAXED);
	return n;
}

/** poll_cq of the table. */
PLX_INLINE int
plx_null_poll_cq(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct plx_null_cq *cq = plx_null_cq(base);
	uint16_t got;

	if (__builtin_expect(__atomic_load_n(&cq->flush, __ATOMIC_RELAXED), 0))
		plx_null_flush(cq);
	got = cq->head - cq->tail < n ? (uint16_t)(cq->head - cq->tail) : n;
	for (uint16_t i = 0; i < got; i++) {
		const struct plx_null_cqe *cqe = &cq->ring[(cq->tail + i) & cq->mask];
		uint8_t status = (uint8_t)(cqe->what >> 8);

		wcs[i].wr_id = cqe->wr_id;
		wcs[i].byte_len = 0;
		wcs[i].imm = 0;
		wcs[i].qp_num = (uint32_t)(cqe->what >> 16);
		wcs[i].status = status;
		wcs[i].opcode = (uint8_t)cqe->what;
		wcs[i].flags = 0;
		wcs[i].no_qp_num = 0;
		wcs[i].inv_rkey = 0;
		wcs[i].vendor_err = 0;
		wcs[i].raw_status = status;
		wcs[i].reserved = 0;
	}
	cq->tail += got;
	/* Empty: begin at the first slot again, so that a large CQ touches no more lines than are in flight. */
	if (cq->tail == cq->head)
		cq->head = cq->tail = 0;
	return got;
}

/** Everything that completes as a plain success; values come back for none of the others. */
#define PLX_NULL_KINDS                                                                                       \
	(PLX_KIND(PLX_OPCODE_SEND) | PLX_KIND(PLX_OPCODE_SEND_IMM) | PLX_KIND(PLX_OPCODE_WRITE) |            \
		PLX_KIND(PLX_OPCODE_WRITE_IMM) | PLX_KIND(PLX_OPCODE_READ) | PLX_KIND(PLX_OPCODE_CMP_SWAP) | \
		PLX_KIND(PLX_OPCODE_FETCH_ADD))

/** post_send, post_recv, poll_cq, kinds; no SRQ, since no message comes */
static const struct plx_fast_ops plx_null_fast = {
	plx_null_post_send, plx_null_post_recv, plx_null_poll_cq, PLX_NULL_KINDS, NULL};

#ifdef __cplusplus
}
#endif

#endif
