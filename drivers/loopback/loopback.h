/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef LOOPBACK_H
#define LOOPBACK_H

/**
 * @file
 * A complete RDMA device in one process, and the executable description of the device contract.
 *
 * There are no threads and no wire inside. The requester's thread does all the work of a message, both ends of it,
 * while it posts:
 *
 *      requester's lcore                                        responder's lcore
 *      ---------------------------------------------------      ----------------------------------
 *                                                                post_recv: rq <- receive
 *      post_send
 *        gate: enter
 *        wr legal? queue not full?      -> not taken, -errno
 *        lkeys of its SGEs              -> fault: local
 *        peer alive and linked to us?   -> stall: silence
 *        peer's rq has a receive?       -> stall: RNR
 *        receive long enough, its lkeys -> fault: the peer's too
 *        copy, once, straight into the receive's memory
 *        peer's rq: pop
 *        CQE -> peer's recv CQ    . . . . . . . . . . . . . . .> poll_cq: the message is there
 *        CQE -> own send CQ
 *        gate: leave
 *      poll_cq: the send is done
 *
 * A write, a read or an atomic needs the peer's key table instead of its receive queue, and never the peer's thread.
 *
 *   stall: the WR is copied into the send queue, and those behind it too; a chore of the send CQ tries again
 *          when the timer says so, until rnr_retry or retry_cnt is used up.
 *   fault: an error CQE, and the QP goes to ERR; the peer's too when it was the one to refuse. Chores of the CQs flush
 *          what is left: sends first to last, receives first to last.
 *
 * What is shared, and who may look (the arguments stand at the loads and stores):
 *
 *   life, linked any thread. A struct loopback_qp is never freed while a device is open, its life word says which
 *                incarnation it is: so a peer that is gone is seen to be gone (loopback_pool.c)
 *   rq, rights.. the peer that we are linked to, from inside its gate
 *   key table    any QP that is linked to the device, from inside its gate
 *   sq           the owner
 *
 * Who destroys, deregisters or flushes first makes the thing unfindable, then waits for the gate of whoever may
 * have found it. Files, in the order of a life:
 *
 *   loopback_device.c   devices, ports, GIDs, PDs, MRs, CQs      loopback_args.c   limits from devargs
 *   loopback_qp.c       create, bring up, to error, destroy      loopback_pool.c   QP structs and numbers
 *   loopback_post.c     post: check, execute, complete           loopback_retry.c  stalls and flushes
 *   loopback_execute.c  what each kind of WR does                loopback_srq.c    shared receive queues
 *   loopback_event.c    async events, and the end of a device
 */

#include "plx_driver.h"
#include "plx_loopback_fast.h"
#include "soft_cq.h"
#include "soft_event.h"
#include "soft_fault.h"
#include "soft_gate.h"
#include "soft_keys.h"
#include "soft_rq.h"
#include "soft_sq.h"
#include "soft_srq.h"

struct loopback_qp;

/** When a QP in ERR tells that it takes no more receives from its SRQ. */
enum loopback_last_wqe { LOOPBACK_LAST_WQE_ON, LOOPBACK_LAST_WQE_OFF, LOOPBACK_LAST_WQE_LATE, LOOPBACK_LAST_WQE_TWICE };

/** How granted sizes differ from wanted ones. */
enum loopback_grant { LOOPBACK_GRANT_EXACT, LOOPBACK_GRANT_POW2, LOOPBACK_GRANT_LESS };

struct loopback_device {
	struct plx_device base;
	struct soft_keys keys;
	struct soft_events events;
	enum loopback_last_wqe last_wqe;
	uint32_t lost;	     /**< plx_loopback_lose(); atomic */
	enum soft_status_mode status;
	enum loopback_grant grant;
	uint32_t mtu;
	uint32_t max_msg_sz;
	uint32_t tick_us;	/**< not 0: its time goes by turns, this much each, not by the clock */
	uint32_t cq_dies;	/**< a CQ that overflows ends, instead of dropping */
	uint32_t inline_none;	/**< QPs are granted no inline, whatever max_inline says */
	uint32_t loses_empty;	/**< messages without a byte get lost on the way */
	uint32_t nb_gids;
	uint32_t instance;  /**< 1 to 255, unique among open devices; part of its GIDs */
	uint32_t reuse_qpn; /**< hand out the lowest free QP number, not the next one */

