/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/* What the devargs make of the device: time by turns, a CQ that dies, no inline, messages that get lost, limits. */

#include "pair.h"
#include "plx_loopback.h"

static struct pair pair;

static void
open_both(const char *spec)
{
	pair_open(&pair, spec, spec);
}

/** Polls of A's CQ until it has a completion. */
static unsigned int
turns_to_wc(struct plx_wc *wc, unsigned int most)
{
	for (unsigned int turns = 1; turns <= most; turns++)
		if (plx_cq_poll(pair.a.cq, wc, 1) == 1)
			return turns;
	fail_msg("nothing after %u turns", most);
	return 0;
}

/** Turns of 10 us that a send waits for when its peer's timer is @p code and a receive comes at once behind it. */
static unsigned int
turns_of_rnr(const struct plx_qp_path *path)
{
	struct plx_sge from, to;
	struct plx_wr wr;
	struct plx_wc wc;
	unsigned int turns;

	open_both("loopback0,tick_us=10");
	pair.path = *path;
	pair_connect(&pair);
	from = at(&pair.a, 0, 8);
	to = at(&pair.b, 0, 8);
	wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	assert_int_equal(post_recv(pair.b.qp, 2, &to, 1), 0);
	turns = turns_to_wc(&wc, 70000);
	assert_int_equal(wc.status, PLX_ST_SUCCESS);
	pair_close(&pair);
	return turns;
}

/* IBA table 45, in hundredths of a millisecond: 10 us. */
static const unsigned int rnr_10us[32] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
	1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

static void
each_rnr_timer_waits_its_time_to_the_turn(void **state)
{
	struct plx_qp_path path;

	plx_qp_path_default(&path);
	for (unsigned int code = 0; code < 32; code++) {
		path.min_rnr_timer = code;
		assert_int_equal(turns_of_rnr(&path), rnr_10us[code]);
	}
}

/** case 11.1: the default is not the code that means 655 ms */
static void
one_underrun_costs_less_than_5_ms_by_default(void **state)
{
	struct plx_qp_path path;

	plx_qp_path_default(&path);
	assert_true(turns_of_rnr(&path) < 500);
}

static void
each_retry_waits_again(void **state)
{
	struct plx_sge from;
	struct plx_wr wr;
	struct plx_wc wc;

	open_both("loopback0,tick_us=10");
	pair.path.min_rnr_timer = 5; /* 60 us */
	pair.path.rnr_retry = 3;
	pair_connect(&pair);
	from = at(&pair.a, 0, 8);
	wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	assert_int_equal(turns_to_wc(&wc, 1000), 3 * 6);
	assert_int_equal(wc.status, PLX_ST_RNR_RETRY_EXC_ERR);
	pair_close(&pair);
}

/** case 11.3: a peer that never posts a receive, and endless retry */
static void
to_error_ends_an_endless_retry(void **state)
{
	struct plx_sge from;
	struct plx_wr wr;
	struct plx_wc wc;

	open_both("loopback0,tick_us=1000");
	pair.path.rnr_retry = 7;
	pair_connect(&pair);
	from = at(&pair.a, 0, 8);
	wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	for (unsigned int i = 0; i < 60000; i++) /* a minute of its time */
		assert_int_equal(plx_cq_poll(pair.a.cq, &wc, 1), 0);
	assert_int_equal(plx_qp_to_error(pair.a.qp), 0);
	expect_wc(&pair.a, 1, PLX_ST_WR_FLUSH_ERR);
	pair_close(&pair);
}

/* ---- sizes --------------------------------------------------------------------------------- */

