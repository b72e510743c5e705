/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef REFILL_WORLD_H
#define REFILL_WORLD_H

/**
 * @file
 * What the scenarios of a receive pool share: a pool on an SRQ, who gives back, and where each receive must be at the end.
 *
 *      device: fake_arrive() --> [ SRQ ] <--refill-- owner <--lane-- worker, alien: plx_recv_pool_give()
 *         |                                            ^
 *         '--limit: tell()------- group's lock --------'--arm--> control
 */

#include <errno.h>

#include "fake_device.h"
#include "plx_event.h"
#include "plx_srq.h"
#include "recv_pool_internal.h"
#include "world.h"

#define NB_CONNS 2
#define MAX_RECVS 8

static struct fake_device *dev;
static struct plx_control *control;
static struct plx_conn_group *group;
static struct plx_recv_pool *pool;
static struct plx_cq *cq;
static struct plx_conn *conns[NB_CONNS];
static struct plx_qp *qps[NB_CONNS];

/** What the worker holds, and what the owner's callback left for the alien. */
static struct hand {
	struct plx_op *ops[MAX_RECVS];
	unsigned int nb;
} hands[2], hands_before;

#define OF_WORKER 0
#define OF_ALIEN  1

static unsigned int nb_before; /**< messages that came in the set-up */
static unsigned int nb_sent, nb_arrived, nb_closed;
static int destroyed;

static void
begin(void)
{
	world_begin();
	nb_sent = nb_before;
	nb_arrived = nb_closed = 0;
	destroyed = 1;
	hands[OF_WORKER] = hands_before;
	hands[OF_ALIEN].nb = 0;
}

static void
hold(struct plx_op *op, void *arg)
{
	struct hand *hand = &hands[rte_lcore_id() == OWNER];

	explore_equal(op->state, PLX_OP_COMPLETED);
	explore_equal(op->status, PLX_ST_SUCCESS);
	explore_assert(plx_op_conn(op) != NULL);
	for (unsigned int i = 0; i < hand->nb; i++)
		explore_assert(hand->ops[i] != op);
	hand->ops[hand->nb++] = op;
	nb_arrived++;
}

static void
conn_closed(struct plx_conn *conn, void *arg)
{
	nb_closed++;
}

/** The control thread's, when the device has an event for it. */
static void
tell(struct plx_srq *srq)
{
	const struct plx_event event = {.type = PLX_EVENT_SRQ_LIMIT, .object = srq->id};

	conn_group_hear(group, &event);
}

static void
world(void)
{
	static const unsigned int owner = OWNER;
	static const rte_cpuset_t anywhere;
	struct plx_control_conf ctl = {.cpuset = &anywhere, .lcores = &owner, .nb_lcores = 1, .nb_reqs = 4};
	struct plx_conn_group_conf grp = {.name = "refill"};

	hands_before.nb = nb_before = 0;
	world_setup(PLX_DISPATCHER_OWNED, MAX_RECVS, 4);
	dev = fake_device_open();
	dev->on_limit = tell;
	cq = plx_cq_create(&dev->base, 16);
	control = plx_control_create(&ctl);
	grp.dispatcher = d;
	grp.cq = cq;
	grp.control = control;
	group = plx_conn_group_create(&grp);
	explore_allow_plain_load(&group->lane->alien->rts_prod.tail, 8);
}

/** Receives, depth and mark; with the event the limit is the mark. */
static void
make_pool(uint32_t nb, uint32_t depth, uint32_t low_water, uint32_t reserve, bool event)
{
	struct plx_recv_pool_conf conf = {.name = "refill", .group = group, .pd = plx_pd_create(&dev->base), .nb_recvs = nb,
		.buf_len = 64, .depth = depth, .low_water = low_water, .reserve = reserve, .max_conns = NB_CONNS, .cb = hold};

	if (event)
		group->events = (struct plx_conn_events *)dev; /* somebody is there: tell() */
	pool = plx_recv_pool_create(&conf);
	explore_assert(pool != NULL);
}

/** Without an SRQ: two receives for each of two connections. */
static void
make_pool_of_own(void)
{
	const struct plx_recv_pool_conf conf = {.name = "refill", .group = group, .pd = plx_pd_create(&dev->base), .nb_recvs = 4,
		.buf_len = 64, .no_srq = true, .per_conn = 2, .max_conns = NB_CONNS, .cb = hold};

	pool = plx_recv_pool_create(&conf);
	explore_assert(pool != NULL);
}

static void
make_conn(unsigned int i, unsigned int home)
{
	struct plx_conn_conf conf = {.group = group, .pd = pool->conf.pd, .recv_pool = pool, .home = home, .drain_ms = 50,
		.cap = {.send_depth = 1}, .closed_cb = conn_closed};
	struct plx_qp_addr addr;

	plx_qp_path_default(&conf.path);
	conns[i] = plx_conn_create(&conf);
	explore_assert(conns[i] != NULL);
	explore_equal(plx_conn_local_attr(conns[i], &addr), 0);
	explore_equal(plx_conn_bring_up(conns[i], &addr), 0);
	qps[i] = conns[i]->qp;
}

