/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The twin of an op's life, by hand: an array of contexts, the wr_id is a pointer, the callback a function pointer.
 *
 * What never changes for this job (wr_id, list, opcode, flags, keys) was written into the contexts once, as anybody would
 * do who counts instructions; what the next write is about (from where, to where, whom to tell) is filled in each time.
 * Nothing is checked that a correct program need not check: that is what it saves.
 *
 * Kept as fast as we know how. Whoever makes it faster makes Pollux honest.
 */

#include "life.h"

#include <stdlib.h>

#include "bench.h"

/** What the expert's program does when a write is over. */
static void
write_done(struct life_context *context, const struct plx_wc *wc)
{
	struct life_raw *life = context->arg;

	life->nb_good += wc->status == PLX_ST_SUCCESS;
}

void
life_raw_make(struct life_raw *life, struct bench_raw_qp *raw, unsigned int burst, unsigned int ahead)
{
	*life = (struct life_raw){.raw = raw, .burst = burst, .ahead = ahead};
	life->contexts = bench_need(
		aligned_alloc(RTE_CACHE_LINE_SIZE, LIFE_DEPTH * sizeof(life->contexts[0])), "contexts");
	for (unsigned int i = 0; i < LIFE_DEPTH; i++) {
		struct life_context *context = &life->contexts[i];

		*context = (struct life_context){
			.wr = {.wr_id = (uintptr_t)context,
				.sg_list = &context->sge,
				.num_sge = 1,
				.opcode = PLX_OPCODE_WRITE,
				.flags = PLX_WR_SIGNALED,
				.rkey = raw->region->rkey},
			.sge = {.length = LIFE_LEN, .lkey = raw->region->lkey},
		};
	}
}

void
life_raw_break(struct life_raw *life)
{
	free(life->contexts);
}

static inline __attribute__((always_inline)) void
raw_post(struct life_raw *life, unsigned int burst)
{
	struct plx_qp *qp = life->raw->qp;
	uint64_t from = (uintptr_t)life->raw->region->addr, to = from + BENCH_REGION / 2, first = life->nb_posted;
	const struct plx_wr *wrs[LIFE_BURST];
	int err;

	for (unsigned int i = 0; i < burst; i++) {
		uint64_t n = first + i;
		struct life_context *context = &life->contexts[n % LIFE_DEPTH];

		context->sge.addr = from + LIFE_PLACE(n);
		context->wr.remote_addr = to + LIFE_PLACE(n);
		context->cb = write_done;
		context->arg = life;
		wrs[i] = &context->wr;
	}
	if (qp->fast->post_send(qp, wrs, (uint16_t)burst, &err) != burst)
		bench_broken("twin: post refused: %d", err);
	life->nb_posted += burst;
}

static inline __attribute__((always_inline)) void
raw_poll(struct life_raw *life, unsigned int burst)
{
	struct plx_cq *cq = life->raw->cq;
	struct plx_wc wcs[LIFE_BURST];
	int got = cq->fast->poll_cq(cq, wcs, (uint16_t)burst);

	for (int i = 0; i < got; i++) {
		struct life_context *context = (struct life_context *)(uintptr_t)wcs[i].wr_id;

		context->cb(context, &wcs[i]);
	}
	life->nb_done += (unsigned int)got;
}

static inline __attribute__((always_inline)) void
raw_run(struct life_raw *life, unsigned int burst, uint64_t nb_ops)
{
	uint64_t posts_end = life->nb_posted + nb_ops, good_end = life->nb_good + nb_ops;

	for (unsigned int i = 0; i < life->ahead; i++)
		raw_post(life, burst);
	while (life->nb_posted != posts_end) {
		raw_post(life, burst);
		raw_poll(life, burst);
	}
	while (life->nb_done != posts_end)
		raw_poll(life, burst);
	if (life->nb_good != good_end)
		bench_broken("twin: writes failed");
}

void
life_raw_run(void *arg, uint64_t nb_ops)
{
	struct life_raw *life = arg;

	/* Constants: an expert's burst is one. */
	if (life->burst == 1)
		raw_run(life, 1, nb_ops);
	else
		raw_run(life, LIFE_BURST, nb_ops);
}
