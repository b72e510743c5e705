/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What the connections' ops and messages lie in, and what must be in there at the end of a one-sided run.
 *
 * All buffers of one side are one region, connection after connection, slot after slot.
 */

#include "perf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "app_cause.h"
#include "plx_pin.h"
#include "perf_payload.h"

/* Under a fault script each lost completion keeps an op until its connection is closed. */
#define LOST_MAX 65536

static uint32_t
initiator_slots(const struct perf *perf)
{
	return perf->opts.depth + perf->spare;
}

uint64_t
perf_nb_ops(const struct perf *perf)
{
	uint64_t connections = perf->opts.connections;
	uint64_t most = UINT64_MAX; /* completions that there can be at all */

	if (perf->opts.iterations != 0)
		most = 2 * connections * (perf->opts.iterations + perf->opts.depth + perf->spare);
	return connections * (initiator_slots(perf) + perf->nb_recvs) +
	       (perf->fault != NULL ? RTE_MIN(most, (uint64_t)LOST_MAX) : 0);
}

/* ---- memory -------------------------------------------------------------------------------- */

static uint64_t
region_bytes(const struct perf *perf, uint32_t slots)
{
	return (uint64_t)perf->opts.connections * slots * perf->stride;
}

static struct plx_region *
make_region(struct perf *perf, uint32_t slots, uint32_t rights)
{
	uint64_t bytes = region_bytes(perf, slots);
	struct plx_region *region = plx_region_alloc(perf->pd, bytes, rights);

	if (region == NULL)
		app_fail(&perf->error, -rte_errno,
			"-q %u --depth %u -s %u: no %" PRIu64 " MiB for %u buffers each: %s",
			perf->opts.connections, perf->opts.depth, perf->opts.size,
			(bytes + (1 << 20) - 1) >> 20, slots, app_cause(rte_strerror(rte_errno)));
	return region;
}

int
perf_regions_create(struct perf *perf)
{
	static const uint32_t target_rights[PLX_NB_OPCODES] = {
		[PLX_OPCODE_SEND] = PLX_ACCESS_LOCAL_WRITE,
		[PLX_OPCODE_WRITE] = PLX_ACCESS_LOCAL_WRITE | PLX_ACCESS_REMOTE_WRITE,
		[PLX_OPCODE_READ] = PLX_ACCESS_REMOTE_READ,
	};
	uint32_t slots = perf->opts.opcode == PLX_OPCODE_SEND ? perf->nb_recvs : initiator_slots(perf);

	/* Each buffer has cache lines of its own. */
	perf->stride = ((uint64_t)perf->opts.size + 63) / 64 * 64 + (perf->opts.size == 0 ? 64 : 0);
	/* All of it or none: a limit that the second region meets is told before the first. */
	if (plx_pin_check(perf->dev, region_bytes(perf, initiator_slots(perf)) + region_bytes(perf, slots)) != 0)
		return app_fail(&perf->error, -ENOMEM, "-q %u --depth %u -s %u: %s", perf->opts.connections,
			perf->opts.depth, perf->opts.size, app_cause("RLIMIT_MEMLOCK is too small"));
	perf->initiator_region = make_region(perf, initiator_slots(perf), PLX_ACCESS_LOCAL_WRITE);
	if (perf->initiator_region == NULL)
		return -ENOMEM;
	perf->target_region = make_region(perf, slots, target_rights[perf->opts.opcode]);
	return perf->target_region != NULL ? 0 : -ENOMEM;
}

