/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_OP_H
#define PLX_OP_H

/**
 * @file
 * The op: one piece of posted work, from the pool and back.
 *
 *      get          prep            submit           CQE, at home         put
 *      pool -> FREE ----> PREPARED -------> POSTED --------------> COMPLETED ---> pool
 *                            ^                 |                       |
 *                            |    abandon, at home                     | again, prep
 *                            |                 v        CQE            |
 *                            |             ORPHANED ---------> pool    |
 *                            +-----------------------------------------+
 *
 * An op can be over before the device is done with it: its deadline passed, or it was cancelled. Then it is COMPLETED
 * as ever, but two parties have it, and the second to let go gives the node back (halves):
 *
 *      POSTED --deadline, cancel--> COMPLETED (TIMED_OUT, CANCELLED) --put--> .
 *                    '-----------------> the device's -----late CQE, or QP gone--> pool
 *
 * With plx_dispatcher_keep() as its callback it waits on its home's list before it is the caller's again:
 *
 *      POSTED --CQE, at home--> KEPT --plx_dispatcher_take_burst()--> COMPLETED
 *                                 '------------abandon--------------> pool
 *
 * A device knows an op by its 64-bit wr_id alone:
 *
 *      63                 32 31       24 23              0
 *     +---------------------+-----------+-----------------+
 *     |     generation      | pool tag  |   slot index    |
 *     +---------------------+-----------+-----------------+
 *
 * The generation grows at each reuse (put, again, prep of a completed op). Tags count from 1, so that 0 and small
 * numbers are nobody's.
 *
 * Each word has one writer at a time, so the warm path has no locked instruction:
 *
 *      device_word   wr_id while the device has the op, else 0. Written by the connection's owner
 *                    lcore, at post and at deliver. A completion counts only if it equals this word.
 *                    Of an op with a deadline, or settled before its completion: plx_op_watched(), which no wr_id of
 *                    the slot equals, so that what is special about it costs the others nothing.
 *      state         Written by whoever prepares and submits the op, then by the home lcore alone.
 *      wr.wr_id      Written by whoever holds the op when it is reused.
 *
 * An op in POSTED, ORPHANED or KEPT is in the library's custody: its fields are not the caller's. A prepared op's
 * SGE list, flags and home are changed by the functions below, which note what submit has to look at.
 *
 * Memory: two hot cache lines (what is posted; what comes back), one cold one, then room for an
 * SGE list and the application's private bytes. The mempool's own header is one line more.
 *
 * Threads: an op is used by one thread at a time, the one that took it, then its home lcore.
 *
 * @since 0.1
 */

#include <stdbool.h>
#include <stdint.h>

#include "plx_wr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plx_op;
struct plx_op_pool;
struct plx_op_queue;

/** Runs on the op's home lcore, once. The op is COMPLETED: put it, or use it again. */
typedef void (*plx_op_cb_t)(struct plx_op *op, void *arg);

/** Bit 4: in custody. A plain uint8_t in the op, since C++ and other threads look at it. */
enum plx_op_state {
	PLX_OP_FREE,
	PLX_OP_PREPARED,
	PLX_OP_COMPLETED,
	PLX_OP_POSTED = 0x10,
	PLX_OP_ORPHANED = 0x11,
	PLX_OP_KEPT = 0x12, /**< completed, on its home's list for plx_dispatcher_take_burst() */
};

/** The bit of enum plx_op_state that says "the library's". */
#define PLX_OP_IN_CUSTODY 0x10

