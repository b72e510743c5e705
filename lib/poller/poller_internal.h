/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef POLLER_INTERNAL_H
#define POLLER_INTERNAL_H

/**
 * @file
 * What a poller is made of.
 *
 *      cqs[]  -> slot 2, slot 0, slot 1	the order of polling; without holes
 *                                  ^cq_at	where the turn goes on
 *
 * Callbacks and hooks may add and remove anything while a turn is on its way, themselves included. So a turn keeps
 * its place in the poller, and removal moves it along with what lies behind.
 */

#include "plx_poller.h"

/** A CQ, and what was polled from it but found the dispatcher's inbox full. */
struct poller_cq {
	struct plx_cq *cq; /**< NULL: the slot is free */
	struct plx_dispatcher *d;
	bool dead;	   /**< a poll failed */
	uint16_t budget;   /**< completions in a turn */
	uint16_t nb_kept;
	struct plx_wc kept[PLX_POLL_BURST]; /**< oldest first; to be delivered before the next poll */
};

struct poller_hook {
	plx_hook_t call;
	void *arg;
};

struct plx_poller {
	unsigned int nb_cqs;
	unsigned int cq_at; /**< in a turn: the next to be polled */
	unsigned int nb_hooks;
	unsigned int hook_at; /**< in a turn: the next to be called */
	uint16_t budget;
	bool yield;
	bool turning;	    /**< a turn is on its way */
	bool stopping;	    /**< atomic */
	bool running;	    /**< atomic */
	unsigned int lcore; /**< atomic */
	struct poller_cq *cqs[PLX_POLLER_MAX_CQS];
	struct poller_hook hooks[PLX_POLLER_MAX_HOOKS];
	char name[32];

	struct plx_poller_stats stats __rte_cache_aligned;

	struct poller_cq slots[PLX_POLLER_MAX_CQS] __rte_cache_aligned;
};

static inline bool
poller_stopping(const struct plx_poller *poller)
{
	/* Pairs with the release in plx_poller_stop(): what the stopper wrote before is there. */
	return __atomic_load_n(&poller->stopping, __ATOMIC_ACQUIRE);
}

/** One turn; with @p heed_stop a stop request ends the polling before the next CQ (poller.c). */
unsigned int poller_turn(struct plx_poller *poller, bool heed_stop);

#endif