static bool
arrive_at(unsigned int i, enum plx_status status)
{
	if (pool->srq != NULL)
		return fake_arrive(qps[i], status);
	fake_complete(qps[i], true, 1, status);
	return true;
}

static void
came_before(unsigned int i, enum plx_status status)
{
	explore_assert(arrive_at(i, status));
	nb_before++;
}

static unsigned int
owner_turn(void)
{
	struct plx_wc wcs[4];
	int got = plx_cq_poll(cq, wcs, 4);

	if (got > 0)
		plx_dispatcher_deliver_burst(d, wcs, (uint16_t)got);
	return (unsigned int)got + turn() + plx_conn_group_once(group);
}

/** Give back the first that @p hand holds; what the lane does not take is held as before. Whether it took it. */
static bool
give_one(struct hand *hand)
{
	struct plx_op *op = hand->ops[0];
	struct plx_op_queue *queue = op->queue;
	int err = plx_recv_pool_give(pool, op);

	if (err == 0) {
		memmove(&hand->ops[0], &hand->ops[1], --hand->nb * sizeof(hand->ops[0]));
		return true;
	}
	explore_equal(err, -EAGAIN);
	explore_equal(op->state, PLX_OP_COMPLETED);
	explore_assert(op->queue == queue);
	return false;
}

static unsigned int
give(struct hand *hand)
{
	unsigned int did = 0;

	while (hand->nb != 0 && give_one(hand))
		did++;
	return did;
}

/* ---- the end ------------------------------------------------------------------------------- */

static unsigned int
times_posted(const struct fake_queue *q, uint64_t id)
{
	unsigned int nb = 0;

	for (uint32_t at = q->tail; at != q->head; at++)
		nb += q->wr_ids[at % FAKE_DEPTH] == id;
	return nb;
}

static unsigned int
times_kept(const struct plx_op *op)
{
	unsigned int nb = 0;

	for (uint32_t i = 0; i < pool->nb_unposted; i++)
		nb += pool->unposted[i] == op;
	return nb;
}

static void
no_completion_was_wrong(void)
{
	struct plx_dispatcher_stats s;

	plx_dispatcher_stats(d, &s);
	explore_equal(s.stale + s.duplicate + s.foreign + s.misrouted, 0);
}

/** Nobody holds any: each is on the SRQ or with the pool, and the books say so. */
static void
each_in_one_place(void)
{
	const struct fake_queue *q = &fake_srq(pool->srq)->q;
	struct plx_recv_pool_stats s;

	no_completion_was_wrong();
	explore_equal(hands[OF_WORKER].nb + hands[OF_ALIEN].nb, 0);
	for (uint32_t i = 0; i < pool->nb_ops; i++) {
		const struct plx_op *op = pool->ops[i];
		unsigned int nb = times_posted(q, plx_op_id(op));

		explore_equal(nb + times_kept(op), 1);
		explore_equal(op->device_word, nb != 0 ? plx_op_id(op) : 0);
		explore_equal(op->state, nb != 0 ? PLX_OP_POSTED : PLX_OP_PREPARED);
	}
	plx_recv_pool_stats(pool, &s);
	explore_equal(s.posted, q->head - q->tail);
	explore_equal(s.posted + s.unposted, pool->nb_ops);
	explore_equal(s.held, 0);
	explore_equal(pool->parked.nb, 0);
	explore_equal(pool->nb_dead, 0);
	for (uint32_t i = 0; i <= pool->shared.mask; i++)
		explore_equal(pool->shared.who[i].nb_held, 0);
	explore_assert(s.posted >= pool->conf.low_water || s.unposted == 0);
	explore_assert(s.posted <= pool->depth);
}

/** Without an SRQ: connection @p i alone is left and has its two, the pool has the rest. */
static void
own_in_one_place(unsigned int i)
{
	const struct fake_queue *q = &fake_qp(qps[i])->rq;

	no_completion_was_wrong();
	explore_equal(hands[OF_WORKER].nb + hands[OF_ALIEN].nb, 0);
	for (uint32_t k = 0; k < pool->nb_ops; k++)
		explore_equal(times_posted(q, plx_op_id(pool->ops[k])) + times_kept(pool->ops[k]), 1);
	explore_equal(q->head - q->tail, 2);
	explore_equal(pool->nb_unposted, 2);
	explore_equal(pool->parked.nb, 0);
	explore_equal(pool->nb_dead, 0);
	explore_equal(pool->nb_lacking, 0);
	explore_equal(plx_op_shared_find(&pool->shared, qps[i]->qp_num)->nb_held, 2);
}

#endif