/** Why submit has to look twice at a prepared op; noted at prep, told at submit (plx_conn_submit_burst()). */
#define PLX_OP_BAD_LENGTH   0x01 /**< one length does not fit 32 bits: EOVERFLOW */
#define PLX_OP_BAD_RANGE    0x02 /**< outside the remote range: ERANGE */
#define PLX_OP_BAD_ATOMIC   0x04 /**< atomic whose local length is not 8: EINVAL */
#define PLX_OP_BAD_ALIGN    0x08 /**< atomic whose remote address is not 8-byte aligned: EFAULT */
#define PLX_OP_BAD_RIGHTS   0x10 /**< remote right known to be missing: EACCES */
#define PLX_OP_OWN_HOME	    0x20 /**< not bad: the op has a home of its own */
#define PLX_OP_OWN_MORE	    0x40 /**< not bad: an SGE list instead of its one buffer, a deadline, or settled early */
#define PLX_OP_OWN_FLAGS    0x80 /**< not bad: flags besides PLX_WR_SIGNALED, or without it */

#define PLX_OP_ATOMIC_LEN 8 /**< bytes that an atomic changes, and brings */

/**
 * Of wr.flags, and for no device: the op may be posted unsignaled, as the connection sees fit. Such a one completes, with
 * success, when the completion of a later op of its queue comes, just before that one; on an error it has its own.
 * plx_conn.h says which are signaled all the same. Of a receive it means nothing.
 */
#define PLX_OP_LATE_OK 0x80

/** No particular home: the callback runs on the lcore that delivers. */
#define PLX_HOME_ANY 0xffff

/** plx_op.custody of an op in @p state on lcore @p home: one store or one compare where all three count. */
#define PLX_OP_CUSTODY(home, state, attention)                                                                \
	((uint32_t)(home) | (uint32_t)(state) << 16 | (uint32_t)(attention) << 24)

/** One piece of work. Change it by the functions below; read the result when it is COMPLETED. */
struct plx_op {
	/* Line 0: written by prep, read by post. */
	struct plx_wr wr;     /**< wr.wr_id is the op's present id */
	uint64_t device_word; /**< atomic: also read by whoever delivers a stale wr_id */

	/* Line 1: what comes back, and to whom. */
	struct plx_sge sge; /**< the SGE of a one-buffer op; of one with a list the library's */
	plx_op_cb_t cb;	    /**< plx_op_polled(): nobody is called, plx_op_is_done() tells */
	void *arg;
	struct plx_op_queue *queue; /**< that it was posted on last; its connection may be gone */
	uint32_t seq;		    /**< its place in that queue */
	__extension__ union {
		struct {
			uint16_t home;	   /**< lcore id or PLX_HOME_ANY */
			uint8_t state;	   /**< enum plx_op_state */
			uint8_t attention; /**< PLX_OP_BAD_*, PLX_OP_OWN_* */
		};
		uint32_t custody; /**< the three as one word, PLX_OP_CUSTODY() */
	};
	/* Lies as in struct plx_wc. */
	uint32_t byte_len;
	uint32_t imm;
	uint32_t qp_num;
	uint8_t status; /**< enum plx_status */
	uint8_t reported; /**< the device's enum plx_opcode; plx_op_kind() */
	uint8_t wc_flags;
	uint8_t reserved;

	/* Line 2: cold. */
	struct plx_op_pool *pool;
	struct plx_op *next; /**< in whichever list has it in custody */
	struct plx_op *prev;
	uint32_t vendor_err; /**< these three: only if status is not PLX_ST_SUCCESS */
	uint32_t raw_status;
	int32_t post_errno;
	uint32_t inv_rkey; /**< only with PLX_WC_WITH_INV */
	/**
	 * Atomic. Settled before the device was done: {waiter, device} that have it still; 0: it was not.
	 * Shared dispatchers, while it is posted: {post returned, CQE came} still to come.
	 */
	uint32_t halves;
	uint32_t deadline_at; /**< owner: its place among the deadlines, from 1; 0: none */
	uint64_t deadline;    /**< ns of CLOCK_MONOTONIC; 0: none */
	uint32_t cancel_gen;  /**< owner: the generation to be cancelled when it comes from another lcore */
	bool cancel_marked;   /**< owner: cancel_gen is one, and counted (nb_marked) */
	bool list_kept;	      /**< sge says where the caller's SGE list is, sges have what is posted instead */

