/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_CONN_H
#define PLX_CONN_H

/**
 * @file
 * The connection: one RC queue pair, and how ops are submitted to it.
 *
 *   owner lcore:   submit ---> checks -> credit -> one chained post ----------------> QP
 *   elsewhere:     submit ---> checks -> lane of the group --> owner: credit, post -> QP
 *                                                              (waits there, in order, for credit)
 *
 *   IDLE --bring_up--> READY --close, drain--> DRAINING --close--> CLOSED --destroy--> gone
 *     |                  | '-error-> FAILED --------^
 *     '------------------'-----------close, drain---'
 *
 * Taken or not. Every submitting call returns how many ops it took. A taken op gets exactly one completion. An op that
 * was not taken gets none, is unchanged, is still the caller's, and struct plx_submit_err says why. Only its id
 * (plx_op_id()) is another one if it was the device that refused it, which may have it all the same under the old one.
 *
 * The first completion that is no success has taken the QP to ERR (IBA 10.3.1): nothing more is taken, what is in flight
 * is flushed by the device, and failed_cb tells the cause, once. You close. An async event that ends a connection
 * (plx_conn_events.h) is told likewise, and closes it.
 *
 * Late completion. An op with PLX_OP_LATE_OK may be posted unsignaled, which costs the device no completion. It succeeds
 * when a later op of its queue completes: its callback runs on its home, just before that one's, in the queue's order.
 * If it fails it has a completion of its own, and those in front of it have succeeded.
 *
 *      submit_burst   l  l  l  l  l  l      l: PLX_OP_LATE_OK
 *      posted         u  u  u  u  u  S      u unsignaled, S signaled: the last of each chained post, and one in every
 *      completions                   1      half queue, so that nothing ends in silence and credit keeps coming back
 *
 * What nobody waits for is abandoned right after the submit (plx_op_abandon()): its node goes back to the pool then. Where
 * the device takes only the front of a chain, its last ops may be unsignaled: they end with the next submit, or with
 * the close.
 *
 * Closing is asynchronous and never forced: the owner stops posting, the control thread takes the QP to ERR, the
 * owner drains, the control thread destroys the QP, what never completed is settled, every callback of the connection
 * returns wherever it runs, and then closed_cb runs on the owner, last.
 *
 * Threads: submit and close from any; the rest as it says. The owner is the lcore that owns the group's dispatcher.
 *
 * @since 0.1
 */

#include <rte_byteorder.h>
#include <rte_lcore.h>

#include "plx_conn_group.h"
#include "plx_control.h"
#include "plx_device.h"
#include "plx_dispatcher.h"
#include "plx_op_kinds.h"
#include "plx_op_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plx_conn;
struct plx_recv_pool;

/** Why ops were not taken. Filled only when a call took fewer than it was given. */
struct plx_submit_err {
	int code; /**< -errno */
	/** Of the op that was refused, in the caller's array: the number of ops taken. */
	uint16_t index;
	uint64_t got;	/**< what the op asked for: bytes, SGEs, ops, ... */
	uint64_t limit; /**< what there is */
};

/**
 * One sentence on why an op was not taken, and what to check: @p code is plx_submit_err.code, or what plx_conn_submit()
 * returned. Never NULL. Any thread.
 */
const char *plx_submit_err_str(int code);

/**
 * The connection is CLOSED: nothing of it is in flight, its QP is gone. On the owner; may destroy it, and so may whom it
 * tells. @p conn is there until this returns, whoever destroys it.
 */
typedef void (*plx_conn_closed_cb_t)(struct plx_conn *conn, void *arg);

/**
 * @p op was overtaken: a later completion of its queue came first. Its slot is free again and its buffers are no longer
 * the device's (RC completes in order); the op stays in custody until its completion comes late or the QP is destroyed.
 * On the owner, inside the batch: look at the op, leave it alone.
 */
typedef void (*plx_conn_lost_cb_t)(struct plx_conn *conn, const struct plx_op *op, void *arg);

/**
 * What made a connection fail: the first completion that is neither a success nor a flush, or the event that ended it
 * if that came first; or a flush if nothing else came.
 */
