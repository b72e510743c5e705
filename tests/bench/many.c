/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * B5: many connections on one CQ. What an op costs when it may go to any of 1, 64, 1024 or 16384 connections.
 *
 *      burst:         get 32 -> fetch this one -> choose the next -> prep -> submit all 32 -> a turn of the poller -> put 32
 *      single:        get 32 -> choose 32 -> fetch them -> [ prep -> submit one op ] x 32 -> a turn -> put 32
 *      blind burst:   get 32 -> prep -> choose -> submit all 32 -> a turn -> put 32
 *      blind single:  get 32 -> [ prep -> choose -> submit one op ] x 32 -> a turn -> put 32
 *
 * The twin is the same loop with 1 connection, which draws and fetches all the same. Which connection is next is a
 * pseudo-random number, so the hardware cannot know it; a program may, a turn ahead, or may not (blind).
 */

#include <malloc.h>
#include <stdio.h>

#include <rte_malloc.h>

#include "bench.h"
#include "bench_rig.h"
#include "plx_conn_prefetch.h"

#define BURST	32
#define LEN	8
#define NB_RIGS 4
#define ROUND	131072 /* ops: 1024 connections are each met several times, or they would be as cold as 16384 */

static const unsigned int sizes[NB_RIGS] = {1, 64, 1024, 16384}; /* powers of two */

struct many {
	struct bench_rig rig;
	uint64_t random;
	struct plx_conn *ahead[BURST]; /**< whose turn is next */
	uint64_t nb_good;
	unsigned int nb_over;
	struct plx_op *over[BURST];
};

static void
write_done(struct plx_op *op, void *arg)
{
	struct many *many = arg;

	many->nb_good += op->status == PLX_ST_SUCCESS;
	many->over[many->nb_over++] = op;
}

/** xorshift: three shifts and no memory, the same for any number of connections. */
static inline struct plx_conn *
draw(struct many *many)
{
	many->random ^= many->random << 13;
	many->random ^= many->random >> 7;
	many->random ^= many->random << 17;
	return many->rig.conns[many->random & (many->rig.nb_conns - 1)];
}

/** Draw the connections of the next posts, and have them on their way into the cache. */
static inline void
look_ahead(struct many *many, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		many->ahead[i] = draw(many);
		plx_conn_prefetch(many->ahead[i]);
	}
}

static inline void
op_prep(struct many *many, struct plx_op *op)
{
	struct plx_region *region = many->rig.region;

	plx_op_prep(op, PLX_OPCODE_WRITE, region->addr, LEN, region->lkey, write_done, many);
	plx_op_set_remote(op, (uintptr_t)region->addr + BENCH_REGION / 2, region->rkey);
}

/** The turn of the poller that completes a burst, and its nodes' way back. */
static inline void
many_finish(struct many *many)
{
	while (many->nb_over < BURST)
		plx_poller_once(many->rig.poller);
	plx_op_put_bulk(many->rig.d->pool, many->over, BURST);
	many->nb_over = 0;
}

/** All to one connection, which is drawn now, or was before the last burst. */
static inline void
post_burst(struct many *many, struct plx_op **ops, bool blind)
{
	struct plx_conn *conn = many->ahead[0];
	struct plx_submit_err err;

	if (!blind) {
		plx_conn_prefetch_post(conn, BURST);
		look_ahead(many, 1);
	}
	for (unsigned int i = 0; i < BURST; i++)
		op_prep(many, ops[i]);
	if (plx_conn_submit_burst(blind ? draw(many) : conn, ops, BURST, &err) != BURST)
		bench_broken("submit refused: %d", err.code);
}

/** Each op to a connection of its own; not blind: all 32 are known when the first op is prepared. */
static inline void
post_singles(struct many *many, struct plx_op **ops, bool blind)
{
	struct plx_conn **conns = many->ahead;

	if (!blind) {
		look_ahead(many, BURST);
		for (unsigned int i = 0; i < BURST; i++)
			plx_conn_prefetch_post(conns[i], 1);
	}
	for (unsigned int i = 0; i < BURST; i++) {
		op_prep(many, ops[i]);
		if (plx_conn_submit(blind ? draw(many) : conns[i], ops[i]) != 0)
			bench_broken("submit refused");
	}
}

/** Let pages be touched for the first time outside the measurement: every slot of every queue, and the CQ's. */
static void
many_warm(struct many *many, unsigned int laps)
{
	struct bench_rig *rig = &many->rig;

	for (unsigned int i = 0; i < laps * rig->nb_conns; i++) {
		struct plx_op *ops[BURST];
		struct plx_submit_err err;

		bench_ok(plx_op_get_bulk(rig->d->pool, ops, BURST), "ops");
		for (unsigned int k = 0; k < BURST; k++)
			op_prep(many, ops[k]);
		if (plx_conn_submit_burst(rig->conns[i % rig->nb_conns], ops, BURST, &err) != BURST)
			bench_broken("submit refused: %d", err.code);
		many_finish(many);
	}
}