	/* Line 3: the op's own SGE list, then the application's private bytes. */
	struct plx_sge sges[PLX_OP_SGES];
};

/** How an op ended, whole. Fields that the completion does not define are 0. */
struct plx_result {
	enum plx_status status;
	enum plx_opcode kind;
	uint32_t byte_len;
	uint32_t imm;
	uint32_t inv_rkey;
	uint32_t wc_flags;
	uint32_t qp_num;
	uint32_t vendor_err;
	uint32_t raw_status;
	int post_errno; /**< -errno with PLX_ST_POST_FAILED, else 0 */
	void *conn;	/**< struct plx_conn of the op, NULL without one; as a pointer valid until that is destroyed */
};

/** Of a COMPLETED op: what it was; of a receive, what arrived. Not what a device says of what it was not asked. */
PLX_INLINE enum plx_opcode
plx_op_kind(const struct plx_op *op)
{
	if (op->wr.opcode == PLX_OPCODE_RECV && op->status == PLX_ST_SUCCESS &&
		op->reported == PLX_OPCODE_RECV_WRITE_IMM)
		return PLX_OPCODE_RECV_WRITE_IMM;
	return (enum plx_opcode)op->wr.opcode;
}

/** The result of a COMPLETED op. */
void plx_op_result(const struct plx_op *op, struct plx_result *res);

/** Whether the op is COMPLETED. From its home lcore, or any other thread that then only reads its result. */
PLX_INLINE bool
plx_op_is_done(const struct plx_op *op)
{
	/* Pairs with the release in plx_op_complete(): the result is whole. */
	return __atomic_load_n(&op->state, __ATOMIC_ACQUIRE) == PLX_OP_COMPLETED;
}

/** The present wr_id. It names this use of the op and no other. */
PLX_INLINE uint64_t
plx_op_id(const struct plx_op *op)
{
	return __atomic_load_n(&op->wr.wr_id, __ATOMIC_RELAXED);
}

/** How often the op has been used before. */
PLX_INLINE uint32_t
plx_op_generation(const struct plx_op *op)
{
	return (uint32_t)(plx_op_id(op) >> 32);
}

/** Application bytes behind the op: priv_size of its pool. */
PLX_INLINE void *
plx_op_priv(struct plx_op *op)
{
	return op + 1;
}

/**
 * Whether the op is PREPARED, and so the caller's to change: of one that is posted another lcore may be writing the
 * state.
 */
PLX_INLINE bool
plx_op_is_prepared(const struct plx_op *op)
{
	return __atomic_load_n(&op->state, __ATOMIC_RELAXED) == PLX_OP_PREPARED;
}

/** Every change of state is made here, so that other threads may look (relaxed: nothing hangs on it). */
PLX_INLINE void
plx_op_set_state(struct plx_op *op, enum plx_op_state state)
{
	__atomic_store_n(&op->state, (uint8_t)state, __ATOMIC_RELAXED);
}

/** Home, state and attention at once, likewise. */
PLX_INLINE void
plx_op_set_custody(struct plx_op *op, uint32_t custody)
{
	__atomic_store_n(&op->custody, custody, __ATOMIC_RELAXED);
}

/** Add to what submit has to look at. Whoever prepares the op. */
PLX_INLINE void
plx_op_note(struct plx_op *op, uint8_t attention)
{
	plx_op_set_custody(op, op->custody | PLX_OP_CUSTODY(0, 0, attention));
}

/** Take from what submit has to look at. Whoever prepares the op. */
PLX_INLINE void
plx_op_unnote(struct plx_op *op, uint8_t attention)
{
	plx_op_set_custody(op, op->custody & ~PLX_OP_CUSTODY(0, 0, attention));
}

/* ---- prepare ------------------------------------------------------------------------------- */

