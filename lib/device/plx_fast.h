/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_FAST_H
#define PLX_FAST_H

/**
 * @file
 * The fast half of the narrow waist: post and poll.
 *
 *      plx_qp ---> plx_fast_ops { post_send, post_recv, poll_cq, post_srq_recv } <--- plx_cq
 *                                                                    ^
 *                                                        plx_srq ----'
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
struct plx_srq;

/**
 * The data path of a driver. A slot that it leaves empty refuses: at run time with -ENOTSUP, since
 * plx_qp_create(), plx_cq_create() and plx_conn_attach() fill it once, so that no caller tests for NULL; with a
 * constant table the compiler says so (plx_fast_require_post()).
 */
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
	/** PLX_KIND() of all that post_send ever takes, for the compiler: the device may have less. 0: not said. */
	uint32_t kinds;
	/**
	 * Post @p n receives to a shared receive queue, as post_recv: -ENOMEM full, -EINVAL more SGEs than granted. By one
	 * thread at a time, which need not be one that posts on, or polls for, a QP of it.
	 */
	uint16_t (*post_srq_recv)(struct plx_srq *srq, const struct plx_wr *const *wrs, uint16_t n, int *err);
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
	struct plx_srq *srq; /**< where its receives come from; NULL: its own receive queue */
	struct plx_qp_cap cap; /**< granted */
	uint32_t qp_num;
	uint32_t rights; /**< PLX_ACCESS_REMOTE_* that the peer has on this QP; set by bring-up */
	uint64_t id;	 /**< its number in this process (plx_event.h) */
	uint8_t nb_hot_lines; /**< cache lines, this one first, that a post touches, for plx_conn_prefetch_post(); 0: unsaid */
};

/** What every driver's CQ begins with. */
struct plx_cq {
	const struct plx_fast_ops *fast;
	struct plx_device *dev;
	uint32_t nb_cqe;   /**< granted size */
	uint32_t reserved; /**< CQEs promised to connections (lib/conn: plx_conn_create()); atomic */
	uint64_t nb_empty;  /**< polls that found nothing; owner */
	uint64_t nb_polled; /**< completions that polls gave; owner */
	uint32_t nb_qps;   /**< send and receive queues that complete here; lib/device's, atomic */
	uint64_t id;	   /**< its number in this process (plx_event.h) */
};

