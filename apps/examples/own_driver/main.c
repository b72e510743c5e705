/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A program that brings a driver of its own, beside those of the library:
 *
 *      cc -D_GNU_SOURCE *.c $(pkg-config --cflags --libs pollux) -o own_driver
 *      ./own_driver --no-huge --no-shconf --no-pci -m 64 -l 0 -- own0,status=10
 *
 * Lists all devices, opens the one that is named and sends one op through it.
 */

#include <stdio.h>
#include <stdlib.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include <pollux/plx_conn.h>
#include <pollux/plx_drivers.h>
#include <pollux/plx_poller.h>

#include "own_driver.h"

static void
ok(int err, const char *what)
{
	if (err == 0)
		return;
	fprintf(stderr, "own_driver: %s: %s\n", what, rte_strerror(-err));
	exit(2); /* rte_exit() would unmap what the control thread looks at */
}

static void *
made(void *object, const char *what)
{
	ok(object != NULL ? 0 : -rte_errno, what);
	return object;
}

/** Send @p op, which needs no memory, and turn until it is over. Then close, likewise. */
static void
send_and_close(struct plx_conn *conn, struct plx_op *op, struct plx_poller *poller)
{
	plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
	ok(plx_conn_submit(conn, op), "send");
	while (!plx_op_is_done(op))
		plx_poller_once(poller);
	printf("%s: %s\n", plx_device_name(plx_conn_qp(conn)->dev), plx_status_name(op->status));
	plx_op_prep_recv(op, NULL, 0, 0, NULL, NULL);
	printf("receive: %s\n", rte_strerror(-plx_conn_submit(conn, op)));
	ok(plx_op_put(op), "op");
	ok(plx_conn_close(conn), "close");
	while (plx_conn_state(conn) != PLX_CONN_CLOSED)
		plx_poller_once(poller);
}

static void
run(const char *name)
{
	unsigned int lcore = rte_lcore_id();
	struct plx_device *dev = made(plx_device_open(name), name);
	struct plx_pd *pd = made(plx_pd_create(dev), "protection domain");
	struct plx_cq *cq = made(plx_cq_create(dev, 512), "CQ");
	struct plx_control *control = made(plx_control_create(&(struct plx_control_conf){
		.lcores = &lcore, .nb_lcores = 1}), "control thread");
	struct plx_dispatcher *d = made(plx_dispatcher_create(&(struct plx_dispatcher_conf){
		.name = "own", .owner = lcore, .pool = {.nb_ops = 4, .socket_id = SOCKET_ID_ANY}}), "dispatcher");
	struct plx_conn_group *group = made(plx_conn_group_create(&(struct plx_conn_group_conf){
		.name = "own", .dispatcher = d, .cq = cq, .control = control}), "connection group");
	struct plx_poller *poller = made(plx_poller_create(&(struct plx_poller_conf){.name = "own"}), "poller");
	struct plx_conn_conf conf = {.group = group, .pd = pd, .home = lcore};
	struct plx_conn *conn;
	struct plx_qp_addr self;

	ok(plx_poller_add_cq(poller, cq, d), "poller");
	ok(plx_poller_add_hook(poller, plx_dispatcher_hook, d), "poller");
	ok(plx_poller_add_hook(poller, plx_conn_group_hook, group), "poller");
	plx_qp_path_default(&conf.path);
	conn = made(plx_conn_create(&conf), "connection");
	ok(plx_conn_local_attr(conn, &self), "address");
	ok(plx_conn_bring_up(conn, &self), "bring-up");
	send_and_close(conn, made(plx_op_get(d->pool), "op"), poller);
	ok(plx_conn_destroy(conn), "connection");
	ok(plx_poller_destroy(poller), "poller");
	ok(plx_conn_group_destroy(group), "connection group");
	ok(plx_dispatcher_destroy(d), "dispatcher");
	ok(plx_control_destroy(control), "control thread");
	ok(plx_cq_destroy(cq), "CQ");
	ok(plx_pd_destroy(pd), "protection domain");
	ok(plx_device_close(dev), "device");
}

int
main(int argc, char **argv)
{
	struct plx_device_info infos[32];
	int parsed = rte_eal_init(argc, argv);

	if (parsed < 0)
		return 2;
	ok(plx_drivers_register(), "drivers");
	ok(plx_device_register(&own_driver), "own driver");
	for (int i = RTE_MIN(plx_device_list(infos, 32), 32); i-- > 0;)
		printf("%s (%s)\n", infos[i].name, infos[i].driver);
	run(parsed + 1 < argc ? argv[parsed + 1] : "own0");
	return rte_eal_cleanup();
}
