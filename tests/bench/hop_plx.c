/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A hand-over as Pollux does it: the op's home is the worker. The twin is hop_raw.c.
 */

#include "hop.h"

#include <stdlib.h>

#include "bench.h"

struct hop_plx {
	struct bench_rig rig;
	struct plx_poller *worker;
	struct plx_op *ops[HOP_MANY]; /**< posted since the last recycle */
	unsigned int nb_ops;
	struct hop_seen seen;
};

static void
write_done(struct plx_op *op, void *arg)
{
	struct hop_plx *hop = arg;

	if (op->status != PLX_ST_SUCCESS)
		bench_broken("write failed");
	hop_saw(&hop->seen);
}

static void
plx_post(void *arg, unsigned int n)
{
	struct hop_plx *hop = arg;
	struct plx_region *region = hop->rig.region;
	struct plx_op **ops = &hop->ops[hop->nb_ops];
	struct plx_submit_err err;

	bench_ok(plx_op_get_bulk(hop->rig.d->pool, ops, n), "ops");
	for (unsigned int i = 0; i < n; i++) {
		plx_op_prep(ops[i], PLX_OPCODE_WRITE, region->addr, 8, region->lkey, write_done, hop);
		plx_op_set_remote(ops[i], (uintptr_t)region->addr + BENCH_REGION / 2, region->rkey);
	}
	if (plx_conn_submit_burst(hop->rig.conns[0], ops, (uint16_t)n, &err) != n)
		bench_broken("submit refused: %d", err.code);
	hop->nb_ops += n;
}

static uint64_t
plx_hand(void *arg, unsigned int n, uint64_t *cost)
{
	struct hop_plx *hop = arg;
	struct plx_wc wcs[HOP_BURST];
	uint64_t polled;

	if (plx_cq_poll(hop->rig.cq, wcs, (uint16_t)n) != (int)n)
		bench_broken("completions are missing");
	polled = hop_now();
	plx_dispatcher_deliver_burst(hop->rig.d, wcs, (uint16_t)n);
	if (cost != NULL)
		*cost += hop_now() - polled;
	return polled;
}

static void
plx_recycle(void *arg)
{
	struct hop_plx *hop = arg;

	if (plx_op_put_bulk(hop->rig.d->pool, hop->ops, hop->nb_ops) != hop->nb_ops)
		bench_broken("an op is still posted");
	hop->nb_ops = 0;
}

static void
plx_turn(void *arg)
{
	struct hop_plx *hop = arg;

	plx_poller_once(hop->worker);
}

void
hop_plx_make(struct hop_version *version)
{
	struct hop_plx *hop = bench_need(aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*hop)), "product");

	*hop = (struct hop_plx){.nb_ops = 0};
	bench_rig_make(&hop->rig, &(struct bench_rig_conf){.device = "null0", .owner = HOP_POLLER, .home = HOP_WORKER,
					  .nb_conns = 1, .depth = HOP_MANY, .nb_ops = HOP_MANY});
	hop->worker = bench_need(plx_poller_create(&(struct plx_poller_conf){.name = "worker"}), "worker");
	bench_ok(plx_poller_add_hook(hop->worker, plx_dispatcher_hook, hop->rig.d), "worker");
	*version = (struct hop_version){"plx", hop, &hop->seen, plx_post, plx_hand, plx_recycle, plx_turn};
}

void
hop_plx_break(struct hop_version *version)
{
	struct hop_plx *hop = version->arg;

	bench_rig_break(&hop->rig);
	bench_ok(plx_poller_destroy(hop->worker), "worker");
	free(hop);
}