static void
a_cq_that_overflows_ends_if_the_device_is_of_that_kind(void **state)
{
	static const char *const specs[] = {"loopback0,cq_overflow=drop", "loopback0,cq_overflow=dead"};

	for (unsigned int i = 0; i < 2; i++) {
		struct plx_wc wcs[8];
		struct plx_sge from;
		struct plx_wr wr;

		memset(&pair, 0, sizeof(pair));
		side_open(&pair.a, specs[i], 4, PLX_ACCESS_ALL);
		side_open(&pair.b, specs[i], 4, PLX_ACCESS_ALL);
		plx_qp_path_default(&pair.path);
		pair.path.rights = PLX_ACCESS_REMOTE_WRITE;
		pair_connect(&pair);
		from = at(&pair.a, 0, 8);
		wr = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &from, 0);
		for (unsigned int n = 0; n < 4; n++)
			assert_int_equal(post_send(pair.a.qp, &wr), 0);
		assert_int_equal(plx_cq_poll(pair.a.cq, wcs, 1), 1); /* full is no overflow */
		for (unsigned int n = 0; n < 2; n++)
			assert_int_equal(post_send(pair.a.qp, &wr), 0);
		assert_int_equal(plx_cq_poll(pair.a.cq, wcs, 8), i == 0 ? 4 : -EIO);
		assert_int_equal(plx_cq_poll(pair.a.cq, wcs, 8), i == 0 ? 0 : -EIO);
		pair_close(&pair);
	}
}

/** case 10.2 */
static void
a_qp_that_is_granted_no_inline_takes_none(void **state)
{
	char text[16] = "";
	struct plx_sge from = {.addr = (uintptr_t)text, .length = sizeof(text)};
	struct plx_wr wr;

	open_both("loopback0,inline=none,max_inline=400");
	pair_connect(&pair);
	assert_int_equal(plx_device_caps(pair.a.dev)->max_inline, 400);
	assert_int_equal(pair.a.qp->cap.inline_len, 0);
	wr = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &from, 0);
	wr.flags |= PLX_WR_INLINE;
	assert_int_equal(post_send(pair.a.qp, &wr), -EINVAL);
	from.length = 0;
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	pair_close(&pair);
}

/** case 10.6: what the knob does; that nothing of ours sends such a message, the programs' tests show */
static void
messages_without_a_byte_get_lost_if_the_device_loses_them(void **state)
{
	static const uint8_t lost[] = {PLX_OPCODE_SEND, PLX_OPCODE_WRITE};
	struct plx_sge from;

	for (unsigned int i = 0; i < 4; i++) {
		struct plx_wr wr;

		open_both("loopback0,empty=lost,tick_us=10000");
		pair_connect(&pair);
		from = at(&pair.a, 0, i < 2 ? 0 : 1);
		wr = wr_to(&pair.b, 1, lost[i % 2], &from, 0);
		assert_int_equal(post_recv(pair.b.qp, 2, NULL, 0), 0);
		if (i == 2) { /* an immediate is something */
			from.length = 0;
			wr.opcode = PLX_OPCODE_SEND_IMM;
		}
		assert_int_equal(post_send(pair.a.qp, &wr), 0);
		expect_wc(&pair.a, 1, i < 2 ? PLX_ST_RETRY_EXC_ERR : PLX_ST_SUCCESS);
		pair_close(&pair);
	}
}

/** cases 9.6, 9.8: each side keeps to the other's limit, and what is more waits its turn */
static void
reads_in_flight_are_cut_to_both_sides(void **state)
{
	struct plx_qp_addr addr;
	struct plx_sge to;
	struct plx_wr wr;

	pair_open(&pair, "loopback0,max_rd_atomic=16", "loopback1,max_rd_atomic=4");
	pair.path.rd_atomic = 16;
	assert_int_equal(plx_qp_local_addr(pair.a.qp, &pair.path, &addr), 0);
	assert_int_equal(addr.rd_atomic, 16);
	assert_int_equal(plx_qp_local_addr(pair.b.qp, &pair.path, &addr), 0);
	assert_int_equal(addr.rd_atomic, 4);
	pair_connect(&pair);
	for (unsigned int i = 0; i < SIDE_DEPTH; i++) {
		to = at(&pair.a, i * 8, 8);
		wr = wr_to(&pair.b, i, PLX_OPCODE_READ, &to, 4096);
		assert_int_equal(post_send(pair.a.qp, &wr), 0);
		to = at(&pair.b, i * 8, 8);
		wr = wr_to(&pair.a, i, PLX_OPCODE_READ, &to, 4096);
		assert_int_equal(post_send(pair.b.qp, &wr), 0);
	}
	for (unsigned int i = 0; i < SIDE_DEPTH; i++) {
		expect_wc(&pair.a, i, PLX_ST_SUCCESS);
		expect_wc(&pair.b, i, PLX_ST_SUCCESS);
	}
	pair_close(&pair);
}

