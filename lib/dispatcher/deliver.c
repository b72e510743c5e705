/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_dispatcher.h"

#include <errno.h>

#include "dispatcher_internal.h"
#include "plx_op_shared.h"

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
early_prepend(struct plx_dispatcher *d, struct plx_op *op)
{
	struct plx_op_list *early = &d->early;

	op->next = early->nb != 0 ? early->first : NULL;
	if (early->nb++ == 0)
		early->last = op;
	early->first = op;
	d->detours |= PLX_DISPATCHER_EARLY;
}

/**
 * The lane holds every op of the pool; but connections may have been given ops of others, and a close settles those
 * too. What it did not take, from ops[@p sent] on, and @p behind wait in front of all that is early: nothing goes home
 * before them.
 */
static __attribute__((noinline)) void
handoff_wait(struct plx_dispatcher *d, struct handoff *out, unsigned int sent, struct plx_op *behind)
{
	if (behind != NULL)
		early_prepend(d, behind);
	while (out->nb != sent)
		early_prepend(d, out->ops[--out->nb]);
}

/** As handoff_flush(), with something to send. */
static bool
handoff_send(struct plx_dispatcher *d, struct handoff *out, struct plx_op *behind)
{
	unsigned int sent = plx_lane_send(out->home->ops, out->ops, out->nb);
	bool all = sent == out->nb;

	count(&out->home->nb_handed, sent); /* behind the send: the owner compares it with what is over */
	if (__builtin_expect(!all, 0))
		handoff_wait(d, out, sent, behind);
	out->nb = 0;
	return all;
}

/** Send them. False: some have to wait, and @p behind, unless it is NULL, waits behind them. */
static inline bool
handoff_flush(struct plx_dispatcher *d, struct handoff *out, struct plx_op *behind)
{
	return __builtin_expect(out->nb == 0, 1) || handoff_send(d, out, behind);
}

