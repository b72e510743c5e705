/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "farm.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "plx_clock.h"
#include "plx_drivers.h"

/**
 * @file
 * What the kernel's timers and its network do under queue pairs: a link that goes down and comes back, retries that run while
 * their QP is destroyed. Whether the kernel bore it is seen in its log (devtools/test/kernel-log.sh).
 *
 *      client ==== traffic ==== server     link down ... up      flushes, events and closes, as they come
 *      QP ---- retries --x nobody          destroyed             while its timer runs
 */

static struct farm farm;

/* ---- a link that goes down ----------------------------------------------------------------- */

#define PAIRS 6

static char netdev[IFNAMSIZ];

/** Finds the netdev under the test device; only one that is a dummy is ours to take down. */
static bool
link_find(void)
{
	char path[128];
	FILE *file;
	int got;

	if (strncmp(plx_test_device(), "rxe", 3) != 0 || geteuid() != 0)
		return false;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%.*s/ports/1/gid_attrs/ndevs/1",
		(int)strcspn(plx_test_device(), ","), plx_test_device());
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	got = fscanf(file, "%15s", netdev);
	fclose(file);
	return got == 1 && strncmp(netdev, "dummy", 5) == 0;
}

static void
link_set(bool up)
{
	struct ifreq req = {0};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	memcpy(req.ifr_name, netdev, sizeof(netdev));
	assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &req), 0);
	req.ifr_flags = (short)(up ? req.ifr_flags | IFF_UP : req.ifr_flags & ~IFF_UP);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &req), 0);
	close(fd);
}

static uint64_t
heard(enum plx_event_type type)
{
	struct plx_conn_events_stats stats;

	plx_conn_events_stats(farm.events, &stats);
	return stats.by_type[type];
}

/** A turn in which every client that can sends, what has failed is closed, and what is gone is connected again. */
static void
loaded_turn(bool connect)
{
	for (unsigned int i = 0; i < PAIRS; i++) {
		struct farm_pair *pair = &farm.pairs[i];

		for (unsigned int k = 0; k < 3 && pair->client != NULL; k++)
			if (farm_send(&farm, i) == -ECONNABORTED)
				farm_close(&farm, i);
		if (connect && pair->client == NULL && pair->server == NULL) {
			assert_int_equal(pair->sent, pair->sent_ok + pair->sent_failed);
			assert_true(farm_connect(&farm, i));
		}
	}
	farm_turn(&farm);
}

#define loaded_until(connect, cond)                                                                          \
	do {                                                                                                 \
		uint64_t end_ = farm_deadline();                                                             \
		while (!(cond)) {                                                                            \
			assert_false(farm_late(end_));                                                       \
			loaded_turn(connect);                                                                \
		}                                                                                            \
	} while (0)

static uint64_t
nb_failed(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < PLX_NB_STATUS; i++)
		sum += i != PLX_ST_SUCCESS ? farm.by_status[i] : 0;
	return sum;
}

/** Connected, and none of it failed; each has sent some since. */
static bool
all_ready(void)
{
	for (unsigned int i = 0; i < PAIRS; i++)
		if (farm.pairs[i].client == NULL || plx_conn_state(farm.pairs[i].client) != PLX_CONN_READY ||
			farm.pairs[i].sent_ok < 20)
			return false;
	return true;
}

/** Close every other client, those that go on being the next fall's; before that, the QP of some fails under the close. */
static void
close_half(unsigned int round)
{
	for (unsigned int i = round % 2; i < PAIRS; i += 2) {
		struct plx_conn *client = farm.pairs[i].client;

		if (client != NULL && plx_conn_state(client) == PLX_CONN_READY && i % 3 == 0)
			assert_int_equal(plx_qp_to_error(client->qp), 0);
		farm_close(&farm, i);
	}
}

/** What comes between down and up: the event, and maybe no send; a failure for each pair, at least; closes that meet both. */
static void
one_fall(unsigned int round)
{
	uint64_t down = heard(PLX_EVENT_PORT_DOWN), up = heard(PLX_EVENT_PORT_UP), failed = nb_failed();

	link_set(false);
	loaded_turn(false);
	if (round % 3 == 1)
		loaded_until(false, nb_failed() >= failed + PAIRS);
	if (round % 3 == 2)
		close_half(round);
	loaded_until(false, heard(PLX_EVENT_PORT_DOWN) > down);
	link_set(true);
	loaded_until(round % 2 != 0, heard(PLX_EVENT_PORT_UP) > up);
	loaded_until(true, all_ready());
}