typedef void (*many_post_t)(struct many *many, struct plx_op **ops, bool blind);

static inline __attribute__((always_inline)) void
many_run(struct many *many, uint64_t nb_ops, many_post_t post, bool blind)
{
	uint64_t good_end = many->nb_good + nb_ops;
	struct plx_op *ops[BURST];

	look_ahead(many, 1);
	for (uint64_t i = 0; i < nb_ops; i += BURST) {
		if (plx_op_get_bulk(many->rig.d->pool, ops, BURST) != 0)
			bench_broken("out of ops");
		post(many, ops, blind);
		many_finish(many);
	}
	if (many->nb_good != good_end)
		bench_broken("writes failed");
}

static void
run_burst(void *many, uint64_t nb_ops)
{
	many_run(many, nb_ops, post_burst, false);
}

static void
run_single(void *many, uint64_t nb_ops)
{
	many_run(many, nb_ops, post_singles, false);
}

static void
run_burst_blind(void *many, uint64_t nb_ops)
{
	many_run(many, nb_ops, post_burst, true);
}

static void
run_single_blind(void *many, uint64_t nb_ops)
{
	many_run(many, nb_ops, post_singles, true);
}

/** Each with its part of the name. */
static const struct {
	const char *infix;
	void (*run)(void *many, uint64_t nb_ops);
} ways[] = {
	{"", run_burst},
	{"single_", run_single},
	{"blind_", run_burst_blind},
	{"blind_single_", run_single_blind},
};

#define NB_WAYS RTE_DIM(ways)

/** Bytes of a connection: the framework's are in DPDK's heap, the software device's in libc's. */
static void
put_memory(const char *device, const struct bench_rig *rig)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_conn_bytes", device);
	bench_put(key, (double)rig->conn_bytes / rig->nb_conns);
	snprintf(key, sizeof(key), "%s_qp_bytes", device);
	bench_put(key, (double)rig->qp_bytes / rig->nb_conns);
}

/** ns by number of connections, then how much more than with one. */
static void
put_works(const struct bench_work *works)
{
	char key[96];

	for (unsigned int i = 0; i < NB_RIGS; i++)
		bench_put(works[i].name, works[i].ns);
	for (unsigned int i = 1; i < NB_RIGS; i++) {
		snprintf(key, sizeof(key), "ratio_%s", works[i].name);
		bench_put(key, works[i].ns / works[0].ns);
	}
}

/** One device and its rigs. */
struct many_device {
	const char *device;
	struct many many[NB_RIGS];
	char names[NB_WAYS * NB_RIGS][64];
	struct bench_work works[NB_WAYS * NB_RIGS]; /**< way by way */
	unsigned int nb; /**< of rigs */
};

static bool
device_measure(struct bench *b, struct many_device *dev)
{
	char name[64];
	bool timed;

	snprintf(name, sizeof(name), "%s0", dev->device);
	dev->nb = b->count && b->scale < 100 ? 1 : NB_RIGS; /* a quick look: few under callgrind, which is slow to make them */
	for (unsigned int i = 0; i < dev->nb; i++) {
		struct many *many = &dev->many[i];

		*many = (struct many){.random = 88172645463325252u};
		bench_rig_make(&many->rig, &(struct bench_rig_conf){.device = name, .nb_conns = sizes[i],
						   .depth = BURST, .nb_ops = 4 * BURST});
		many_warm(many, b->scale < 100 ? 0 : b->count ? 1 : 2);
		for (unsigned int w = 0; w < NB_WAYS; w++) {
			unsigned int at = w * dev->nb + i;

			snprintf(dev->names[at], sizeof(dev->names[at]), "%s_%s%u", dev->device, ways[w].infix, sizes[i]);
			dev->works[at] = (struct bench_work){dev->names[at], ways[w].run, many, 0};
		}
	}
	timed = bench_measure(b, dev->works, NB_WAYS * dev->nb, ROUND, BURST);
	for (unsigned int i = dev->nb; i-- > 0;)
		bench_rig_break(&dev->many[i].rig);
	return timed;
}

static void
device_put(const struct many_device *dev)
{
	for (unsigned int w = 0; w < NB_WAYS; w++)
		put_works(dev->works + w * NB_RIGS);
	put_memory(dev->device, &dev->many[NB_RIGS - 1].rig);
}

void
bench_b5(struct bench *all)
{
	static struct many_device null = {.device = "null"}, loopback = {.device = "loopback"};
	struct bench b = *all;
	bool timed;

	b.rounds = (all->rounds / 8) | 1; /* long ones */
	timed = device_measure(&b, &null);
	if (!device_measure(&b, &loopback) || !timed)
		return;
	bench_row(&b);
	bench_put("raw", null.works[0].ns);
	bench_put("plx", null.works[NB_RIGS - 1].ns);
	bench_put("ratio", null.works[NB_RIGS - 1].ns / null.works[0].ns);
	device_put(&null);
	device_put(&loopback);
	bench_row_end();
}
