/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * An op's life as a user of Pollux writes it. The twin is life_raw.c.
 */

#include "life.h"

#include "bench.h"

/** Told of each; the node goes back with its burst. */
static void
write_done(struct plx_op *op, void *arg)
{
	struct life_plx *life = arg;

	life->nb_good += op->status == PLX_ST_SUCCESS;
	life->nb_done++;
	life->over[life->nb_over++] = op;
}

void
life_plx_make(struct life_plx *life, struct bench_rig *rig, unsigned int burst, unsigned int ahead)
{
	*life = (struct life_plx){.rig = rig, .burst = burst, .ahead = ahead};
}

static inline __attribute__((always_inline)) void
plx_post(struct life_plx *life, unsigned int burst)
{
	struct bench_rig *rig = life->rig;
	struct plx_region *region = rig->region;
	uint64_t to = (uintptr_t)region->addr + BENCH_REGION / 2;
	struct plx_op *ops[LIFE_BURST];
	struct plx_submit_err err;

	if (plx_op_get_bulk(rig->d->pool, ops, burst) != 0)
		bench_broken("out of ops");
	for (unsigned int i = 0; i < burst; i++) {
		uint64_t place = LIFE_PLACE(life->nb_posted + i);

		plx_op_prep(ops[i], PLX_OPCODE_WRITE, (char *)region->addr + place, LIFE_LEN, region->lkey,
			write_done, life);
		plx_op_set_remote(ops[i], to + place, region->rkey);
	}
	if (plx_conn_submit_burst(rig->conns[0], ops, (uint16_t)burst, &err) != burst)
		bench_broken("submit refused: %d", err.code);
	life->nb_posted += burst;
}

static inline __attribute__((always_inline)) void
plx_poll(struct life_plx *life, unsigned int burst, bool poller)
{
	struct bench_rig *rig = life->rig;
	struct plx_wc wcs[LIFE_BURST];

	if (poller) {
		plx_poller_once(rig->poller);
	} else {
		int got = plx_cq_poll(rig->cq, wcs, (uint16_t)burst);

		if (got > 0)
			plx_dispatcher_deliver_burst(rig->d, wcs, (uint16_t)got);
	}
	plx_op_put_bulk(rig->d->pool, life->over, life->nb_over);
	life->nb_over = 0;
}

static inline __attribute__((always_inline)) void
plx_run(struct life_plx *life, unsigned int burst, bool poller, uint64_t nb_ops)
{
	uint64_t posts_end = life->nb_posted + nb_ops, good_end = life->nb_good + nb_ops;

	for (unsigned int i = 0; i < life->ahead; i++)
		plx_post(life, burst);
	while (life->nb_posted != posts_end) {
		plx_post(life, burst);
		plx_poll(life, burst, poller);
	}
	while (life->nb_done != posts_end)
		plx_poll(life, burst, poller);
	if (life->nb_good != good_end)
		bench_broken("writes failed");
}

void
life_plx_run(void *arg, uint64_t nb_ops)
{
	struct life_plx *life = arg;

	if (life->burst == 1)
		plx_run(life, 1, false, nb_ops);
	else
		plx_run(life, LIFE_BURST, false, nb_ops);
}

void
life_plx_run_poller(void *arg, uint64_t nb_ops)
{
	struct life_plx *life = arg;

	if (life->burst == 1)
		plx_run(life, 1, true, nb_ops);
	else
		plx_run(life, LIFE_BURST, true, nb_ops);
}