struct plx_conn_error {
	enum plx_status status; /**< PLX_ST_SUCCESS: there was none */
	enum plx_opcode kind;	/**< of the op */
	uint64_t wr_id;		/**< plx_op_id() of the op */
	uint32_t qp_num;
	uint32_t vendor_err;
	uint32_t raw_status;
	uint32_t event;	   /**< of PLX_ST_EVENT, which no op is known for: enum plx_event_type */
	int32_t event_raw; /**< the provider's own number of it, where it is a QP's; else 0 */
};

/**
 * The connection is FAILED: nothing is taken any more; what was not posted ended with PLX_ST_STOPPED. On the owner, in the
 * group's turn behind the completion or event, once; not when a close or drain came first. May close; with PLX_ST_EVENT
 * it is closing already, and -EALREADY. A flush is told when it is all that came: plx_conn_first_error() in closed_cb
 * may know more.
 */
typedef void (*plx_conn_failed_cb_t)(struct plx_conn *conn, const struct plx_conn_error *error, void *arg);

/** What a connection is made of. */
struct plx_conn_conf {
	struct plx_conn_group *group;
	struct plx_pd *pd;
	struct plx_qp_cap cap;	   /**< wanted; depth 0: 128; sge 0: 1. Granted: plx_conn_cap() */
	struct plx_qp_path path;   /**< plx_qp_path_default() first; all zero is EINVAL */
	/**
	 * Lcore that callbacks run on: one of the dispatcher's homes, or the owner; PLX_HOME_ANY is the owner,
	 * whichever that is. Zero is lcore 0, not "anywhere", and refused (EINVAL) where that is neither.
	 */
	unsigned int home;
	unsigned int drain_ms;	   /**< how long close waits for flushes before the QP is destroyed; 0: 1000 */
	/**
	 * Ops from other lcores that may be queued, on their way to the owner or waiting for credit; 0: four times
	 * the two depths. What is queued sits on pool nodes: a pool with room for the depths and queues of all
	 * its connections cannot be emptied by senders alone, so that there are always nodes to receive with.
	 */
	unsigned int max_queued;
	plx_conn_closed_cb_t closed_cb; /**< may be NULL */
	plx_conn_lost_cb_t lost_cb;	/**< may be NULL */
	plx_conn_failed_cb_t failed_cb; /**< may be NULL */
	plx_conn_closed_cb_t drained_cb; /**< of plx_conn_drain(); may be NULL */
	void *arg;			/**< of all; plx_conn_arg() */
	/**
	 * Where its receives come from (plx_recv_pool.h), of the same group and PD; then cap.recv_depth and recv_sge do
	 * not count.
	 */
	struct plx_recv_pool *recv_pool;
};

/** Since when a full queue has seen no completion: both as they were when a submit was refused. */
struct plx_conn_stall {
	uint64_t since_ns; /**< CLOCK_MONOTONIC; 0: never */
	uint32_t tail;
};

/** What may follow what is drawn above, and stands as a table in conn_state.c. */
enum plx_conn_state { PLX_CONN_IDLE, PLX_CONN_READY, PLX_CONN_FAILED, PLX_CONN_DRAINING, PLX_CONN_CLOSED };

/**
 * What submit needs, first; what closing needs, behind. Fields are the library's; here because submit is inline.
 */
struct plx_conn {
	/* Read by every submit. */
	const struct plx_fast_ops *fast;
	struct plx_qp *qp;
	struct plx_dispatcher *dispatcher;
	unsigned int owner;
	uint16_t home;
	uint16_t state;	     /**< enum plx_conn_state; atomic */
	uint32_t custody;    /**< plx_op.custody of an op on its way to that home */
	uint32_t kinds;	     /**< PLX_KIND() of what the send queue takes */
	uint32_t max_msg_sz; /**< bytes, of the port */
	uint8_t nb_qp_lines; /**< the QP's nb_hot_lines */
	struct plx_qp_cap cap;
	uint32_t max_sge_rd;

	/* Written by every submit and completion. */
	struct plx_op_queue sq __rte_cache_aligned;
	uint64_t apart __rte_cache_aligned; /**< PLX_OP_RQ_AT */
	struct plx_op_queue rq;

