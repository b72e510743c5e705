/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The twin of a hand-over, by hand: contexts, and a bare SP/SC rte_ring of their addresses.
 *
 * The wr_id is the context, so the poller writes what became of it there and passes the pointer on. A context is one
 * cache line with all that the worker wants; what only the poller needs to post it lies elsewhere.
 */

#include "hop.h"

#include <stdlib.h>

#include <rte_ring.h>

#include "bench.h"

struct hop_context {
	void (*cb)(struct hop_context *context);
	void *arg;
	uint32_t byte_len;
	uint8_t status;
} __rte_cache_aligned;

struct hop_raw {
	struct bench_raw_qp qp;
	struct rte_ring *ring;
	struct hop_context *contexts; /**< HOP_MANY */
	struct plx_wr *wrs;
	struct plx_sge sge;
	unsigned int nb_posted; /**< since the last recycle */
	struct hop_seen seen;
};

static void
write_done(struct hop_context *context)
{
	struct hop_raw *hop = context->arg;

	if (context->status != PLX_ST_SUCCESS)
		bench_broken("twin: write failed");
	hop_saw(&hop->seen);
}

static void
raw_post(void *arg, unsigned int n)
{
	struct hop_raw *hop = arg;

	for (unsigned int i = 0; i < n; i += HOP_BURST) {
		const struct plx_wr *wrs[HOP_BURST];
		uint16_t burst = (uint16_t)RTE_MIN(n - i, (unsigned int)HOP_BURST);
		int err;

		for (unsigned int k = 0; k < burst; k++) {
			struct hop_context *context = &hop->contexts[hop->nb_posted];

			context->cb = write_done; /* whom to tell, as life_raw.c does */
			context->arg = hop;
			wrs[k] = &hop->wrs[hop->nb_posted++];
		}
		if (hop->qp.qp->fast->post_send(hop->qp.qp, wrs, burst, &err) != burst)
			bench_broken("twin: post refused: %d", err);
	}
}

static uint64_t
raw_hand(void *arg, unsigned int n, uint64_t *cost)
{
	struct hop_raw *hop = arg;
	struct plx_wc wcs[HOP_BURST];
	void *contexts[HOP_BURST];
	uint64_t polled, filled;

	if (hop->qp.cq->fast->poll_cq(hop->qp.cq, wcs, (uint16_t)n) != (int)n)
		bench_broken("twin: completions are missing");
	polled = hop_now();
	for (unsigned int i = 0; i < n; i++) {
		struct hop_context *context = (struct hop_context *)(uintptr_t)wcs[i].wr_id;

		context->status = wcs[i].status;
		context->byte_len = wcs[i].byte_len;
		contexts[i] = context;
	}
	filled = cost != NULL ? hop_now() : 0;
	if (rte_ring_sp_enqueue_bulk(hop->ring, contexts, n, NULL) != n)
		bench_broken("twin: ring full");
	if (cost != NULL)
		*cost += hop_now() - filled; /* the ring's own */
	return polled;
}

static void
raw_recycle(void *arg)
{
	struct hop_raw *hop = arg;

	hop->nb_posted = 0; /* the warmest contexts first */
}

static void
raw_turn(void *arg)
{
	struct hop_raw *hop = arg;
	void *contexts[HOP_BURST];
	unsigned int got = rte_ring_sc_dequeue_burst(hop->ring, contexts, HOP_BURST, NULL);

	for (unsigned int i = 0; i < got; i++)
		__builtin_prefetch(contexts[i]); /* all at once: their misses overlap */
	for (unsigned int i = 0; i < got; i++) {
		struct hop_context *context = contexts[i];

		context->cb(context);
	}
}

static void
contexts_make(struct hop_raw *hop)
{
	hop->contexts = bench_need(
		aligned_alloc(RTE_CACHE_LINE_SIZE, HOP_MANY * sizeof(hop->contexts[0])), "contexts");
	hop->wrs = bench_need(calloc(HOP_MANY, sizeof(hop->wrs[0])), "WRs");
	hop->sge = (struct plx_sge){(uintptr_t)hop->qp.region->addr, 8, hop->qp.region->lkey};
	for (unsigned int i = 0; i < HOP_MANY; i++) {
		hop->wrs[i] = (struct plx_wr){.wr_id = (uintptr_t)&hop->contexts[i],
			.sg_list = &hop->sge,
			.num_sge = 1,
			.opcode = PLX_OPCODE_WRITE,
			.flags = PLX_WR_SIGNALED,
			.rkey = hop->qp.region->rkey,
			.remote_addr = (uintptr_t)hop->qp.region->addr + BENCH_REGION / 2};
	}
}

void
hop_raw_make(struct hop_version *version)
{
	struct hop_raw *hop = bench_need(aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*hop)), "twin");

	*hop = (struct hop_raw){.nb_posted = 0};
	bench_raw_qp_make(&hop->qp, "null0", HOP_MANY);
	contexts_make(hop);
	hop->ring = bench_need(
		rte_ring_create("bench_hop", 2 * HOP_MANY, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ), "ring");
	*version = (struct hop_version){"raw", hop, &hop->seen, raw_post, raw_hand, raw_recycle, raw_turn};
}

void
hop_raw_break(struct hop_version *version)
{
	struct hop_raw *hop = version->arg;

	rte_ring_free(hop->ring);
	bench_raw_qp_break(&hop->qp);
	free(hop->wrs);
	free(hop->contexts);
	free(hop);
}