/** End this use of the op: older wr_ids are stale from here on. */
PLX_INLINE void
plx_op_renew(struct plx_op *op)
{
	__atomic_store_n(&op->wr.wr_id, op->wr.wr_id + (UINT64_C(1) << 32), __ATOMIC_RELAXED);
}

/** The callback of ops without one: does nothing. */
void plx_op_polled(struct plx_op *op, void *arg);

/** A new node: FREE, of @p pool, with @p id. */
void plx_op_init(struct plx_op *op, struct plx_op_pool *pool, uint64_t id);

/** Cold half of plx_op_begin(): false if the op is in custody, which leaves it untouched. */
bool plx_op_begin_again(struct plx_op *op);

/** Make @p op PREPARED, at home anywhere; false, and nothing changed, if it is posted (a submit refuses it). */
PLX_INLINE bool
plx_op_begin(struct plx_op *op, uint8_t attention)
{
	if (__builtin_expect(op->state != PLX_OP_FREE, 0) && !plx_op_begin_again(op))
		return false;
	plx_op_set_custody(op, PLX_OP_CUSTODY(PLX_HOME_ANY, PLX_OP_PREPARED, attention));
	return true;
}

/**
 * Prepare an op by hand: opcode and one local buffer of @p len bytes (0: none, whatever @p addr and @p lkey).
 * @p cb with @p arg is called at home; NULL for an op that is polled.
 * The op must be FREE, PREPARED or COMPLETED; on a posted op nothing happens and submit refuses it.
 */
PLX_INLINE void
plx_op_prep(struct plx_op *op, enum plx_opcode opcode, const void *addr, size_t len, uint32_t lkey,
	plx_op_cb_t cb, void *arg)
{
	/* The opcode is a constant as a rule; one that is none of ours has submit look at it. */
	uint8_t attention = (uint8_t)opcode >= PLX_NB_OPCODES ? PLX_OP_OWN_FLAGS : 0;

	if ((opcode == PLX_OPCODE_CMP_SWAP || opcode == PLX_OPCODE_FETCH_ADD) && len != PLX_OP_ATOMIC_LEN)
		attention |= PLX_OP_BAD_ATOMIC;
	if (!plx_op_begin(op, len > UINT32_MAX ? attention | PLX_OP_BAD_LENGTH : attention))
		return;
	op->sge.addr = (uint64_t)(uintptr_t)addr;
	op->sge.length = (uint32_t)len;
	op->sge.lkey = lkey; /* wr.sg_list is that one, unless an SGE list takes its place for one use */
	op->wr.num_sge = len != 0;
	op->wr.opcode = (uint8_t)opcode;
	op->wr.flags = PLX_WR_SIGNALED;
	op->wr.reserved = 0; /* one store with the three before it */
	op->cb = cb != NULL ? cb : plx_op_polled;
	op->arg = arg;
}

/** plx_op_prep() of a send. */
PLX_INLINE void
plx_op_prep_send(struct plx_op *op, const void *addr, size_t len, uint32_t lkey, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_SEND, addr, len, lkey, cb, arg);
}

/** plx_op_prep() of a receive. */
PLX_INLINE void
plx_op_prep_recv(struct plx_op *op, void *addr, size_t len, uint32_t lkey, plx_op_cb_t cb, void *arg)
{
	plx_op_prep(op, PLX_OPCODE_RECV, addr, len, lkey, cb, arg);
}

/**
 * The target of a prepared write or read, as raw numbers (plx_op_kinds.h has all kinds, and looks at an atomic's
 * alignment); plx_prep.h has it checked against a plx_remote.
 */
PLX_INLINE void
plx_op_set_remote(struct plx_op *op, uint64_t remote_addr, uint32_t rkey)
{
	op->wr.remote_addr = remote_addr;
	op->wr.rkey = rkey;
}

/**
 * Give a prepared op the @p n SGEs at @p list instead of its one buffer, which it forgets. The list must live until submit
 * returns.
 * A write or read on a plx_remote takes plx_prep_set_sges() (plx_prep.h). More than PLX_OP_SGES of them can be
 * submitted from the connection's owner lcore only. Of an op that is not PREPARED nothing changes; likewise below.
 */