	/* Cold. */
	struct plx_conn_group *group;
	struct plx_op_list waiting[2]; /**< sends and receives taken from other lcores, without credit yet */
	struct plx_op_list held;       /**< held back for the next post */
	uint32_t nb_queued; /**< atomic: taken from elsewhere, or about to be, not posted yet */
	uint32_t max_queued;
	uint32_t nb_holders; /**< atomic: the last one frees it */
	uint32_t nb_words; /**< atomic: drain requests from elsewhere, on their way to the owner or about to be; its making */
	bool in_waiters; /**< linked in the group's list of connections with waiting ops */
	bool closing;	 /**< atomic: somebody asked for it */
	bool draining;	 /**< atomic: likewise */
	bool in_closing; /**< linked in the group's list of those on their way */
	bool in_failed;	 /**< linked in the group's list of those that have failed */
	bool close_wanted; /**< from here to close_due: owner */
	bool drain_wanted;
	bool drain_told;
	bool error_logged;
	bool failed_told;
	bool fatal;	   /**< an event has said so */
	bool close_due;	   /**< for an event, once that is told; `closing` is taken */
	bool used_elsewhere; /**< atomic: an op came from another lcore */
	bool destroy_failed; /**< of the QP, while closing */
	bool in_error;	     /**< the QP, taken there by a close */
	bool cq_lost;	     /**< what the device has not completed it never will */
	bool last_wqe;	     /**< the QP takes no more receives from its SRQ */
	uint8_t close_step;
	struct plx_conn *next_waiter;
	struct plx_conn *next_closing;
	struct plx_conn *next_failed;
	struct plx_control_req control;
	uint64_t deadline;   /**< ns of CLOCK_MONOTONIC: of the closing step that waits */
	uint64_t seen_empty; /**< the CQ's counters when the QP was gone */
	uint64_t seen_polled;
	uint64_t *marks;
	uint64_t nb_exhausted;	/**< submits on the owner that were told -EAGAIN */
	struct plx_conn_stall stall;	/**< of sends */
	uint32_t nb_cqes; /**< reserved in the CQ */
	uint32_t told;	  /**< atomic: what the control thread has to tell (plx_conn_events.h) */
	int32_t fatal_raw; /**< of the QP-fatal event; under the group's lock */
	uint64_t qp_id;	  /**< the QP's number; 0 once it is destroyed. Written by the control thread */
	struct plx_recv_pool *recv_pool;
	/** A LIST_ENTRY() of the group's. */
	struct {
		struct plx_conn *le_next;
		struct plx_conn **le_prev;
	} in_group;
	struct plx_qp_path path;
	uint32_t atomic_big_endian; /**< the device's capability */
	unsigned int drain_ms;
	plx_conn_closed_cb_t closed_cb;
	plx_conn_lost_cb_t lost_cb;
	plx_conn_failed_cb_t failed_cb;
	plx_conn_closed_cb_t drained_cb;
	void *arg;
	struct plx_conn_error error;
	uint64_t nb_flushed;
	uint64_t nb_conn_lost;
};

/**
 * CQEs that a connection may have in its CQ at once, from the granted depths. The one formula of admission: the sum over
 * a CQ's connections never exceeds its granted size, so that a CQ cannot overflow and is never resized.
 */
PLX_INLINE uint32_t
plx_conn_cqes(const struct plx_qp_cap *granted)
{
	return granted->send_depth + granted->recv_depth;
}

/**
 * Make a connection: reserve its CQEs, create its QP, on the group's control thread.
 * NULL with rte_errno: ENOSPC its CQEs, or its receives, do not fit (before the QP exists; the log has used, needed and
 * limit), EINVAL a bad number, port, home or pool, ENOENT no port is active, EIO its CQ has lost completions, its
 * pool's SRQ is in error or its device is lost, ENOTSUP, ENOMEM, EDEADLK on the control thread, and what
 * plx_qp_create() says.
 * A QP that then cannot be destroyed either stays with the group, as a connection of its own that closes
 * (plx_conn_group_nb_conns()), until it can.
 * An event (plx_conn_events.h) may close it, and failed_cb run, before this returns; closed_cb comes after. Not on a
 * polling lcore: it waits.
 */
struct plx_conn *plx_conn_create(const struct plx_conn_conf *conf);

/**
 * Address of this end, for the peer's bring_up. -ENOTSUP: the device has no bring-up by attribute exchange;
 * -ENOTCONN: closing or closed. The owner, or whoever knows that no close begins.
 */
