/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PAIR_H
#define PAIR_H

/**
 * @file
 * Two connected QPs on loopback, each with its own CQ and memory, and one-line posts.
 */

#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "plx_device.h"
#include "plx_driver.h"
#include "plx_clock.h"

extern const struct plx_driver plx_loopback_driver;

#define SIDE_BYTES 8192
#define SIDE_DEPTH 16

struct side {
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_cq *cq;
	struct plx_qp *qp;
	struct plx_mr *mr;
	uint8_t mem[SIDE_BYTES];
};

struct pair {
	struct side a;
	struct side b;
	struct plx_qp_path path;
};

static inline void
side_open(struct side *side, const char *name, uint32_t nb_cqe, uint32_t rights)
{
	struct plx_qp_conf conf = {.cap = {.send_depth = SIDE_DEPTH, .recv_depth = SIDE_DEPTH, .send_sge = 4,
					   .recv_sge = 4, .inline_len = 64}};

	plx_device_register(&plx_loopback_driver); /* again: -EEXIST */
	side->dev = plx_device_open(name);
	assert_non_null(side->dev);
	side->pd = plx_pd_create(side->dev);
	assert_non_null(side->pd);
	side->cq = plx_cq_create(side->dev, nb_cqe);
	assert_non_null(side->cq);
	conf.send_cq = side->cq;
	conf.recv_cq = side->cq;
	side->qp = plx_qp_create(side->pd, &conf);
	assert_non_null(side->qp);
	side->mr = plx_mr_register(side->pd, side->mem, sizeof(side->mem), rights);
	assert_non_null(side->mr);
}

static inline void
side_close(struct side *side)
{
	assert_int_equal(plx_mr_deregister(side->mr), 0);
	assert_int_equal(plx_qp_destroy(side->qp), 0);
	assert_int_equal(plx_cq_destroy(side->cq), 0);
	assert_int_equal(plx_pd_destroy(side->pd), 0);
	assert_int_equal(plx_device_close(side->dev), 0);
}

/** Bring @p from up to @p to; the other direction is another call. */
static inline void
side_connect(struct side *from, struct side *to, const struct plx_qp_path *path)
{
	struct plx_qp_addr addr;

	assert_int_equal(plx_qp_local_addr(to->qp, path, &addr), 0);
	assert_int_equal(plx_qp_bring_up(from->qp, path, &addr), 0);
}

static inline void
pair_open(struct pair *pair, const char *name_a, const char *name_b)
{
	memset(pair, 0, sizeof(*pair));
	side_open(&pair->a, name_a, 64, PLX_ACCESS_ALL);
	side_open(&pair->b, name_b, 64, PLX_ACCESS_ALL);
	plx_qp_path_default(&pair->path);
	pair->path.rights = PLX_ACCESS_REMOTE_READ | PLX_ACCESS_REMOTE_WRITE;
	pair->path.timeout = 1; /* 8 us */
	pair->path.min_rnr_timer = 1;
}

static inline void
pair_connect(struct pair *pair)
{
	side_connect(&pair->a, &pair->b, &pair->path);
	side_connect(&pair->b, &pair->a, &pair->path);
}

static inline void
pair_close(struct pair *pair)
{
	side_close(&pair->a);
	side_close(&pair->b);
}

/** @p len bytes at @p offset of the side's memory. */
static inline struct plx_sge
at(const struct side *side, uint64_t offset, uint32_t len)
{
	return (struct plx_sge){.addr = (uintptr_t)side->mem + offset, .length = len, .lkey = side->mr->lkey};
}

static inline int
post_send(struct plx_qp *qp, const struct plx_wr *wr)
{
	const struct plx_wr *wrs[] = {wr};
	int err = 0;

	return plx_qp_post_send(qp, wrs, 1, &err) == 1 ? 0 : err;
}

static inline int
post_recv(struct plx_qp *qp, uint64_t wr_id, const struct plx_sge *sges, uint32_t n)
{
	struct plx_wr wr = {.wr_id = wr_id, .sg_list = sges, .num_sge = n, .opcode = PLX_OPCODE_RECV};
	const struct plx_wr *wrs[] = {&wr};
	int err = 0;

	return plx_qp_post_recv(qp, wrs, 1, &err) == 1 ? 0 : err;
}

/** A signaled WR of @p opcode over one SGE, at @p remote of @p to's memory. */
static inline struct plx_wr
wr_to(const struct side *to, uint64_t wr_id, uint8_t opcode, const struct plx_sge *sge, uint64_t remote)
{
	return (struct plx_wr){
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcode,
		.flags = PLX_WR_SIGNALED,
		.rkey = to->mr->rkey,
		.remote_addr = (uintptr_t)to->mem + remote,
	};
}

/** The next completion of @p side's CQ, waited for up to 2 s. */
static inline struct plx_wc
next_wc(struct side *side)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(2000000000);
	struct plx_wc wc;

	do {
		int got = plx_cq_poll(side->cq, &wc, 1);

		assert_true(got >= 0);
		if (got == 1)
			return wc;
	} while (plx_clock_monotonic_ns() < end);
	fail_msg("no completion");
	return wc;
}

static inline void
expect_wc(struct side *side, uint64_t wr_id, enum plx_status status)
{
	struct plx_wc wc = next_wc(side);

	assert_int_equal(wc.wr_id, wr_id);
	assert_string_equal(plx_status_name(wc.status), plx_status_name(status));
	assert_int_equal(wc.qp_num, side->qp->qp_num);
}

static inline void
expect_no_wc(struct side *side)
{
	struct plx_wc wc;

	assert_int_equal(plx_cq_poll(side->cq, &wc, 1), 0);
}

#endif
