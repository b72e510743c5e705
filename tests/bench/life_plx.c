/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * An op's life as a user of Pollux writes it. The twin is life_raw.c.
 */

#include "life.h"

#include "bench.h"

#ifdef LIFE_STATIC
#include "plx_null_fast.h"
#include "plx_poll.h"
#endif

/** Who polls, and through which table. */
enum how {
	HOW_LOOP,   /**< a loop of the application's own */
	HOW_POLLER, /**< plx_poller_once() */
	HOW_STATIC, /**< a loop of its own that is compiled for null alone */
};

/** Told of each of a burst; the nodes go back together. */
static void
write_done(struct plx_op *op, void *arg)
{
	struct life_plx *life = arg;

	life->nb_good += op->status == PLX_ST_SUCCESS;
	life->nb_done++;
}

/** Told of one that was posted alone. */
static void
lone_write_done(struct plx_op *op, void *arg)
{
	struct life_plx *life = arg;

	life->nb_good += op->status == PLX_ST_SUCCESS;
	life->nb_done++;
	plx_op_put(op);
}

void
life_plx_make(struct life_plx *life, struct bench_rig *rig, unsigned int burst, unsigned int ahead)
{
	*life = (struct life_plx){.rig = rig, .burst = burst, .ahead = ahead};
}

static inline __attribute__((always_inline)) uint16_t
submit(struct plx_conn *conn, struct plx_op **ops, uint16_t n, struct plx_submit_err *err, enum how how)
{
#ifdef LIFE_STATIC
	if (how == HOW_STATIC)
		return plx_conn_post_burst_with(&plx_null_fast, conn, &conn->sq, ops, n, err);
#endif
	return plx_conn_submit_burst(conn, ops, n, err);
}

static inline __attribute__((always_inline)) void
poll_and_deliver(struct bench_rig *rig, unsigned int burst, enum how how)
{
	struct plx_wc wcs[LIFE_BURST];
	int got;

	if (how == HOW_POLLER) {
		plx_poller_once(rig->poller);
		return;
	}
#ifdef LIFE_STATIC
	if (how == HOW_STATIC) {
		plx_poll_with(&plx_null_fast, rig->cq, rig->d);
		return;
	}
#endif
	got = plx_cq_poll(rig->cq, wcs, (uint16_t)burst);
	if (got > 0)
		plx_dispatcher_deliver_burst(rig->d, wcs, (uint16_t)got);
}

static inline __attribute__((always_inline)) void
plx_post(struct life_plx *life, unsigned int burst, enum how how)
{
	struct bench_rig *rig = life->rig;
	const struct plx_region region = *rig->region;
	uint64_t to = (uintptr_t)region.addr + BENCH_REGION / 2, n = life->nb_posted;
	struct plx_op **ops = &life->ops[n % LIFE_DEPTH];
	struct plx_submit_err err;

	if (plx_op_get_bulk(rig->d->pool, ops, burst) != 0)
		bench_broken("out of ops");
	for (unsigned int i = 0; i < burst; i++) {
		uint64_t place = LIFE_PLACE(n + i);
		struct plx_op *op = ops[i];

		plx_op_prep(op, PLX_OPCODE_WRITE, (char *)region.addr + place, LIFE_LEN, region.lkey,
			burst == 1 ? lone_write_done : write_done, life);
		plx_op_set_remote(op, to + place, region.rkey);
	}
	if (submit(rig->conns[0], ops, (uint16_t)burst, &err, how) != burst)
		bench_broken("submit refused: %d", err.code);
	life->nb_posted += burst;
}

static inline __attribute__((always_inline)) void
plx_turn(struct life_plx *life, unsigned int burst, enum how how)
{
	const uint64_t first = life->nb_done;

	poll_and_deliver(life->rig, burst, how);
	if (burst != 1)
		plx_op_put_bulk(life->rig->d->pool, &life->ops[first % LIFE_DEPTH], (unsigned int)(life->nb_done - first));
}

static inline __attribute__((always_inline)) void
plx_run(struct life_plx *life, unsigned int burst, enum how how, uint64_t nb_ops)
{
	uint64_t posts_end = life->nb_posted + nb_ops, good_end = life->nb_good + nb_ops;

	for (unsigned int i = 0; i < life->ahead; i++)
		plx_post(life, burst, how);
	while (life->nb_posted != posts_end) {
		plx_post(life, burst, how);
		plx_turn(life, burst, how);
	}
	while (life->nb_done != posts_end)
		plx_turn(life, burst, how);
	if (life->nb_good != good_end)
		bench_broken("writes failed");
}

/** Constants: a program's burst is one. */
static inline __attribute__((always_inline)) void
run(void *arg, enum how how, uint64_t nb_ops)
{
	struct life_plx *life = arg;

	if (life->burst == 1)
		plx_run(life, 1, how, nb_ops);
	else
		plx_run(life, LIFE_BURST, how, nb_ops);
}

void
life_plx_run(void *life, uint64_t nb_ops)
{
	run(life, HOW_LOOP, nb_ops);
}

void
life_plx_run_poller(void *life, uint64_t nb_ops)
{
	run(life, HOW_POLLER, nb_ops);
}

#ifdef LIFE_STATIC
void
life_plx_run_static(void *life, uint64_t nb_ops)
{
	run(life, HOW_STATIC, nb_ops);
}
#endif