int plx_conn_local_attr(struct plx_conn *conn, struct plx_qp_addr *addr);

/**
 * IDLE -> READY, connected to @p peer, on the control thread. -EISCONN not IDLE, -ENOTSUP, -EINVAL, the provider's
 * errno. Receives may be submitted before. Not on a polling lcore.
 */
int plx_conn_bring_up(struct plx_conn *conn, const struct plx_qp_addr *peer);

/**
 * Begin to close. 0; -EALREADY: closing or closed; -EAGAIN: from another lcore, and the lane to the owner is full.
 * -ENOTSUP: it was attached; plx_conn_detach() ends it. Any thread.
 */
int plx_conn_close(struct plx_conn *conn);

/**
 * Take the QP to ERR and settle every op, each once, without closing yet: then drained_cb runs on the owner, behind the
 * last callback. What the device flushes is told as flushed; what it has not by the time that conf.drain_ms gives it,
 * the QP is destroyed for, and ends with PLX_ST_CONN_LOST. The connection is DRAINING from here on, plx_conn_close()
 * ends it. 0; -EALREADY: draining, closing or closed; -EAGAIN, -ENOTSUP as plx_conn_close(). Any thread.
 */
int plx_conn_drain(struct plx_conn *conn);

/** The first error of @p conn, PLX_ST_SUCCESS: none so far. Owner. */
void plx_conn_first_error(const struct plx_conn *conn, struct plx_conn_error *error);

/**
 * Free a connection that is CLOSED, or that is IDLE and never had an op but receives of its pool (then its QP is destroyed
 * here, on the control thread). -EBUSY otherwise, also for one that was attached: use plx_conn_detach(). Once no other
 * thread can be inside a call on it: closed_cb is the place only where nobody but the owner submits, or those who do
 * have been told to stop. Who goes by plx_conn_state() alone, elsewhere, may be before closed_cb: that comes all the
 * same, and wants conf.arg then. NULL is fine.
 */
int plx_conn_destroy(struct plx_conn *conn);

/** The state as it was a moment ago. Any thread. */
PLX_INLINE enum plx_conn_state
plx_conn_state(const struct plx_conn *conn)
{
	/* More than acquire for a submitter's second look (submitters_gone()); the same instruction on x86 and arm64. */
	return (enum plx_conn_state)__atomic_load_n(&conn->state, __ATOMIC_SEQ_CST);
}

/** "idle", "ready", ...; "unknown" outside the enum. */
const char *plx_conn_state_name(unsigned int state);

/** `arg` of the conf. */
PLX_INLINE void *
plx_conn_arg(const struct plx_conn *conn)
{
	return conn->arg;
}

/**
 * Its QP: for plx_verbs.h, its number (`qp_num`), its device. The library's: look, do not post on it. From DRAINING on
 * it may be destroyed at any moment, and then NULL: the owner before that, or whoever knows that no close begins.
 */
PLX_INLINE struct plx_qp *
plx_conn_qp(const struct plx_conn *conn)
{
	return conn->qp;
}

/** What was granted of `cap` in its conf: depths, SGEs and inline bytes that a submit is held against. Any thread. */
PLX_INLINE const struct plx_qp_cap *
plx_conn_cap(const struct plx_conn *conn)
{
	return &conn->cap;
}

/** The connection of an op that has been submitted. As a pointer valid until that is destroyed. */
PLX_INLINE struct plx_conn *
plx_op_conn(const struct plx_op *op)
{
	return (struct plx_conn *)plx_op_queue_conn(op->queue);
}

/**
 * What the word was before a COMPLETED atomic of one buffer, submitted on @p conn: in host order, whatever the device
 * replies in. plx_op_raw_value() has it as it came.
 */
PLX_INLINE uint64_t
plx_conn_old_value(const struct plx_conn *conn, const struct plx_op *op)
{
	uint64_t raw = plx_op_raw_value(op);

	return __builtin_expect(conn->atomic_big_endian != 0, 0) ? rte_be_to_cpu_64(raw) : raw;
}

/**
 * Of one connection, both queues together. How many messages of a receive pool's SRQ came on it is not counted: what
 * the pool needs is how many are held, and the other would cost each of them one store more. The pool's callback can
 * count, plx_op_conn() of its op says whose it is.
 */
