/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_lane.h"

#include <stdio.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "plx_log.h"

/* An exact-size ring has its capacity + 1 rounded up to a power of two, below RTE_RING_SZ_MASK. */
#define NB_ELEM_MAX ((1u << 30) - 1)

/* Lanes made by this process so far: their rings' names differ, whatever their users call them. */
static uint32_t nb_lanes;

static const char *
lane_name(const struct plx_lane_conf *conf)
{
	return conf->name != NULL ? conf->name : "lane";
}

static bool
conf_sizes_ok(const struct plx_lane_conf *conf)
{
	if (conf->nb_elem == 0 || conf->nb_elem > NB_ELEM_MAX) {
		PLX_LOG(ERR, "lane %.63s: nb_elem is %u, must be 1 to %u", lane_name(conf), conf->nb_elem,
			NB_ELEM_MAX);
		return false;
	}
	if (conf->elem_size == 0 || conf->elem_size % 4 != 0) {
		PLX_LOG(ERR, "lane %.63s: elem_size is %u, must be a multiple of 4", lane_name(conf),
			conf->elem_size);
		return false;
	}
	return true;
}

static bool
conf_lcores_ok(const struct plx_lane_conf *conf)
{
	if (conf->consumer >= RTE_MAX_LCORE && conf->consumer != LCORE_ID_ANY) {
		PLX_LOG(ERR, "lane %.63s: consumer is lcore %u, this DPDK has %u", lane_name(conf),
			conf->consumer, RTE_MAX_LCORE);
		return false;
	}
	if (conf->nb_producers == 0 && !conf->alien) {
		PLX_LOG(ERR, "lane %.63s: 0 producers and no alien ring, nobody could send", lane_name(conf));
		return false;
	}
	return true;
}

/* The rings are not made with rte_ring_create(): a process has 2560 memzones, 50 lcores that all
 * send to each other have as many rings. So there is no name to clash either. */
