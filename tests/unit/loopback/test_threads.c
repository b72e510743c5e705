/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/*
 * Peers on two threads, both sending and both receiving; every payload is looked at. Run it under ThreadSanitizer
 * too: it knows nothing of the device, so what it accepts is ordered by the device's own words.
 */

#include "pair.h"

#include <pthread.h>
#include <sched.h>

#define WORDS	8
#define WINDOW	8
#define RECV_AT(i) ((i) * WORDS * 8)
#define SEND_AT(i) (SIDE_BYTES / 2 + (i) * WORDS * 8)

struct runner {
	struct side *me;
	struct side *peer;
	unsigned long goal;
	unsigned long sent, send_done, received, wrong;
};

/* No assertion of cmocka here: it works on the main thread only. */
static void
expect(struct runner *run, bool holds)
{
	run->wrong += !holds;
}

static void
recv_post(struct runner *run, unsigned int slot)
{
	struct plx_sge sge = at(run->me, RECV_AT(slot), WORDS * 8);

	expect(run, post_recv(run->me->qp, slot, &sge, 1) == 0);
}

static void
send_one(struct runner *run)
{
	unsigned int slot = run->sent % WINDOW;
	struct plx_sge sge = at(run->me, SEND_AT(slot), WORDS * 8);
	struct plx_wr wr = wr_to(run->peer, WINDOW + slot, PLX_OPCODE_SEND, &sge, 0);
	uint64_t *words = (uint64_t *)&run->me->mem[SEND_AT(slot)];

	for (unsigned int i = 0; i < WORDS; i++)
		words[i] = run->sent * WORDS + i;
	expect(run, post_send(run->me->qp, &wr) == 0);
	run->sent++;
}

static void
received_check(struct runner *run, const struct plx_wc *wc)
{
	const uint64_t *words = (const uint64_t *)&run->me->mem[RECV_AT(wc->wr_id)];

	expect(run, wc->wr_id == run->received % WINDOW && wc->byte_len == WORDS * 8);
	for (unsigned int i = 0; i < WORDS; i++)
		expect(run, words[i] == run->received * WORDS + i);
	run->received++;
	recv_post(run, wc->wr_id);
}

static void
turn(struct runner *run)
{
	struct plx_wc wcs[8];
	int got = plx_cq_poll(run->me->cq, wcs, 8);

	for (int i = 0; i < got; i++) {
		expect(run, wcs[i].status == PLX_ST_SUCCESS);
		if (wcs[i].opcode == PLX_OPCODE_RECV)
			received_check(run, &wcs[i]);
		else
			run->send_done++;
	}
	while (run->sent < run->goal && run->sent - run->send_done < WINDOW)
		send_one(run);
	if (got == 0)
		sched_yield(); /* two shared CPUs, perhaps one */
}

static void *
runner_main(void *arg)
{
	struct runner *run = arg;

	while ((run->send_done < run->goal || run->received < run->goal) && run->wrong == 0)
		turn(run);
	return NULL;
}

static void
run_pair(const char *name_a, const char *name_b)
{
	struct pair pair;
	struct runner a = {.me = &pair.a, .peer = &pair.b, .goal = plx_test_scale() / 2};
	struct runner b = {.me = &pair.b, .peer = &pair.a, .goal = plx_test_scale() / 2};
	pthread_t thread;

	pair_open(&pair, name_a, name_b);
	pair_connect(&pair);
	for (unsigned int i = 0; i < WINDOW; i++) {
		recv_post(&a, i);
		recv_post(&b, i);
	}
	assert_int_equal(pthread_create(&thread, NULL, runner_main, &b), 0);
	runner_main(&a);
	pthread_join(thread, NULL);
	assert_int_equal(a.wrong, 0);
	assert_int_equal(b.wrong, 0);
	assert_int_equal(a.received, a.goal);
	assert_int_equal(b.received, b.goal);
	pair_close(&pair);
}

static void
every_message_between_two_threads_arrives_whole_and_in_order(void **state)
{
	run_pair("loopback0", "loopback0");
}

static void
every_message_between_two_devices_arrives_whole_and_in_order(void **state)
{
	run_pair("loopback0", "loopback1");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_message_between_two_threads_arrives_whole_and_in_order),
	cmocka_unit_test(every_message_between_two_devices_arrives_whole_and_in_order),
};

PLX_TEST_SUITE(loopback, threads, tests);
