/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "pool_rig.h"

#include <string.h>

static void
hold(struct plx_op *op, void *arg)
{
	struct rig_hand *hand = &((struct rig *)arg)->hand;

	assert_int_equal(op->status, PLX_ST_SUCCESS);
	assert_true(hand->nb < NB_OF(hand->ops));
	hand->ops[hand->nb++] = op;
}

struct plx_recv_pool *
pool_try(struct rig *rig, const struct plx_recv_pool_conf *conf)
{
	struct plx_recv_pool_conf c = *conf;

	if (c.name == NULL)
		c.name = "rig";
	c.group = rig->group;
	c.pd = rig->pd;
	c.buf_len = 64;
	c.cb = hold;
	c.arg = rig;
	return rig->recv_pool = plx_recv_pool_create(&c);
}

void
pool_make(struct rig *rig, const struct plx_recv_pool_conf *conf)
{
	assert_non_null(pool_try(rig, conf));
}

void
pool_break(struct rig *rig)
{
	assert_int_equal(rig->hand.nb, 0);
	assert_int_equal(plx_recv_pool_destroy(rig->recv_pool), 0);
	rig->recv_pool = NULL;
}

void
pool_messages(struct rig *rig, struct plx_conn *conn, unsigned int n)
{
	unsigned int before = rig->hand.nb;

	for (unsigned int i = 0; i < n; i++)
		assert_true(fake_arrive(conn->qp, PLX_ST_SUCCESS));
	rig_turn(rig);
	assert_int_equal(rig->hand.nb, before + n);
}

uint32_t
pool_posted_on(const struct plx_conn *conn)
{
	const struct fake_queue *q = &fake_qp(conn->qp)->rq;

	return q->head - q->tail;
}

void
pool_give(struct rig *rig, unsigned int n)
{
	struct rig_hand *hand = &rig->hand;

	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(plx_recv_pool_give(rig->recv_pool, hand->ops[i]), 0);
	hand->nb -= n;
	memmove(&hand->ops[0], &hand->ops[n], hand->nb * sizeof(hand->ops[0]));
}

struct plx_recv_pool_stats
pool_stats(const struct rig *rig)
{
	struct plx_recv_pool_stats stats;

	plx_recv_pool_stats(rig->recv_pool, &stats);
	return stats;
}