static struct rte_ring *
ring_create(const struct plx_lane_conf *conf, uint32_t id, unsigned int nth, unsigned int flags)
{
	unsigned int count = rte_align32pow2(conf->nb_elem + 1);
	ssize_t len = rte_ring_get_memsize_elem(conf->elem_size, count);
	int socket = conf->socket_id;
	char name[RTE_RING_NAMESIZE];
	struct rte_ring *ring;

	if (socket == SOCKET_ID_ANY && conf->consumer != LCORE_ID_ANY)
		/* Still "any" for an lcore whose CPUs lie on two sockets. */
		socket = (int)rte_lcore_to_socket_id(conf->consumer);

	ring = len > 0 ? rte_zmalloc_socket("plx_lane", (size_t)len, RTE_CACHE_LINE_SIZE, socket) : NULL;
	if (ring == NULL) {
		PLX_LOG(ERR, "lane %.63s: no memory for ring %u: %u elements of %u bytes, %zd in all, socket %d",
			lane_name(conf), nth, conf->nb_elem, conf->elem_size, len, socket);
		rte_errno = ENOMEM;
		return NULL;
	}
	/* Cannot fail: the name fits, the count was checked. */
	snprintf(name, sizeof(name), "%.12s.%x.%u", lane_name(conf), id, nth);
	rte_ring_init(ring, name, conf->nb_elem, flags | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	return ring;
}

static int
lane_add_producer(struct plx_lane *lane, const struct plx_lane_conf *conf, uint32_t id, unsigned int lcore)
{
	struct rte_ring *ring;

	if (lcore >= RTE_MAX_LCORE || lane->ring_of[lcore] != NULL) {
		PLX_LOG(ERR, "lane %.63s: producer lcore %u is %s", lane_name(conf), lcore,
			lcore >= RTE_MAX_LCORE ? "no lcore id" : "named twice");
		rte_errno = EINVAL;
		return -EINVAL;
	}
	ring = ring_create(conf, id, lane->nb_rings, RING_F_SP_ENQ);
	if (ring == NULL)
		return -rte_errno;
	lane->ring_of[lcore] = ring;
	lane->rings[lane->nb_rings++] = ring;
	return 0;
}

static int
lane_add_alien(struct plx_lane *lane, const struct plx_lane_conf *conf, uint32_t id)
{
	struct rte_ring *ring = ring_create(conf, id, lane->nb_rings, RING_F_MP_RTS_ENQ);

	if (ring == NULL)
		return -rte_errno;
	/* Default is an eighth of the ring, beyond which a sender spins until a preempted one has
	 * come back. Full is something that a sender can deal with, spinning is not. */
	rte_ring_set_prod_htd_max(ring, conf->nb_elem);
	lane->alien = ring;
	lane->rings[lane->nb_rings++] = ring;
	return 0;
}

struct plx_lane *
plx_lane_create(const struct plx_lane_conf *conf)
{
	uint32_t id = __atomic_fetch_add(&nb_lanes, 1, __ATOMIC_RELAXED);
	struct plx_lane *lane;

	if (!conf_sizes_ok(conf) || !conf_lcores_ok(conf)) {
		rte_errno = EINVAL;
		return NULL;
	}
	lane = rte_zmalloc("plx_lane", sizeof(*lane), RTE_CACHE_LINE_SIZE);
	if (lane == NULL) {
		PLX_LOG(ERR, "lane %.63s: no memory for %zu bytes", lane_name(conf), sizeof(*lane));
		rte_errno = ENOMEM;
		return NULL;
	}
	lane->elem_size = conf->elem_size;
	for (unsigned int i = 0; i < conf->nb_producers; i++)
		if (lane_add_producer(lane, conf, id, conf->producers[i]) != 0)
			goto destroy;
	if (conf->alien && lane_add_alien(lane, conf, id) != 0)
		goto destroy;
	if (lane->nb_rings == 1 && lane->alien == NULL && lane->elem_size == sizeof(void *))
		lane->sole = lane->rings[0];
	return lane;

destroy:
	plx_lane_destroy(lane); /* leaves rte_errno alone */
	return NULL;
}

void
plx_lane_destroy(struct plx_lane *lane)
{
	if (lane == NULL)
		return;
	for (unsigned int i = 0; i < lane->nb_rings; i++)
		rte_free(lane->rings[i]);
	rte_free(lane);
}

bool
plx_lane_can_send(const struct plx_lane *lane, unsigned int lcore)
{
	return lane->alien != NULL || (lcore < RTE_MAX_LCORE && lane->ring_of[lcore] != NULL);
}

void
plx_lane_stats(const struct plx_lane *lane, struct plx_lane_stats *stats)
{
	stats->refused = __atomic_load_n(&lane->refused, __ATOMIC_RELAXED);
	stats->high_water = __atomic_load_n(&lane->high_water, __ATOMIC_RELAXED);
	stats->capacity = rte_ring_get_capacity(lane->rings[0]);
}

unsigned int
plx_lane_send_other(struct plx_lane *lane, const void *elems, unsigned int n)
{
	unsigned int lcore = rte_lcore_id();

	if (lcore < RTE_MAX_LCORE && lane->ring_of[lcore] != NULL)
		return rte_ring_sp_enqueue_burst_elem(lane->ring_of[lcore], elems, lane->elem_size, n, NULL);
	if (lane->alien != NULL)
		return rte_ring_mp_rts_enqueue_burst_elem(lane->alien, elems, lane->elem_size, n, NULL);
	__atomic_fetch_add(&lane->refused, n, __ATOMIC_RELAXED);
	return 0;
}

/* Elements in @p ring, at least: the acquire pairs with the producer's release of its tail.
 * rte_ring_count() would do but for its plain loads, which are a data race by the C model. */
static unsigned int
ring_count(const struct rte_ring *ring)
{
	return __atomic_load_n(&ring->prod.tail, __ATOMIC_ACQUIRE) -
	       __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
}

/* The same for RTS mode, where the producers' tail is half of a 64-bit word that is exchanged as a
 * whole: an acquire of the whole word is what formally pairs with them. */
static unsigned int
alien_count(struct rte_ring *ring)
{
	__typeof__(ring->rts_prod.tail) tail;

	tail.raw = __atomic_load_n(&ring->rts_prod.tail.raw, __ATOMIC_ACQUIRE);
	return tail.val.pos - __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
}

static inline bool
ring_empty(const struct plx_lane *lane, struct rte_ring *ring)
{
	return (ring == lane->alien ? alien_count(ring) : ring_count(ring)) == 0;
}

static unsigned int
alien_recv(struct plx_lane *lane, void *elems, unsigned int n, unsigned int *left)
{
	/* No more than what was acquired here; the rest may come with the next call. */
	unsigned int nb = RTE_MIN(n, alien_count(lane->alien));

	return rte_ring_sc_dequeue_burst_elem(lane->alien, elems, lane->elem_size, nb, left);
}

/* One round over the rings, for elements of `elem_size` bytes; best a constant. */
static inline unsigned int
recv_round(struct plx_lane *lane, void *elems, unsigned int n, unsigned int elem_size)
{
	uint32_t first = lane->next, at = first;
	unsigned int got = 0;

	do {
		struct rte_ring *ring = lane->rings[at];
		void *room = (char *)elems + (size_t)got * elem_size;
		unsigned int nb, left;

		if (++at == lane->nb_rings)
			at = 0;
		/* Most rings of most lanes are empty most of the time: two loads say so. */
		if (ring_empty(lane, ring))
			continue;
		if (ring == lane->alien)
			nb = alien_recv(lane, room, n - got, &left);
		else
			nb = rte_ring_sc_dequeue_burst_elem(ring, room, elem_size, n - got, &left);
		plx_lane_saw(lane, nb + left);
		got += nb;
	} while (at != first && got < n);
	lane->next = at;
	return got;
}

unsigned int
plx_lane_recv_other(struct plx_lane *lane, void *elems, unsigned int n)
{
	if (lane->elem_size == sizeof(void *))
		return recv_round(lane, elems, n, sizeof(void *));
	return recv_round(lane, elems, n, lane->elem_size);
}

bool
plx_lane_empty(const struct plx_lane *lane)
{
	for (unsigned int i = 0; i < lane->nb_rings; i++)
		if (!ring_empty(lane, lane->rings[i]))
			return false;
	return true;
}
