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

#include <string.h>

#include <rte_common.h>

/* ---- room ---------------------------------------------------------------------------------- */

/** Whether no CQE gets past @p rule without having waited in its ring. */
static bool
holds_all(const struct fault_rule *rule)
{
	return rule->action == FAULT_HOLD && rule->which.nth == 1 && !rule->which.once;
}

uint32_t
fault_room(const struct fault_cq *cq, unsigned int from)
{
	const struct fault_script *script = &cq->dev->script;
	uint32_t least = UINT32_MAX;
	unsigned int nb_dups = 0;

	for (unsigned int i = from; i <= script->nb_rules; i++) {
		const struct fault_ring *ring = &cq->rings[i];

		if (ring->slots != NULL)
			least = RTE_MIN(least, ring->size - fault_ring_used(ring));
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

void
fault_cqe_pass(struct fault_cq *cq, unsigned int from, const struct plx_wc *original)
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
			fault_cqe_pass(cq, i + 1, &wc); /* and the copy right behind it */
			break;
		case FAULT_HOLD:
			if (!fault_rule_hits(dev, i))
				break;
			fault_count(&dev->stats.held, 1);
			fault_ring_put(&cq->rings[i], &wc, cq->turn + rule->arg);
			return;
		default:
			rule_change(dev, i, &wc);
		}
	}
	fault_ring_put(fault_ready(cq), &wc, cq->turn);
}

/* ---- holds --------------------------------------------------------------------------------- */

static void
ring_release(struct fault_cq *cq, unsigned int i)
{
	struct fault_ring *ring = &cq->rings[i];
	struct fault_waiter *first = fault_ring_first(ring);

	while (first != NULL && first->due <= cq->turn && fault_room(cq, i + 1) > 0) {
		ring->head++; /* the slot stays as it is: nothing is put into this ring from here */
		fault_cqe_pass(cq, i + 1, &first->wc);
		first = fault_ring_first(ring);
	}
}

void
fault_release(struct fault_cq *cq)
{
	for (unsigned int i = cq->dev->script.nb_rules; i-- > 0;) {
		if (cq->rings[i].slots != NULL)
			ring_release(cq, i);
	}
}
