/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * plx-pingpong: a whole Pollux program in one file. A copy outside of this tree, where app_eal.h is not, calls
 * rte_eal_init(argc, argv) in place of app_args_split() and app_eal_start(), and has its own option errors.
 *
 * Two connections of one device play ping-pong and share everything else:
 *      A.out ---ping---> B.in         one CQ, polled by one poller; one dispatcher, which finds the op of
 *      A.in  <---pong--- B.out        each completion and calls it back; one lcore, which does all of this
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "app_eal.h"
#include "plx_clock.h"
#include "plx_conn.h"
#include "plx_drivers.h"
#include "plx_hist.h"
#include "plx_poller.h"
#include "plx_prep.h"

#define LEN 64 /* bytes of a message */
#define USAGE "options: [EAL's --] [-d DEVICE] [-n ROUNDS]"

/** One end of the table. Its two ops and two buffers serve every round. */
struct side {
	struct plx_conn *conn;
	struct plx_op *send, *recv;
	struct plx_view out, in;
	struct plx_qp_addr addr;
	uint64_t sent, nb_got;	 /**< last message out, in ticks; messages in */
	unsigned int nb_pending; /**< of the two ops: posted, not completed */
};

static struct side sides[2], *const a = &sides[0], *const b = &sides[1];
static uint64_t rounds = 10000;
static struct plx_hist rtt; /* ticks */
static const char *failure; /* why the game ended, when it ended badly */

/** What fails here ends the program: the last line says what, the log before it why. */
static void
ok(int err, const char *what)
{
	if (err < 0 && fprintf(stderr, "plx-pingpong: %s: %s\n", what, rte_strerror(-err)) != 0)
		exit(APP_EXIT_USAGE); /* rte_exit() would unmap what the control thread looks at */
}

static void *
made(void *object, const char *what)
{
	ok(object != NULL ? 0 : -rte_errno, what);
	return object;
}

/** Begin to close; the loop turns until that is over. The first call decides. */
static void
end_game(const char *why)
{
	if (plx_conn_close(a->conn) == 0)
		failure = why;
	plx_conn_close(b->conn);
}

static void on_done(struct plx_op *op, void *arg);

static void
receive(struct side *side)
{
	plx_prep_recv(side->recv, &side->in, on_done, side);
	ok(plx_conn_submit(side->conn, side->recv), "receive");
	side->nb_pending++; /* a taken op completes, once, whatever happens */
}

static void
play(struct side *side)
{
	receive(side); /* before the send, so that the answer finds it */
	memset(side->out.addr, (int)(side->nb_got + 1) & 0xff, LEN);
	plx_prep_send(side->send, &side->out, on_done, side);
	side->sent = plx_clock_now(plx_clock_get());
	ok(plx_conn_submit(side->conn, side->send), "send");
	side->nb_pending++;
}

/** One op of a side is over. Its turn comes when both are: then both buffers are its own again. */
static void
on_done(struct plx_op *op, void *arg)
{
	struct side *side = arg, *peer = side == a ? b : a;

	side->nb_pending--;
	if (op == a->recv)
		plx_hist_record(&rtt, plx_clock_now(plx_clock_get()) - a->sent);
	side->nb_got += op == side->recv && op->status == PLX_ST_SUCCESS;
	if (op->status != PLX_ST_SUCCESS)
		end_game(plx_status_str(op->status)); /* or we close already, and it was flushed */
	else if (op == side->recv && (op->byte_len != LEN || memcmp(side->in.addr, peer->out.addr, LEN) != 0))
		end_game("what arrived is not what was sent");
	if (a->nb_got == rounds)
		end_game(NULL);
	if (side->nb_pending == 0 && plx_conn_state(side->conn) == PLX_CONN_READY)
		play(side);
}