static inline void
handoff_add(struct plx_dispatcher *d, struct handoff *out, struct plx_home *home, struct plx_op *op)
{
	if (out->home != home || out->nb == PLX_POLL_BURST) {
		if (!handoff_flush(d, out, op))
			return;
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

/** What came is no success: whose queue it is may want to know. From a failed op on each of the queue has a completion. */
static void
note_failed(const struct plx_op *op, const struct plx_wc *wc)
{
	if (wc->status >= PLX_ST_POST_FAILED || plx_op_queue_is_none(op->queue))
		return; /* a status of ours says nothing of those behind */
	op->queue->in_error = true;
	if (op->queue->failed != NULL)
		op->queue->failed(op->queue, op, wc);
}

void
result_fill_rest(struct plx_op *op, const struct plx_wc *wc)
{
	if (!plx_op_queue_is_none(op->queue))
		op->qp_num = op->queue->qp_num;
	if (wc->status != PLX_ST_SUCCESS) {
		note_failed(op, wc);
		op->byte_len = 0;
		op->imm = 0;
		op->wc_flags = 0;
		op->vendor_err = wc->vendor_err;
		op->raw_status = wc->raw_status;
		return;
	}
	if (wc->flags & PLX_WC_WITH_INV)
		op->inv_rkey = wc->inv_rkey;
}

/**
 * @p op is over, in the books of its queue. Unsignaled ops before it are so too, and go in front of all that is not home
 * yet; with something on that list @p op is not called back before them.
 */
static inline void
owned_retire(struct plx_dispatcher *d, struct plx_op *op)
{
	if (__builtin_expect(plx_op_queue_retire(op->queue, op, &d->early), 0))
		d->detours |= PLX_DISPATCHER_EARLY;
}

/** A completion that does not name the QP that its op is posted on. Whether it is for the op all the same. */
static __attribute__((noinline)) bool
owned_misnamed(struct plx_dispatcher *d, struct plx_op *op, const struct plx_wc *wc)
{
	if (plx_op_queue_is_none(op->queue))
		return true;
	if (plx_op_queue_is_shared(op->queue))
		return plx_op_shared_arrived(plx_op_shared_of(op->queue), op, !wc->no_qp_num, wc->qp_num);
	if (wc->no_qp_num) {
		owned_retire(d, op);
		return true;
	}
	plx_op_arm(op);
	count(&d->stats.misrouted, 1);
	return false;
}

/** Whether @p wc names another QP than the one that @p op is posted on. */
static inline bool
is_misrouted(const struct plx_op *op, const struct plx_wc *wc)
{
	return op->queue->qp_num != wc->qp_num && !wc->no_qp_num && !plx_op_queue_is_none(op->queue);
}

/** The device does not have @p op as others: it has a deadline, or was settled early; or there is no such op. */
static __attribute__((noinline)) struct plx_op *
owned_claim_watched(struct plx_dispatcher *d, struct plx_op *op, const struct plx_wc *wc)
{
	if (__atomic_load_n(&op->device_word, __ATOMIC_RELAXED) != plx_op_watched(wc->wr_id)) {
		deliver_refuse(d, op, wc->wr_id);
		return NULL;
	}
	if (is_misrouted(op, wc)) {
		count(&d->stats.misrouted, 1);
		return NULL;
	}
	owned_retire(d, op);
	if (wc->status != PLX_ST_SUCCESS && plx_op_is_split(op))
		note_failed(op, wc);
	if (plx_op_is_split(op)) { /* its holder may be reading the result: nothing is written */
		plx_op_device_done(op);
		count(&d->stats.late, 1);
		return NULL;
	}
	plx_op_disarm(op);
	plx_op_deadlines_remove(&d->deadlines, op);
	return op;
}

/** The op that @p wc completes, no longer in the device's hands; NULL, counted, if there is none. */
static inline struct plx_op *
owned_claim(struct plx_dispatcher *d, const struct plx_op_pool *pool, const struct plx_wc *wc)
{
	uint32_t slot = plx_op_slot(pool, wc->wr_id);
	struct plx_op *op;

	if (__builtin_expect(slot >= pool->nb_slots, 0)) {
		deliver_refuse(d, NULL, wc->wr_id);
		return NULL;
	}
	op = plx_op_at(pool, slot);
	if (__builtin_expect(!plx_op_claim(op, wc->wr_id), 0))
		return owned_claim_watched(d, op, wc);
	if (__builtin_expect(op->queue->qp_num != wc->qp_num, 0))
		return owned_misnamed(d, op, wc) ? op : NULL;
	owned_retire(d, op);
	return op;
}

/** Send a settled op where it belongs: to its home's lane, or its callback here and now. */
static inline void
owned_send(struct plx_dispatcher *d, struct plx_op *op, struct handoff *out)
{
	if (op->home != d->owner && op->home != PLX_HOME_ANY) {
		handoff_add(d, out, d->home_of[op->home], op);
		return;
	}
	/* A callback may deliver, fail ops or mark what was handed over: none of it before what came earlier. */
	if (!handoff_flush(d, out, op))
		return;
	if (__builtin_expect(!home_settle(op), 0))
		count(&d->own->nb_orphans, 1);
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
	for (; nb != 0 && (d->detours & ~PLX_DISPATCHER_EARLY) == 0; nb--) {
		struct plx_op *op = plx_op_list_take(&d->early);

		if (d->early.nb == 0)
			d->detours &= ~PLX_DISPATCHER_EARLY;
		owned_send(d, op, &out);
	}
	handoff_flush(d, &out, NULL);
	d->running_early = false;
}

/** The same, unless a post call is running, or earlier ops still wait: nobody sees it before those. */
static inline void
owned_route(struct plx_dispatcher *d, struct plx_op *op, struct handoff *out)
{
	if (__builtin_expect(d->detours == 0, 1)) {
		owned_send(d, op, out);
		return;
	}
	plx_op_list_append(&d->early, op);
	d->detours |= PLX_DISPATCHER_EARLY;
	handoff_flush(d, out, NULL);
	plx_dispatcher_run_early(d);
}

/** The rest of a burst: @p op, which is settled, and what is behind it. Returns how many were refused. */
static __attribute__((noinline)) unsigned int
owned_deliver_rest(struct plx_dispatcher *d, struct plx_op *op, const struct plx_wc *wcs, const struct plx_wc *end)
{
	unsigned int refused = 0;
	struct handoff out;

	handoff_begin(&out);
	owned_route(d, op, &out);
	for (; wcs != end; wcs++) {
		op = owned_claim(d, d->pool, wcs);
		if (__builtin_expect(op == NULL, 0)) {
			refused++;
			handoff_flush(d, &out, NULL);
			plx_dispatcher_run_early(d);
			continue;
		}
		result_fill(op, wcs);
		owned_route(d, op, &out);
	}
	handoff_flush(d, &out, NULL);
	return refused;
}

/** Not at home here, or nobody waits for it, or nobody may be called now. */
static inline bool
owned_is_special(const struct plx_dispatcher *d, const struct plx_op *op)
{
	uint32_t custody = __atomic_load_n(&op->custody, __ATOMIC_RELAXED);

	return ((custody ^ d->here) | d->detours) != 0;
}

/* As long as nothing is special, the callback of each is called here and now. */
void
plx_dispatcher_deliver_here(struct plx_dispatcher *d, const struct plx_wc *wcs, unsigned int n)
{
	const struct plx_op_pool *pool = d->pool;
	const struct plx_wc *const end = wcs + n;

	do {
		struct plx_op *op = owned_claim(d, pool, wcs);

		if (__builtin_expect(op == NULL, 0)) {
			n--;
			plx_dispatcher_run_early(d);
			continue;
		}
		result_fill(op, wcs);
		if (__builtin_expect(owned_is_special(d, op), 0)) {
			n -= owned_deliver_rest(d, op, wcs + 1, end);
			break;
		}
		home_call(op);
	} while (++wcs != end);
	count(&d->stats.delivered, n); /* not before: which ones are refused is known now */
}

/** Settle @p op with a status of ours. */
static void
owned_settle(struct plx_dispatcher *d, struct plx_op *op, enum plx_status status, int err)
{
	struct handoff out;
	struct plx_wc wc = {.status = (uint8_t)status};

	if (status == PLX_ST_TIMED_OUT)
		count(&d->stats.timed_out, 1);
	else if (status == PLX_ST_CANCELLED)
		count(&d->stats.cancelled, 1);
	plx_op_deadlines_remove(&d->deadlines, op);
	handoff_begin(&out);
	result_fill(op, &wc);
	op->post_errno = err;
	owned_route(d, op, &out);
	handoff_flush(d, &out, NULL);
}

void
plx_dispatcher_fail(struct plx_dispatcher *d, struct plx_op *op, enum plx_status status, int err)
{
	plx_op_disarm(op);
	owned_settle(d, op, status, err);
}

void
plx_dispatcher_settle_early(struct plx_dispatcher *d, struct plx_op *op, enum plx_status status)
{
	plx_op_split(op);
	owned_settle(d, op, status, 0);
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
plx_dispatcher_deliver_elsewhere(struct plx_dispatcher *d, const struct plx_wc *wcs, uint16_t n)
{
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
		plx_dispatcher_deliver_here(d, wcs, got);
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
	if (home->owns) { /* not d->owner: that line is the owner's to write */
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