PLX_INLINE void
plx_op_set_sges(struct plx_op *op, const struct plx_sge *list, uint32_t n)
{
	if (!plx_op_is_prepared(op))
		return;
	op->wr.sg_list = list;
	op->wr.num_sge = n;
	plx_op_unnote(op, PLX_OP_BAD_LENGTH); /* it was the one buffer's */
	plx_op_note(op, PLX_OP_OWN_MORE);
}

/** Add PLX_WR_FENCE, _SOLICITED, _INLINE, PLX_OP_LATE_OK to a prepared op. */
PLX_INLINE void
plx_op_add_flags(struct plx_op *op, uint8_t flags)
{
	if (!plx_op_is_prepared(op))
		return;
	op->wr.flags |= flags;
	plx_op_note(op, PLX_OP_OWN_FLAGS);
}

/**
 * Let a prepared op be over at @p ns of CLOCK_MONOTONIC (plx_clock_monotonic_ns() + how long), wherever it is by then: if
 * its completion has not come it ends with PLX_ST_TIMED_OUT, in a turn of its owner's plx_conn_group_once(). The device may
 * have its buffers longer: plx_op_in_device(). A receive that timed out is posted still, and eats the next message: its
 * sender sees success, and nobody here does (`late` in the dispatcher's stats). For this use alone, plx_op_again()
 * drops it. 0: none.
 */
PLX_INLINE void
plx_op_set_deadline(struct plx_op *op, uint64_t ns)
{
	if (!plx_op_is_prepared(op))
		return;
	op->deadline = ns;
	plx_op_note(op, PLX_OP_OWN_MORE);
}

/** Let a prepared op complete on lcore @p home whatever its connection says. */
PLX_INLINE void
plx_op_set_home(struct plx_op *op, unsigned int home)
{
	if (plx_op_is_prepared(op))
		plx_op_set_custody(op,
			/* One that does not fit is no lcore: submit refuses it as it refuses that number. */
			PLX_OP_CUSTODY((uint16_t)(home < PLX_HOME_ANY || home == UINT32_MAX ? home : PLX_HOME_ANY - 1),
				PLX_OP_PREPARED, op->attention | PLX_OP_OWN_HOME));
}

/**
 * Use a COMPLETED op once more as it is: PREPARED, new generation, no deadline; the list that plx_op_set_sges() was given
 * is read again by its submit. 0, or -EBUSY if it is not COMPLETED, or
 * the device still has it.
 */
int plx_op_again(struct plx_op *op);

/**
 * Cold: PREPARED as it was, with no home but its own and the caller's list; of an op that was not posted after all, or is
 * used again.
 */
void plx_op_prepared_again(struct plx_op *op);

/** Cold: what has bytes of the list of @p op, at most PLX_OP_SGES, goes to its own sges, and the post takes those. */
void plx_op_own_sges(struct plx_op *op);

/* ---- for lib/dispatcher and lib/conn: the two sides of the state machine -------------------- */

/** Whether the device says nothing of a posted @p op unless it fails. */
PLX_INLINE bool
plx_op_is_unsignaled(const struct plx_op *op)
{
	return !(op->wr.flags & PLX_WR_SIGNALED) && op->wr.opcode != PLX_OPCODE_RECV;
}

/** Into custody, on its way to complete on lcore @p home unless it has a home of its own. */
PLX_INLINE void
plx_op_posted(struct plx_op *op, uint16_t home)
{
	if (__builtin_expect(op->attention & PLX_OP_OWN_HOME, 0))
		home = op->home;
	/* Release pairs with the acquire of whoever abandons an id that nobody told it (abandon.c). */
	__atomic_store_n(&op->custody, PLX_OP_CUSTODY(home, PLX_OP_POSTED, op->attention & ~PLX_OP_OWN_FLAGS),
		__ATOMIC_RELEASE);
}

