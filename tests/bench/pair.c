/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "pair.h"

#include "bench.h"
#include "line.h"
#include "plx_clock.h"

#define NB_PLACES (2 * PAIR_RECVS)

char *
pair_into(const struct pair_side *side, uint64_t n)
{
	return side->memory + n % PAIR_RECVS * side->pair->place;
}

char *
pair_from(const struct pair_side *side, uint64_t n)
{
	return side->memory + (PAIR_RECVS + n % PAIR_RECVS) * side->pair->place;
}

/* ---- the game ------------------------------------------------------------------------------ */

static void
send_done(struct plx_op *op, void *arg)
{
	if (op->status != PLX_ST_SUCCESS)
		bench_broken("send: %s", plx_status_name(op->status));
	plx_op_put(op);
}

static void
send_next(struct pair_side *side)
{
	uint64_t n = side->nb_sent++;
	uint32_t len = side->pair->len;
	char *from = pair_from(side, n);
	struct plx_op *op = plx_op_get(side->d->pool);

	if (op == NULL)
		bench_broken("out of ops");
	line_stamp(from, len, n);
	plx_op_prep_send(op, from, len, side->pair->region->lkey, send_done, NULL);
	bench_ok(plx_conn_submit(side->conn, op), "send");
}

static void recv_done(struct plx_op *op, void *arg);

static void
recv_post(struct pair_side *side, struct plx_op *op, void *into)
{
	plx_op_prep_recv(op, into, side->pair->len, side->pair->region->lkey, recv_done, side);
	bench_ok(plx_conn_submit(side->conn, op), "receive");
}

/** A pong is here: the ping's round trip is over. */
static void
pong(struct pair_side *side)
{
	uint64_t now = plx_clock_now(plx_clock_get());

	if (side->pair->hist != NULL)
		plx_hist_record(side->pair->hist, now - side->begun);
	side->begun = now;
	if (side->nb_got < side->pair->until)
		send_next(side);
}

static void
recv_done(struct plx_op *op, void *arg)
{
	struct pair_side *side = arg;
	void *into = (void *)(uintptr_t)op->sge.addr;

	if (op->status != PLX_ST_SUCCESS)
		return; /* flushed by the close, and put by it */
	if (op->byte_len != side->pair->len || !line_is_stamped(into, op->byte_len, side->nb_got))
		bench_broken("what arrived is not what was sent");
	side->nb_got++;
	/* The answer first: there are more receives. */
	if (side == &side->pair->side[0])
		pong(side);
	else
		send_next(side);
	recv_post(side, op, into);
}

void
pair_begin(struct pair_side *side)
{
	bench_ok(plx_op_get_bulk(side->d->pool, side->recvs, PAIR_RECVS), "ops");
	for (unsigned int i = 0; i < PAIR_RECVS; i++)
		recv_post(side, side->recvs[i], pair_into(side, i));
}

void
pair_play(struct pair *pair, uint64_t n)
{
	struct pair_side *side = &pair->side[0];

	pair->until = side->nb_got + n;
	side->begun = plx_clock_now(plx_clock_get());
	send_next(side);
	while (side->nb_got != pair->until)
		plx_poller_once(side->poller);
}

void
pair_close(struct pair_side *side)
{
	bench_ok(plx_conn_close(side->conn), "close");
	while (side->nb_closed == 0)
		plx_poller_once(side->poller);
	plx_op_put_bulk(side->d->pool, side->recvs, PAIR_RECVS);
}

/* ---- objects ------------------------------------------------------------------------------- */

static void
closed(struct plx_conn *conn, void *arg)
{
	struct pair_side *side = arg;

	side->nb_closed++;
}

static void
side_make(struct pair *pair, unsigned int i, unsigned int more)
{
	struct pair_side *side = &pair->side[i];
	struct plx_dispatcher_conf d = {
		.name = "pair",
		.owner = i + 1,
		.pool = {.nb_ops = 256, .cache_size = 64, .socket_id = SOCKET_ID_ANY},
	};
	struct plx_conn_group_conf group = {.name = "pair", .control = pair->control};
	struct plx_conn_conf conn = {
		.pd = pair->pd, .cap = {.send_depth = 16, .recv_depth = PAIR_RECVS}, .home = i + 1, .closed_cb = closed, .arg = side};

	*side = (struct pair_side){.pair = pair, .lcore = i + 1};
	side->memory = (char *)pair->region->addr + i * NB_PLACES * pair->place;
	side->cq = bench_need(plx_cq_create(pair->dev, 16 + PAIR_RECVS + more), "CQ");
	side->d = bench_need(plx_dispatcher_create(&d), "dispatcher");
	group.dispatcher = side->d;
	group.cq = side->cq;
	side->group = bench_need(plx_conn_group_create(&group), "connection group");
	side->poller = bench_need(plx_poller_create(&(struct plx_poller_conf){.name = "pair"}), "poller");
	bench_ok(plx_poller_add_cq(side->poller, side->cq, side->d), "poller");
	bench_ok(plx_poller_add_hook(side->poller, plx_dispatcher_hook, side->d), "poller");
	bench_ok(plx_poller_add_hook(side->poller, plx_conn_group_hook, side->group), "poller");
	conn.group = side->group;
	plx_qp_path_default(&conn.path);
	side->conn = bench_need(plx_conn_create(&conn), "connection");
}

void
pair_make(struct pair *pair, uint32_t len, unsigned int more)
{
	static const unsigned int lcores[] = {1, 2};
	struct plx_control_conf control = {.lcores = lcores, .nb_lcores = 2};
	struct plx_qp_addr addr[2];

	*pair = (struct pair){.dev = bench_need(plx_device_open("loopback0"), "loopback0"),
		.len = len,
		.place = RTE_ALIGN_CEIL((size_t)len, RTE_CACHE_LINE_SIZE)};
	pair->pd = bench_need(plx_pd_create(pair->dev), "PD");
	pair->region = bench_need(plx_region_alloc(pair->pd, BENCH_REGION + 2 * NB_PLACES * pair->place, PLX_ACCESS_ALL), "memory");
	pair->control = bench_need(plx_control_create(&control), "control thread");
	for (unsigned int i = 0; i < 2; i++) {
		side_make(pair, i, more);
		bench_ok(plx_conn_local_attr(pair->side[i].conn, &addr[i]), "address");
	}
	for (unsigned int i = 0; i < 2; i++)
		bench_ok(plx_conn_bring_up(pair->side[i].conn, &addr[1 - i]), "bring-up");
}

void
pair_break(struct pair *pair)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct pair_side *side = &pair->side[i];

		bench_ok(plx_conn_destroy(side->conn), "connection");
		bench_ok(plx_poller_destroy(side->poller), "poller");
		bench_ok(plx_conn_group_destroy(side->group), "connection group");
		bench_ok(plx_dispatcher_destroy(side->d), "dispatcher");
		bench_ok(plx_cq_destroy(side->cq), "CQ");
	}
	bench_ok(plx_control_destroy(pair->control), "control thread");
	bench_ok(plx_region_destroy(pair->region), "memory");
	bench_ok(plx_pd_destroy(pair->pd), "PD");
	bench_ok(plx_device_close(pair->dev), "device");
}