/** case 2.3 */
static void
a_link_that_goes_down_under_load_settles_each_op_once(void **state)
{
	const unsigned int rounds = plx_test_is_soak() ? 51 : 3;

	plx_test_needs(link_find(), "rxe on a dummy netdev, and root");
	farm_make(&farm, &(struct farm_conf){.nb_pairs = PAIRS, .depth = 16, .pool = {.nb_recvs = 256}});
	loaded_until(true, all_ready());
	for (unsigned int round = 0; round < rounds; round++)
		one_fall(round);
	printf("%u falls: %lu connections closed, %lu sends failed, %lu of them flushed\n", rounds, (unsigned long)farm.nb_closed,
		(unsigned long)nb_failed(), (unsigned long)farm.by_status[PLX_ST_WR_FLUSH_ERR]);
	fflush(stdout);
	assert_int_equal(farm.wrong, 0);
	farm_break(&farm);
}

/* ---- timers of QPs that are destroyed ------------------------------------------------------ */

#define SENDS 4

static struct bare {
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_cq *cq;
	unsigned int nb_done[SENDS]; /**< of each send of the round */
} bare;

/** The sends of a round have the numbers from round * SENDS on, so that each is told from every other. */
static void
poll_bare(unsigned int round)
{
	struct plx_wc wc;

	while (plx_cq_poll(bare.cq, &wc, 1) == 1) {
		assert_int_equal(wc.wr_id / SENDS, round);
		assert_int_not_equal(wc.status, PLX_ST_SUCCESS);
		assert_int_equal(++bare.nb_done[wc.wr_id % SENDS], 1);
	}
}

static struct plx_qp *
bare_qp(void)
{
	struct plx_qp_conf conf = {.send_cq = bare.cq, .recv_cq = bare.cq, .cap = {.send_depth = SENDS, .recv_depth = 1}};

	conf.cap.send_sge = conf.cap.recv_sge = 1;
	return plx_qp_create(bare.pd, &conf);
}

/** Sends that are tried again without end: the peer has no receive, or is not there at all. The shortest timers that there are. */
static void
send_for_ever(struct plx_qp *from, struct plx_qp *to, unsigned int round, bool answers)
{
	const struct plx_wr *wrs[SENDS];
	struct plx_wr sends[SENDS];
	struct plx_qp_addr addr_from, addr_to;
	struct plx_qp_path path;
	int err;

	for (unsigned int i = 0; i < SENDS; i++) {
		sends[i] = (struct plx_wr){.wr_id = round * SENDS + i, .opcode = PLX_OPCODE_SEND, .flags = PLX_WR_SIGNALED};
		wrs[i] = &sends[i];
	}
	plx_qp_path_default(&path);
	path.timeout = path.min_rnr_timer = 1;
	path.retry_cnt = path.rnr_retry = 7;
	assert_int_equal(plx_qp_local_addr(from, &path, &addr_from), 0);
	assert_int_equal(plx_qp_local_addr(to, &path, &addr_to), 0);
	if (answers)
		assert_int_equal(plx_qp_bring_up(to, &path, &addr_from), 0);
	assert_int_equal(plx_qp_bring_up(from, &path, &addr_to), 0);
	assert_int_equal(plx_qp_post_send(from, wrs, SENDS, &err), SENDS);
}

/** Each op is over at most once: what the QP's end leaves unsaid is not said later. */
static void
one_pair_of_qps(unsigned int round)
{
	struct plx_qp *from = bare_qp(), *to = bare_qp();

	assert_non_null(from);
	assert_non_null(to);
	memset(bare.nb_done, 0, sizeof(bare.nb_done));
	send_for_ever(from, to, round, round % 3 != 0);
	usleep(round % 8 * 1000); /* a kernel's timers go by ticks of some ms */
	poll_bare(round);
	if (round % 5 == 0)
		assert_int_equal(plx_qp_to_error(from), 0);
	assert_int_equal(plx_qp_destroy(round % 2 != 0 ? from : to), 0);
	poll_bare(round);
	assert_int_equal(plx_qp_destroy(round % 2 != 0 ? to : from), 0);
	poll_bare(round);
}

/** case 16.10 */
static void
qps_destroyed_while_their_timers_run_say_nothing_twice(void **state)
{
	const unsigned int rounds = plx_test_is_soak() ? 6000 : 100;

	bare = (struct bare){.dev = plx_device_open(plx_test_device())};
	assert_non_null(bare.dev);
	assert_non_null(bare.pd = plx_pd_create(bare.dev));
	assert_non_null(bare.cq = plx_cq_create(bare.dev, 64));
	for (unsigned int round = 0; round < rounds; round++)
		one_pair_of_qps(round);
	assert_int_equal(plx_cq_destroy(bare.cq), 0);
	assert_int_equal(plx_pd_destroy(bare.pd), 0);
	assert_int_equal(plx_device_close(bare.dev), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_link_that_goes_down_under_load_settles_each_op_once),
	cmocka_unit_test(qps_destroyed_while_their_timers_run_say_nothing_twice),
};

static int
drivers(void **state)
{
	return plx_drivers_register();
}

PLX_TEST_SUITE(link, farm, tests, .setup = drivers, .lcores = 3, .device = true, .caps = PLX_CAP_ATTR_EXCHANGE);