	/* Under loopback_lock(). */
	LIST_HEAD(, soft_cq) cqs;
	uint32_t nb_srqs;
	uint32_t nb_qps;
	uint32_t next_qpn;
	uint32_t qp_mask;
	struct loopback_qp **qps; /**< by qp_num & qp_mask */
};

/** Behind enum plx_qp_state: the struct is in nobody's hands. */
#define LOOPBACK_QP_DEAD 4

#define LOOPBACK_LIFE_STATE 7u /**< the low bits of a life word are the state, */
#define LOOPBACK_LIFE_STEP  8u /**< the others count incarnations */

/** What a stalled QP waits for, and how often it may yet. */
struct loopback_stall {
	uint64_t until_ns;
	uint64_t rnr_ns;   /**< the wait that the peer asked for last */
	uint32_t rnrs;	   /**< in a row */
	uint32_t silences; /**< in a row */
	uint64_t ticked_ns; /**< with tick_us: how far its time has gone */
	bool invalidated;  /**< a local-inv has hidden its window, */
	uint32_t visit;	   /**< and waits for the end of this one of the peer's, soft_gate_visit() */
};

/** How far the receives of a QP in ERR are flushed; each step waits for one thing. */
struct loopback_flush {
	enum {
		LOOPBACK_FLUSH_NOT_BEGUN,
		LOOPBACK_FLUSH_PEER,  /**< the peer may still be taking one */
		LOOPBACK_FLUSH_FRONT, /**< completions that must stay in front are not polled yet */
		LOOPBACK_FLUSH_DONE,  /**< new ones are flushed as they are posted */
	} step;
	uint32_t visit; /**< the peer's, soft_gate_visit() */
	uint64_t mark;	/**< soft_cq_mark() */
};

/**
 * Hot lines first. With thousands of QPs each line is a miss, so a write touches four of its own and one of its
 * peer's, and what two threads touch stands still while they do.
 */
struct loopback_qp {
	struct plx_qp base;
	struct soft_sq sq; /**< the owner's, as all that follows up to `life` */

	struct soft_gate gate; /**< the owner is executing */
	uint32_t peer_life;    /**< the incarnation of peer that we are connected to, in RTS */
	struct loopback_qp *peer;
	uint32_t rd_atomic;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint64_t ack_ns;
	struct loopback_flush flush;

	/* Anybody may look at the life, and then at whom we serve. */
	uint32_t life __rte_cache_aligned;
	uint32_t rights;
	struct loopback_qp *linked;
	/* Whom we serve may look at the rest; set at creation and by bring-up, then still. */
	struct soft_keys *keys;
	const struct plx_pd *pd;
	const void *scope; /**< of windows bound here: odd, so no PD, and never used again */
	struct soft_cq *recv_cq;
	uint64_t rnr_ns;
	uint32_t qp_num;
	uint8_t status;	     /**< enum soft_status_mode */
	bool recv_cqe_local; /**< the peer's owner polls recv_cq */
	struct soft_srq *srq;	/**< where receives come from while rq has none, or NULL */
	struct soft_rqe *taken; /**< whom we serve: the one it took from srq */

	struct soft_rq rq __rte_cache_aligned; /**< the owner pushes, whom we serve pops */

	/* Cold, the owner's. */
	struct loopback_stall stall;
	struct soft_chore send_chore;
	struct soft_chore recv_chore;
	bool last_wqe_told;
	struct loopback_qp *next_free; /**< loopback_pool.c */
};

static inline struct loopback_device *
loopback_device(const struct plx_device *dev)
{
	return plx_container_of(dev, struct loopback_device, base);
}

static inline struct loopback_qp *
loopback_qp(const struct plx_qp *qp)
{
	return plx_container_of(qp, struct loopback_qp, base);
}

static inline struct soft_cq *
loopback_cq(const struct plx_cq *cq)
{
	return plx_container_of(cq, struct soft_cq, base);
}

static inline struct soft_srq *
loopback_srq(const struct plx_srq *srq)
{
	return plx_container_of(srq, struct soft_srq, base);
}

static inline uint32_t
loopback_life(const struct loopback_qp *qp)
{
	/* SEQ_CST, for the gate's argument: who has entered its gate and then sees RTS is waited for. */
	return __atomic_load_n(&qp->life, __ATOMIC_SEQ_CST);
}

static inline uint32_t
loopback_state(const struct loopback_qp *qp)
{
	return loopback_life(qp) & LOOPBACK_LIFE_STATE;
}

