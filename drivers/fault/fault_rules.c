/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The way of a CQE from the inner CQ through the rules to whoever polls.
 *
 *      inner --> rule 0 --> rule 1 (hold) --> rule 2 --> ready --> poller
 *      made -->               | ring |                  | ring |
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

#define SWAP_TURNS 8 /* polls that one waits for the next CQE to overtake it */

/* ---- room ---------------------------------------------------------------------------------- */

/** Whether no CQE gets past @p rule without having waited in its ring. */
static bool
holds_all(const struct fault_rule *rule)
{
	return rule->action == FAULT_HOLD && rule->object == FAULT_ANY && rule->which.nth == 1 &&
	       rule->which.first == 1 && rule->which.last == UINT64_MAX;
}

/** Whether the ring at index @p i fills with what passes: those of the other rules never hold more than they must. */
static bool
fills(const struct fault_script *script, unsigned int i)
{
	return i == script->nb_rules || script->rules[i].action == FAULT_HOLD;
}

uint32_t
fault_room(const struct fault_cq *cq, unsigned int from)
{
	const struct fault_script *script = &cq->dev->script;
	uint32_t least = UINT32_MAX;
	unsigned int nb_grows = 0;

	for (unsigned int i = from; i <= script->nb_rules; i++) {
		const struct fault_ring *ring = &cq->rings[i];

		if (fills(script, i))
			least = RTE_MIN(least, ring->size - fault_ring_used(ring));
		if (i == script->nb_rules || holds_all(&script->rules[i]))
			break;
		nb_grows += fault_grows(script->rules[i].action);
	}
	return least >> nb_grows;
}

/* ---- rules that change a CQE and let it go on ---------------------------------------------- */

static bool
is_object(unsigned int object, const struct plx_wc *wc)
{
	bool ok = wc->status == PLX_ST_SUCCESS; /* the opcode of an error is undefined */

	switch ((enum fault_object)object) {
	case FAULT_OK:
		return ok;
	case FAULT_ERR:
		return !ok;
	case FAULT_SENT:
		return ok && wc->opcode < PLX_OPCODE_RECV;
	case FAULT_RECEIVED:
		return ok && wc->opcode >= PLX_OPCODE_RECV;
	case FAULT_ANY:
		break;
	}
	return true;
}

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

static void
wc_fail(struct fault_device *dev, const struct fault_rule *rule, struct plx_wc *wc)
{
	wc->status = (uint8_t)rule->arg;
	wc->raw_status = rule->arg; /* the numbers are those of ibv_wc_status */
	if (rule->fatal)
		fault_qps_fail(dev, wc->qp_num);
}

static uint64_t
garbage(const struct fault_rule *rule, uint64_t wr_id, uint64_t last)
{
	switch ((enum fault_garbage)rule->how) {
	case FAULT_ZERO:
		return 0;
	case FAULT_ONES:
		return UINT64_MAX;
	case FAULT_FLIP:
		return wr_id ^ UINT64_C(1) << rule->arg;
	case FAULT_LAST:
		return last;
	case FAULT_HASH:
		break;
	}
	return fault_mix(wr_id);
}

static void
wc_garble(struct fault_cq *cq, unsigned int i, bool hit, struct plx_wc *wc)
{
	uint64_t last = cq->last_wr_id[i];

	cq->last_wr_id[i] = wc->wr_id;
	if (hit)
		wc->wr_id = garbage(&cq->dev->script.rules[i], wc->wr_id, last);
}

static void
rule_change(struct fault_cq *cq, unsigned int i, struct plx_wc *wc)
{
	struct fault_device *dev = cq->dev;
	const struct fault_rule *rule = &dev->script.rules[i];
	bool hit = fault_rule_hits(dev, i) != 0;

	if (rule->action == FAULT_WRID) {
		wc_garble(cq, i, hit, wc);
		fault_count(&dev->stats.garbled, hit);
	} else if (rule->action == FAULT_ERROR && hit) {
		wc_fail(dev, rule, wc);
		fault_count(&dev->stats.errors, 1);
	} else if (rule->action == FAULT_POISON && hit) {
		wc_poison(wc);
		fault_count(&dev->stats.poisoned, 1);
	}
}

/* ---- rules that make two of one, or none --------------------------------------------------- */

