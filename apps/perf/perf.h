/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PERF_H
#define PERF_H

/**
 * @file
 * plx-perf: who does what.
 *
 *   main lcore (sleeps)         poller lcore (owner)                       worker lcore (home)
 *   ------------------------------------------------------------------------------------------------
 *   set up, launch loops
 *   command WARM, MEASURE -------------------------------------------------> perf_loop_once()
 *                               take what was submitted, post  <--lane--      issue, submit
 *                               poll the CQ, deliver           --lane-->      callbacks: record, verify
 *   progress, signals
 *   command STOP, CLOSE ---------------------------------------------------> issues no more, puts ops
 *   plx_conn_close() ---------> drain, destroy QPs, settle     --lane-->      callbacks: put
 *   stop loops, tear down, report
 *
 * With --handoff off the poller is its own worker: home is the owner.
 *
 * A connection is a pair of ends. Each end has slots, a buffer and an op each:
 *
 *      initiator    idle ---issue---> ready ---submit---> in flight ---callback---> idle
 *      target (send)                  ready ---post---->  posted -----callback----> ready
 *
 * What struct perf_loop, the pairs and their ends have belongs to the home lcore, once the loops run; the few
 * words that another lcore writes or reads are said to be atomic.
 *
 * Files, in the order of a run: perf_options, perf_device (open, limits), perf_setup (rooms), perf_buffers,
 * perf_pairs (connections), perf_run (main's part), perf_loop (the home lcore's part), perf_initiator,
 * perf_target, perf_lost (completions that do not come), perf_close, perf_report, perf_json.
 */

#include <signal.h>
#include <stdio.h>

#include "app_eal.h"
#include "perf_options.h"
#include "plx_clock.h"
#include "plx_conn.h"
#include "plx_hist.h"
#include "plx_memory.h"
#include "plx_poller.h"

struct perf;
struct perf_pair;

/** The application's bytes behind each op. */
struct perf_note {
	uint64_t submitted; /**< ticks, just before the submit call */
	uint64_t seq;	    /**< of its message within the connection */
	uint32_t slot;
	uint32_t overtaken; /**< atomic: 1 once a later completion came first; set by the owner */
};

/** One side of a connection. */
struct perf_end {
	struct perf_pair *pair;
	struct plx_conn *conn;
	struct plx_op *
		*ops; /**< by slot; another op there than the one that completes: that one was replaced */
	uint8_t *buffers;
	uint32_t lkey;
	uint32_t nb_slots;
	uint8_t *used; /**< by slot: its buffer has been part of an op */
	uint64_t next_seq;
	struct plx_op **idle; /**< stack */
	uint32_t nb_idle;
	struct plx_op **ready; /**< for the next submit, in order */
	uint32_t nb_ready;
	uint32_t overtaken;	 /**< atomic: how often lost_cb ran; written by the owner */
	uint32_t overtaken_seen; /**< of these, looked after */
};

struct perf_pair {
	struct perf_end initiator;
	struct perf_end target;
	struct perf_loop *loop;
	uint32_t index;
	uint32_t in_flight; /**< of the initiator; ready ones included */
	uint64_t quota;	    /**< ops to issue yet */
	uint64_t nb_refused; /**< sends whose post a fault script made fail: their numbers reached nobody */
	uint64_t nb_skipped; /**< of these numbers, missed by the target so far */
	uint64_t nb_done;
	bool open;    /**< counted in nb_open: ops to issue or to wait for */
	bool stalled; /**< what is in flight is lost, and nothing will overtake it */
	bool dirty;   /**< linked in the loop's list */
	struct perf_pair *next_dirty;
	uint64_t visit_done;	  /**< nb_done, when the stall detector saw it change */
	uint64_t visit_turns;	  /**< turns of the poller then */
	struct plx_remote remote; /**< write, read: the target's buffers */
};

/** What main asks of the home lcore; only ever the next one. */
enum perf_command { PERF_WAIT, PERF_WARM, PERF_MEASURE, PERF_STOP, PERF_CLOSE };

/** Completions of one turn whose time is taken together. */
#define PERF_TURN_MAX 64

