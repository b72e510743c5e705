/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FAKE_CQ_H
#define FAKE_CQ_H

/**
 * @file
 * A CQ without a device, and ops to complete on it: a backend of one function.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "plx_poller.h"
#include "plx_test.h"

#define OWNER  1u
#define NB_OPS 2048

struct fake_cq {
	struct plx_cq base;
	const uint64_t *ids; /**< completions, oldest first */
	unsigned int nb;
	unsigned int nb_polls;
	unsigned int most; /**< asked for in one poll */
	bool endless;	   /**< always has more, of nobody */
	int err;	   /**< what a poll says once it is empty */
};

static struct plx_dispatcher *d;
static struct plx_poller *poller;
static uint64_t ids[NB_OPS];

static int
fake_poll(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct fake_cq *cq = (struct fake_cq *)base;
	uint16_t got = 0;

	cq->nb_polls++;
	if (n > cq->most)
		cq->most = n;
	for (; got < n && (cq->nb != 0 || cq->endless); got++) {
		wcs[got] = (struct plx_wc){.wr_id = cq->nb != 0 ? *cq->ids : 0};
		if (cq->nb != 0)
			cq->nb--, cq->ids++;
	}
	return got != 0 ? got : cq->err;
}

static const struct plx_fast_ops fake_ops = {.poll_cq = fake_poll};

#define FAKE_CQ {.base = {.fast = &fake_ops, .nb_cqe = 4096}}

/** Post @p n ops; @p cq has their completions. */
__rte_unused static void
post(struct fake_cq *cq, unsigned int n, plx_op_cb_t cb, void *arg)
{
	static unsigned int at;
	unsigned int first;

	if (at + n > NB_OPS)
		at = 0;
	first = at;
	for (unsigned int i = 0; i < n; i++) {
		struct plx_op *op = plx_op_get(d->pool);

		assert_non_null(op);
		plx_op_prep_send(op, NULL, 0, 0, cb, arg);
		assert_int_equal(plx_dispatcher_posting(d, op), 0);
		plx_dispatcher_posted(d, op, true);
		ids[at++] = plx_op_id(op);
	}
	cq->ids = ids + first;
	cq->nb = n;
}

/** Callback: count in *arg and give back. */
__rte_unused static void
count_and_put(struct plx_op *op, void *arg)
{
	unsigned int *nb = arg;

	++*nb;
	plx_op_put(op);
}

static void
make(uint16_t budget, bool yield)
{
	struct plx_poller_conf conf = {.name = "test", .budget = budget, .yield = yield};

	poller = plx_poller_create(&conf);
	assert_non_null(poller);
}

__rte_unused static int
create(void **state)
{
	struct plx_dispatcher_conf conf = {
		.name = "test",
		.owner = OWNER,
		.nb_inbox = 8,
		.pool = {.nb_ops = NB_OPS, .socket_id = SOCKET_ID_ANY},
	};

	d = plx_dispatcher_create(&conf);
	plx_test_as_lcore(OWNER);
	make(0, false);
	return d == NULL;
}

__rte_unused static int
destroy(void **state)
{
	plx_test_as_lcore(0);
	return plx_poller_destroy(poller) || plx_dispatcher_destroy(d);
}

/** Start over with another budget. */
__rte_unused static void
remake(uint16_t budget)
{
	assert_int_equal(plx_poller_destroy(poller), 0);
	make(budget, false);
}

__rte_unused static struct plx_poller_stats
stats(void)
{
	struct plx_poller_stats s;

	plx_poller_stats(poller, &s);
	return s;
}

#endif
