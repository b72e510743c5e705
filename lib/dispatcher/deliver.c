/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_dispatcher.h"

#include <errno.h>

#include <rte_debug.h>

#include "dispatcher_internal.h"

/** Ops on their way to one home, sent together. */
struct handoff {
	struct plx_home *home;
	unsigned int nb;
	struct plx_op *ops[PLX_POLL_BURST];
};

/** Not with an initializer, which would clear the whole array for each burst. */
static inline void
handoff_begin(struct handoff *out)
{
	out->home = NULL;
	out->nb = 0;
}

static void
handoff_send(struct handoff *out)
{
	unsigned int sent;

	count(&out->home->nb_handed, out->nb);
	sent = plx_lane_send(out->home->ops, out->ops, out->nb);
	RTE_VERIFY(sent == out->nb); /* the lane holds every op of the pool */
	out->nb = 0;
}

static inline void
handoff_flush(struct handoff *out)
{
	if (__builtin_expect(out->nb != 0, 0))
		handoff_send(out);
}

static inline void
handoff_add(struct handoff *out, struct plx_home *home, struct plx_op *op)
{
	if (out->home != home || out->nb == PLX_POLL_BURST) {
		handoff_flush(out);
		out->home = home;
	}
	out->ops[out->nb++] = op;
}

void
deliver_refuse(struct plx_dispatcher *d, struct plx_op *op, uint64_t wr_id)
{
	uint64_t *kind;

	if (op == NULL)
		kind = &d->stats.foreign;
	else
		kind = plx_op_id(op) == wr_id ? &d->stats.duplicate : &d->stats.stale;
	count_shared(kind, 1);
}

/** The op that @p wc completes, no longer in the device's hands; NULL, counted, if there is none. */
static inline struct plx_op *
owned_claim(struct plx_dispatcher *d, const struct plx_wc *wc)
{
	struct plx_op *op = plx_op_find(d->pool, wc->wr_id);

	if (__builtin_expect(op == NULL, 0) || __builtin_expect(!plx_op_claim(op, wc->wr_id), 0)) {
		deliver_refuse(d, op, wc->wr_id);
		return NULL;
	}
	if (__builtin_expect(op->queue != NULL, 1)) {
		if (__builtin_expect(op->queue->qp_num != wc->qp_num, 0) && !wc->no_qp_num) {
			plx_op_arm(op);
			count(&d->stats.misrouted, 1);
			return NULL;
		}
		plx_op_queue_retire(op->queue, op);
	}
	return op;
}

/** Send a settled op where it belongs: to its home's lane, or its callback here and now. */
static inline void
owned_send(struct plx_dispatcher *d, struct plx_op *op, struct handoff *out)
{
	if (op->home != d->owner && op->home != PLX_HOME_ANY) {
		handoff_add(out, d->home_of[op->home], op);
		return;
	}
	/* A callback may deliver, fail ops or mark what was handed over: none of it before what came earlier. */
	handoff_flush(out);
	if (__builtin_expect(!home_settle(op), 0))
		count(&d->own->nb_orphans, 1);
}

/** The same, unless a post call is running, or earlier ops still wait for that. Nobody sees them before (contract 1.9). */
static inline void
owned_route(struct plx_dispatcher *d, struct plx_op *op, struct handoff *out)
{
	if (__builtin_expect(d->nb_posting != 0, 0) || __builtin_expect(d->early.nb != 0, 0))
		plx_op_list_append(&d->early, op);
	else
		owned_send(d, op, out);
}

void
plx_dispatcher_run_early(struct plx_dispatcher *d)
{
	struct handoff out;
	/* No more than are there: a callback that posts may add one each time. */
	uint32_t nb = d->early.nb;

	if (d->running_early)
		return;
	d->running_early = true;
	handoff_begin(&out);
	for (; nb != 0 && d->nb_posting == 0; nb--)
		owned_send(d, plx_op_list_take(&d->early), &out);
	handoff_flush(&out);
	d->running_early = false;
}

static void
owned_deliver(struct plx_dispatcher *d, const struct plx_wc *wcs, uint16_t n)
{
	struct handoff out;
	uint64_t delivered = 0;

	handoff_begin(&out);
	if (__builtin_expect(d->early.nb != 0, 0))
		plx_dispatcher_run_early(d);
	for (uint16_t i = 0; i < n; i++) {
		struct plx_op *op = owned_claim(d, &wcs[i]);

		if (__builtin_expect(op == NULL, 0))
			continue;
		delivered++;
		result_fill(op, &wcs[i]);
		owned_route(d, op, &out);
	}
	handoff_flush(&out);
	count(&d->stats.delivered, delivered);
}

void
plx_dispatcher_fail(struct plx_dispatcher *d, struct plx_op *op, enum plx_status status, int err)
{
	struct handoff out;
	struct plx_wc wc = {.status = (uint8_t)status};

	handoff_begin(&out);
	plx_op_disarm(op);
	result_fill(op, &wc);
	op->post_errno = err;
	owned_route(d, op, &out);
	handoff_flush(&out);
}

/** Not the owner: leave the completions in its inbox. */
static uint16_t
owned_forward(struct plx_dispatcher *d, const struct plx_wc *wcs, uint16_t n)
{
	unsigned int sent = plx_lane_send(d->inbox, wcs, n);

	if (sent < n)
		count_shared(&d->stats.inbox_full, 1);
	return (uint16_t)sent;
}

uint16_t
plx_dispatcher_deliver_burst(struct plx_dispatcher *d, const struct plx_wc *wcs, uint16_t n)
{
	if (__builtin_expect(d->owner == rte_lcore_id(), 1) && d->owner != LCORE_ID_ANY) {
		owned_deliver(d, wcs, n);
		return n;
	}
	if (!dispatcher_is_shared(d))
		return owned_forward(d, wcs, n);
	for (uint16_t i = 0; i < n; i++)
		deliver_shared(d, &wcs[i]);
	return n;
}

int
plx_dispatcher_deliver(struct plx_dispatcher *d, uint64_t wr_id, enum plx_status status, uint32_t byte_len,
	uint32_t imm, uint32_t wc_flags)
{
	struct plx_wc wc = {
		.wr_id = wr_id,
		.byte_len = byte_len,
		.imm = imm,
		.status = (uint8_t)status,
		.flags = (uint8_t)wc_flags,
		.no_qp_num = 1,
	};

	return plx_dispatcher_deliver_burst(d, &wc, 1) == 1 ? 0 : -EAGAIN;
}

/** Owner: deliver what other threads left in the inbox. */
static unsigned int
inbox_once(struct plx_dispatcher *d)
{
	struct plx_wc wcs[PLX_POLL_BURST];
	unsigned int got = plx_lane_recv(d->inbox, wcs, PLX_POLL_BURST);

	if (got != 0) {
		count(&d->stats.forwarded, got);
		owned_deliver(d, wcs, (uint16_t)got);
	}
	return got;
}

unsigned int
plx_dispatcher_once(struct plx_dispatcher *d)
{
	unsigned int lcore = rte_lcore_id(), did = 0;
	struct plx_home *home = lcore < RTE_MAX_LCORE ? d->home_of[lcore] : NULL;

	/* A turn inside a callback would settle later ops before the rest of this one's. */
	if (home == NULL || home->turning)
		return 0;
	home->turning = true;
	if (lcore == d->owner) {
		did += d->early.nb;
		plx_dispatcher_run_early(d);
		did += inbox_once(d);
	}
	did += home_once(d, home);
	home->turning = false;
	return did;
}

unsigned int
plx_dispatcher_hook(void *d)
{
	return plx_dispatcher_once(d);
}
