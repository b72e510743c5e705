/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_CHORE_H
#define SOFT_CHORE_H

/**
 * @file
 * Chores: what the thread that polls a CQ has to do for a QP besides polling. A stalled send queue is tried again, the
 * queues of a QP in error are flushed.
 *
 *      any thread --add--> [ chore ]-[ chore ]-[ chore ] --run, a few a poll--> the CQ's polling thread
 *
 * A poll pays one load while there are none. The lock is held for a few instructions on the cold side, and the
 * polling thread only ever tries it.
 */

#include <stdbool.h>

#include <pthread.h>
#include <sys/queue.h>

#include <rte_branch_prediction.h>

#include "soft_gate.h"

struct soft_chore {
	TAILQ_ENTRY(soft_chore) link;
	bool listed;
	struct soft_gate *gate; /**< entered around each turn */
	/** One turn, on the polling thread. Returns whether another is needed. */
	bool (*turn)(struct soft_chore *chore);
};

TAILQ_HEAD(soft_chore_list, soft_chore);

struct soft_chores {
	uint32_t nb; /**< the one word that a poll looks at */
	pthread_mutex_t lock;
	struct soft_chore_list list;
};

void soft_chores_init(struct soft_chores *chores);
void soft_chores_fini(struct soft_chores *chores);

/** Have @p chore run at the next poll; harmless when it is waiting already. Any thread. */
void soft_chores_add(struct soft_chores *chores, struct soft_chore *chore);

/** After this, @p chore is not listed and takes no turn. Its QP must not ask for more (state) by then. Any thread that
 * is inside no gate. */
void soft_chores_remove(struct soft_chores *chores, struct soft_chore *chore);

/** From here on every poll finds something to look at, though there may be no chore. Any thread. */
void soft_chores_alert(struct soft_chores *chores);

void soft_chores_run(struct soft_chores *chores);

static inline bool
soft_chores_any(const struct soft_chores *chores)
{
	/* Relaxed: a chore that is seen one poll later is early enough; the lock orders its contents. */
	return unlikely(__atomic_load_n(&chores->nb, __ATOMIC_RELAXED) != 0);
}

#endif
