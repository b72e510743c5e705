/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A program outside of the tree, in C11 and, as it stands, in C++17: two connections of loopback0 play a few hundred rounds
 * of ping-pong, each message verified. Built by install.sh against an installed Pollux with pkg-config alone.
 */

#include <pollux/plx_conn.h>
#include <pollux/plx_drivers.h>
#include <pollux/plx_memory.h>
#include <pollux/plx_poller.h>
#include <pollux/plx_prep.h>

#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

#if PLX_VERSION < PLX_VERSION_NUM(0, 1, 0) || PLX_VERSION >= PLX_VERSION_NUM(PLX_VERSION_MAJOR + 1, 0, 0)
#error "versions do not compare"
#endif
#if PLX_HAS_VERBS
#include <pollux/plx_verbs.h>
#endif

enum { LEN = 64, ROUNDS = 300 };

static struct plx_poller *poller;

static void
ok(int err, const char *what)
{
	if (err < 0)
		rte_exit(2, "outside: %s: %s\n", what, rte_strerror(-err));
}
#define MADE(object) ok((object) != NULL ? 0 : -rte_errno, #object)

/** One message from @p from to @p to: the receive first, then the send, then turns until both are over. */
static void
message(struct plx_conn *from, struct plx_conn *to, struct plx_op *send, struct plx_op *recv, const struct plx_view *out,
	const struct plx_view *in, int value)
{
	memset(out->addr, value, LEN);
	plx_prep_recv(recv, in, NULL, NULL);
	plx_prep_send(send, out, NULL, NULL);
	ok(plx_conn_submit(to, recv), "receive");
	ok(plx_conn_submit(from, send), "send");
	while (!plx_op_is_done(send) || !plx_op_is_done(recv))
		plx_poller_once(poller);
	if (send->status != PLX_ST_SUCCESS || recv->status != PLX_ST_SUCCESS || recv->byte_len != LEN ||
		memcmp(in->addr, out->addr, LEN) != 0)
		rte_exit(1, "outside: message %d: %s, %s\n", value, plx_status_name(send->status),
			plx_status_name(recv->status));
}

int
main(int argc, char **argv)
{
	ok(rte_eal_init(argc, argv), "EAL");
	ok(plx_drivers_register(), "drivers");

	unsigned int lcore = rte_lcore_id();
	struct plx_device *dev = plx_device_open("loopback0");
	MADE(dev);
	struct plx_pd *pd = plx_pd_create(dev);
	MADE(pd);
	struct plx_region *memory = plx_region_alloc(pd, 2 * LEN, PLX_ACCESS_LOCAL_WRITE);
	MADE(memory);
	struct plx_cq *cq = plx_cq_create(dev, 512);
	MADE(cq);

	struct plx_control_conf control_conf = {};
	control_conf.lcores = &lcore;
	control_conf.nb_lcores = 1;
	struct plx_control *control = plx_control_create(&control_conf);
	MADE(control);
	struct plx_dispatcher_conf d_conf = {};
	d_conf.name = "outside";
	d_conf.owner = lcore;
	d_conf.pool.nb_ops = 2;
	d_conf.pool.socket_id = SOCKET_ID_ANY;
	struct plx_dispatcher *d = plx_dispatcher_create(&d_conf);
	MADE(d);
	struct plx_conn_group_conf group_conf = {"outside", d, cq, control, NULL};
	struct plx_conn_group *group = plx_conn_group_create(&group_conf);
	MADE(group);
	struct plx_poller_conf poller_conf = {"outside", 0, false};
	poller = plx_poller_create(&poller_conf);
	MADE(poller);
	ok(plx_poller_add_cq(poller, cq, d), "CQ");
	ok(plx_poller_add_hook(poller, plx_conn_group_hook, group), "hook");

	struct plx_conn_conf conf = {};
	conf.group = group;
	conf.pd = pd;
	conf.home = lcore;
	plx_qp_path_default(&conf.path);
	struct plx_conn *conns[2];
	struct plx_qp_addr addrs[2];
	struct plx_op *ops[2];
	struct plx_view views[2];
	ok(plx_op_get_bulk(d->pool, ops, 2), "ops");
	for (int i = 0; i < 2; i++) {
		conns[i] = plx_conn_create(&conf);
		MADE(conns[i]);
		ok(plx_conn_local_attr(conns[i], &addrs[i]), "address");
		ok(plx_region_view(memory, (uint64_t)i * LEN, LEN, &views[i]), "view");
	}
	for (int i = 0; i < 2; i++)
		ok(plx_conn_bring_up(conns[i], &addrs[1 - i]), "bring-up");

	for (int i = 0; i < ROUNDS; i++)
		message(conns[i % 2], conns[1 - i % 2], ops[0], ops[1], &views[0], &views[1], i & 0xff);

	plx_op_put_bulk(d->pool, ops, 2);
	for (int i = 0; i < 2; i++) {
		ok(plx_conn_close(conns[i]), "close");
		while (plx_conn_state(conns[i]) != PLX_CONN_CLOSED)
			plx_poller_once(poller);
		ok(plx_conn_destroy(conns[i]), "connection");
	}
	ok(plx_poller_destroy(poller), "poller");
	ok(plx_conn_group_destroy(group), "group");
	ok(plx_dispatcher_destroy(d), "dispatcher");
	ok(plx_control_destroy(control), "control");
	ok(plx_cq_destroy(cq), "CQ");
	ok(plx_region_destroy(memory), "memory");
	ok(plx_pd_destroy(pd), "PD");
	ok(plx_device_close(dev), "device");
	printf("%d messages of %d bytes verified, library %s\n", ROUNDS, LEN, plx_version());
	return rte_eal_cleanup();
}
