/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What each kind of WR does. Each function reads top down as the rule of its kind: what is checked, in the order in
 * which a wire would find it, and then the one copy.
 *
 * Threads: the requester's, inside its gate.
 */

#include "loopback.h"

#include <endian.h>

#include "soft_atomic.h"
#include "soft_mem.h"
#include "soft_mw.h"
#include "soft_sge.h"

/** Our peer, if it is alive, in RTS, and serves us; else NULL, and nothing of it may be touched. */
static inline struct loopback_qp *
peer_get(struct loopback_qp *qp)
{
	struct loopback_qp *peer = qp->peer;

	/* The link first (acquire: not behind life), so that it is one of the life that is seen next, or older.
	 * From then on whoever ends that life waits for the gate of whom it serves: ours. */
	if (unlikely(peer == NULL || __atomic_load_n(&peer->linked, __ATOMIC_ACQUIRE) != qp))
		return NULL;
	return likely(loopback_life(peer) == qp->peer_life) ? peer : NULL;
}

static inline enum soft_fault
local_fault(enum soft_access access, enum soft_fault key_fault)
{
	if (likely(access == SOFT_ACCESS_OK))
		return SOFT_OK;
	return access == SOFT_ACCESS_RANGE ? SOFT_FAULT_LOCAL_RANGE : key_fault;
}

/** The length of the local list, and whether it may be used. Inline payload is the caller's own memory. */
static inline enum soft_fault
local_check(const struct loopback_qp *qp, const struct plx_wr *wr, uint32_t rights, enum soft_fault key_fault,
	uint32_t *len)
{
	uint64_t sum = soft_sge_len(wr->sg_list, wr->num_sge);

	if (unlikely(sum > loopback_device(qp->base.dev)->max_msg_sz))
		return SOFT_FAULT_TOO_LONG;
	*len = sum;
	if (wr->flags & PLX_WR_INLINE)
		return SOFT_OK;
	return local_fault(soft_sge_check(qp->keys, qp->pd, wr->sg_list, wr->num_sge, sum, rights),
		key_fault);
}

/** What some networks do to messages that have nothing in them; an immediate is something. */
static inline bool
empty_is_lost(const struct loopback_qp *qp, const struct plx_wr *wr, uint32_t len)
{
	return unlikely(len == 0) && loopback_device(qp->base.dev)->loses_empty && wr->opcode != PLX_OPCODE_SEND_IMM &&
	       wr->opcode != PLX_OPCODE_WRITE_IMM;
}

/**
 * Whether @p rkey opens @p len bytes to what comes through @p peer: as a region's of its PD, or as a window's bound on
 * it.
 */
static inline bool
remote_opens(const struct loopback_qp *peer, const struct plx_wr *wr, uint32_t right, uint64_t len)
{
	return likely(soft_keys_check(peer->keys, peer->pd, wr->rkey, SOFT_KEY_REMOTE, wr->remote_addr, len, right) ==
			SOFT_ACCESS_OK) ||
	       soft_mw_opens(peer->keys, peer->scope, wr->rkey, wr->remote_addr, len, right);
}

/** Whether @p peer lets us do @p right to @p len bytes at the WR's remote address. */
static inline enum soft_fault
remote_check(const struct loopback_qp *peer, const struct plx_wr *wr, uint32_t right, uint64_t len)
{
	if (unlikely(!(peer->rights & right)))
		return SOFT_FAULT_QP_RIGHT;
	return likely(remote_opens(peer, wr, right, len)) ? SOFT_OK : SOFT_FAULT_REMOTE;
}

/** @p peer ends for what took no receive of its own: an event is all that tells its owner. */
static int
peer_refuses(struct loopback_qp *peer, enum soft_fault fault)
{
	if (loopback_qp_fail(peer))
		loopback_event_refused(peer);
	return fault;
}

/* ---- receives, consumed -------------------------------------------------------------------- */

