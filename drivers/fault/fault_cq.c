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

/* ---- CQEs that the inner CQ never had ------------------------------------------------------ */

bool
fault_cqe_make(struct fault_cq *cq, const struct fault_qp *qp, uint64_t wr_id, uint8_t status, uint64_t due)
{
	const struct plx_wc wc = {
		.wr_id = wr_id,
		.qp_num = qp->base.qp_num,
		.status = status,
		.raw_status = status,
	};

	if (fault_ring_used(&cq->made) == cq->made.size)
		return false;
	fault_ring_put(&cq->made, &wc, due);
	cq->made.slots[(cq->made.tail - 1) & (cq->made.size - 1)].since = cq->turn;
	cq->made.slots[(cq->made.tail - 1) & (cq->made.size - 1)].taken = cq->taken;
	fault_count(&cq->dev->stats.made, 1);
	fault_count(&cq->dev->stats.waiting, 1);
	return true;
}

/** Whether what was in the inner CQ before @p made has been seen: it must not be overtaken. */
static bool
seen_before(const struct fault_cq *cq, const struct fault_waiter *made)
{
	return cq->empty_turn > made->since || cq->taken - made->taken >= cq->inner->nb_cqe;
}

static void
made_release(struct fault_cq *cq)
{
	struct fault_waiter *first;

	while ((first = fault_ring_first(&cq->made)) != NULL && first->due <= cq->turn && seen_before(cq, first) &&
		fault_room(cq, 0) > 0) {
		cq->made.head++;
		if (first->wc.status == PLX_ST_RETRY_EXC_ERR)
			fault_qps_fail(cq->dev, first->wc.qp_num);
		fault_cqe_pass(cq, 0, &first->wc);
	}
}

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

/** Send CQEs off the inner CQ through the rules. */
static void
pass_fetched(struct fault_cq *cq, struct plx_wc *wcs, unsigned int n)
{
	struct fault_device *dev = cq->dev;

	cq->taken += n;
	fault_count(&dev->stats.cqes, n);
	fault_count(&dev->stats.waiting, n);
	for (unsigned int i = 0; i < n; i++) {
		if (dev->numbers != NULL)
			wcs[i].qp_num = fault_qps_number(dev, wcs[i].qp_num);
		fault_cqe_pass(cq, 0, &wcs[i]);
	}
}

/**
 * Poll the inner CQ until @p n CQEs are ready or it is empty: a poll whose CQEs were all dropped must not look
 * like an empty CQ. But no more than were in the CQ when the poll began: peers that never stop must not keep us.
 */
static int
fetch(struct fault_cq *cq, uint16_t n)
{
	struct plx_wc wcs[FETCH_BURST];
	uint32_t left = cq->inner->nb_cqe;
	uint32_t want;

	while ((want = fetch_size(cq, n, left)) > 0) {
		int got = cq->inner->fast->poll_cq(cq->inner, wcs, (uint16_t)want);

		if (got <= 0) {
			cq->empty_turn = cq->turn;
			return got;
		}
		left -= (uint32_t)got;
		pass_fetched(cq, wcs, (unsigned int)got);
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

static void
call_hook(struct fault_cq *cq, enum plx_fault_point point)
{
	if (cq->dev->hook != NULL)
		cq->dev->hook(&cq->base, point, cq->dev->hook_arg);
}

int
fault_poll_cq(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct fault_cq *cq = fault_cq(base);
	int err, taken;

	call_hook(cq, PLX_FAULT_BEFORE_POLL);
	cq->turn++;
	if (cq->dev->raises)
		fault_event_raise(cq->dev, FAULT_EVENTS_OF_POLL, base->id);
	fault_release(cq);
	err = fetch(cq, n);
	made_release(cq);
	taken = take(cq, wcs, n);
	call_hook(cq, PLX_FAULT_AFTER_POLL);
	/* A dead CQ says so once what came out of it before is given. */
	return taken > 0 ? taken : err;
}

/* ---- control ------------------------------------------------------------------------------- */

static int
ring_make(struct fault_ring *ring, uint32_t least)
{
	/* One CQE must always fit after it has doubled at every rule that can. */
	ring->size = rte_align32pow2(RTE_MAX(least, 1u << FAULT_GROWS_MAX));
	ring->slots = calloc(ring->size, sizeof(*ring->slots));
	return ring->slots != NULL ? 0 : -ENOMEM;
}

/** Returns how many CQEs were waiting in them. */
static uint32_t
rings_free(struct fault_cq *cq)
{
	uint32_t waiting = fault_ring_used(&cq->made);

	free(cq->made.slots);
	for (unsigned int i = 0; i <= FAULT_RULES_MAX; i++) {
		waiting += fault_ring_used(&cq->rings[i]);
		free(cq->rings[i].slots);
	}
	return waiting;
}

/** The ring of a rule, if it keeps anything. */
static int
rule_ring_make(struct fault_cq *cq, unsigned int i)
{
	const struct fault_rule *rule = &cq->dev->script.rules[i];

	switch (rule->action) {
	case FAULT_HOLD:
		return ring_make(&cq->rings[i], cq->base.nb_cqe);
	case FAULT_SWAP:
		return ring_make(&cq->rings[i], 1);
	case FAULT_REPLAY:
		return ring_make(&cq->rings[i], rule->arg);
	default:
		return 0;
	}
}

static int
rings_make(struct fault_cq *cq)
{
	int err = ring_make(fault_ready(cq), cq->base.nb_cqe);

	if (err == 0)
		err = ring_make(&cq->made, cq->base.nb_cqe);
	for (unsigned int i = 0; i < cq->dev->script.nb_rules && err == 0; i++)
		err = rule_ring_make(cq, i);
	return err;
}

struct plx_cq *
fault_cq_create(struct plx_device *base, uint32_t nb_cqe)
{
	struct fault_device *dev = fault_device(base);
	struct fault_cq *cq = fault_object(dev, FAULT_CQ_CREATE, sizeof(*cq));

	if (cq == NULL)
		return NULL;
	cq->dev = dev;
	cq->inner = plx_cq_create(dev->inner, nb_cqe);
	if (cq->inner == NULL)
		goto free_cq;
	cq->base.fast = &fault_fast;
	cq->base.nb_cqe = cq->inner->nb_cqe;
	if (rings_make(cq) != 0)
		goto destroy_inner;
	fault_link(dev, &cq->link, &cq->inner->id, &cq->base.id);
	return &cq->base;

destroy_inner:
	rings_free(cq);
	plx_cq_destroy(cq->inner);
	rte_errno = ENOMEM;
free_cq:
	free(cq); /* else rte_errno is inner's */
	return NULL;
}

int
fault_cq_destroy(struct plx_cq *base)
{
	struct fault_cq *cq = fault_cq(base);
	int err = -fault_verb(cq->dev, FAULT_CQ_DESTROY);
	uint32_t waiting;

	if (err != 0)
		return err;
	fault_unlink(cq->dev, &cq->link);
	err = plx_cq_destroy(cq->inner);
	if (err != 0) {
		fault_link(cq->dev, &cq->link, &cq->inner->id, &cq->base.id);
		return err;
	}
	waiting = rings_free(cq);
	fault_count(&cq->dev->stats.discarded, waiting);
	fault_uncount(&cq->dev->stats.waiting, waiting);
	free(cq);
	return 0;
}