struct plx_conn_stats {
	uint64_t lost;	    /**< ops whose completion was overtaken and has not come (lost_cb) */
	uint64_t recovered; /**< ops that were lost so, and then settled after all */
	uint64_t conn_lost; /**< ops that ended with PLX_ST_CONN_LOST, lost ones among them; what a close or detach left over */
	uint64_t flushed; /**< completions with PLX_ST_WR_FLUSH_ERR */
	uint64_t implied; /**< unsignaled ops (PLX_OP_LATE_OK) that the completion of a later op ended */
	uint32_t in_flight; /**< of both queues, without the lost ones */
	uint32_t waiting; /**< taken from other lcores, without credit */
	uint32_t sends_most; /**< of the send queue, in flight at once: at most the granted depth */
	uint32_t recvs_most; /**< likewise; with the sends at most plx_conn_cqes() */
	uint64_t exhausted;  /**< submits on the owner that found no room and were told -EAGAIN */
	/**
	 * ns since which a submit finds the send queue full and nothing completes; 0 if something has. A flow control
	 * that waits in a circle shows itself here: this grows, where with a slow peer it falls back.
	 */
	uint64_t stalled_ns;
};

/** Counters of @p conn. Owner. */
void plx_conn_stats(const struct plx_conn *conn, struct plx_conn_stats *stats);

/* ---- submit -------------------------------------------------------------------------------- */

/** Cold: other lcores, long bursts, held ops, no credit, closed. */
uint16_t plx_conn_submit_slow(struct plx_conn *conn, struct plx_op_queue *q, struct plx_op **ops, uint16_t n,
	struct plx_submit_err *err);

/**
 * Cold: the checks of plx_conn_submit_burst(), in the order of its list. 0 or -errno, with *err filled but for its
 * index.
 */
int plx_conn_check(const struct plx_conn *conn, const struct plx_op_queue *q, const struct plx_op *op,
	struct plx_submit_err *err);

/** Cold: make ops[at] to ops[n-1] ready for the post, with all checks. Returns how many are, *err says why not all. */
uint16_t plx_conn_take_rest(struct plx_conn *conn, struct plx_op_queue *q, struct plx_op **ops, uint16_t at, uint16_t n,
	struct plx_submit_err *err);

/** Cold: of ops[taken] to ops[ready-1] the post did not take the first, for @p code. Undo them, say why. */
void plx_conn_post_undo(struct plx_op_queue *q, struct plx_op **ops, uint16_t taken, uint16_t ready, int code,
	struct plx_submit_err *err);

/** Whether there is something about @p op, so that plx_conn_check() has to look at it. */
PLX_INLINE bool
plx_conn_op_odd(const struct plx_op *op, uint32_t kinds, uint32_t max_len)
{
	/* As others may see it: an op that is posted already has another writer. No home, no list, nothing bad. */
	if (__builtin_expect(__atomic_load_n(&op->custody, __ATOMIC_RELAXED) !=
			PLX_OP_CUSTODY(PLX_HOME_ANY, PLX_OP_PREPARED, 0), 0))
		return true;
	return __builtin_expect(op->sge.length > max_len, 0) || __builtin_expect(!(kinds >> (op->wr.opcode & 31) & 1), 0);
}

/** @p ops as the table of their WRs, with which they begin. For the compiler it is another table from here on. */
PLX_ALWAYS_INLINE const struct plx_wr *const *
plx_conn_wrs(struct plx_op **ops)
{
	const struct plx_wr *const *wrs = (const struct plx_wr *const *)ops;

	__asm__ volatile("" : "+r"(wrs) : : "memory");
	return wrs;
}

/** Fetch what a post of @p n ops to @p q touches behind the connection: the slots, and the QP's first two lines. */
PLX_ALWAYS_INLINE void
plx_conn_fetch_post(const struct plx_conn *conn, const struct plx_op_queue *q, uint16_t n)
{
	const uint16_t step = RTE_CACHE_LINE_SIZE / sizeof(*q->slots);

	__builtin_prefetch(conn->qp);
	__builtin_prefetch((const char *)conn->qp + RTE_CACHE_LINE_SIZE);
	for (uint16_t i = 0; i < n; i += step)
		__builtin_prefetch(&q->slots[(q->head + i) & q->mask], 1);
}

