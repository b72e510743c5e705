/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FIXTURE_H
#define FIXTURE_H

/**
 * @file
 * One dispatcher, ops posted on it by hand, and a callback that notes whom it was called for, and where.
 *
 * Lcore OWNER posts and delivers, WORKER and OTHER are homes as well. The one thread of a test passes for each of
 * them in turn.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "plx_dispatcher.h"
#include "plx_test.h"

#define OWNER  1u
#define WORKER 2u
#define OTHER  3u
#define ALIEN  LCORE_ID_ANY
#define NB_OPS 64

static struct plx_dispatcher *d;

/** What on_done() saw, in order. */
static unsigned int nb_called;
static struct plx_op *called[NB_OPS];
static unsigned int called_on[NB_OPS];
static struct plx_result called_with[NB_OPS];

__rte_unused static void
on_done(struct plx_op *op, void *arg)
{
	assert_int_equal(op->state, PLX_OP_COMPLETED);
	called[nb_called % NB_OPS] = op;
	called_on[nb_called % NB_OPS] = rte_lcore_id();
	plx_op_result(op, &called_with[nb_called++ % NB_OPS]);
}

__rte_unused static struct plx_dispatcher *
make(enum plx_dispatcher_mode mode, unsigned int nb_ops, unsigned int nb_inbox)
{
	static const unsigned int homes[] = {WORKER, OTHER};
	struct plx_dispatcher_conf conf = {
		.name = "test",
		.mode = mode,
		.owner = OWNER,
		.homes = homes,
		.nb_homes = NB_OF(homes),
		.nb_inbox = nb_inbox,
		.pool = {.nb_ops = nb_ops, .socket_id = SOCKET_ID_ANY},
	};

	nb_called = 0;
	return plx_dispatcher_create(&conf);
}

__rte_unused static int
owned(void **state)
{
	d = make(PLX_DISPATCHER_OWNED, NB_OPS, 0);
	plx_test_as_lcore(OWNER);
	return d == NULL;
}

__rte_unused static int
shared(void **state)
{
	d = make(PLX_DISPATCHER_SHARED, NB_OPS, 0);
	plx_test_as_lcore(OWNER); /* of nothing, here */
	return d == NULL;
}

/** Also checks that every op is back. */
__rte_unused static int
destroy(void **state)
{
	plx_test_as_lcore(0);
	return plx_dispatcher_destroy(d);
}

__rte_unused static struct plx_dispatcher_stats
stats(void)
{
	struct plx_dispatcher_stats s;

	plx_dispatcher_stats(d, &s);
	return s;
}

__rte_unused static struct plx_op *
prepare(unsigned int home, plx_op_cb_t cb, void *arg)
{
	struct plx_op *op = plx_op_get(d->pool);

	assert_non_null(op);
	plx_op_prep_send(op, NULL, 0, 0, cb, arg);
	if (home != PLX_HOME_ANY)
		plx_op_set_home(op, home);
	return op;
}

__rte_unused static struct plx_op *
post(unsigned int home, plx_op_cb_t cb, void *arg)
{
	struct plx_op *op = prepare(home, cb, arg);

	assert_int_equal(plx_dispatcher_posting(d, op), 0);
	plx_dispatcher_posted(d, op, true);
	return op;
}

__rte_unused static int
deliver_as(unsigned int lcore, uint64_t id)
{
	unsigned int was = plx_test_as_lcore(lcore);
	int err = plx_dispatcher_deliver(d, id, PLX_ST_SUCCESS, 0, 0, 0);

	plx_test_as_lcore(was);
	return err;
}

__rte_unused static unsigned int
once_as(unsigned int lcore)
{
	unsigned int was = plx_test_as_lcore(lcore), did = plx_dispatcher_once(d);

	plx_test_as_lcore(was);
	return did;
}

#endif
