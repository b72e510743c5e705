/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "kinds.h"

/**
 * @file
 * Connections on devices that grant less, more, or nothing of what was wanted, and peers that have no receive: what is too
 * much is held back or refused, and nothing is lost without a word. Loopback, by its devargs.
 */

struct counts {
	unsigned int taken, done, by_status[PLX_NB_STATUS];
};

static void
count(struct plx_op *op, void *arg)
{
	struct counts *counts = arg;

	counts->done++;
	counts->by_status[op->status]++;
	plx_op_put(op);
}

static void
send_8(struct counts *counts)
{
	struct plx_view from = kinds_view(0, 8);
	struct plx_op *op = kinds_op();

	plx_prep_send(op, &from, count, counts);
	if (plx_conn_submit(kinds.a, op) == 0)
		counts->taken++;
	else
		plx_op_put(op);
}

static bool
recv_8(struct counts *counts)
{
	struct plx_view into = kinds_view(IN, 8);
	struct plx_op *op = plx_op_get(kinds.d->pool);

	if (op == NULL)
		return false;
	plx_prep_recv(op, &into, count, counts);
	if (plx_conn_submit(kinds.b, op) != 0) {
		plx_op_put(op);
		return false;
	}
	counts->taken++;
	return true;
}

/** Turn until @p counts are all done. */
static void
finish(const struct counts *counts)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(10000000000);

	while (counts->done < counts->taken) {
		kinds_turn();
		if (plx_clock_monotonic_ns() > end)
			fail_msg("%u of %u done", counts->done, counts->taken);
	}
}

/** case 1.5: the budget is what was granted, and all of it can be used at once */
static void
a_full_budget_fits_whatever_is_granted_of_it(void **state)
{
	static const char *const specs[] = {"loopback0,cq_overflow=dead,grant=exact", "loopback0,cq_overflow=dead,grant=pow2",
		"loopback0,cq_overflow=dead,grant=less"};

	for (unsigned int i = 0; i < 3; i++) {
		struct counts sends = {0}, recvs = {0};
		struct kinds_conf conf = kinds_conf();

		conf.cap.send_depth = conf.cap.recv_depth = 13;
		conf.nb_cqe = i == 2 ? 2 * 2 * 12 + 1 : 0; /* to be granted just what is needed */
		kinds_open(specs[i], &conf);
		assert_int_equal(kinds.a->cap.send_depth, i == 0 ? 13 : i == 1 ? 16 : 12);
		assert_int_equal(kinds.cq->nb_cqe, kinds.cq->reserved); /* not one to spare */
		while (recv_8(&recvs))
			;
		for (unsigned int n = 0; n < kinds.a->cap.send_depth + 5; n++)
			send_8(&sends);
		assert_int_equal(sends.taken, kinds.a->cap.send_depth); /* the others were refused, not lost */
		assert_int_equal(recvs.taken, kinds.b->cap.recv_depth);
		finish(&sends);
		finish(&recvs);
		assert_int_equal(sends.by_status[PLX_ST_SUCCESS] + recvs.by_status[PLX_ST_SUCCESS], sends.taken + recvs.taken);
		kinds_close();
	}
}

/** case 1.6: too shallow for what is wanted in flight */
static void
a_shallow_queue_holds_back_and_loses_nothing(void **state)
{
	struct counts sends = {0}, recvs = {0};
	struct kinds_conf conf = kinds_conf();

	conf.cap.send_depth = conf.cap.recv_depth = 8;
	conf.nb_cqe = 0;
	kinds_open("loopback0,cq_overflow=dead", &conf);
	for (unsigned int n = 0; n < 64; n++) {
		while (recv_8(&recvs))
			;
		for (unsigned int was = sends.taken; send_8(&sends), sends.taken == was;)
			kinds_turn();
	}
	finish(&sends);
	assert_int_equal(sends.taken, 64);
	assert_int_equal(sends.by_status[PLX_ST_SUCCESS], 64);
	kinds_close();
}