/** The home lcore's loop. */
struct perf_loop {
	/* Read each turn. */
	struct perf *perf;
	const struct plx_clock *clock;
	uint32_t command; /**< atomic: enum perf_command, written by main */
	uint32_t heard;	  /**< in the turn before */
	uint32_t obeyed;
	bool each; /**< the clock is read for each op: messages are so long that handling one takes time */
	bool measuring;
	bool closing;
	struct perf_pair *dirty; /**< pairs with something ready, in order */
	struct perf_pair *dirty_tail;
	uint32_t nb_done;
	uint64_t done[PERF_TURN_MAX]; /**< when the ops that completed in this turn were submitted */

	/* The measurement. */
	uint64_t count_from; /**< ticks: ops submitted before are not counted */
	uint64_t started;    /**< ticks */
	uint64_t ended;	     /**< ticks; 0: not yet */
	uint64_t until;	     /**< ticks: when -D is over; UINT64_MAX: it does not end by time */
	uint64_t last_done;  /**< ticks of the last turn with completions */
	struct plx_hist hist __rte_cache_aligned; /**< ticks; snapshots are taken by main */

	/* Published for main: atomic. */
	uint32_t reached __rte_cache_aligned; /**< the command that is carried out */
	uint32_t nb_open;		      /**< pairs with ops to issue or to wait for */
	uint32_t failed;		      /**< perf->error says why */
	uint64_t nb_completed;

	/* Cold. */
	uint64_t lost;	 /**< ops settled with PLX_ST_CONN_LOST */
	uint64_t silent; /**< of these, posted unsignaled: no completion of their own was lost, but that of the op behind */
	uint64_t late;	 /**< ops that completed after they had been replaced */
	uint64_t refused; /**< posts that a fault script made fail; issued again */
	uint64_t errors; /**< ops that completed with any other error while the run was on */
	uint32_t visit;	 /**< pair that the stall detector looks at next */
	uint32_t turns_to_visit;
};

/** A run. */
struct perf {
	struct perf_options opts;
	struct app_machine machine;
	unsigned int main_lcore;
	unsigned int poller_lcore;
	unsigned int worker_lcore; /**< LCORE_ID_ANY: no hand-off */
	unsigned int home;	   /**< the one of the two that callbacks run on */
	uint32_t spare;		   /**< slots beside the depth, for ops behind lost ones */
	uint32_t nb_recvs;	   /**< receives of a target; 0 unless sending */
	uint64_t stride;	   /**< bytes from buffer to buffer */

	struct plx_device *dev;
	const struct plx_device *fault; /**< dev, when it is a fault wrapper; else NULL */
	uint32_t port;
	struct plx_qp_cap initiator_cap;
	struct plx_qp_cap target_cap;
	uint64_t nb_cqes;

	struct plx_control *control;
	struct plx_pd *pd;
	struct plx_cq *cq;
	struct plx_dispatcher *dispatcher;
	struct plx_conn_group *group;
	struct plx_region *initiator_region;
	struct plx_region *target_region;
	struct plx_poller *poller;
	struct plx_poller *worker;
	struct perf_pair *pairs;
	uint32_t nb_launched; /**< lcores that run a loop */
	uint32_t nb_closed;   /**< atomic: connections whose closed_cb ran */
	uint64_t nb_implied;  /**< ops of theirs that completed with a later one; the owner's until they are closed */

	struct perf_loop *loop;
	struct plx_hist *snapshot; /**< main's */
	struct app_error
		error; /**< written by one thread at a time: main, or the home lcore before `failed` */
	struct app_error loop_error;	   /**< the home lcore's, before `failed` */
	struct plx_dispatcher_stats stats; /**< taken before the dispatcher goes */
};

/** Set by SIGINT and SIGTERM. */
extern volatile sig_atomic_t perf_interrupted;

/* ---- main lcore ---------------------------------------------------------------------------- */

/** Open the device and check what was asked against its limits. 0 or -errno, with perf->error. */
int perf_device_open(struct perf *perf);
/** Lcores by their order; -EINVAL: too few. */
int perf_choose_lcores(struct perf *perf);
/** Make everything up to connections that are ready, and launch the loops. 0 or -errno, with perf->error. */
int perf_setup(struct perf *perf);
/** Undo it, however far it came. 0, or -errno: something was not given back (perf->error). */
int perf_teardown(struct perf *perf);
int perf_pairs_create(struct perf *perf);
int perf_pairs_bring_up(struct perf *perf);
void perf_pairs_free(struct perf *perf);
/** Buffers of all pairs, then the ops, slots and messages of one. 0 or -errno with perf->error. */
int perf_regions_create(struct perf *perf);
int perf_pair_fill(struct perf *perf, struct perf_pair *pair);
/** Ops that all pairs need. */
uint64_t perf_nb_ops(const struct perf *perf);
/** Warm up, measure, stop. 0, or -errno with perf->error; there is a result either way. */
int perf_run(struct perf *perf);
/** Close the connections, wait until they are, end the loops. 0 or -ETIMEDOUT. */
int perf_close(struct perf *perf);
void perf_stop_loops(struct perf *perf);
/** Whether the fault script holds completions back at this moment. */
bool perf_held_back(const struct perf *perf);
/** Tell the home lcore, and wait until it has obeyed. */
void perf_command(struct perf *perf, enum perf_command command);
/** Compare the regions of a write or read run. 0 or -EIO with perf->error. */
int perf_verify_regions(struct perf *perf);