/** The receive that a message for @p peer goes into, or NULL. One of its own queue stays there until recv_release(). */
static inline const struct soft_rqe *
recv_get(struct loopback_qp *peer)
{
	const struct soft_rqe *rqe = soft_rq_peek(&peer->rq);

	if (likely(rqe != NULL) || peer->srq == NULL)
		return rqe;
	return soft_srq_take(peer->srq, peer->taken) ? peer->taken : NULL;
}

/** Give the slot back. Returns the wr_id. */
static inline uint64_t
recv_release(struct loopback_qp *peer, const struct soft_rqe *rqe)
{
	uint64_t wr_id = rqe->wr_id;

	if (likely(rqe != peer->taken))
		soft_rq_pop(&peer->rq);
	return wr_id;
}

static inline enum soft_fault
recv_check(const struct loopback_qp *peer, const struct soft_rqe *rqe, uint32_t len)
{
	if (unlikely(soft_sge_len(rqe->sges, rqe->num_sge) < len))
		return SOFT_FAULT_RECV_SHORT;
	if (unlikely(soft_sge_check(peer->keys, peer->pd, rqe->sges, rqe->num_sge, len,
			     PLX_ACCESS_LOCAL_WRITE) != SOFT_ACCESS_OK))
		return SOFT_FAULT_RECV_ACCESS;
	return SOFT_OK;
}

/** What a message brings besides its bytes. */
static void
recv_extras(struct plx_wc *wc, const struct plx_wr *wr)
{
	if (wr->opcode == PLX_OPCODE_SEND_INV) {
		wc->inv_rkey = wr->rkey;
		wc->flags = PLX_WC_WITH_INV;
		return;
	}
	wc->imm = wr->imm;
	wc->flags = PLX_WC_WITH_IMM;
	if (wr->opcode == PLX_OPCODE_WRITE_IMM)
		wc->opcode = PLX_OPCODE_RECV_WRITE_IMM;
}

/** The peer's side of @p wr that consumed a receive. */
static inline void
recv_complete(struct loopback_qp *peer, uint64_t wr_id, const struct plx_wr *wr, enum soft_fault fault, uint32_t len)
{
	struct plx_wc wc = {
		.wr_id = wr_id,
		.byte_len = len,
		.qp_num = peer->qp_num,
		.opcode = PLX_OPCODE_RECV,
	};

	if (unlikely(fault != SOFT_OK)) {
		wc.byte_len = 0;
		wc.status = soft_fault_recv_status(peer->status, fault);
		wc.raw_status = wc.status;
		wc.vendor_err = fault;
	} else if (wr->opcode != PLX_OPCODE_SEND) {
		recv_extras(&wc, wr);
	}
	if (peer->recv_cqe_local)
		soft_cq_push_local(peer->recv_cq, &wc, NULL, 0);
	else
		soft_cq_push_remote(peer->recv_cq, &wc);
}

/** The end of a message: its receive is given back before the CQE, so that who sees the CQE can post again. */
static inline void
recv_end(struct loopback_qp *peer, const struct soft_rqe *rqe, const struct plx_wr *wr, enum soft_fault fault,
	uint32_t len)
{
	recv_complete(peer, recv_release(peer, rqe), wr, fault, len);
	if (unlikely(fault != SOFT_OK))
		loopback_qp_fail(peer);
}

/** No receive: the peer's NAK says how long to wait. */
static inline int
not_ready(struct loopback_qp *qp, const struct loopback_qp *peer)
{
	qp->stall.rnr_ns = peer->rnr_ns;
	return LOOPBACK_RNR;
}

/**
 * Behind a send: have the line on its way that the next one is copied into, to write, before its sender waits for it. The
 * line of the receive comes along.
 */
static inline void
fetch_next_recv(const struct loopback_qp *peer)
{
	const struct soft_rqe *rqe = soft_rq_peek(&peer->rq);

	if (rqe != NULL && rqe->num_sge != 0)
		soft_fetch_to_write((const void *)(uintptr_t)rqe->sges[0].addr);
}

/* ---- send ---------------------------------------------------------------------------------- */

