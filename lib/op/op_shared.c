/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_op_shared.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "plx_log.h"

/**
 * @file
 * A number stands at its first place or, where that is taken, at the next that is not: a look-up goes on until it meets
 * a place that is free.
 *
 *      first place of:   x y
 *                        | |
 *      places:      FREE w x LEFT y FREE		y is found past the place that w' left: it is crossed, and must not be free.
 *                                              When y goes, both are.
 *
 * Nobody is ever moved: the owner looks up, and counts nb_held, while others come and go.
 */

#define MAX_QPS (1u << 23)

static_assert(offsetof(struct plx_op_shared, queue) == PLX_OP_SHARED_AT, "by its address alone a queue tells what it is");

int
plx_op_shared_init(struct plx_op_shared *shared, uint32_t nb_qps, plx_op_shared_low_t low_cb)
{
	uint32_t size;

	if (nb_qps == 0 || nb_qps > MAX_QPS) {
		PLX_LOG(ERR, "shared receive queue: for %u QPs; want 1 to %u", nb_qps, MAX_QPS);
		return -EINVAL;
	}
	size = rte_align32pow2(2 * nb_qps); /* half empty: look-ups are short */
	memset(shared, 0, sizeof(*shared));
	shared->who = rte_zmalloc("plx_op_shared", size * sizeof(shared->who[0]), 0);
	if (shared->who == NULL) {
		PLX_LOG(ERR, "shared receive queue: no memory for %u QPs: %zu bytes", nb_qps, size * sizeof(shared->who[0]));
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < size; i++)
		shared->who[i].qp_num = PLX_OP_SHARED_FREE;
	shared->mask = size - 1;
	shared->low_cb = low_cb;
	shared->queue.qp_num = UINT32_MAX; /* no completion has it */
	return 0;
}

void
plx_op_shared_fini(struct plx_op_shared *shared)
{
	rte_free(shared->who);
	shared->who = NULL;
}

struct plx_op_shared_who *
plx_op_shared_find(const struct plx_op_shared *shared, uint32_t qp_num)
{
	/* Numbers are given one after the other, as a rule: so each has its own place. */
	for (uint32_t i = 0; i <= shared->mask; i++) {
		struct plx_op_shared_who *who = &shared->who[(qp_num + i) & shared->mask];
		/* Acquire: partner is the release in plx_op_shared_join(). */
		uint32_t num = __atomic_load_n(&who->qp_num, __ATOMIC_ACQUIRE);

		if (num == qp_num)
			return who;
		if (num == PLX_OP_SHARED_FREE)
			return NULL;
	}
	return NULL;
}

int
plx_op_shared_join(struct plx_op_shared *shared, uint32_t qp_num, struct plx_op_queue *queue, uint16_t home)
{
	if (plx_op_shared_find(shared, qp_num) != NULL)
		return -EEXIST;
	for (uint32_t i = 0; i <= shared->mask; i++) {
		struct plx_op_shared_who *who = &shared->who[(qp_num + i) & shared->mask];

		if (__atomic_load_n(&who->qp_num, __ATOMIC_RELAXED) < PLX_OP_SHARED_LEFT)
			continue;
		who->queue = queue;
		who->home = home;
		who->nb_held = 0;
		/* Release: who finds the number finds the rest. */
		__atomic_store_n(&who->qp_num, qp_num, __ATOMIC_RELEASE);
		return 0;
	}
	return -ENOSPC;
}

static uint32_t
number_at(const struct plx_op_shared *shared, uint32_t at)
{
	return __atomic_load_n(&shared->who[at & shared->mask].qp_num, __ATOMIC_RELAXED);
}

/** How many places @p qp_num, which stands at @p at, is from its first. */
static uint32_t
way_of(const struct plx_op_shared *shared, uint32_t qp_num, uint32_t at)
{
	return (at - qp_num) & shared->mask;
}

/** How many places before @p at are crossed on the way to somebody behind it; -1: not even that one is. */
static int64_t
crossed_before(const struct plx_op_shared *shared, uint32_t at)
{
	int64_t most = -1;

	for (uint32_t i = 1; i <= shared->mask; i++) {
		uint32_t num = number_at(shared, at + i);

		if (num == PLX_OP_SHARED_FREE)
			break;
		if (num != PLX_OP_SHARED_LEFT)
			most = RTE_MAX(most, (int64_t)way_of(shared, num, at + i) - i);
	}
	return most;
}

/**
 * Who stood at @p at, @p way from the first place, has left: of those places whichever nobody crosses any more are
 * free.
 */
static void
free_uncrossed(struct plx_op_shared *shared, uint32_t at, uint32_t way)
{
	int64_t crossed = crossed_before(shared, at);

	for (uint32_t i = 0; i <= way; i++) {
		uint32_t num = number_at(shared, at - i);

		if (num != PLX_OP_SHARED_LEFT)
			crossed = RTE_MAX(crossed, (int64_t)way_of(shared, num, at - i) + i);
		else if (crossed < i)
			/* Relaxed: who looks up past here looks for somebody who crosses it, and joined before that. */
			__atomic_store_n(&shared->who[(at - i) & shared->mask].qp_num, PLX_OP_SHARED_FREE, __ATOMIC_RELAXED);
	}
}

void
plx_op_shared_leave(struct plx_op_shared *shared, uint32_t qp_num)
{
	struct plx_op_shared_who *who = plx_op_shared_find(shared, qp_num);
	uint32_t at;

	if (who == NULL)
		return;
	at = (uint32_t)(who - shared->who);
	__atomic_store_n(&who->qp_num, PLX_OP_SHARED_LEFT, __ATOMIC_RELAXED);
	free_uncrossed(shared, at, way_of(shared, qp_num, at));
}

bool
plx_op_shared_arrived(struct plx_op_shared *shared, struct plx_op *op, bool named, uint32_t qp_num)
{
	struct plx_op_queue *q = &shared->queue;
	struct plx_op_shared_who *who = named ? plx_op_shared_find(shared, qp_num) : NULL;

	q->tail++;
	if (__builtin_expect(who == NULL || q->head - q->tail < shared->low, 0) && !shared->low_cb(shared, op, who))
		return false;
	who->nb_held++;
	op->queue = who->queue;
	if (who->home != PLX_HOME_ANY)
		plx_op_set_custody(op, PLX_OP_CUSTODY(who->home, PLX_OP_POSTED, 0));
	return true;
}
