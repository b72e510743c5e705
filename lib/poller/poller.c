/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_poller.h"

#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>

#include "plx_log.h"
#include "plx_turn.h"
#include "poller_internal.h"

/** Add to a counter that this loop alone writes. */
static inline void
count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static void
cq_keep(struct poller_cq *slot, const struct plx_wc *wcs, uint16_t n)
{
	memmove(slot->kept, wcs, n * sizeof(*wcs));
	slot->nb_kept = n;
}

/** Offer the dispatcher again what its inbox had no room for. Returns how many it took. */
static unsigned int
cq_deliver_kept(struct poller_cq *slot)
{
	uint16_t taken = plx_dispatcher_deliver_burst(slot->d, slot->kept, slot->nb_kept);

	cq_keep(slot, slot->kept + taken, slot->nb_kept - taken);
	return taken;
}

static void
cq_died(struct plx_poller *poller, struct poller_cq *slot, int err)
{
	slot->dead = true;
	count(&poller->stats.cq_errors, 1);
	PLX_LOG(ERR, "poller %s: CQ of %u entries failed in poll and is polled no more: %s", poller->name,
		slot->cq->nb_cqe, rte_strerror(-err));
}

/** Poll one CQ up to the budget, a burst at a time, and deliver. Returns the number of completions. */
static unsigned int
cq_poll(struct plx_poller *poller, struct poller_cq *slot)
{
	struct plx_wc wcs[PLX_POLL_BURST];
	struct plx_cq *cq = slot->cq;
	const unsigned int budget = slot->budget; /* a callback may set another */
	unsigned int sum = 0;
	uint16_t want, taken;
	int got;

	do {
		want = (uint16_t)RTE_MIN(budget - sum, (unsigned int)PLX_POLL_BURST);
		got = plx_cq_poll(cq, wcs, want);
		if (got < 0) {
			cq_died(poller, slot, got);
			break;
		}
		sum += (unsigned int)got;
		taken = plx_dispatcher_deliver_burst(slot->d, wcs, (uint16_t)got);
		if (taken < got) {
			cq_keep(slot, wcs + taken, (uint16_t)got - taken);
			break;
		}
		/* A callback may have removed the CQ, which frees the slot. */
	} while (got == want && sum < budget && slot->cq == cq);

	count(&poller->stats.polls, 1);
	count(sum != 0 ? &poller->stats.completions : &poller->stats.empty_polls, sum != 0 ? sum : 1);
	if (sum == budget)
		count(&poller->stats.full_polls, 1);
	if (sum > poller->stats.most)
		__atomic_store_n(&poller->stats.most, sum, __ATOMIC_RELAXED);
	return sum;
}

static unsigned int
cq_turn(struct plx_poller *poller, struct poller_cq *slot)
{
	unsigned int did = 0;

	if (__builtin_expect(slot->nb_kept != 0, 0)) {
		did = cq_deliver_kept(slot);
		if (slot->nb_kept != 0)
			return did;
	}
	if (__builtin_expect(slot->dead, 0))
		return did;
	return did + cq_poll(poller, slot);
}

unsigned int
poller_turn(struct plx_poller *poller, bool heed_stop)
{
	unsigned int did = 0;

	/* A turn inside a callback would deliver later completions of a CQ before earlier ones. */
	if (__builtin_expect(poller->turning, 0))
		return 0;
	poller->turning = true;
	plx_turn_begin();
	for (poller->cq_at = 0; poller->cq_at < poller->nb_cqs;) {
		did += cq_turn(poller, poller->cqs[poller->cq_at++]);
		if (heed_stop && poller_stopping(poller))
			break;
	}
	for (poller->hook_at = 0; poller->hook_at < poller->nb_hooks;) {
		struct poller_hook hook = poller->hooks[poller->hook_at++];

		did += hook.call(hook.arg);
	}
	plx_turn_end();
	poller->turning = false;
	count(&poller->stats.turns, 1);
	if (did == 0)
		count(&poller->stats.idle_turns, 1);
	return did;
}

unsigned int
plx_poller_once(struct plx_poller *poller)
{
	return poller_turn(poller, false);
}

void
plx_poller_stats(const struct plx_poller *poller, struct plx_poller_stats *stats)
{
	const struct plx_poller_stats *s = &poller->stats;

	*stats = (struct plx_poller_stats){
		.turns = __atomic_load_n(&s->turns, __ATOMIC_RELAXED),
		.idle_turns = __atomic_load_n(&s->idle_turns, __ATOMIC_RELAXED),
		.polls = __atomic_load_n(&s->polls, __ATOMIC_RELAXED),
		.empty_polls = __atomic_load_n(&s->empty_polls, __ATOMIC_RELAXED),
		.completions = __atomic_load_n(&s->completions, __ATOMIC_RELAXED),
		.full_polls = __atomic_load_n(&s->full_polls, __ATOMIC_RELAXED),
		.most = __atomic_load_n(&s->most, __ATOMIC_RELAXED),
		.cq_errors = __atomic_load_n(&s->cq_errors, __ATOMIC_RELAXED),
	};
}
