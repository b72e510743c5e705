/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_POLLER_H
#define PLX_POLLER_H

/**
 * @file
 * Poller and worker: what a busy lcore does, one turn at a time.
 *
 *      poller_once():   for each CQ: poll up to its budget -> deliver        worker_once():   for each hook: call it
 *                       for each hook: call it
 *      run():           until stop: once()
 *
 * A worker is a poller without CQs: hooks only. Hooks are how other rooms get their turn (a dispatcher's inbox and
 * hand-overs, a connection group's submits and closes, the application's own); the poller knows none of them.
 *
 * An owner lcore that has connections adds two hooks besides its CQs: plx_dispatcher_hook (inbox, early completions,
 * abandons) and plx_conn_group_hook (submits and closes from elsewhere; without it nothing ever closes). A worker that is a
 * home adds plx_dispatcher_hook.
 *
 * Run to completion: the poller lcore is the home of the ops, callbacks run inside deliver. Hand-off: the home
 * is a worker lcore, which has the dispatcher's hook.
 *
 * Threads: CQs and hooks are added before the loop runs, or by the lcore that runs it. stop from any thread; it is
 * seen within one turn. Counters may be read from any thread.
 *
 * @since 0.1
 */

#include <stdbool.h>
#include <stdint.h>

#include "plx_dispatcher.h"
#include "plx_fast.h"

#ifdef __cplusplus
extern "C" {
#endif

/** CQs that one poller polls at most. */
#define PLX_POLLER_MAX_CQS   16
/** Hooks that one poller calls at most. */
#define PLX_POLLER_MAX_HOOKS 32

/** Returns how many things it did, for the loop's idle statistics. */
typedef unsigned int (*plx_hook_t)(void *arg);

/** Written by the loop's lcore, read from anywhere (relaxed). */
struct plx_poller_stats {
	uint64_t turns;
	uint64_t idle_turns; /**< turns that found nothing to do */
	uint64_t polls;	     /**< of one CQ in one turn */
	uint64_t empty_polls;
	uint64_t completions;
	uint64_t full_polls; /**< polls that gave as many as the CQ's budget allows: more were waiting, perhaps */
	/**
	 * Completions that one CQ gave in one turn, at most: its high water, as far as the budget lets a turn see it.
	 * At most what is reserved in the CQ (plx_conn_cqes()), unless completions came while it was being emptied.
	 */
	uint64_t most;
	uint64_t cq_errors;  /**< polls that failed: the CQ is dead, and polled no more */
};

/** What a poller is made of. */
struct plx_poller_conf {
	const char *name;
	uint16_t budget; /**< completions per CQ and turn, unless a CQ has one of its own; 0: PLX_POLL_BURST; at most 512 */
	bool yield;	 /**< sched_yield() in idle turns: for loops that share a CPU */
};

struct plx_poller;

/** NULL with rte_errno: EINVAL budget, ENOMEM. On the NUMA node of the caller. */
struct plx_poller *plx_poller_create(const struct plx_poller_conf *conf);
/** -EBUSY while its loop runs, or completions of a CQ still wait for room in an inbox. NULL is fine. */
int plx_poller_destroy(struct plx_poller *poller);

/**
 * Poll @p cq and deliver to @p d. -ENOSPC: PLX_POLLER_MAX_CQS, -EEXIST, -EINVAL: NULL, -ENOTSUP: no poll_cq in its
 * table.
 */
int plx_poller_add_cq(struct plx_poller *poller, struct plx_cq *cq, struct plx_dispatcher *d);
/**
 * Stop polling @p cq; safe in a callback. -ENOENT; -EAGAIN: completions polled from it wait for room in the
 * dispatcher's inbox (of a poller that is not the owner); let the loop turn and call again.
 */
int plx_poller_remove_cq(struct plx_poller *poller, struct plx_cq *cq);
/**
 * Let @p cq give @p budget completions in a turn, whatever the others do: a CQ of many connections beside one of few.
 * It lasts until the CQ is removed. 0: the poller's own again. Safe in a callback; it counts from the next turn on.
 * -ENOENT; -EINVAL: above 512.
 */
int plx_poller_set_budget(struct plx_poller *poller, struct plx_cq *cq, uint16_t budget);
/** Call @p hook(@p arg) once a turn. -ENOSPC, -EEXIST, -EINVAL: no hook. */
int plx_poller_add_hook(struct plx_poller *poller, plx_hook_t hook, void *arg);
/** Call @p hook(@p arg) no more; safe in a callback or hook. -ENOENT. */
int plx_poller_remove_hook(struct plx_poller *poller, plx_hook_t hook, void *arg);

/**
 * One turn. Returns how many things were done; 0 inside a callback of this poller's own turn, where another one would
 * deliver out of order.
 */
unsigned int plx_poller_once(struct plx_poller *poller);

/**
 * The loop, as an lcore function: rte_eal_remote_launch(plx_poller_run, poller, lcore). Returns 0 after a stop;
 * -EBUSY: it runs already.
 */
int plx_poller_run(void *poller);

/** Ask the loop to end after the turn that it is in. Any thread. A loop started later ends at once, until reset. */
void plx_poller_stop(struct plx_poller *poller);
/** Let a stopped poller run again. -EBUSY while its loop runs. */
int plx_poller_reset(struct plx_poller *poller);
/** Whether the loop runs. Any thread. */
bool plx_poller_running(const struct plx_poller *poller);

/** The lcore that last ran the loop, or LCORE_ID_ANY. */
unsigned int plx_poller_lcore(const struct plx_poller *poller);

/** Counters, each as it was a moment ago. Any thread. */
void plx_poller_stats(const struct plx_poller *poller, struct plx_poller_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
