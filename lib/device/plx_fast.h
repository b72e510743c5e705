/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_FAST_H
#define PLX_FAST_H

/**
 * @file
 * The fast half of the narrow waist: post and poll.
 *
 *      plx_qp ---> plx_fast_ops { post_send, post_recv, poll_cq } <--- plx_cq
 *
 * A backend is a table of these functions and two structs that begin with a plx_qp and a plx_cq.
 * It needs no plx_device: fill `fast`, `qp_num` and `cap` of the QP and `fast` and `nb_cqe` of the
 * CQ, and everything above lib/device that moves data works on them.
 *
 * Threads: a QP is posted to, and a CQ polled, by one thread at a time, its owner. A driver may
 * count on it that the thread that posts on a QP is the one that polls the QP's CQs.
 *
 * @since 0.1
 */

#include <stdint.h>

#include "plx_wr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plx_device;
struct plx_pd;
struct plx_qp;
struct plx_cq;

/** The data path of a driver. No slot is ever NULL (device_stubs.c). */
struct plx_fast_ops {
	/**
	 * Post @p n WRs to the send queue, in order, as one chain (one doorbell).
	 * Returns how many were posted; if fewer than @p n, *err is the -errno of the first that
	 * was not: -ENOMEM queue full; -ENOTSUP an opcode that caps.kinds lacks; -EINVAL the QP is
	 * not up yet; or what the provider says of a list or an inline length above the granted
	 * (-EINVAL, on some -ENOMEM). Neither it nor what is behind it ever completes.
	 *
	 * These checks are the driver's own and the last: lib/conn has made its before, and null,
	 * which measures what is above it, makes none.
	 */
	uint16_t (*post_send)(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err);
	/** The same for the receive queue; receives may be posted from the QP's creation on. */
	uint16_t (*post_recv)(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err);
	/** Take up to @p n completions, oldest first. Returns the number, or -errno: the CQ is dead. */
	int (*poll_cq)(struct plx_cq *cq, struct plx_wc *wcs, uint16_t n);
};

/** Sizes of a QP. In: what is wanted. Out: what was granted, which alone counts afterwards. */
struct plx_qp_cap {
	uint32_t send_depth; /**< WRs in the send queue */
	uint32_t recv_depth; /**< WRs in the receive queue */
	uint32_t send_sge;   /**< SGEs of a send WR */
	uint32_t recv_sge;   /**< SGEs of a receive WR */
	uint32_t inline_len; /**< inline bytes of a send WR */
};

/** What every driver's QP begins with. */
struct plx_qp {
	const struct plx_fast_ops *fast;
	struct plx_device *dev; /**< NULL for a backend without a device */
	struct plx_pd *pd;
	struct plx_cq *send_cq;
	struct plx_cq *recv_cq;
	struct plx_qp_cap cap; /**< granted */
	uint32_t qp_num;
	uint32_t rights; /**< PLX_ACCESS_REMOTE_* that the peer has on this QP; set by bring-up */
};

/** What every driver's CQ begins with. */
struct plx_cq {
	const struct plx_fast_ops *fast;
	struct plx_device *dev;
	uint32_t nb_cqe;   /**< granted size */
	uint32_t reserved; /**< CQEs promised to connections (lib/conn, contract 10.1); atomic */
	uint64_t nb_empty;  /**< polls that found nothing; owner */
	uint64_t nb_polled; /**< completions that polls gave; owner */
	uint32_t nb_qps;   /**< send and receive queues that complete here; lib/device's, atomic */
};

/** The slot post_send. The owner of @p qp. */
PLX_INLINE uint16_t
plx_qp_post_send(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	return qp->fast->post_send(qp, wrs, n, err);
}

/** The slot post_recv. The owner of @p qp. */
PLX_INLINE uint16_t
plx_qp_post_recv(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	return qp->fast->post_recv(qp, wrs, n, err);
}

/**
 * Poll, and count. Once a poll has found the CQ empty, or nb_cqe completions have come out, everything that was in it
 * before has been seen (contract 1.6). With a constant @p fast the compiler inlines through to the device.
 */
PLX_ALWAYS_INLINE int
plx_cq_poll_with(const struct plx_fast_ops *fast, struct plx_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	int got = fast->poll_cq(cq, wcs, n);

	if (got > 0)
		cq->nb_polled += (unsigned int)got;
	else if (got == 0)
		cq->nb_empty++;
	return got;
}

/** plx_cq_poll_with() the CQ's own table. */
PLX_INLINE int
plx_cq_poll(struct plx_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	return plx_cq_poll_with(cq->fast, cq, wcs, n);
}

#ifdef __cplusplus
}
#endif

#endif