static void
rule_drop(struct fault_device *dev)
{
	fault_count(&dev->stats.dropped, 1);
	fault_uncount(&dev->stats.waiting, 1);
}

/** A copy of @p wc goes on its way behind rule @p i. */
static void
copy_pass(struct fault_cq *cq, unsigned int i, const struct plx_wc *wc, uint64_t *stat)
{
	fault_count(stat, 1);
	fault_count(&cq->dev->stats.waiting, 1);
	fault_cqe_pass(cq, i + 1, wc);
}

static void
rule_hold(struct fault_cq *cq, unsigned int i, uint64_t count, const struct plx_wc *wc)
{
	const struct fault_rule *rule = &cq->dev->script.rules[i];
	uint32_t turns = fault_which_between(&rule->which, count, rule->arg, rule->most);

	fault_count(&cq->dev->stats.held, 1);
	fault_ring_put(&cq->rings[i], wc, cq->turn + turns);
}

/** Whether @p wc has gone on, or waits for the next: one that is hit does, and the next one goes first. */
static bool
rule_swap(struct fault_cq *cq, unsigned int i, bool hit, const struct plx_wc *wc)
{
	struct fault_ring *ring = &cq->rings[i];
	const struct fault_waiter *first = fault_ring_first(ring);

	if (first == NULL) {
		if (hit)
			fault_ring_put(ring, wc, cq->turn + SWAP_TURNS);
		return hit;
	}
	ring->head++; /* the slot stays as it is: nothing is put into this ring from here */
	fault_count(&cq->dev->stats.swapped, 1);
	fault_cqe_pass(cq, i + 1, wc);
	fault_cqe_pass(cq, i + 1, &first->wc);
	return true;
}

/** @p wc goes on, and if it is hit an old one behind it. The ring is what has passed, and never has anything in it. */
static void
rule_replay(struct fault_cq *cq, unsigned int i, bool hit, const struct plx_wc *wc)
{
	struct fault_ring *ring = &cq->rings[i];
	uint32_t age = cq->dev->script.rules[i].arg;
	struct plx_wc old = ring->slots[(ring->tail - age) & (ring->size - 1)].wc;
	bool is_there = ring->tail >= age;

	fault_ring_put(ring, wc, 0);
	ring->head = ring->tail;
	fault_cqe_pass(cq, i + 1, wc);
	if (hit && is_there)
		copy_pass(cq, i, &old, &cq->dev->stats.replayed);
}

/** Apply rule @p i to @p wc. Whether it goes on from here. */
static bool
rule_apply(struct fault_cq *cq, unsigned int i, struct plx_wc *wc)
{
	struct fault_device *dev = cq->dev;
	uint64_t count;

	switch (dev->script.rules[i].action) {
	case FAULT_DROP:
		if (fault_rule_hits(dev, i) == 0)
			return true;
		rule_drop(dev);
		return false;
	case FAULT_DUP:
		if (fault_rule_hits(dev, i) != 0)
			copy_pass(cq, i, wc, &dev->stats.duplicated); /* and the original right behind it */
		return true;
	case FAULT_HOLD:
		count = fault_rule_hits(dev, i);
		if (count != 0)
			rule_hold(cq, i, count, wc);
		return count == 0;
	case FAULT_SWAP:
		return !rule_swap(cq, i, fault_rule_hits(dev, i) != 0, wc);
	case FAULT_REPLAY:
		rule_replay(cq, i, fault_rule_hits(dev, i) != 0, wc);
		return false;
	default:
		rule_change(cq, i, wc);
		return true;
	}
}

/** Rules on posts, verbs and the device are none of a CQE's business; what is not its object does not reach a rule. */
static bool
rule_wants(const struct fault_rule *rule, const struct plx_wc *wc)
{
	return rule->action <= FAULT_POISON &&
	       is_object(rule->action == FAULT_POISON ? FAULT_ERR : rule->object, wc);
}

void
fault_cqe_pass(struct fault_cq *cq, unsigned int from, const struct plx_wc *original)
{
	const struct fault_script *script = &cq->dev->script;
	struct plx_wc wc = *original;

	for (unsigned int i = from; i < script->nb_rules; i++) {
		if (rule_wants(&script->rules[i], &wc) && !rule_apply(cq, i, &wc))
			return;
	}
	fault_ring_put(fault_ready(cq), &wc, cq->turn);
}

/* ---- what waits ---------------------------------------------------------------------------- */

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
