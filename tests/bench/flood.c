/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "flood.h"

#include "bench.h"

static void
write_done(struct plx_op *op, void *arg)
{
	struct flood *flood = arg;

	if (op->status != PLX_ST_SUCCESS)
		bench_broken("flood: %s", plx_status_name(op->status));
	flood->free[flood->nb_free++] = op;
	flood->nb_done++;
}

static void
closed(struct plx_conn *conn, void *arg)
{
	struct flood *flood = arg;

	flood->nb_closed++;
}

/** Hook of side 0's poller: keep the queue full. */
static unsigned int
flood_turn(void *arg)
{
	struct flood *flood = arg;
	struct plx_region *region = flood->side->pair->region;
	struct plx_submit_err err;
	unsigned int n = flood->nb_free;

	if (!flood->on || n == 0)
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		plx_op_prep(flood->free[i], PLX_OPCODE_WRITE, (char *)region->addr + region->len - BENCH_REGION / 2, 8, region->lkey,
			write_done, flood);
		plx_op_set_remote(flood->free[i], (uintptr_t)region->addr + region->len - 8, region->rkey);
	}
	flood->nb_free = 0;
	if (plx_conn_submit_burst(flood->conn, flood->free, (uint16_t)n, &err) != n)
		bench_broken("flood: %d", err.code);
	return n;
}

void
flood_make(struct flood *flood, struct pair *pair)
{
	struct pair_side *side = &pair->side[0];
	struct plx_conn_conf conf = {.group = side->group,
		.pd = pair->pd,
		.cap = {.send_depth = FLOOD_DEPTH, .recv_depth = 1},
		.home = side->lcore,
		.closed_cb = closed,
		.arg = flood};
	struct plx_qp_addr self;

	*flood = (struct flood){.budget = flood->budget, .side = side, .nb_free = FLOOD_DEPTH};
	plx_qp_path_default(&conf.path);
	conf.path.rights = PLX_ACCESS_REMOTE_WRITE;
	flood->conn = bench_need(plx_conn_create(&conf), "flood");
	bench_ok(plx_conn_local_attr(flood->conn, &self), "flood");
	bench_ok(plx_conn_bring_up(flood->conn, &self), "flood");
	bench_ok(plx_op_get_bulk(side->d->pool, flood->free, FLOOD_DEPTH), "flood");
	bench_ok(plx_poller_set_budget(side->poller, side->cq, flood->budget), "flood");
	bench_ok(plx_poller_add_hook(side->poller, flood_turn, flood), "flood");
}

void
flood_begin(struct flood *flood)
{
	flood->on = true;
	flood_turn(flood);
}

void
flood_end(struct flood *flood)
{
	flood->on = false;
	while (flood->nb_free < FLOOD_DEPTH)
		plx_poller_once(flood->side->poller);
}

void
flood_close(struct flood *flood)
{
	bench_ok(plx_conn_close(flood->conn), "flood");
	while (flood->nb_closed == 0)
		plx_poller_once(flood->side->poller);
	plx_op_put_bulk(flood->side->d->pool, flood->free, FLOOD_DEPTH);
}

void
flood_break(struct flood *flood)
{
	bench_ok(plx_conn_destroy(flood->conn), "flood");
}
