/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FAULT_RING_H
#define FAULT_RING_H

/**
 * @file
 * Where CQEs wait. A ring is its CQ's owner's alone.
 */

#include "plx_wr.h"

/** A CQE that waits in a ring until the poll number @p due. */
struct fault_waiter {
	struct plx_wc wc;
	uint64_t due;
	uint64_t since; /**< of one that we made: the poll before it */
	uint64_t taken; /**< and what had come out of the inner CQ by then */
};

/** FIFO; head and tail run freely. */
struct fault_ring {
	struct fault_waiter *slots; /* NULL: none: the ring's rule keeps nothing */
	uint32_t size;		    /* power of two */
	uint32_t head;
	uint32_t tail;
};

static inline uint32_t
fault_ring_used(const struct fault_ring *ring)
{
	return ring->tail - ring->head;
}

static inline void
fault_ring_put(struct fault_ring *ring, const struct plx_wc *wc, uint64_t due)
{
	ring->slots[ring->tail++ & (ring->size - 1)] = (struct fault_waiter){.wc = *wc, .due = due};
}

static inline struct fault_waiter *
fault_ring_first(struct fault_ring *ring)
{
	return fault_ring_used(ring) > 0 ? &ring->slots[ring->head & (ring->size - 1)] : NULL;
}

#endif
