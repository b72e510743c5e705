/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_sq.h"

#include <errno.h>

#include <rte_common.h>

#include "soft_mem.h"
#include "soft_sge.h"

/* ---- done words ---------------------------------------------------------------------------- */

#define DONES_PER_BLOCK 64

struct soft_sq_done_block {
	struct soft_sq_done_block *next;
	struct soft_sq_done dones[DONES_PER_BLOCK];
};

void
soft_sq_dones_init(struct soft_sq_dones *dones)
{
	pthread_mutex_init(&dones->lock, NULL);
	SLIST_INIT(&dones->unused);
	dones->blocks = NULL;
}

void
soft_sq_dones_fini(struct soft_sq_dones *dones)
{
	while (dones->blocks != NULL) {
		struct soft_sq_done_block *block = dones->blocks;

		dones->blocks = block->next;
		soft_free(block);
	}
	pthread_mutex_destroy(&dones->lock);
}

static int
dones_grow(struct soft_sq_dones *dones)
{
	struct soft_sq_done_block *block = soft_zalloc(sizeof(*block));

	if (block == NULL)
		return -ENOMEM;
	block->next = dones->blocks;
	dones->blocks = block;
	for (unsigned int i = 0; i < DONES_PER_BLOCK; i++)
		SLIST_INSERT_HEAD(&dones->unused, &block->dones[i], link);
	return 0;
}

static struct soft_sq_done *
done_get(struct soft_sq_dones *dones)
{
	struct soft_sq_done *done = NULL;

	pthread_mutex_lock(&dones->lock);
	if (!SLIST_EMPTY(&dones->unused) || dones_grow(dones) == 0) {
		done = SLIST_FIRST(&dones->unused);
		SLIST_REMOVE_HEAD(&dones->unused, link);
	}
	pthread_mutex_unlock(&dones->lock);
	return done;
}

static void
done_put(struct soft_sq_dones *dones, struct soft_sq_done *done, uint64_t posted)
{
	pthread_mutex_lock(&dones->lock);
	done->base = posted;
	SLIST_INSERT_HEAD(&dones->unused, done, link);
	pthread_mutex_unlock(&dones->lock);
}

/* ---- queue --------------------------------------------------------------------------------- */

/** A WR that waits, followed by its SGEs and its inline payload. */
struct slot {
	struct plx_wr wr;
	struct plx_sge sges[];
};

int
soft_sq_init(struct soft_sq *sq, const struct plx_qp_cap *cap, struct soft_sq_dones *dones)
{
	uint32_t sges = RTE_MAX(cap->send_sge, 1u); /* one describes the inline payload */
	size_t size = sizeof(struct slot) + sges * sizeof(struct plx_sge) + cap->inline_len;

	*sq = (struct soft_sq){
		.depth = cap->send_depth,
		.max_sge = cap->send_sge,
		.max_inline = cap->inline_len,
		.stride = RTE_ALIGN(size, sizeof(uint64_t)),
	};
	sq->slots = soft_zalloc((size_t)RTE_MAX(sq->depth, 1u) * sq->stride);
	if (sq->slots == NULL)
		return -ENOMEM;
	sq->done = done_get(dones);
	if (sq->done == NULL) {
		soft_free(sq->slots);
		return -ENOMEM;
	}
	sq->base = sq->done->base;
	sq->first = sq->base;
	sq->posted = sq->base;
	return 0;
}

void
soft_sq_fini(struct soft_sq *sq, struct soft_sq_dones *dones)
{
	done_put(dones, sq->done, sq->posted);
	soft_free(sq->slots);
	sq->slots = NULL;
}

static struct slot *
slot_at(const struct soft_sq *sq, uint64_t position)
{
	/* Stalled WRs only, so the division hurts nobody. */
	return (struct slot *)(sq->slots + (position % sq->depth) * sq->stride);
}

static void
keep_inline(struct soft_sq *sq, struct slot *slot, const struct plx_wr *wr)
{
	uint8_t *payload = (uint8_t *)&slot->sges[RTE_MAX(sq->max_sge, 1u)];
	uint32_t len = soft_sge_len(wr->sg_list, wr->num_sge);

	slot->sges[0] = (struct plx_sge){.addr = (uintptr_t)payload, .length = len};
	slot->wr.num_sge = 1;
	soft_sge_copy(slot->sges, wr->sg_list, len);
}

void
soft_sq_keep(struct soft_sq *sq, const struct plx_wr *wr)
{
	struct slot *slot = slot_at(sq, sq->posted - 1);

	slot->wr = *wr;
	slot->wr.sg_list = slot->sges;
	if (wr->flags & PLX_WR_INLINE)
		keep_inline(sq, slot, wr);
	else
		for (uint32_t i = 0; i < wr->num_sge; i++)
			slot->sges[i] = wr->sg_list[i];
}

const struct plx_wr *
soft_sq_first(const struct soft_sq *sq)
{
	return &slot_at(sq, sq->first)->wr;
}