/* ---- loopback_args.c ---- */
extern const char *const loopback_keys[];
int loopback_args_parse(struct loopback_device *dev, struct rte_kvargs *args);
uint32_t loopback_grant(const struct loopback_device *dev, uint32_t wanted, uint32_t min, uint32_t max);

/* ---- loopback_device.c ---- */
int loopback_gid_query(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid);

/* ---- loopback_pool.c ---- */
void loopback_lock(void);
void loopback_unlock(void);
int loopback_device_enter(struct loopback_device *dev);
void loopback_device_leave(struct loopback_device *dev);
/** The open device that has @p raw as GID, or NULL. Locked. */
struct loopback_device *loopback_device_find(const uint8_t raw[16]);
/** A QP struct with a number of @p dev: NULL with rte_errno. */
struct loopback_qp *loopback_qp_take(struct loopback_device *dev);
void loopback_qp_forget(struct loopback_device *dev, struct loopback_qp *qp);
void loopback_qp_give(struct loopback_qp *qp);
/** Locked. */
struct loopback_qp *loopback_qp_find(const struct loopback_device *dev, uint32_t qp_num);
/** Wait until no execution that is going on now is going on. */
void loopback_quiesce(void);

/* ---- loopback_qp.c ---- */
struct plx_qp *loopback_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf);
int loopback_qp_destroy(struct plx_qp *qp);
int loopback_qp_limits(struct plx_device *dev, struct plx_qp_cap *cap);
int loopback_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr);
int loopback_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer);
int loopback_qp_to_error(struct plx_qp *qp);
int loopback_qp_query_state(struct plx_qp *qp);
/** To ERR, and have the CQs flush it; false: it was there. Any thread that knows the QP alive. */
bool loopback_qp_fail(struct loopback_qp *qp);

/* ---- loopback_event.c ---- */
int loopback_event_fd(struct plx_device *dev);
int loopback_event_next(struct plx_device *dev, struct plx_event *event);
/** @p qp, in ERR, takes no more from its SRQ; @p gone: and it is being destroyed. */
void loopback_event_last_wqe(struct loopback_qp *qp, bool gone);
/** @p qp ended because it refused its peer's op, and no completion of its own says so. rxe keeps silent then. */
void loopback_event_refused(struct loopback_qp *qp);
void loopback_cq_overflowed(struct soft_cq *cq);
void loopback_srq_limit(struct soft_srq *srq);

/* ---- loopback_srq.c ---- */
struct plx_srq *loopback_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf);
int loopback_srq_destroy(struct plx_srq *srq);
int loopback_srq_arm(struct plx_srq *srq, uint32_t limit);
int loopback_srq_query(struct plx_srq *srq, struct plx_srq_attr *attr);

/* ---- loopback_execute.c ---- */
/** What came of a WR: an enum soft_fault, or one of these three. */
#define LOOPBACK_RNR	 (-1) /**< the peer has no receive */
#define LOOPBACK_SILENCE (-2) /**< no peer answers */
#define LOOPBACK_PEER_BUSY (-3) /**< the peer may still be using what was taken from it */
/** @p len is 0, and how much a read or an atomic brought. */
int loopback_execute(struct loopback_qp *qp, const struct plx_wr *wr, uint32_t *len);

/** What QPs, CQs and SRQs have at run time: plx_loopback_fast, in one copy; and a CQ that dies when it drops something. */
extern const struct plx_fast_ops *const loopback_fast;
extern const struct plx_fast_ops loopback_fast_dying;

/* ---- loopback_post.c ---- */
/** Execute @p wr, whose send-queue position ends at @p position, and complete it. False: it has to wait. */
bool loopback_send(struct loopback_qp *qp, const struct plx_wr *wr, uint64_t position);
void loopback_send_complete(struct loopback_qp *qp, const struct plx_wr *wr, uint64_t position, uint8_t status,
	uint32_t fault, uint32_t len);
void loopback_recv_flush(struct loopback_qp *qp, uint64_t wr_id);

/* ---- loopback_retry.c ---- */
/** Decide when a WR that met @p verdict is tried again, or which fault that is. */
enum soft_fault loopback_stall(struct loopback_qp *qp, int verdict);
/** Flush all that waits. Whether something has to wait still. */
bool loopback_send_flush(struct loopback_qp *qp);
bool loopback_send_turn(struct soft_chore *chore);
bool loopback_recv_turn(struct soft_chore *chore);

#endif
