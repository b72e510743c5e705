/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_chore.h"

#include <rte_common.h>

/* So that many stalled QPs cannot make one poll long. */
#define TURNS_PER_POLL 16

void
soft_chores_init(struct soft_chores *chores)
{
	chores->nb = 0;
	pthread_mutex_init(&chores->lock, NULL);
	TAILQ_INIT(&chores->list);
}

void
soft_chores_fini(struct soft_chores *chores)
{
	pthread_mutex_destroy(&chores->lock);
}

/* Both with the lock held; the count is atomic for the poll's look without it. */

static void
chore_link(struct soft_chores *chores, struct soft_chore *chore)
{
	if (chore->listed)
		return;
	chore->listed = true;
	TAILQ_INSERT_TAIL(&chores->list, chore, link);
	__atomic_store_n(&chores->nb, chores->nb + 1, __ATOMIC_RELAXED);
}

static void
chore_unlink(struct soft_chores *chores, struct soft_chore *chore)
{
	if (!chore->listed)
		return;
	chore->listed = false;
	TAILQ_REMOVE(&chores->list, chore, link);
	__atomic_store_n(&chores->nb, chores->nb - 1, __ATOMIC_RELAXED);
}

void
soft_chores_add(struct soft_chores *chores, struct soft_chore *chore)
{
	pthread_mutex_lock(&chores->lock);
	chore_link(chores, chore);
	pthread_mutex_unlock(&chores->lock);
}

void
soft_chores_remove(struct soft_chores *chores, struct soft_chore *chore)
{
	/* The first round ends a turn that began before the QP's state forbade more; it may have listed the chore
	 * again, and then one more turn may have begun, which will not. The second round ends that. */
	for (int round = 0; round < 2; round++) {
		pthread_mutex_lock(&chores->lock);
		chore_unlink(chores, chore);
		pthread_mutex_unlock(&chores->lock);
		soft_gate_wait(chore->gate);
	}
}

void
soft_chores_alert(struct soft_chores *chores)
{
	pthread_mutex_lock(&chores->lock);
	__atomic_store_n(&chores->nb, chores->nb + 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&chores->lock);
}

/** The oldest chore, its gate entered, or NULL. Never waits: a poll that finds the lock taken looks again next time. */
static struct soft_chore *
chore_begin(struct soft_chores *chores)
{
	struct soft_chore *chore;

	if (pthread_mutex_trylock(&chores->lock) != 0)
		return NULL;
	chore = TAILQ_FIRST(&chores->list);
	if (chore != NULL) {
		chore_unlink(chores, chore);
		/* Under the lock, so that soft_chores_remove() finds the chore listed or inside the gate. */
		soft_gate_enter(chore->gate);
	}
	pthread_mutex_unlock(&chores->lock);
	return chore;
}

void
soft_chores_run(struct soft_chores *chores)
{
	unsigned int turns = RTE_MIN(__atomic_load_n(&chores->nb, __ATOMIC_RELAXED), (uint32_t)TURNS_PER_POLL);

	for (; turns > 0; turns--) {
		struct soft_chore *chore = chore_begin(chores);
		struct soft_gate *gate;

		if (chore == NULL)
			return;
		gate = chore->gate;
		if (chore->turn(chore))
			soft_chores_add(chores, chore);
		soft_gate_leave(gate);
	}
}