/** What every driver's shared receive queue begins with (plx_srq.h). */
struct plx_srq {
	const struct plx_fast_ops *fast;
	struct plx_device *dev;
	struct plx_pd *pd;
	uint32_t depth;	   /**< granted: WRs */
	uint32_t recv_sge; /**< granted: SGEs of a WR */
	uint32_t nb_qps;   /**< QPs that take their receives from it; lib/device's, atomic */
	uint64_t id;	   /**< its number in this process (plx_event.h) */
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

/** The slot post_srq_recv. One thread at a time per @p srq. */
PLX_INLINE uint16_t
plx_srq_post_recv(struct plx_srq *srq, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	return srq->fast->post_srq_recv(srq, wrs, n, err);
}

/* ---- what a constant table lacks ----------------------------------------------------------- */

/*
 * A call with a constant table that lacks the slot or the operation does not compile: "error: call to
 * 'plx_fast_lacks_post_recv' declared with attribute error: the constant fast table has no post_recv". From -O1 on,
 * -Og included; at -O0 nothing is known to be constant. A compiler without the attribute (clang before 14) leaves it to the
 * linker, which misses the name. With a run-time table the checks are gone.
 */
/** @cond */
#if defined(__has_attribute)
#if __has_attribute(error)
#define PLX_FAST_LACKS_(what, text) void plx_fast_lacks_##what(void) __attribute__((error("the constant fast table has no " text)))
#endif
#endif
#ifndef PLX_FAST_LACKS_
#define PLX_FAST_LACKS_(what, text) void plx_fast_lacks_##what(void)
#endif

/* Defined nowhere. */
PLX_FAST_LACKS_(post_send, "post_send");
PLX_FAST_LACKS_(post_recv, "post_recv");
PLX_FAST_LACKS_(poll_cq, "poll_cq");
PLX_FAST_LACKS_(post_srq_recv, "post_srq_recv");
PLX_FAST_LACKS_(send, "send among its kinds");
PLX_FAST_LACKS_(immediate, "immediates (send-imm, write-imm) among its kinds");
PLX_FAST_LACKS_(invalidate, "invalidation (send-inv, local-inv) among its kinds");
PLX_FAST_LACKS_(write, "write among its kinds");
PLX_FAST_LACKS_(read, "read among its kinds");
PLX_FAST_LACKS_(atomics, "atomics (compare-and-swap, fetch-and-add) among its kinds");
PLX_FAST_LACKS_(bind, "bind-mw among its kinds");
/** @endcond */

/** Call plx_fast_lacks_...() where the compiler knows that @p lacks is true, and nothing at all elsewhere. */
#define PLX_FAST_REQUIRE_(lacks, what)                                                                       \
	do {                                                                                                 \
		if (__builtin_constant_p(lacks) && (lacks))                                                  \
			plx_fast_lacks_##what();                                                             \
	} while (0)

/** Stop the compilation if @p fast is constant and has no post_recv, or, unless @p recv, no post_send. */
PLX_ALWAYS_INLINE void
plx_fast_require_post(const struct plx_fast_ops *fast, bool recv)
{
	if (recv)
		PLX_FAST_REQUIRE_(fast->post_recv == NULL, post_recv);
	else
		PLX_FAST_REQUIRE_(fast->post_send == NULL, post_send);
}

/** plx_srq_post_recv() by way of @p fast: a constant one without post_srq_recv stops the compilation. */
PLX_ALWAYS_INLINE uint16_t
plx_srq_post_recv_with(const struct plx_fast_ops *fast, struct plx_srq *srq, const struct plx_wr *const *wrs, uint16_t n,
	int *err)
{
	PLX_FAST_REQUIRE_(fast->post_srq_recv == NULL, post_srq_recv);
	return fast->post_srq_recv(srq, wrs, n, err);
}

/** Whether @p opcode is one of @p bits, and none of the kinds that @p fast says it takes. */
#define PLX_FAST_LACKS_KIND_(fast, opcode, bits)                                                             \
	((PLX_KIND(opcode) & (bits)) != 0 && (fast)->kinds != 0 && ((fast)->kinds & PLX_KIND(opcode)) == 0)

/** Stop the compilation if @p fast is constant and @p opcode is none of its kinds. @p opcode is a constant too. */
PLX_ALWAYS_INLINE void
plx_fast_require_kind(const struct plx_fast_ops *fast, enum plx_opcode opcode)
{
	PLX_FAST_REQUIRE_(PLX_FAST_LACKS_KIND_(fast, opcode, PLX_KIND(PLX_OPCODE_SEND)), send);
	PLX_FAST_REQUIRE_(PLX_FAST_LACKS_KIND_(fast, opcode, PLX_KIND(PLX_OPCODE_SEND_IMM) | PLX_KIND(PLX_OPCODE_WRITE_IMM)), immediate);
	PLX_FAST_REQUIRE_(PLX_FAST_LACKS_KIND_(fast, opcode, PLX_KIND(PLX_OPCODE_SEND_INV) | PLX_KIND(PLX_OPCODE_LOCAL_INV)), invalidate);
	PLX_FAST_REQUIRE_(PLX_FAST_LACKS_KIND_(fast, opcode, PLX_KIND(PLX_OPCODE_WRITE)), write);
	PLX_FAST_REQUIRE_(PLX_FAST_LACKS_KIND_(fast, opcode, PLX_KIND(PLX_OPCODE_READ)), read);
	PLX_FAST_REQUIRE_(PLX_FAST_LACKS_KIND_(fast, opcode, PLX_KIND(PLX_OPCODE_CMP_SWAP) | PLX_KIND(PLX_OPCODE_FETCH_ADD)), atomics);
	PLX_FAST_REQUIRE_(PLX_FAST_LACKS_KIND_(fast, opcode, PLX_KIND(PLX_OPCODE_BIND_MW)), bind);
}

/* ---- poll ---------------------------------------------------------------------------------- */

/**
 * Poll, and count. Once a poll has found the CQ empty, or nb_cqe completions have come out, everything that was in it
 * before has been seen: plx_conn_close() relies on it. With a constant @p fast the compiler inlines through to the device.
 */
PLX_ALWAYS_INLINE int
plx_cq_poll_with(const struct plx_fast_ops *fast, struct plx_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	int got;

	PLX_FAST_REQUIRE_(fast->poll_cq == NULL, poll_cq);
	got = fast->poll_cq(cq, wcs, n);
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
