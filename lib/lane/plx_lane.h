/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_LANE_H
#define PLX_LANE_H

/**
 * @file
 * A lane: what other threads hand to one consumer.
 *
 *      lcore 1 ---[ SP/SC ring ]---+
 *      lcore 2 ---[ SP/SC ring ]---+--- round robin ---> consumer lcore
 *      lcore 5 ---[ SP/SC ring ]---+
 *      others  ---[ RTS/SC ring ]--+
 *
 * Each named producer lcore has a ring of its own, so that a preempted producer stalls nobody else
 * and a send takes no locked instruction. Elements of one producer arrive in its order; there is
 * no order between producers.
 *
 * Everybody else, threads without lcore id ("alien") and lcores that were not named, shares one
 * ring in RTS mode, when the lane was made with one. Its promise is weaker: a send never waits,
 * but an element is seen only when all sends that overlapped its own have ended. An alien that is
 * preempted inside a send so hides what other aliens sent after it, until it runs again; if that
 * fills the ring, their sends take nothing.
 *
 * Elements are copied, 8-byte pointers as a rule. A lane never drops one: a send says how many it
 * took, and the others are still the sender's. A lane that must always take is made with room for
 * as many elements as there are.
 *
 * Threads: send from any, recv and empty from the consumer, the rest while nobody uses the lane.
 * "The consumer" is one thread at a time; the lane does not check which.
 *
 * @since 0.1
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_lcore.h>
#include <rte_ring.h>

#include "plx_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a lane is made of. */
struct plx_lane_conf {
	const char *name;	       /**< for log lines and the rings' names; up to 12 shown */
	unsigned int consumer;	       /**< lcore id, or LCORE_ID_ANY for a thread without one */
	const unsigned int *producers; /**< lcore ids, each once; the consumer may be one */
	unsigned int nb_producers;     /**< 0: aliens only */
	bool alien;		       /**< with a ring for everybody else */
	unsigned int nb_elem;	       /**< that each ring holds, exactly; 1 to 2^30 - 1 */
	unsigned int elem_size;	       /**< bytes, a multiple of 4 */
	int socket_id;		       /**< of the memory; SOCKET_ID_ANY: the consumer's */
};

/** Private; here because send and recv are inline. What is written stands in lines of its own:
 * producers read the first part at each send. */
struct plx_lane {
	uint32_t elem_size;
	uint32_t nb_rings;
	struct rte_ring *alien;				/* the last of `rings`, or NULL */
	struct rte_ring *sole;				/* the only one, no alien's, of pointers; or NULL */
	struct rte_ring *rings[RTE_MAX_LCORE + 1]; /* all, for the consumer */
	struct rte_ring *ring_of[RTE_MAX_LCORE];	/* by producer; NULL: no ring of its own */

	uint32_t next __rte_cache_aligned; /* ring that the next recv begins with */
	uint32_t high_water;		   /* most elements ever found in one ring */

	uint64_t refused __rte_cache_aligned; /* elements; from threads that have no ring at all */
};

/** Seen from outside; plx_lane_stats(). */
struct plx_lane_stats {
	uint64_t refused;    /**< elements from threads that have no ring here */
	uint32_t high_water; /**< most elements that a recv found in one ring */
	uint32_t capacity;   /**< of each ring */
};

/**
 * Make a lane. NULL with `rte_errno` EINVAL (conf: which field is logged) or ENOMEM (no room on the
 * socket).
 */
struct plx_lane *plx_lane_create(const struct plx_lane_conf *conf);

/** Free @p lane, with what is still in it; NULL is fine. Nobody uses it any more. */
void plx_lane_destroy(struct plx_lane *lane);

/** Whether lcore @p lcore (or LCORE_ID_ANY) can send here: otherwise each send takes 0. Any thread. */
bool plx_lane_can_send(const struct plx_lane *lane, unsigned int lcore);

/** Counters of @p lane. Any thread. */
void plx_lane_stats(const struct plx_lane *lane, struct plx_lane_stats *stats);

/** The rest of plx_lane_send(): aliens, refusals, elements that are no pointers. */
unsigned int plx_lane_send_other(struct plx_lane *lane, const void *elems, unsigned int n);

/** The rest of plx_lane_recv(): several rings, the alien ring, elements that are no pointers. */
unsigned int plx_lane_recv_other(struct plx_lane *lane, void *elems, unsigned int n);

/**
 * Send the @p n elements at @p elems.
 *
 * Returns how many were taken, the first ones of the table: fewer than @p n when the ring is full,
 * 0 when the calling thread has no ring here (counted; see plx_lane_can_send()). What was not taken
 * is unchanged and stays the caller's.
 *
 * What the caller wrote before is visible to who receives the element.
 */
PLX_INLINE unsigned int
plx_lane_send(struct plx_lane *lane, const void *elems, unsigned int n)
{
	unsigned int lcore = rte_lcore_id();
	struct rte_ring *ring = lcore < RTE_MAX_LCORE ? lane->ring_of[lcore] : NULL;

	/* Inline for pointers only: with a size that the compiler does not know, the copying of all
	 * sizes is inlined, and gcc warns of 16-byte reads from the caller's one pointer. */
	if (ring == NULL || lane->elem_size != sizeof(void *))
		return plx_lane_send_other(lane, elems, n);
	return rte_ring_sp_enqueue_burst_elem(ring, elems, sizeof(void *), n, NULL);
}

/** Consumer only: @p nb elements lay in one ring. */
PLX_INLINE void
plx_lane_saw(struct plx_lane *lane, unsigned int nb)
{
	if (nb > lane->high_water)
		__atomic_store_n(&lane->high_water, nb, __ATOMIC_RELAXED);
}

/**
 * Receive up to @p n elements into @p elems; returns how many. Consumer only.
 *
 * Takes what one ring has before it looks at the next, and begins each time with the ring behind
 * the one where it last ended: a producer that always has more to give keeps no other waiting for
 * longer than one call per producer.
 */
PLX_INLINE unsigned int
plx_lane_recv(struct plx_lane *lane, void *elems, unsigned int n)
{
	unsigned int nb, left;

	if (lane->sole == NULL)
		return plx_lane_recv_other(lane, elems, n);
	nb = rte_ring_sc_dequeue_burst_elem(lane->sole, elems, sizeof(void *), n, &left);
	plx_lane_saw(lane, nb + left);
	return nb;
}

/**
 * Whether a recv now would find nothing. Consumer only.
 *
 * An element whose send has not returned yet may be missed; a consumer that wants to sleep on the
 * answer needs a fence of its own between saying so and asking (a StoreLoad, paired with the
 * producer's between send and looking for a sleeper).
 */
bool plx_lane_empty(const struct plx_lane *lane);

#ifdef __cplusplus
}
#endif

#endif
