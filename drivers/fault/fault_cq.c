/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The way of a CQE from the inner CQ through the rules to whoever polls.
 *
 *      inner --> rule 0 --> rule 1 (hold) --> rule 2 --> ready --> poller
 *                             | ring |                  | ring |
 *
 * One poll is one turn: first the rings let go what is due, the last one first so that there is room for the one
 * before it, then the inner CQ is polled, then the ready ring is emptied into the caller's burst.
 *
 * A ring is as large as the inner CQ. When one is full the rest waits in the inner CQ, so that what is held
 * takes CQEs away from whoever did not reserve them, as it would in a slow device.
 */

#include "fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>

#define FETCH_BURST 32

/* ---- rings --------------------------------------------------------------------------------- */

static uint32_t
ring_used(const struct fault_ring *ring)
{
	return ring->tail - ring->head;
}

static void
ring_put(struct fault_ring *ring, const struct plx_wc *wc, uint64_t due)
{
	ring->slots[ring->tail++ & (ring->size - 1)] = (struct fault_waiter){.wc = *wc, .due = due};
}

static struct fault_waiter *
ring_first(struct fault_ring *ring)
{
	return ring_used(ring) > 0 ? &ring->slots[ring->head & (ring->size - 1)] : NULL;
}

static struct fault_ring *
ready_ring(struct fault_cq *cq)
{
	return &cq->rings[cq->dev->script.nb_rules];
}

/** Whether no CQE gets past @p rule without having waited in its ring. */
static bool
holds_all(const struct fault_rule *rule)
{
	return rule->action == FAULT_HOLD && rule->which.nth == 1 && !rule->which.once;
}

/**
 * How many CQEs may enter at rule @p from: each can double at every `dup`, and all of them can end up in the same
 * ring, as far as the first that takes them all.
 */
static uint32_t
room(const struct fault_cq *cq, unsigned int from)
{
	const struct fault_script *script = &cq->dev->script;
	uint32_t least = UINT32_MAX;
	unsigned int nb_dups = 0;

	for (unsigned int i = from; i <= script->nb_rules; i++) {
		const struct fault_ring *ring = &cq->rings[i];

		if (ring->slots != NULL)
			least = RTE_MIN(least, ring->size - ring_used(ring));
		if (i == script->nb_rules || holds_all(&script->rules[i]))
			break;
		nb_dups += script->rules[i].action == FAULT_DUP;
	}
	return least >> nb_dups;
}

/* ---- rules --------------------------------------------------------------------------------- */

/** Everything but what ibv_poll_cq(3) defines for an error, fields of later versions included. */
static void
wc_poison(struct plx_wc *wc)
{
	const struct plx_wc keep = *wc;

	memset(wc, 0xa5, sizeof(*wc));
	wc->wr_id = keep.wr_id;
	wc->status = keep.status;
	wc->qp_num = keep.qp_num;
	wc->vendor_err = keep.vendor_err;
	wc->raw_status = keep.raw_status;
}

/** The rules that change a CQE and let it go on. */
static void
rule_change(struct fault_device *dev, unsigned int i, struct plx_wc *wc)
{
	const struct fault_rule *rule = &dev->script.rules[i];
	/* What a rule has no use for does not count as having reached it. */
	bool wants = rule->action == FAULT_WRID ||
		(rule->action == FAULT_ERROR && wc->status == PLX_ST_SUCCESS) ||
		(rule->action == FAULT_POISON && wc->status != PLX_ST_SUCCESS);

	if (!wants || !fault_rule_hits(dev, i))
		return;
	if (rule->action == FAULT_WRID) {
		wc->wr_id = fault_mix(wc->wr_id);
		fault_count(&dev->stats.garbled, 1);
	} else if (rule->action == FAULT_ERROR) {
		wc->status = (uint8_t)rule->arg;
		wc->raw_status = rule->arg; /* the numbers are those of ibv_wc_status */
		fault_count(&dev->stats.errors, 1);
	} else {
		wc_poison(wc);
		fault_count(&dev->stats.poisoned, 1);
	}
}

/**
 * Send a CQE through the rules, from number @p from on, into the ring where it has to wait. room(from) is at
 * least 1. Calls itself once for each `dup` at most.
 */
static void
cqe_pass(struct fault_cq *cq, unsigned int from, const struct plx_wc *original)
{
	struct fault_device *dev = cq->dev;
	struct plx_wc wc = *original;

	for (unsigned int i = from; i < dev->script.nb_rules; i++) {
		const struct fault_rule *rule = &dev->script.rules[i];

		switch (rule->action) {
		case FAULT_DROP:
			if (!fault_rule_hits(dev, i))
				break;
			fault_count(&dev->stats.dropped, 1);
			fault_uncount(&dev->stats.waiting, 1);
			return;
		case FAULT_DUP:
			if (!fault_rule_hits(dev, i))
				break;
			fault_count(&dev->stats.duplicated, 1);
			fault_count(&dev->stats.waiting, 1);
			cqe_pass(cq, i + 1, &wc); /* and the copy right behind it */
			break;
		case FAULT_HOLD:
			if (!fault_rule_hits(dev, i))
				break;
			fault_count(&dev->stats.held, 1);
			ring_put(&cq->rings[i], &wc, cq->turn + rule->arg);
			return;
		default:
			rule_change(dev, i, &wc);
		}
	}
	ring_put(ready_ring(cq), &wc, cq->turn);
}

/* ---- polling ------------------------------------------------------------------------------- */

static void
ring_release(struct fault_cq *cq, unsigned int i)
{
	struct fault_ring *ring = &cq->rings[i];
	struct fault_waiter *first = ring_first(ring);

	while (first != NULL && first->due <= cq->turn && room(cq, i + 1) > 0) {
		ring->head++; /* the slot stays as it is: nothing is put into this ring from here */
		cqe_pass(cq, i + 1, &first->wc);
		first = ring_first(ring);
	}
}

static void
rings_release(struct fault_cq *cq)
{
	for (unsigned int i = cq->dev->script.nb_rules; i-- > 0;) {
		if (cq->rings[i].slots != NULL)
			ring_release(cq, i);
	}
}

/** CQEs to ask the inner CQ for, of @p left that it may still have; 0 ends the fetch. */
static uint32_t
fetch_size(struct fault_cq *cq, uint16_t n, uint32_t left)
{
	uint32_t fits = RTE_MIN(room(cq, 0), (uint32_t)FETCH_BURST);
	uint32_t ready = ring_used(ready_ring(cq));

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
			cqe_pass(cq, 0, &wcs[i]);
	}
	return 0;
}

static int
take(struct fault_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	struct fault_ring *ready = ready_ring(cq);
	int taken = (int)RTE_MIN(ring_used(ready), (uint32_t)n);

	for (int i = 0; i < taken; i++) {
		wcs[i] = ring_first(ready)->wc;
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
	rings_release(cq);
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
		waiting += ring_used(&cq->rings[i]);
		free(cq->rings[i].slots);
	}
	return waiting;
}

static int
rings_make(struct fault_cq *cq)
{
	const struct fault_script *script = &cq->dev->script;
	int err = ring_make(ready_ring(cq), cq->base.nb_cqe);

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