/** cases 10.2, 10.3: nothing granted, so not even a small note from the stack is posted inline */
static void
inline_that_is_not_granted_is_refused_before_the_post(void **state)
{
	static const char *const specs[] = {"loopback0,max_inline=0", "loopback0,inline=none"};

	for (unsigned int i = 0; i < 2; i++) {
		struct kinds_conf conf = kinds_conf();
		struct counts recvs = {0};
		struct plx_submit_err err;
		char note[16] = "note";
		struct plx_op *op;

		kinds_open(specs[i], &conf);
		assert_int_equal(kinds.a->cap.inline_len, 0);
		assert_true(recv_8(&recvs));
		op = kinds_op();
		plx_op_prep_send(op, note, sizeof(note), 0, NULL, NULL);
		plx_op_add_flags(op, PLX_WR_INLINE);
		assert_int_equal(plx_conn_submit_burst(kinds.a, &op, 1, &err), 0);
		assert_int_equal(err.code, -ENOBUFS);
		assert_true(err.got == sizeof(note) && err.limit == 0);
		memcpy(kinds_at(0), note, 8);
		plx_op_prep_send(op, kinds_at(0), 8, kinds.mem->lkey, NULL, NULL); /* from registered memory it goes */
		kinds_run(kinds.a, op);
		finish(&recvs);
		assert_memory_equal(kinds_at(IN), note, 8);
		kinds_close();
	}
}

/** case 11.3: rnr_retry is endless, and the peer never posts: the op's deadline is what the user gets */
static void
a_deadline_ends_an_op_whose_peer_has_no_receive(void **state)
{
	struct kinds_conf conf = kinds_conf();
	struct plx_op *op;

	conf.path.rnr_retry = 7;
	kinds_open("loopback0,tick_us=10", &conf);
	op = kinds_op();
	plx_op_prep_send(op, kinds_at(0), 8, kinds.mem->lkey, NULL, NULL);
	plx_op_set_deadline(op, plx_clock_monotonic_ns() + 1000000);
	assert_int_equal(plx_conn_submit(kinds.a, op), 0);
	kinds_wait(op, PLX_ST_TIMED_OUT);
	assert_int_equal(plx_op_put(op), 0);
	kinds_close(); /* in which the QP goes to ERR, and the late completion finds its op gone */
}

/** A request; behind each seventh, and where there is no room for one, the receiver catches up. False: the QP is in ERR. */
static bool
request(struct counts *sends, struct counts *recvs)
{
	unsigned int was = sends->taken;

	while (sends->done == sends->by_status[PLX_ST_SUCCESS]) {
		send_8(sends);
		if (sends->taken % 7 == 0 || sends->taken == was) {
			while (recv_8(recvs))
				;
			kinds_turn();
		}
		if (sends->taken != was)
			return true;
	}
	return false;
}

/** case 11.5: the receiver has four receives at a time; each request is told as done or as failed */
static void
requests_to_a_small_receive_queue_are_all_told(void **state)
{
	for (uint8_t retries = 0; retries <= 7; retries += 7) {
		struct counts sends = {0}, recvs = {0};
		struct kinds_conf conf = kinds_conf();

		conf.cap.recv_depth = 4;
		conf.path.rnr_retry = retries;
		conf.path.min_rnr_timer = 1;
		kinds_open("loopback0,tick_us=10", &conf);
		while (sends.taken < 10000 && request(&sends, &recvs))
			;
		for (unsigned int turns = 0; turns < 1000 && sends.done < sends.taken; turns++) {
			while (recv_8(&recvs))
				;
			kinds_turn();
		}
		assert_int_equal(sends.done, sends.taken);
		assert_int_equal(sends.by_status[PLX_ST_SUCCESS] + sends.by_status[PLX_ST_RNR_RETRY_EXC_ERR] +
				sends.by_status[PLX_ST_WR_FLUSH_ERR], sends.taken);
		assert_int_equal(sends.by_status[PLX_ST_RNR_RETRY_EXC_ERR], retries == 7 ? 0 : 1);
		if (retries == 7)
			assert_int_equal(sends.by_status[PLX_ST_SUCCESS], 10000);
		kinds_close();
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_full_budget_fits_whatever_is_granted_of_it),
	cmocka_unit_test(a_shallow_queue_holds_back_and_loses_nothing),
	cmocka_unit_test(inline_that_is_not_granted_is_refused_before_the_post),
	cmocka_unit_test(a_deadline_ends_an_op_whose_peer_has_no_receive),
	cmocka_unit_test(requests_to_a_small_receive_queue_are_all_told),
};

PLX_TEST_SUITE(kinds, limits, tests, .setup = kinds_drivers, .lcores = 2);
