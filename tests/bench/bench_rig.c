/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "bench_rig.h"

#include <malloc.h>
#include <stdlib.h>

#include <rte_malloc.h>

#include "bench.h"

static uint64_t
heap_of_dpdk(void)
{
	uint64_t sum = 0;

	for (unsigned int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++) {
		struct rte_malloc_socket_stats stats;

		if (rte_malloc_get_socket_stats((int)socket, &stats) == 0)
			sum += stats.heap_allocsz_bytes;
	}
	return sum;
}

/** All threads' (bench_main.c has libc keep one arena). */
static uint64_t
heap_of_libc(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void
closed(struct plx_conn *conn, void *arg)
{
	struct bench_rig *rig = arg;

	rig->nb_closed++;
}

static struct plx_conn *
conn_make(struct bench_rig *rig, const struct bench_rig_conf *conf)
{
	struct plx_conn_conf conn_conf = {
		.group = rig->group,
		.pd = rig->pd,
		.cap = {.send_depth = conf->depth, .recv_depth = 1},
		.home = conf->home,
		.closed_cb = closed,
		.arg = rig,
	};
	struct plx_qp_addr self;
	struct plx_conn *conn;

	plx_qp_path_default(&conn_conf.path);
	conn_conf.path.rights = PLX_ACCESS_REMOTE_WRITE;
	conn = bench_need(plx_conn_create(&conn_conf), "connection");
	bench_ok(plx_conn_local_attr(conn, &self), "address");
	bench_ok(plx_conn_bring_up(conn, &self), "bring-up");
	return conn;
}

static void
rooms_make(struct bench_rig *rig, const struct bench_rig_conf *conf)
{
	struct plx_control_conf control = {
		.lcores = &conf->owner, .nb_lcores = 1, .nb_reqs = RTE_MAX(4096u, 2 * conf->nb_conns)};
	struct plx_dispatcher_conf d = {
		.name = "bench",
		.owner = conf->owner,
		.homes = &conf->home,
		.nb_homes = conf->home != conf->owner,
		.pool = {.nb_ops = conf->nb_ops, .cache_size = 256, .socket_id = SOCKET_ID_ANY},
	};
	struct plx_conn_group_conf group = {.name = "bench"};

	rig->control = bench_need(plx_control_create(&control), "control thread");
	rig->d = bench_need(plx_dispatcher_create(&d), "dispatcher");
	rig->cq = bench_need(plx_cq_create(rig->dev, conf->nb_conns * (conf->depth + 1)), "CQ");
	group.dispatcher = rig->d;
	group.cq = rig->cq;
	group.control = rig->control;
	rig->group = bench_need(plx_conn_group_create(&group), "connection group");
	rig->poller = bench_need(plx_poller_create(&(struct plx_poller_conf){.name = "bench"}), "poller");
	bench_ok(plx_poller_add_cq(rig->poller, rig->cq, rig->d), "poller");
	bench_ok(plx_poller_add_hook(rig->poller, plx_dispatcher_hook, rig->d), "poller");
	bench_ok(plx_poller_add_hook(rig->poller, plx_conn_group_hook, rig->group), "poller");
}

void
bench_rig_make(struct bench_rig *rig, const struct bench_rig_conf *conf)
{
	*rig = (struct bench_rig){.nb_conns = conf->nb_conns};
	rig->dev = bench_need(plx_device_open(conf->device), conf->device);
	rig->pd = bench_need(plx_pd_create(rig->dev), "PD");
	rig->region = bench_need(plx_region_alloc(rig->pd, BENCH_REGION, PLX_ACCESS_ALL), "memory");
	rooms_make(rig, conf);
	rig->conns = bench_need(calloc(conf->nb_conns, sizeof(rig->conns[0])), "connections");
	rig->conn_bytes = heap_of_dpdk();
	rig->qp_bytes = heap_of_libc();
	for (unsigned int i = 0; i < conf->nb_conns; i++)
		rig->conns[i] = conn_make(rig, conf);
	rig->conn_bytes = heap_of_dpdk() - rig->conn_bytes;
	rig->qp_bytes = heap_of_libc() - rig->qp_bytes;
}

void
bench_rig_break(struct bench_rig *rig)
{
	for (unsigned int i = 0; i < rig->nb_conns; i++)
		bench_ok(plx_conn_close(rig->conns[i]), "close");
	while (rig->nb_closed < rig->nb_conns)
		plx_poller_once(rig->poller);
	for (unsigned int i = 0; i < rig->nb_conns; i++)
		bench_ok(plx_conn_destroy(rig->conns[i]), "connection");
	free(rig->conns);
	bench_ok(plx_poller_destroy(rig->poller), "poller");
	bench_ok(plx_conn_group_destroy(rig->group), "connection group");
	bench_ok(plx_dispatcher_destroy(rig->d), "dispatcher");
	bench_ok(plx_control_destroy(rig->control), "control thread");
	bench_ok(plx_cq_destroy(rig->cq), "CQ");
	bench_ok(plx_region_destroy(rig->region), "memory");
	bench_ok(plx_pd_destroy(rig->pd), "PD");
	bench_ok(plx_device_close(rig->dev), "device");
}

void
bench_raw_qp_make(struct bench_raw_qp *raw, const char *device, unsigned int depth)
{
	struct plx_qp_conf conf = {
		.cap = {.send_depth = depth, .recv_depth = 1, .send_sge = 1, .recv_sge = 1},
		.transport = PLX_TRANSPORT_RC,
	};
	struct plx_qp_path path;
	struct plx_qp_addr self;

	raw->dev = bench_need(plx_device_open(device), device);
	raw->pd = bench_need(plx_pd_create(raw->dev), "PD");
	raw->region = bench_need(plx_region_alloc(raw->pd, BENCH_REGION, PLX_ACCESS_ALL), "memory");
	raw->cq = bench_need(plx_cq_create(raw->dev, depth + 1), "CQ");
	conf.send_cq = raw->cq;
	conf.recv_cq = raw->cq;
	raw->qp = bench_need(plx_qp_create(raw->pd, &conf), "QP");
	plx_qp_path_default(&path);
	path.port = 1;
	path.gid_index = 0;
	path.rights = PLX_ACCESS_REMOTE_WRITE;
	bench_ok(plx_qp_local_addr(raw->qp, &path, &self), "address");
	bench_ok(plx_qp_bring_up(raw->qp, &path, &self), "bring-up");
}

void
bench_raw_qp_break(struct bench_raw_qp *raw)
{
	bench_ok(plx_qp_destroy(raw->qp), "QP");
	bench_ok(plx_cq_destroy(raw->cq), "CQ");
	bench_ok(plx_region_destroy(raw->region), "memory");
	bench_ok(plx_pd_destroy(raw->pd), "PD");
	bench_ok(plx_device_close(raw->dev), "device");
}
