/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The connections: two queue pairs each, an initiator's and a target's, on the one CQ.
 */

#include "perf.h"

#include <errno.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "app_cause.h"

static void
closed(struct plx_conn *conn, void *arg)
{
	struct perf *perf = ((struct perf_end *)arg)->pair->loop->perf;
	struct plx_conn_stats stats;

	plx_conn_stats(conn, &stats);
	perf->nb_implied += stats.implied;
	__atomic_fetch_add(&perf->nb_closed, 1, __ATOMIC_RELEASE);
}

static int
connect_end(struct perf *perf, struct perf_end *end, const struct plx_qp_cap *cap, uint32_t rights)
{
	struct plx_conn_conf conf = {
		.group = perf->group,
		.pd = perf->pd,
		.cap = *cap,
		.home = perf->home,
		.closed_cb = closed,
		.lost_cb = perf_overtaken,
		.arg = end,
	};

	plx_qp_path_default(&conf.path);
	conf.path.port = perf->port;
	conf.path.rights = rights;
	end->conn = plx_conn_create(&conf);
	if (end->conn == NULL)
		return app_fail(&perf->error, -rte_errno, "connection %u of %u: %s", end->pair->index,
			perf->opts.connections, app_cause(rte_strerror(rte_errno)));
	return 0;
}

static int
create_pair(struct perf *perf, struct perf_pair *pair)
{
	struct plx_qp_cap initiator = {.send_depth = perf->opts.depth + perf->spare, .recv_depth = 1};
	struct plx_qp_cap target = {.send_depth = 1, .recv_depth = RTE_MAX(perf->nb_recvs, 1u)};
	uint32_t rights = perf->opts.opcode == PLX_OPCODE_WRITE	 ? PLX_ACCESS_REMOTE_WRITE
			  : perf->opts.opcode == PLX_OPCODE_READ ? PLX_ACCESS_REMOTE_READ
								 : 0;
	int err = perf_pair_fill(perf, pair);

	if (err != 0)
		return err;
	err = connect_end(perf, &pair->initiator, &initiator, 0);
	return err != 0 ? err : connect_end(perf, &pair->target, &target, rights);
}

int
perf_pairs_create(struct perf *perf)
{
	int err = perf_regions_create(perf);

	for (uint32_t i = 0; i < perf->opts.connections && err == 0; i++) {
		perf->pairs[i].index = i;
		perf->pairs[i].loop = perf->loop;
		err = create_pair(perf, &perf->pairs[i]);
	}
	return err;
}

static int
bring_up(struct perf_pair *pair)
{
	struct plx_conn *initiator = pair->initiator.conn, *target = pair->target.conn;
	struct plx_qp_addr here, there;
	int err = plx_conn_local_attr(initiator, &here);

	if (err == 0)
		err = plx_conn_local_attr(target, &there);
	if (err == 0)
		err = plx_conn_bring_up(target, &here);
	return err != 0 ? err : plx_conn_bring_up(initiator, &there);
}

int
perf_pairs_bring_up(struct perf *perf)
{
	int err = 0;

	for (uint32_t i = 0; i < perf->opts.connections && err == 0 && !perf_interrupted; i++) {
		err = bring_up(&perf->pairs[i]);
		if (err != 0)
			app_fail(&perf->error, err, "connection %u of %u does not come up: %s", i,
				perf->opts.connections, app_cause(rte_strerror(-err)));
	}
	return err;
}

static void
free_end(struct perf *perf, struct perf_end *end)
{
	int err = end->conn != NULL ? plx_conn_destroy(end->conn) : 0;

	if (err != 0)
		app_fail(&perf->error, err, "connection %u not given back: %s", end->pair->index,
			rte_strerror(-err));
	for (uint32_t slot = 0; end->ops != NULL && slot < end->nb_slots; slot++) {
		/* Only when the run never began: it puts its ops itself. */
		if (end->ops[slot] != NULL)
			plx_op_put(end->ops[slot]);
	}
	rte_free(end->ops);
}

void
perf_pairs_free(struct perf *perf)
{
	for (uint32_t i = 0; perf->pairs != NULL && i < perf->opts.connections; i++) {
		free_end(perf, &perf->pairs[i].initiator);
		free_end(perf, &perf->pairs[i].target);
	}
}