static inline int
execute_send(struct loopback_qp *qp, const struct plx_wr *wr)
{
	uint32_t len;
	enum soft_fault fault = local_check(qp, wr, 0, SOFT_FAULT_SOURCE_KEY, &len);
	const struct soft_rqe *rqe;
	struct loopback_qp *peer;

	if (unlikely(fault != SOFT_OK))
		return fault;
	peer = peer_get(qp);
	if (unlikely(peer == NULL) || empty_is_lost(qp, wr, len))
		return LOOPBACK_SILENCE;
	rqe = recv_get(peer);
	if (unlikely(rqe == NULL))
		return not_ready(qp, peer);
	fault = recv_check(peer, rqe, len);
	if (likely(fault == SOFT_OK))
		soft_sge_copy(rqe->sges, wr->sg_list, len);
	if (unlikely(wr->opcode == PLX_OPCODE_SEND_INV && fault == SOFT_OK) &&
		!soft_mw_invalidate(peer->keys, peer->scope, wr->rkey)) {
		/* The message is there, and acknowledged; that there is no such window is the peer's trouble alone. */
		recv_end(peer, rqe, wr, SOFT_FAULT_REMOTE_INV, len);
		return SOFT_OK;
	}
	recv_end(peer, rqe, wr, fault, len);
	if (likely(fault == SOFT_OK))
		fetch_next_recv(peer);
	return fault;
}

/* ---- write and read ------------------------------------------------------------------------ */

static inline void
write_copy(const struct plx_wr *wr, uint32_t len)
{
	struct plx_sge target = {.addr = wr->remote_addr, .length = len};

	soft_sge_copy(&target, wr->sg_list, len);
}

static int
execute_write(struct loopback_qp *qp, const struct plx_wr *wr)
{
	uint32_t len;
	enum soft_fault fault = local_check(qp, wr, 0, SOFT_FAULT_SOURCE_KEY, &len);
	struct loopback_qp *peer;

	if (unlikely(fault != SOFT_OK))
		return fault;
	peer = peer_get(qp);
	if (unlikely(peer == NULL) || empty_is_lost(qp, wr, len))
		return LOOPBACK_SILENCE;
	fault = remote_check(peer, wr, PLX_ACCESS_REMOTE_WRITE, len);
	if (unlikely(fault != SOFT_OK))
		return peer_refuses(peer, fault);
	write_copy(wr, len);
	return SOFT_OK;
}

/** A write that also consumes a receive, whose memory is not touched. What the QP does not let in consumes none. */
static int
execute_write_imm(struct loopback_qp *qp, const struct plx_wr *wr)
{
	uint32_t len;
	enum soft_fault fault = local_check(qp, wr, 0, SOFT_FAULT_SOURCE_KEY, &len);
	const struct soft_rqe *rqe;
	struct loopback_qp *peer;

	if (unlikely(fault != SOFT_OK))
		return fault;
	peer = peer_get(qp);
	if (unlikely(peer == NULL))
		return LOOPBACK_SILENCE;
	fault = remote_check(peer, wr, PLX_ACCESS_REMOTE_WRITE, len);
	if (unlikely(fault == SOFT_FAULT_QP_RIGHT))
		return peer_refuses(peer, fault);
	rqe = recv_get(peer);
	if (unlikely(rqe == NULL))
		return not_ready(qp, peer);
	if (likely(fault == SOFT_OK))
		write_copy(wr, len);
	recv_end(peer, rqe, wr, fault, len);
	return fault;
}