/** The submit path; @p recv says which of the two queues @p q is. */
PLX_ALWAYS_INLINE uint16_t
plx_conn_post_on(const struct plx_fast_ops *fast, struct plx_conn *conn, struct plx_op_queue *q, bool recv,
	struct plx_op **ops, uint16_t n, struct plx_submit_err *err)
{
	const uint32_t kinds = recv ? PLX_KIND(PLX_OPCODE_RECV) : conn->kinds;
	const uint32_t custody = conn->custody;
	const uint32_t max_len = conn->max_msg_sz, mask = q->mask;
	struct plx_op **const slots = q->slots;
	uint16_t ready = 0, posted;
	uint32_t head;
	int code = 0;

	/* The last: a long burst, or an empty one, which could go to a QP that is gone. */
	if (__builtin_expect(rte_lcore_id() != conn->owner || !plx_op_queue_fits(q, n) ||
			(uint16_t)(n - 1) >= PLX_POST_BURST, 0))
		return plx_conn_submit_slow(conn, q, ops, n, err);
	head = q->head;
	/* All at once, while the ops are made ready; with one op there is nothing to do meanwhile. */
	if (!__builtin_constant_p(n == 1) || n != 1)
		plx_conn_fetch_post(conn, q, n);
	do {
		struct plx_op *op = ops[ready];

		if (__builtin_expect(plx_conn_op_odd(op, kinds, max_len), 0)) {
			ready = plx_conn_take_rest(conn, q, ops, ready, n, err);
			if (ready == 0)
				return 0;
			break;
		}
		plx_op_set_custody(op, custody);
		op->queue = q;
		op->seq = head;
		slots[head & mask] = op;
		plx_op_arm(op);
		head++;
	} while (++ready != n);
	q->head += ready;
	plx_dispatcher_post_begin(conn->dispatcher);
	posted = recv ? fast->post_recv(conn->qp, plx_conn_wrs(ops), ready, &code)
		      : fast->post_send(conn->qp, plx_conn_wrs(ops), ready, &code);
	if (__builtin_expect(posted < ready, 0))
		plx_conn_post_undo(q, ops, posted, ready, code, err);
	plx_dispatcher_post_end(conn->dispatcher);
	return posted;
}

/**
 * Checks, credit, one chained post to @p q, the sq or rq of @p conn. With a constant @p fast, the table of the driver
 * that made the connection's QP, the compiler inlines through to the device.
 */
PLX_ALWAYS_INLINE uint16_t
plx_conn_post_burst_with(const struct plx_fast_ops *fast, struct plx_conn *conn, struct plx_op_queue *q,
	struct plx_op **ops, uint16_t n, struct plx_submit_err *err)
{
	plx_fast_require_post(fast, q == &conn->rq);
	return plx_conn_post_on(fast, conn, q, q == &conn->rq, ops, n, err);
}

/**
 * plx_conn_post_burst_with() for ops that are all of the constant kind @p opcode, PLX_OPCODE_RECV included: a constant
 * @p fast that lacks the slot or the operation, atomics say, stops the compilation with its name (plx_fast.h: from -O1
 * on).
 */
PLX_ALWAYS_INLINE uint16_t
plx_conn_post_kind_with(const struct plx_fast_ops *fast, struct plx_conn *conn, enum plx_opcode opcode,
	struct plx_op **ops, uint16_t n, struct plx_submit_err *err)
{
	const bool recv = opcode == PLX_OPCODE_RECV;

	plx_fast_require_post(fast, recv);
	plx_fast_require_kind(fast, opcode);
	return plx_conn_post_on(fast, conn, recv ? &conn->rq : &conn->sq, recv, ops, n, err);
}