/* ---- home lcore ---------------------------------------------------------------------------- */

/** The last hook of the home lcore's turn. @p arg is the struct perf_loop. */
unsigned int perf_loop_once(void *arg);
void perf_loop_init(struct perf_loop *loop, struct perf *perf);
/** End the run: @p fmt is the cause, if it is the first. */
void perf_loop_fail(struct perf_loop *loop, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** An op that had been submitted at @p submitted has completed. */
void perf_loop_record(struct perf_loop *loop, uint64_t submitted);
/** Have the pair's ready ops submitted at the end of this turn. */
void perf_pair_touch(struct perf_pair *pair);
/** Count the pair among the open ones, or no longer. */
void perf_pair_update(struct perf_pair *pair);

void perf_initiator_issue(struct perf_pair *pair);
void perf_initiator_submit(struct perf_pair *pair, uint64_t now);
void perf_initiator_done(struct plx_op *op, void *end);
void perf_target_post_all(struct perf_pair *pair);
void perf_target_submit(struct perf_pair *pair);
void perf_target_received(struct plx_op *op, void *end);
/** Compare a received message whole. */
void perf_target_check(struct perf_end *end, uint32_t slot, uint64_t seq, uint32_t len);

/** An op that ended with an error, or at all while closing: count it and give it back. */
void perf_op_failed(struct perf_end *end, struct plx_op *op);
/** A completion of an op that was replaced. */
void perf_op_late(struct perf_end *end, struct plx_op *op);
/** lost_cb of both ends; on the owner. */
void perf_overtaken(struct plx_conn *conn, const struct plx_op *op, void *end);
/** Cold: replace ops that were overtaken. */
void perf_replace_overtaken(struct perf_end *end);
/** Once in a while: look at one pair, and put an op behind what seems lost. */
void perf_look_for_stall(struct perf_loop *loop);
/** Give back everything that is not in custody. */
void perf_put_all(struct perf_loop *loop);

static inline bool
perf_is_initiator(const struct perf_end *end)
{
	return end == &end->pair->initiator;
}

static inline struct perf_note *
perf_note(struct plx_op *op)
{
	return (struct perf_note *)plx_op_priv(op);
}

static inline uint8_t *
perf_buffer(const struct perf_end *end, uint32_t slot)
{
	return end->buffers + slot * end->pair->loop->perf->stride;
}

/** Look after overtaken ops first: the completion that is being handled may have overtaken some. */
static inline void
perf_look_overtaken(struct perf_end *end)
{
	/* Relaxed: what the owner wrote before it handed this completion over is visible. */
	if (__builtin_expect(__atomic_load_n(&end->overtaken, __ATOMIC_RELAXED) != end->overtaken_seen, 0))
		perf_replace_overtaken(end);
}

/* ---- results ------------------------------------------------------------------------------- */

/** The result in numbers; what both reports print. */
struct perf_result {
	double seconds;
	uint64_t ops;
	uint64_t lost;
	uint64_t duplicated;
	uint64_t stale;
	uint64_t errors;
	double ns_per_tick;
	const struct plx_hist *hist; /**< ticks */
};

void perf_result_take(struct perf *perf, struct perf_result *res);
/** @p percent of the latencies are at most this, ns. */
double perf_result_ns(const struct perf_result *res, double percent);
void perf_report_header(const struct perf *perf, FILE *out);
void perf_report(const struct perf *perf, const struct perf_result *res, FILE *out);
/** One object on one line. */
void perf_json(const struct perf *perf, const struct perf_result *res, FILE *out);
/** Say whether the counts agree with what the fault script did. On stderr. */
void perf_report_faults(const struct perf *perf, const struct perf_result *res);

#endif