/** From nothing to a game and back: what is made first is destroyed last. */
static void
run(const char *device)
{
	unsigned int lcore = rte_lcore_id();
	struct plx_device *dev = made(plx_device_open(device), device);
	struct plx_pd *pd = made(plx_pd_create(dev), "protection domain");
	struct plx_region *memory = made(plx_region_alloc(pd, 4 * LEN, PLX_ACCESS_LOCAL_WRITE), "memory");
	struct plx_cq *cq = made(plx_cq_create(dev, 512), "CQ");
	struct plx_control *control = made(plx_control_create(&(struct plx_control_conf){
		.lcores = &lcore, .nb_lcores = 1}), "control thread");
	struct plx_dispatcher *d = made(plx_dispatcher_create(&(struct plx_dispatcher_conf){
		.name = "pingpong", .owner = lcore, .pool = {.nb_ops = 4, .socket_id = SOCKET_ID_ANY}}), "dispatcher");
	struct plx_conn_group *group = made(plx_conn_group_create(&(struct plx_conn_group_conf){
		.name = "pingpong", .dispatcher = d, .cq = cq, .control = control}), "connection group");
	struct plx_poller *poller = made(plx_poller_create(&(struct plx_poller_conf){.name = "pingpong"}), "poller");
	struct plx_conn_conf conf = {.group = group, .pd = pd, .home = lcore};

	ok(plx_poller_add_cq(poller, cq, d), "poller");
	ok(plx_poller_add_hook(poller, plx_dispatcher_hook, d), "poller");
	ok(plx_poller_add_hook(poller, plx_conn_group_hook, group), "poller");
	plx_qp_path_default(&conf.path);
	for (struct side *side = a; side <= b; side++) {
		side->conn = made(plx_conn_create(&conf), "connection");
		side->send = made(plx_op_get(d->pool), "op");
		side->recv = made(plx_op_get(d->pool), "op");
		ok(plx_region_view(memory, side == a ? 0 : 2 * LEN, LEN, &side->out), "view");
		ok(plx_region_view(memory, side == a ? LEN : 3 * LEN, LEN, &side->in), "view");
		ok(plx_conn_local_attr(side->conn, &side->addr), "address");
	}
	ok(plx_conn_bring_up(a->conn, &b->addr), "bring-up");
	ok(plx_conn_bring_up(b->conn, &a->addr), "bring-up");
	receive(b);
	play(a);
	while (plx_conn_state(a->conn) != PLX_CONN_CLOSED || plx_conn_state(b->conn) != PLX_CONN_CLOSED)
		plx_poller_once(poller);
	for (struct side *side = a; side <= b; side++) {
		plx_op_put_bulk(d->pool, (struct plx_op *[]){side->send, side->recv}, 2);
		ok(plx_conn_destroy(side->conn), "connection");
	}
	ok(plx_poller_destroy(poller), "poller");
	ok(plx_conn_group_destroy(group), "connection group");
	ok(plx_dispatcher_destroy(d), "dispatcher");
	ok(plx_control_destroy(control), "control thread");
	ok(plx_cq_destroy(cq), "CQ");
	ok(plx_region_destroy(memory), "memory");
	ok(plx_pd_destroy(pd), "protection domain");
	ok(plx_device_close(dev), "device");
}

int
main(int argc, char **argv)
{
	const char *device = "loopback0";
	struct app_error error = {""};
	struct app_args args;
	int opt, err = app_args_split(argc, argv, &args, &error);

	while (err == 0 && (opt = getopt(args.argc, args.argv, "d:hn:")) != -1) {
		if (opt == 'd')
			device = optarg;
		else if (opt == 'h' && puts("plx-pingpong: " USAGE) > 0 && (err = app_check_written(stdout, "stdout", &error)) == 0)
			return 0;
		else if (err == 0 && (opt != 'n' || app_parse_u64("-n", optarg, true, 1, UINT32_MAX, &rounds, &error) != 0))
			err = app_fail(&error, -EINVAL, USAGE);
	}
	if (err == 0 && (optind < args.argc || strncmp(device, "null", 4) == 0))
		err = optind < args.argc ? app_fail(&error, -EINVAL, "%s: no such argument; " USAGE, args.argv[optind])
					 : app_fail(&error, -EINVAL, "-d %s: null devices carry no bytes", device);
	if (err != 0 || app_eal_start(&args, &(struct app_machine){.free_hugepages = false}, &error) != 0) {
		app_error_print("plx-pingpong", &error);
		return APP_EXIT_USAGE;
	}
	plx_hist_reset(&rtt);
	ok(plx_drivers_register(), "drivers");
	run(device);
	if (failure != NULL)
		rte_exit(APP_EXIT_FAILED, "plx-pingpong: after %" PRIu64 " pongs: %s\n", a->nb_got, failure);
	double us = 1e6 / 2 / (double)plx_clock_get()->hz; /* half of a round trip */
	printf("%s: %" PRIu64 " pings and %" PRIu64 " pongs of %d bytes, each one verified\n"
		"half round trip in us: p50 %.2f, p99 %.2f, p99.9 %.2f, max %.2f\n", device, b->nb_got, a->nb_got,
		LEN, us * plx_hist_percentile(&rtt, 50), us * plx_hist_percentile(&rtt, 99),
		us * plx_hist_percentile(&rtt, 99.9), us * plx_hist_percentile(&rtt, 100));
	ok(fflush(stdout) == 0 ? 0 : -errno, "stdout");
	return rte_eal_cleanup() == 0 ? 0 : APP_EXIT_FAILED;
}
