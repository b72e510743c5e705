/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_FAULT_H
#define PLX_FAULT_H

/**
 * @file
 * A device around another device that misbehaves as a script says.
 *
 *      post ------> fault -----------------------------> inner
 *                   fail, deny, unname, lose, link, in_err
 *
 *      poll <------ fault <-- rule <-- ... <-- rule <--- inner
 *                   drop, dup, hold, swap, replay, error, wrid, poison
 *
 *      control ---> fault -----------------------------> inner
 *                   fail, delay, qpn
 *
 *      events <---- fault <----------------------------- inner
 *                   event, raise
 *
 * Tests see lost, doubled, late and garbled completions, posts and verbs that fail, and QP numbers of their choice, with no
 * hook in any hot path. What was done is counted, and the counts follow from the script. A rule says what, to which
 * object, and which ones: N (the Nth), N..M, N.. (from the Nth on), 1/N (every Nth), 1/N seed S (one in N by chance,
 * the same for the same S), nothing (all). The language with all its words, and what each rule does to a row of
 * completions, is the page on fault of the programmer's guide, doc/guide/fault.md in the source tree.
 *
 *      dev = plx_fault_wrap(plx_device_open("loopback0"), "drop cqe 1/1000; hold cqe 32");
 *
 * Threads: as any device. A CQ's waiting completions are its owner's; what the rules count over the device is
 * atomic. Posting and polling allocate nothing. They take a lock where a script takes a QP to ERR or raises an event,
 * which is a system call too; and where it has `in_err`, each post of a WR asks the inner device for the QP's state,
 * which is one on verbs.
 *
 * @since 0.1
 */

#include <stdint.h>

#include "plx_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Wrap @p inner, on which nothing has been made yet. The wrapper has inner's capabilities and limits, and the
 * name "fault:" and inner's; closing it closes inner. An empty script changes nothing.
 * NULL with rte_errno: EINVAL bad script, or @p inner or @p script is NULL, ENOMEM; then inner is untouched and
 * the caller's. plx_fault_error() has the cause.
 */
struct plx_device *plx_fault_wrap(struct plx_device *inner, const char *script);

/**
 * Why this thread's last plx_fault_wrap() returned NULL, "" if it did not:
 *
 *      rule 2, column 27: expected N or 1/N (1 to 1000000000), found "1/x"
 *
 * Rules and columns count from 1, blank rules too. Valid until the thread's next plx_fault_wrap().
 */
const char *plx_fault_error(void);

/** What the rules have done so far, over the device. At rest, with no poll running,
 * cqes + made + duplicated + replayed = given + dropped + waiting + discarded. */
struct plx_fault_stats {
	uint64_t cqes;	       /**< taken off the inner device */
	uint64_t made;	       /**< `lose`, `link`, `in_err`: CQEs that the inner device never had */
	uint64_t given;	       /**< to whoever polls */
	uint64_t dropped;      /**< `drop` */
	uint64_t duplicated;   /**< `dup`: copies made */
	uint64_t replayed;     /**< `replay`: copies of old ones */
	uint64_t held;	       /**< `hold`: held so far, once for each rule that did */
	uint64_t swapped;      /**< `swap`: pairs given in the wrong order */
	uint64_t waiting;      /**< held, or copies for which the burst had no room, at this moment */
	uint64_t discarded;    /**< were waiting when their CQ was destroyed */
	uint64_t errors;       /**< `error`: successes turned into errors */
	uint64_t garbled;      /**< `wrid`: wr_ids replaced */
	uint64_t poisoned;     /**< `poison`: error CQEs */
	uint64_t failed_posts; /**< `fail`, `unname`, `in_err`: WRs refused */
	uint64_t denied;       /**< `deny`, `unname`: WRs posted that the post did not own up to */
	uint64_t lost;	       /**< `lose`, `link`: sends that never left, and the first to die of it */
	uint64_t flushed;      /**< `in_err`, and behind a lost send: WRs that were flushed here */
	uint64_t swallowed;    /**< `in_err`: WRs taken that never complete */
	uint64_t failed_verbs; /**< `fail`: control verbs refused */
	uint64_t delayed;      /**< `delay`: control verbs */
	uint64_t events;       /**< `event`: async events dropped, doubled or held back */
	uint64_t raised;       /**< `raise`: async events made up */
	uint64_t overrun;      /**< `raise`: and those for which there was no room, since 64 waited to be read */
};

/** Fill @p stats, from any thread. -EINVAL: @p dev is no wrapper. */
int plx_fault_stats(const struct plx_device *dev, struct plx_fault_stats *stats);

/** Name of counter number @p index, the @p index th uint64_t of struct plx_fault_stats; NULL behind the last. */
const char *plx_fault_stat_name(unsigned int index);

/** Where a poll of the wrapper stands. */
enum plx_fault_point {
	PLX_FAULT_BEFORE_POLL, /**< nothing has been taken off the inner CQ yet */
	PLX_FAULT_AFTER_POLL,  /**< all that this poll gives is on its way to the caller */
};

/** A step that a test puts between others: post, close, let another thread go on. In the thread that polls @p cq. */
typedef void (*plx_fault_hook_t)(struct plx_cq *cq, enum plx_fault_point point, void *arg);

/**
 * Call @p hook (NULL: none) at each point of each poll. -EINVAL: @p dev is no wrapper. While nobody polls. The hook may
 * post and call verbs, and poll other CQs; not this one.
 */
int plx_fault_set_hook(struct plx_device *dev, plx_fault_hook_t hook, void *arg);

#ifdef __cplusplus
}
#endif

#endif
