/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The memory of the two sides, the same for both, and the pair of QPs between them:
 *
 *      buf:   0        PART_AT      PART_AT + PART_LEN      BUF_LEN
 *             |-- all --------------------------------------|		and every other region, but for its rights
 *                       |-- part ----|
 */

#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_errno.h>

#include <plx_fault.h>

#define PART_AT	 4104u /* aligned for an atomic, on no page boundary */
#define PART_LEN 3000u

const char *const region_names[] = {"all", "part", "readonly", "noremote", "noread", "nowrite", "noatomic", "gone",
	"otherpd", "badkey", "window", "oldwindow", NULL};

static const uint32_t region_rights[] = {
	[REGION_ALL] = PLX_ACCESS_ALL,
	[REGION_PART] = PLX_ACCESS_ALL,
	[REGION_READONLY] = 0,
	[REGION_NOREMOTE] = PLX_ACCESS_LOCAL_WRITE,
	[REGION_NOREAD] = PLX_ACCESS_ALL & ~PLX_ACCESS_REMOTE_READ,
	[REGION_NOWRITE] = PLX_ACCESS_ALL & ~PLX_ACCESS_REMOTE_WRITE,
	[REGION_NOATOMIC] = PLX_ACCESS_ALL & ~PLX_ACCESS_REMOTE_ATOMIC,
	[REGION_OTHERPD] = PLX_ACCESS_ALL,
	[REGION_GONE] = PLX_ACCESS_ALL,
};

static int
complain(const char *what)
{
	fprintf(stderr, "conformance: cannot make a %s: %s\n", what, rte_strerror(rte_errno));
	return -1;
}

/** @p err is what came of destroying a @p what. 0, or -1 with a message. */
static int
gone(const char *what, int err)
{
	if (err == 0)
		return 0;
	fprintf(stderr, "conformance: a %s does not go: %s\n", what, rte_strerror(-err));
	return -1;
}

/* ---- memory -------------------------------------------------------------------------------- */

/** Every right that the device knows: without atomics there is no right to them. */
static uint32_t
known_rights(const struct pair *pair)
{
	bool atomics = plx_device_caps(pair->dev)->kinds & PLX_KIND(PLX_OPCODE_FETCH_ADD);

	return PLX_ACCESS_ALL & ~(atomics ? 0u : (uint32_t)PLX_ACCESS_REMOTE_ATOMIC);
}

static int
region_make(struct pair *pair, unsigned int side, enum region region)
{
	uint8_t *buf = pair->bufs[side];
	bool part = region == REGION_PART;
	struct plx_mr *mr = plx_mr_register(region == REGION_OTHERPD ? pair->other_pd : pair->pd, part ? buf + PART_AT : buf,
		part ? PART_LEN : BUF_LEN, region_rights[region] & known_rights(pair));

	if (mr == NULL)
		return complain("region");
	pair->lkeys[side][region] = mr->lkey;
	pair->rkeys[side][region] = mr->rkey;
	if (region == REGION_GONE)
		return gone("region", plx_mr_deregister(mr));
	pair->mrs[side][region] = mr;
	return 0;
}

static int
side_open(struct pair *pair, unsigned int side)
{
	int err = 0;

	pair->bufs[side] = aligned_alloc(4096, BUF_LEN);
	if (pair->bufs[side] == NULL)
		return complain("buffer");
	for (unsigned int i = 0; i < REGION_BADKEY && err == 0; i++)
		err = region_make(pair, side, i);
	pair->lkeys[side][REGION_BADKEY] = pair->lkeys[side][REGION_ALL] ^ 0x5a5a5a00;
	pair->rkeys[side][REGION_BADKEY] = pair->rkeys[side][REGION_ALL] ^ 0x5a5a5a00;
	return err;
}

uint64_t
pair_addr(const struct pair *pair, unsigned int side, const struct place *place)
{
	return (uintptr_t)pair->bufs[side] + (place->region == REGION_PART ? PART_AT : 0) + (uint64_t)(int64_t)place->at;
}

