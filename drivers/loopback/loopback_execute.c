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

#include "soft_mem.h"
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

/** Whether @p peer lets us do @p right to @p len bytes at the WR's remote address. */
static inline enum soft_fault
remote_check(const struct loopback_qp *peer, const struct plx_wr *wr, uint32_t right, uint64_t len)
{
	if (unlikely(!(peer->rights & right)))
		return SOFT_FAULT_QP_RIGHT;
	if (unlikely(soft_keys_check(peer->keys, peer->pd, wr->rkey, SOFT_KEY_REMOTE, wr->remote_addr, len,
			     right) != SOFT_ACCESS_OK))
		return SOFT_FAULT_REMOTE;
	return SOFT_OK;
}

/* ---- send ---------------------------------------------------------------------------------- */

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

/** The peer's side of a send that consumed a receive. */
static inline void
recv_complete(struct loopback_qp *peer, uint64_t wr_id, enum soft_fault fault, uint32_t len)
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
	}
	if (peer->recv_cqe_local)
		soft_cq_push_local(peer->recv_cq, &wc, NULL, 0);
	else
		soft_cq_push_remote(peer->recv_cq, &wc);
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

static int
execute_send(struct loopback_qp *qp, const struct plx_wr *wr, uint32_t *len)
{
	enum soft_fault fault = local_check(qp, wr, 0, SOFT_FAULT_SOURCE_KEY, len);
	const struct soft_rqe *rqe;
	struct loopback_qp *peer;
	uint64_t wr_id;

	if (unlikely(fault != SOFT_OK))
		return fault;
	peer = peer_get(qp);
	if (unlikely(peer == NULL))
		return LOOPBACK_SILENCE;
	rqe = recv_get(peer);
	if (unlikely(rqe == NULL)) {
		qp->stall.rnr_ns = peer->rnr_ns; /* its NAK says how long to wait */
		return LOOPBACK_RNR;
	}
	fault = recv_check(peer, rqe, *len);
	if (likely(fault == SOFT_OK))
		soft_sge_copy(rqe->sges, wr->sg_list, *len);
	/* The slot is given back before the CQE: who sees the CQE can post again. */
	wr_id = recv_release(peer, rqe);
	recv_complete(peer, wr_id, fault, *len);
	if (unlikely(fault != SOFT_OK))
		loopback_qp_fail(peer);
	else
		fetch_next_recv(peer);
	return fault;
}

/* ---- write and read ------------------------------------------------------------------------ */

static int
execute_write(struct loopback_qp *qp, const struct plx_wr *wr, uint32_t *len)
{
	enum soft_fault fault = local_check(qp, wr, 0, SOFT_FAULT_SOURCE_KEY, len);
	struct loopback_qp *peer;
	struct plx_sge target;

	if (unlikely(fault != SOFT_OK))
		return fault;
	peer = peer_get(qp);
	if (unlikely(peer == NULL))
		return LOOPBACK_SILENCE;
	fault = remote_check(peer, wr, PLX_ACCESS_REMOTE_WRITE, *len);
	if (unlikely(fault != SOFT_OK)) {
		loopback_qp_fail(peer);
		return fault;
	}
	target = (struct plx_sge){.addr = wr->remote_addr, .length = *len};
	soft_sge_copy(&target, wr->sg_list, *len);
	return SOFT_OK;
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
	if (unlikely(fault != SOFT_OK)) {
		loopback_qp_fail(peer);
		return fault;
	}
	fault = local_check(qp, wr, PLX_ACCESS_LOCAL_WRITE, SOFT_FAULT_TARGET_KEY, len);
	if (unlikely(fault != SOFT_OK))
		return fault;
	source = (struct plx_sge){.addr = wr->remote_addr, .length = *len};
	soft_sge_copy(wr->sg_list, &source, *len);
	return SOFT_OK;
}

/* ---- which --------------------------------------------------------------------------------- */

int
loopback_execute(struct loopback_qp *qp, const struct plx_wr *wr, uint32_t *len)
{
	switch (wr->opcode) {
	case PLX_OPCODE_SEND:
		return execute_send(qp, wr, len);
	case PLX_OPCODE_WRITE:
		return execute_write(qp, wr, len);
	default: /* the post has refused the rest */
		return execute_read(qp, wr, len);
	}
}