static int
fill_end(struct perf *perf, struct perf_pair *pair, struct perf_end *end, const struct plx_region *region,
	uint32_t nb_slots, uint32_t nb_buffers)
{
	end->pair = pair;
	end->nb_slots = nb_slots;
	end->lkey = region->lkey;
	end->buffers = (uint8_t *)region->addr + (uint64_t)pair->index * nb_buffers * perf->stride;
	if (nb_slots == 0)
		return 0;
	/* In one piece: ops, the stack of idle ones, the list of ready ones, the marks of used ones. */
	end->ops = rte_zmalloc("perf_slots", nb_slots * (3 * sizeof(end->ops[0]) + 1), RTE_CACHE_LINE_SIZE);
	if (end->ops == NULL || plx_op_get_bulk(perf->dispatcher->pool, end->ops, nb_slots) != 0)
		return app_fail(&perf->error, -ENOMEM,
			"-q %u --depth %u: no memory for %u slots of connection %u", perf->opts.connections,
			perf->opts.depth, nb_slots, pair->index);
	end->idle = end->ops + nb_slots;
	end->ready = end->idle + nb_slots;
	end->used = (uint8_t *)(end->ready + nb_slots);
	for (uint32_t slot = 0; slot < nb_slots; slot++)
		*perf_note(end->ops[slot]) = (struct perf_note){.slot = slot};
	return 0;
}

/** One-sided: whoever is the source holds a message for each slot. */
static void
fill_source(const struct perf *perf, struct perf_pair *pair)
{
	const struct perf_end *source =
		perf->opts.opcode == PLX_OPCODE_WRITE ? &pair->initiator : &pair->target;

	if (perf->opts.opcode == PLX_OPCODE_SEND)
		return;
	for (uint32_t slot = 0; slot < initiator_slots(perf); slot++)
		perf_payload_fill(perf_buffer(source, slot), perf->opts.size, pair->index, UINT64_MAX - slot);
	pair->remote = plx_remote_of_region(perf->target_region);
	pair->remote.addr = (uint64_t)(uintptr_t)pair->target.buffers;
	pair->remote.len = (uint64_t)initiator_slots(perf) * perf->stride;
}

/** Sends: idle. Receives: ready to be posted. */
int
perf_pair_fill(struct perf *perf, struct perf_pair *pair)
{
	uint32_t slots = initiator_slots(perf);
	uint32_t buffers = perf->opts.opcode == PLX_OPCODE_SEND ? perf->nb_recvs : slots;
	int err = fill_end(perf, pair, &pair->initiator, perf->initiator_region, slots, slots);

	if (err == 0)
		err = fill_end(perf, pair, &pair->target, perf->target_region, perf->nb_recvs, buffers);
	if (err != 0)
		return err;
	for (uint32_t i = 0; i < slots; i++)
		pair->initiator.idle[pair->initiator.nb_idle++] = pair->initiator.ops[slots - 1 - i];
	for (uint32_t i = 0; i < perf->nb_recvs; i++)
		pair->target.ready[pair->target.nb_ready++] = pair->target.ops[i];
	fill_source(perf, pair);
	return 0;
}

/* ---- the content, at the end --------------------------------------------------------------- */

static int
verify_slot(struct perf *perf, const struct perf_pair *pair, uint32_t slot)
{
	const uint8_t *here = perf_buffer(&pair->initiator, slot), *there = perf_buffer(&pair->target, slot);
	uint32_t n = perf->opts.size, at = 0;

	if (memcmp(here, there, n) == 0)
		return 0;
	while (here[at] == there[at])
		at++;
	return app_fail(&perf->error, -EIO,
		"connection %u, slot %u: byte %u of %u is %02x here and %02x there", pair->index, slot, at, n,
		here[at], there[at]);
}

int
perf_verify_regions(struct perf *perf)
{
	int err = 0;

	if (perf->opts.opcode == PLX_OPCODE_SEND)
		return 0;
	if (strncmp(perf->opts.device, "null", 4) == 0)
		return 0; /* carries no bytes */
	for (uint32_t i = 0; i < perf->opts.connections && err == 0; i++) {
		for (uint32_t slot = 0; slot < initiator_slots(perf) && err == 0; slot++) {
			if (perf->pairs[i].initiator.used[slot])
				err = verify_slot(perf, &perf->pairs[i], slot);
		}
	}
	return err;
}