uint32_t
pair_sum(const struct pair *pair, unsigned int side)
{
	uint32_t sum = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < BUF_LEN; i++)
		sum = (sum ^ pair->bufs[side][i]) * 16777619u;
	return sum;
}

/** Bytes that differ from place to place and from side to side. */
static void
side_fill(struct pair *pair, unsigned int side)
{
	for (size_t i = 0; i < BUF_LEN; i++)
		pair->bufs[side][i] = (uint8_t)(i * 7 + (i >> 8) * 13 + side * 101 + 1);
}

static int
device_open(struct pair *pair, const char *device, const char *faults)
{
	struct plx_device *wrapped;

	pair->dev = plx_device_open(device);
	if (pair->dev == NULL)
		return complain("device");
	if (faults == NULL)
		return 0;
	wrapped = plx_fault_wrap(pair->dev, faults);
	if (wrapped == NULL)
		return complain(plx_fault_error());
	pair->dev = wrapped;
	return 0;
}

int
pair_open(struct pair *pair, const char *device, const char *faults)
{
	*pair = (struct pair){0};
	if (device_open(pair, device, faults) != 0)
		return -1;
	pair->pd = plx_pd_create(pair->dev);
	pair->other_pd = plx_pd_create(pair->dev);
	if (pair->pd == NULL || pair->other_pd == NULL)
		return complain("PD");
	return side_open(pair, 0) != 0 ? -1 : side_open(pair, 1);
}

/* ---- the two QPs --------------------------------------------------------------------------- */

/** All is tried, whatever does not go. 0, or -1 with a message. */
static int
pair_drop(struct pair *pair)
{
	int err = gone("window", windows_drop(pair));

	for (unsigned int side = 0; side < SIDES; side++) {
		err |= gone("QP", plx_qp_destroy(pair->qps[side]));
		pair->qps[side] = NULL;
	}
	for (unsigned int side = 0; side < SIDES; side++) {
		err |= gone("CQ", plx_cq_destroy(pair->cqs[side]));
		pair->cqs[side] = NULL;
	}
	return err;
}

int
pair_close(struct pair *pair)
{
	int err = pair_drop(pair);

	for (unsigned int side = 0; side < SIDES; side++) {
		for (unsigned int i = 0; i < NB_REGIONS; i++)
			err |= gone("region", plx_mr_deregister(pair->mrs[side][i]));
		free(pair->bufs[side]);
	}
	err |= gone("PD", plx_pd_destroy(pair->other_pd));
	err |= gone("PD", plx_pd_destroy(pair->pd));
	return err | gone("device", plx_device_close(pair->dev));
}

static int
side_renew(struct pair *pair, unsigned int side)
{
	struct plx_qp_conf conf = {.cap = {.send_depth = 32, .recv_depth = 32, .send_sge = 4, .recv_sge = 4, .inline_len = 64}};

	side_fill(pair, side);
	pair->cqs[side] = plx_cq_create(pair->dev, 128);
	if (pair->cqs[side] == NULL)
		return complain("CQ");
	conf.send_cq = conf.recv_cq = pair->cqs[side];
	pair->qps[side] = plx_qp_create(pair->pd, &conf);
	return pair->qps[side] != NULL ? 0 : complain("QP");
}

int
pair_renew(struct pair *pair, uint32_t rights)
{
	uint32_t known = known_rights(pair) & PLX_ACCESS_REMOTE;
	struct plx_qp_path paths[SIDES];
	struct plx_qp_addr addrs[SIDES];

	if (pair_drop(pair) != 0)
		return -1;
	for (unsigned int side = 0; side < SIDES; side++) {
		if (side_renew(pair, side) != 0)
			return -1;
		plx_qp_path_default(&paths[side]);
		paths[side].rights = side == 0 ? known : rights & known;
		paths[side].rnr_retry = 1;
		if (plx_qp_local_addr(pair->qps[side], &paths[side], &addrs[side]) != 0)
			return complain("address");
	}
	for (unsigned int side = SIDES; side-- > 0;) {
		if (plx_qp_bring_up(pair->qps[side], &paths[side], &addrs[1 - side]) != 0)
			return complain("connection");
	}
	return 0;
}
