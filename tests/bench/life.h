/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef LIFE_H
#define LIFE_H

/**
 * @file
 * An op's whole life on one lcore: an 8-byte write to here or there, and a callback that is told how it went.
 *
 *      product  get -> prep -> submit (checks, credit, post) -> poll -> deliver (claim, retire, result) -> callback -> put
 *      twin     next context -> fill -> post ------------------> poll -> callback
 *
 * Both choose the place of each write anew, look at each status, and count what went well; the run checks the count.
 * `ahead` bursts are in flight while the next one is posted: 0 for B1 and B2, so that an op ends before the next begins,
 * 1 for B8.
 */

#include "bench_rig.h"

#define LIFE_LEN   8
#define LIFE_BURST 32
#define LIFE_DEPTH 64

/** Offset of write number @p n, in the source and in the target alike: 4096 places, one after the other. */
#define LIFE_PLACE(n) ((n) % (BENCH_REGION / 2 / LIFE_LEN) * LIFE_LEN)

/* ---- the twin ---- */

struct life_context;
typedef void (*life_raw_cb_t)(struct life_context *context, const struct plx_wc *wc);

/** What the expert keeps for one write in flight; the wr_id is its address. */
struct life_context {
	struct plx_wr wr;
	struct plx_sge sge;
	life_raw_cb_t cb;
	void *arg;
};

struct life_raw {
	struct bench_raw_qp *raw;
	unsigned int burst;
	unsigned int ahead;
	struct life_context *contexts; /**< LIFE_DEPTH of them, used in turn: an RC queue completes in order */
	uint64_t nb_posted;
	uint64_t nb_done;
	uint64_t nb_good;
};

void life_raw_make(struct life_raw *life, struct bench_raw_qp *raw, unsigned int burst, unsigned int ahead);
/** @p life is the life_raw. */
void life_raw_run(void *life, uint64_t nb_ops);
void life_raw_break(struct life_raw *life);

/* ---- the product ---- */

struct life_plx {
	struct bench_rig *rig;
	unsigned int burst;
	unsigned int ahead;
	uint64_t nb_done;
	uint64_t nb_posted;
	uint64_t nb_good; /**< not beside nb_done: gcc would add to both with five vector instructions */
	struct plx_op *ops[LIFE_DEPTH]; /**< posted, in turn likewise */
};

void life_plx_make(struct life_plx *life, struct bench_rig *rig, unsigned int burst, unsigned int ahead);
/** @p life is the life_plx: poll and deliver called by the application's own loop. */
void life_plx_run(void *life, uint64_t nb_ops);
/** The same by plx_poller_once(), with the two hooks of an lcore that has connections. */
void life_plx_run_poller(void *life, uint64_t nb_ops);
/** As life_plx_run(), compiled for null: through its constant table. Where there is one. */
#if __has_include("plx_null_fast.h") && __has_include("plx_poll.h")
#define LIFE_STATIC
void life_plx_run_static(void *life, uint64_t nb_ops);
#endif

#endif