/** case 8.16: all 32 bits of a key are the device's; these have the top one */
/** Neither reads nor atomics are among its kinds, so that nobody has to learn it from a post's EINVAL. */
static void
a_device_without_reads_in_flight_has_no_reads(void **state)
{
	static const unsigned int kinds[] = {PLX_OPCODE_READ, PLX_OPCODE_CMP_SWAP, PLX_OPCODE_FETCH_ADD};
	struct plx_sge to;
	struct plx_wr wr;

	pair_open(&pair, "loopback0,max_rd_atomic=0", "loopback1");
	assert_int_equal(plx_device_caps(pair.a.dev)->kinds & PLX_KINDS_RD_ATOMIC, 0);
	assert_int_equal(plx_device_caps(pair.b.dev)->kinds & PLX_KINDS_RD_ATOMIC, PLX_KINDS_RD_ATOMIC);
	pair_connect(&pair);
	to = at(&pair.a, 0, 8);
	for (unsigned int i = 0; i < NB_OF(kinds); i++) {
		wr = wr_to(&pair.b, i, kinds[i], &to, 4096);
		assert_int_equal(post_send(pair.a.qp, &wr), -ENOTSUP);
	}
	wr = wr_to(&pair.b, 9, PLX_OPCODE_WRITE, &to, 4096);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 9, PLX_ST_SUCCESS);
	pair_close(&pair);
}

static void
rkeys_have_their_top_bit_set_and_work(void **state)
{
	struct plx_sge from;
	struct plx_wr wr;

	open_both("loopback0");
	pair_connect(&pair);
	assert_true(pair.b.mr->rkey & 0x80000000);
	from = at(&pair.a, 0, 8);
	wr = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &from, 0);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	wr.rkey &= 0x7fffffff;
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_REM_ACCESS_ERR);
	pair_close(&pair);
}

static void
only_a_loopback_device_is_raised_on_or_lost(void **state)
{
	static const struct plx_driver other = {.name = "other"};
	struct plx_device dev = {.name = "other0", .driver = &other};
	struct plx_event event = {.type = PLX_EVENT_PORT_DOWN, .port = 1};

	plx_test_refusal(plx_loopback_raise(&dev, &event), -EINVAL, "other0: it is of driver other and no loopback device");
	plx_test_refusal(plx_loopback_lose(&dev), -EINVAL, "other0: it is of driver other and no loopback device");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_rnr_timer_waits_its_time_to_the_turn),
	cmocka_unit_test(one_underrun_costs_less_than_5_ms_by_default),
	cmocka_unit_test(each_retry_waits_again),
	cmocka_unit_test(to_error_ends_an_endless_retry),
	cmocka_unit_test(a_cq_that_overflows_ends_if_the_device_is_of_that_kind),
	cmocka_unit_test(a_qp_that_is_granted_no_inline_takes_none),
	cmocka_unit_test(messages_without_a_byte_get_lost_if_the_device_loses_them),
	cmocka_unit_test(reads_in_flight_are_cut_to_both_sides),
	cmocka_unit_test(a_device_without_reads_in_flight_has_no_reads),
	cmocka_unit_test(rkeys_have_their_top_bit_set_and_work),
	cmocka_unit_test(only_a_loopback_device_is_raised_on_or_lost),
};

PLX_TEST_SUITE(loopback, knobs, tests);
