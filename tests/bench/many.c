/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * B5: many connections on one CQ. What an op costs when it may go to any of 1, 64, 1024 or 16384 connections.
 *
 *      single:  get 32 -> [ choose a connection -> prep -> submit one op ] x 32 -> one turn of the poller -> put 32
 *      burst:   get 32 -> choose a connection -> prep -> submit all 32 -> one turn of the poller -> put 32
 *
 * The twin is the same loop with 1 connection. Which connection is next is a pseudo-random number, so neither the
 * hardware nor we can know it long before; with 1 connection the number is drawn all the same.
 */

#include <malloc.h>
#include <stdio.h>

#include <rte_malloc.h>

#include "bench.h"
#include "bench_rig.h"

#define BURST	32
#define LEN	8
#define NB_RIGS 4
#define ROUND	131072 /* ops: 1024 connections are each met several times, or they would be as cold as 16384 */

static const unsigned int sizes[NB_RIGS] = {1, 64, 1024, 16384}; /* powers of two */

struct many {
	struct bench_rig rig;
	uint64_t random;
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
choose(struct many *many)
{
	many->random ^= many->random << 13;
	many->random ^= many->random >> 7;
	many->random ^= many->random << 17;
	return many->rig.conns[many->random & (many->rig.nb_conns - 1)];
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

/** Each op to a connection of its own, or all to one. */
static inline void
many_post(struct many *many, struct plx_op **ops, unsigned int burst)
{
	struct plx_submit_err err;

	for (unsigned int i = 0; i < BURST; i++) {
		op_prep(many, ops[i]);
		if (burst == 1 && plx_conn_submit(choose(many), ops[i]) != 0)
			bench_broken("submit refused");
	}
	if (burst == BURST && plx_conn_submit_burst(choose(many), ops, BURST, &err) != BURST)
		bench_broken("submit refused: %d", err.code);
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

static inline __attribute__((always_inline)) void
many_run(struct many *many, uint64_t nb_ops, unsigned int burst)
{
	uint64_t good_end = many->nb_good + nb_ops;
	struct plx_op *ops[BURST];

	for (uint64_t i = 0; i < nb_ops; i += BURST) {
		if (plx_op_get_bulk(many->rig.d->pool, ops, BURST) != 0)
			bench_broken("out of ops");
		many_post(many, ops, burst);
		many_finish(many);
	}
	if (many->nb_good != good_end)
		bench_broken("writes failed");
}

static void
many_run_single(void *many, uint64_t nb_ops)
{
	many_run(many, nb_ops, 1);
}

static void
many_run_burst(void *many, uint64_t nb_ops)
{
	many_run(many, nb_ops, BURST);
}

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

/** One device and its rigs: bursts, then singles. */
struct many_device {
	const char *device;
	struct many many[NB_RIGS];
	char names[2 * NB_RIGS][64];
	struct bench_work works[2 * NB_RIGS];
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
		snprintf(dev->names[i], sizeof(dev->names[i]), "%s_%u", dev->device, sizes[i]);
		snprintf(dev->names[dev->nb + i], sizeof(dev->names[i]), "%s_single_%u", dev->device, sizes[i]);
		dev->works[i] = (struct bench_work){dev->names[i], many_run_burst, many, 0};
		dev->works[dev->nb + i] = (struct bench_work){dev->names[dev->nb + i], many_run_single, many, 0};
	}
	timed = bench_measure(b, dev->works, 2 * dev->nb, ROUND, BURST);
	for (unsigned int i = dev->nb; i-- > 0;)
		bench_rig_break(&dev->many[i].rig);
	return timed;
}

static void
device_put(const struct many_device *dev)
{
	put_works(dev->works);
	put_works(dev->works + NB_RIGS);
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
