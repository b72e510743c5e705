/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Polling, and the CQ whose CQEs go through the rules (fault_rules.c).
 */

#include "fault.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_errno.h>

#define FETCH_BURST 32

/* ---- polling ------------------------------------------------------------------------------- */

/** CQEs to ask the inner CQ for, of @p left that it may still have; 0 ends the fetch. */
static uint32_t
fetch_size(struct fault_cq *cq, uint16_t n, uint32_t left)
{
	uint32_t fits = RTE_MIN(fault_room(cq, 0), (uint32_t)FETCH_BURST);
	uint32_t ready = fault_ring_used(fault_ready(cq));

	/* A hold begins with the first poll, however small its burst. */
	if (!cq->dev->holds)
		left = ready < n ? RTE_MIN(left, n - ready) : 0;
	return RTE_MIN(left, fits);
}

/**
 * Poll the inner CQ until @p n CQEs are ready or it is empty: a poll whose CQEs were all dropped must not look
 * like an empty CQ. But no more than were in the CQ when the poll began: peers that never stop must not keep us.
 */
static int
fetch(struct fault_cq *cq, uint16_t n)
{
	struct fault_device *dev = cq->dev;
	struct plx_wc wcs[FETCH_BURST];
	uint32_t left = cq->inner->nb_cqe;
	uint32_t want;

	while ((want = fetch_size(cq, n, left)) > 0) {
		int got = cq->inner->fast->poll_cq(cq->inner, wcs, (uint16_t)want);

		if (got <= 0)
			return got;
		left -= got;
		fault_count(&dev->stats.cqes, got);
		fault_count(&dev->stats.waiting, got);
		for (int i = 0; i < got; i++)
			fault_cqe_pass(cq, 0, &wcs[i]);
	}
	return 0;
}

static int
take(struct fault_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	struct fault_ring *ready = fault_ready(cq);
	int taken = (int)RTE_MIN(fault_ring_used(ready), (uint32_t)n);

	for (int i = 0; i < taken; i++) {
		wcs[i] = fault_ring_first(ready)->wc;
		ready->head++;
	}
	fault_count(&cq->dev->stats.given, taken);
	fault_uncount(&cq->dev->stats.waiting, taken);
	return taken;
}

int
fault_poll_cq(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct fault_cq *cq = fault_cq(base);
	int err, taken;

	cq->turn++;
	fault_release(cq);
	err = fetch(cq, n);
	taken = take(cq, wcs, n);
	/* A dead CQ says so once what came out of it before is given. */
	return taken > 0 ? taken : err;
}

/* ---- control ------------------------------------------------------------------------------- */

static int
ring_make(struct fault_ring *ring, uint32_t nb_cqe)
{
	/* One CQE must always fit after it has doubled at every `dup`. */
	ring->size = rte_align32pow2(RTE_MAX(nb_cqe, 1u << FAULT_DUPS_MAX));
	ring->slots = calloc(ring->size, sizeof(*ring->slots));
	return ring->slots != NULL ? 0 : -ENOMEM;
}

/** Returns how many CQEs were waiting in them. */
static uint32_t
rings_free(struct fault_cq *cq)
{
	uint32_t waiting = 0;

	for (unsigned int i = 0; i <= FAULT_RULES_MAX; i++) {
		waiting += fault_ring_used(&cq->rings[i]);
		free(cq->rings[i].slots);
	}
	return waiting;
}

static int
rings_make(struct fault_cq *cq)
{
	const struct fault_script *script = &cq->dev->script;
	int err = ring_make(fault_ready(cq), cq->base.nb_cqe);

	for (unsigned int i = 0; i < script->nb_rules && err == 0; i++) {
		if (script->rules[i].action == FAULT_HOLD)
			err = ring_make(&cq->rings[i], cq->base.nb_cqe);
	}
	return err;
}

struct plx_cq *
fault_cq_create(struct plx_device *base, uint32_t nb_cqe)
{
	struct fault_device *dev = fault_device(base);
	struct fault_cq *cq = calloc(1, sizeof(*cq));

	if (cq == NULL)
		goto no_memory;
	cq->dev = dev;
	cq->inner = plx_cq_create(dev->inner, nb_cqe);
	if (cq->inner == NULL)
		goto free_cq;
	cq->base.fast = &fault_fast;
	cq->base.nb_cqe = cq->inner->nb_cqe;
	if (rings_make(cq) != 0)
		goto destroy_inner;
	return &cq->base;

destroy_inner:
	rings_free(cq);
	plx_cq_destroy(cq->inner);
	free(cq);
no_memory:
	rte_errno = ENOMEM;
	return NULL;
free_cq:
	free(cq); /* rte_errno is inner's */
	return NULL;
}

int
fault_cq_destroy(struct plx_cq *base)
{
	struct fault_cq *cq = fault_cq(base);
	int err = plx_cq_destroy(cq->inner);
	uint32_t waiting;

	if (err != 0)
		return err;
	waiting = rings_free(cq);
	fault_count(&cq->dev->stats.discarded, waiting);
	fault_uncount(&cq->dev->stats.waiting, waiting);
	free(cq);
	return 0;
}