/** Owner: the device gets the op. Before the post call: the CQE may come during it. */
PLX_INLINE void
plx_op_arm(struct plx_op *op)
{
	/* Relaxed: whoever delivers this id got it from the device after the post, and a stale id
	 * equals neither the old nor the new value. */
	__atomic_store_n(&op->device_word, op->wr.wr_id, __ATOMIC_RELAXED);
}

/** The device_word of an op with @p id that is not to be settled by a completion as others are. */
PLX_INLINE uint64_t
plx_op_watched(uint64_t id)
{
	return id ^ UINT32_MAX; /* another slot */
}

/** The device_word of an op with @p id that its owner keeps, until it can be posted. */
PLX_INLINE uint64_t
plx_op_queued(uint64_t id)
{
	return ~id; /* likewise */
}

/**
 * Of a COMPLETED op, whose status is then PLX_ST_TIMED_OUT or PLX_ST_CANCELLED: whether the device may still touch its
 * buffers. The op may be put all the same. Whoever holds it.
 */
PLX_INLINE bool
plx_op_in_device(const struct plx_op *op)
{
	/* Pairs with the release in plx_op_device_done(): what the device wrote is to be seen. */
	return __atomic_load_n(&op->device_word, __ATOMIC_ACQUIRE) == plx_op_watched(plx_op_id(op));
}

/** Owner: like plx_op_arm(), of an op with a deadline. */
PLX_INLINE void
plx_op_arm_watched(struct plx_op *op)
{
	__atomic_store_n(&op->device_word, plx_op_watched(op->wr.wr_id), __ATOMIC_RELAXED);
}

/** Owner: the op waits here to be posted. */
PLX_INLINE void
plx_op_enqueued(struct plx_op *op)
{
	__atomic_store_n(&op->device_word, plx_op_queued(op->wr.wr_id), __ATOMIC_RELAXED);
}

/** Owner: the device has the op, and it is about to be settled all the same: two have it from here on. */
void plx_op_split(struct plx_op *op);

/** Owner, of an op that is its or the device's: whether it was settled and the device still has it. */
PLX_INLINE bool
plx_op_is_split(const struct plx_op *op)
{
	return __atomic_load_n(&op->halves, __ATOMIC_RELAXED) != 0;
}

/** Owner: the device is done with an op that plx_op_is_split(); the node goes back now, or when its holder puts it. */
void plx_op_device_done(struct plx_op *op);

/** Put an op that cannot go into the pool now: false if it is in custody; else the device has it still, and it is done. */
bool plx_op_leave(struct plx_op *op);

/** Owner: the device does not have the op after all. */
PLX_INLINE void
plx_op_disarm(struct plx_op *op)
{
	__atomic_store_n(&op->device_word, 0, __ATOMIC_RELAXED);
}

/** Owner: whether @p wr_id is the use of the op that the device has; then it no longer has it. */
PLX_INLINE bool
plx_op_claim(struct plx_op *op, uint64_t wr_id)
{
	/* The owner alone writes this word: a plain load, which compares in one instruction. */
	if (__builtin_expect(op->device_word != wr_id, 0))
		return false;
	__atomic_store_n(&op->device_word, 0, __ATOMIC_RELAXED);
	return true;
}

/** The same where any thread may deliver: exactly one caller wins. */
PLX_INLINE bool
plx_op_claim_shared(struct plx_op *op, uint64_t wr_id)
{
	uint64_t expected = wr_id;

	/* Acquire pairs with the release that armed the op: its queue and home are whole. */
	return __atomic_compare_exchange_n(
		&op->device_word, &expected, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/** Home: the CQE is here, and somebody waits. */
PLX_INLINE void
plx_op_complete(struct plx_op *op)
{
	/* Pairs with the acquire in plx_op_is_done(). */
	__atomic_store_n(&op->state, PLX_OP_COMPLETED, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif

#endif