/**
 * Submit @p n prepared ops, of the pool of the connection's dispatcher, to the send queue, in order; on the owner as one
 * chained post. (An op of another pool is taken like any other, unless it has a deadline; its completion is foreign,
 * and so it ends with the close, PLX_ST_CONN_LOST.)
 *
 * Returns how many were taken, the first ones. When fewer than @p n, *err has the reason of the first that was not:
 *   -EAGAIN    no room: the send queue is full (owner), or max_queued ops are queued (elsewhere); retry after progress
 *   -EBUSY     the op is posted already, or not prepared
 *   -ENOTCONN  not READY; -ECONNABORTED: FAILED
 *   -ENOTSUP   the device does not have the operation, or the op is not signaled (its completion would never come), or
 *              has a deadline and @p conn was attached
 *   -EINVAL    the op's home is no home, or it has a deadline and is of another pool
 *   -EOVERFLOW -EMSGSIZE -ERANGE -ENOBUFS -E2BIG -EINVAL -EFAULT -EACCES   see plx_conn_check(), with got and limit
 *   other      what the provider said of the op
 * From the owner the ops are posted when this returns; from elsewhere they are queued in order to the owner, and an op
 * whose post then fails completes with PLX_ST_POST_FAILED, one whose connection closes with PLX_ST_STOPPED. Any thread.
 */
PLX_INLINE uint16_t
plx_conn_submit_burst(struct plx_conn *conn, struct plx_op **ops, uint16_t n, struct plx_submit_err *err)
{
	return plx_conn_post_on(conn->fast, conn, &conn->sq, false, ops, n, err);
}

/**
 * The same for receives. They may be submitted before the connection is READY. -ENOTSUP: they come from a receive pool
 * (plx_recv_pool.h).
 */
PLX_INLINE uint16_t
plx_conn_recv_burst(struct plx_conn *conn, struct plx_op **ops, uint16_t n, struct plx_submit_err *err)
{
	return plx_conn_post_on(conn->fast, conn, &conn->rq, true, ops, n, err);
}

/**
 * Submit one op, send queue or receive as its kind says. 0 or -errno. With a constant @p fast as above; it must have both
 * posts, since the kind is the op's.
 */
PLX_ALWAYS_INLINE int
plx_conn_submit_with(const struct plx_fast_ops *fast, struct plx_conn *conn, struct plx_op *op)
{
	bool recv = op->wr.opcode == PLX_OPCODE_RECV;
	struct plx_submit_err err; /* filled when it counts */

	plx_fast_require_post(fast, true);
	plx_fast_require_post(fast, false);
	return plx_conn_post_on(fast, conn, recv ? &conn->rq : &conn->sq, recv, &op, 1, &err) == 1 ? 0 : err.code;
}

/** Submit one op, send queue or receive as its kind says. 0 or -errno, as plx_conn_submit_burst(). Any thread. */
PLX_INLINE int
plx_conn_submit(struct plx_conn *conn, struct plx_op *op)
{
	return plx_conn_submit_with(conn->fast, conn, op);
}

/**
 * Take @p n ops of the send queue, and post them only with the next submit or flush, all as one chain: at most
 * PLX_POST_BURST can be held. Owner. Errors as plx_conn_submit_burst(), -E2BIG also for a list longer than
 * PLX_OP_SGES, which the op takes along; -EPERM elsewhere.
 * -EAGAIN wants a plx_conn_flush(), then progress: what is held takes the room, and no turn of the loop posts it.
 */
uint16_t plx_conn_hold_burst(struct plx_conn *conn, struct plx_op **ops, uint16_t n, struct plx_submit_err *err);

/**
 * Cancel the op with @p id (plx_op_id()), submitted on @p conn: if its completion has not come it ends with
 * PLX_ST_CANCELLED, with its callback as ever, in a later turn of the owner. The device may have its buffers
 * longer: plx_op_in_device(). A receive stays posted and eats the next message, as one that timed out
 * (plx_op_set_deadline()). Whether it came first, its status tells. Of an id that is over nothing happens, nor of
 * one that is not submitted on a connection (posted by hand, or by a receive pool).
 * 0; -EINVAL: no op of the connection's dispatcher has such an id; -EAGAIN: from another lcore, and the lane to the
 * owner is full; -EPERM: from another lcore, and @p conn was attached. Any thread.
 */
int plx_conn_cancel(struct plx_conn *conn, uint64_t id);

/** Post what is held. 0, or -errno of the post; the ops that it did not take complete with PLX_ST_POST_FAILED. Owner. */
int plx_conn_flush(struct plx_conn *conn);

#ifdef __cplusplus
}
#endif

#endif