/** The local list comes last: the requester looks at it when the answer arrives. */
static int
execute_read(struct loopback_qp *qp, const struct plx_wr *wr, uint32_t *len)
{
	uint64_t sum = soft_sge_len(wr->sg_list, wr->num_sge);
	struct loopback_qp *peer;
	enum soft_fault fault;
	struct plx_sge source;

	if (unlikely(sum > loopback_device(qp->base.dev)->max_msg_sz))
		return SOFT_FAULT_TOO_LONG;
	peer = peer_get(qp);
	if (unlikely(peer == NULL))
		return LOOPBACK_SILENCE;
	fault = remote_check(peer, wr, PLX_ACCESS_REMOTE_READ, sum);
	if (unlikely(fault != SOFT_OK))
		return peer_refuses(peer, fault);
	fault = local_check(qp, wr, PLX_ACCESS_LOCAL_WRITE, SOFT_FAULT_TARGET_KEY, len);
	if (unlikely(fault != SOFT_OK))
		return fault;
	source = (struct plx_sge){.addr = wr->remote_addr, .length = *len};
	soft_sge_copy(wr->sg_list, &source, *len);
	return SOFT_OK;
}

/* ---- atomics ------------------------------------------------------------------------------- */

/** The word has changed by the time that the requester finds no place for the old value: so it is on a wire. */
static int
execute_atomic(struct loopback_qp *qp, const struct plx_wr *wr, uint32_t *len)
{
	struct loopback_qp *peer = peer_get(qp);
	enum soft_fault fault;
	struct plx_sge reply;
	uint64_t old;

	if (unlikely(peer == NULL))
		return LOOPBACK_SILENCE;
	fault = remote_check(peer, wr, PLX_ACCESS_REMOTE_ATOMIC, SOFT_ATOMIC_LEN);
	if (unlikely(fault != SOFT_OK))
		return peer_refuses(peer, fault);
	old = soft_atomic(wr);
	if (qp->base.dev->caps.atomic_big_endian)
		old = htobe64(old);
	fault = local_check(qp, wr, PLX_ACCESS_LOCAL_WRITE, SOFT_FAULT_TARGET_KEY, len);
	if (unlikely(fault != SOFT_OK))
		return fault;
	reply = (struct plx_sge){.addr = (uintptr_t)&old, .length = sizeof(old)};
	soft_sge_copy(wr->sg_list, &reply, sizeof(old));
	return SOFT_OK;
}

/* ---- windows ------------------------------------------------------------------------------- */

static int
execute_bind(const struct loopback_qp *qp, const struct plx_wr *wr)
{
	return soft_mw_bind(qp->keys, qp->pd, qp->scope, wr->rkey, wr->remote_addr, wr->compare_add, wr->imm)
		? SOFT_OK : SOFT_FAULT_BIND;
}

/** Nobody finds the window any more; it is done when the peer, the only one who may have, is seen out of its gate. */
static int
execute_local_inv(struct loopback_qp *qp, const struct plx_wr *wr)
{
	struct loopback_stall *stall = &qp->stall;

	if (!stall->invalidated) {
		if (!soft_mw_invalidate(qp->keys, qp->scope, wr->rkey))
			return SOFT_FAULT_LOCAL_INV;
		stall->invalidated = true;
		/* A QP that is its own peer is in its gate here, and uses no window. */
		stall->visit = qp->peer == NULL || qp->peer == qp ? 0 : soft_gate_visit(&qp->peer->gate);
	}
	if (stall->visit != 0 && !soft_gate_over(&qp->peer->gate, stall->visit))
		return LOOPBACK_PEER_BUSY;
	stall->invalidated = false;
	return SOFT_OK;
}

/* ---- which --------------------------------------------------------------------------------- */

int
loopback_execute(struct loopback_qp *qp, const struct plx_wr *wr, uint32_t *len)
{
	switch (wr->opcode) {
	case PLX_OPCODE_SEND:
	case PLX_OPCODE_SEND_IMM:
	case PLX_OPCODE_SEND_INV:
		return execute_send(qp, wr);
	case PLX_OPCODE_WRITE:
		return execute_write(qp, wr);
	case PLX_OPCODE_WRITE_IMM:
		return execute_write_imm(qp, wr);
	case PLX_OPCODE_READ:
		return execute_read(qp, wr, len);
	case PLX_OPCODE_BIND_MW:
		return execute_bind(qp, wr);
	case PLX_OPCODE_LOCAL_INV:
		return execute_local_inv(qp, wr);
	default: /* the post has refused what is neither */
		return execute_atomic(qp, wr, len);
	}
}
