/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "pair.h"

static struct pair pair;

static int
setup(void **state)
{
	pair_open(&pair, "loopback0", "loopback1");
	pair_connect(&pair);
	return 0;
}

static int
teardown(void **state)
{
	pair_close(&pair);
	return 0;
}

static void
fill(uint8_t *mem, unsigned int n, uint8_t seed)
{
	for (unsigned int i = 0; i < n; i++)
		mem[i] = seed + i * 7;
}

static void
send_arrives_in_the_receive_and_completes_on_both_sides(void **state)
{
	struct plx_sge to = at(&pair.b, 100, 64), from = at(&pair.a, 0, 33);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);
	struct plx_wc wc;

	fill(pair.a.mem, 33, 3);
	assert_int_equal(post_recv(pair.b.qp, 2, &to, 1), 0);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	wc = next_wc(&pair.b);
	assert_int_equal(wc.status, PLX_ST_SUCCESS);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(wc.byte_len, 33);
	assert_int_equal(wc.opcode, PLX_OPCODE_RECV);
	assert_int_equal(wc.qp_num, pair.b.qp->qp_num);
	assert_memory_equal(&pair.b.mem[100], pair.a.mem, 33);
	assert_int_equal(pair.b.mem[133], 0);
	expect_no_wc(&pair.a);
	expect_no_wc(&pair.b);
}

static void
pieces_are_gathered_and_scattered_in_order(void **state)
{
	struct plx_sge from[] = {at(&pair.a, 0, 5), at(&pair.a, 50, 0), at(&pair.a, 5, 9), at(&pair.a, 14, 2)};
	struct plx_sge to[] = {at(&pair.b, 10, 3), at(&pair.b, 13, 8), at(&pair.b, 90, 0), at(&pair.b, 21, 20)};
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, from, 0);

	wr.num_sge = 4;
	fill(pair.a.mem, 16, 9);
	assert_int_equal(post_recv(pair.b.qp, 2, to, 4), 0);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	expect_wc(&pair.b, 2, PLX_ST_SUCCESS);
	assert_memory_equal(&pair.b.mem[10], pair.a.mem, 16);
}

static void
write_and_read_need_nothing_of_the_peers_thread(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 100), back = at(&pair.a, 4000, 100);
	struct plx_wr write = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &from, 1000);
	struct plx_wr read = wr_to(&pair.b, 2, PLX_OPCODE_READ, &back, 1000);
	struct plx_wc wc;

	fill(pair.a.mem, 100, 1);
	assert_int_equal(post_send(pair.a.qp, &write), 0);
	assert_memory_equal(&pair.b.mem[1000], pair.a.mem, 100);
	assert_int_equal(post_send(pair.a.qp, &read), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	wc = next_wc(&pair.a);
	assert_int_equal(wc.opcode, PLX_OPCODE_READ);
	assert_int_equal(wc.byte_len, 100);
	assert_memory_equal(&pair.a.mem[4000], pair.a.mem, 100);
	expect_no_wc(&pair.b);
}

static void
empty_messages_need_no_key(void **state)
{
	struct plx_sge none = {.lkey = 12345};
	struct plx_wr send = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &none, 0);
	struct plx_wr write = wr_to(&pair.b, 2, PLX_OPCODE_WRITE, &none, 0);
	struct plx_wr read = wr_to(&pair.b, 3, PLX_OPCODE_READ, NULL, 0);

	write.rkey = 4711;
	read.rkey = 4711;
	read.num_sge = 0;
	assert_int_equal(post_recv(pair.b.qp, 9, NULL, 0), 0);
	assert_int_equal(post_send(pair.a.qp, &send), 0);
	assert_int_equal(post_send(pair.a.qp, &write), 0);
	assert_int_equal(post_send(pair.a.qp, &read), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	expect_wc(&pair.a, 2, PLX_ST_SUCCESS);
	expect_wc(&pair.a, 3, PLX_ST_SUCCESS);
	expect_wc(&pair.b, 9, PLX_ST_SUCCESS);
}

static void
unsignaled_wrs_make_no_completion_and_hold_their_slot_until_a_later_one_is_polled(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &from, 0);

	for (int lap = 0; lap < 3; lap++) {
		wr.flags = 0;
		for (int i = 0; i < SIDE_DEPTH - 1; i++)
			assert_int_equal(post_send(pair.a.qp, &wr), 0);
		expect_no_wc(&pair.a);
		wr.flags = PLX_WR_SIGNALED;
		assert_int_equal(post_send(pair.a.qp, &wr), 0);
		assert_int_equal(post_send(pair.a.qp, &wr), -ENOMEM);
		expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
		expect_no_wc(&pair.a);
	}
}

static void
a_chain_is_taken_up_to_the_first_refusal(void **state)
{
	struct plx_sge from[5] = {at(&pair.a, 0, 8)};
	struct plx_wr good = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, from, 0);
	struct plx_wr odd = wr_to(&pair.b, 2, PLX_OPCODE_RECV, from, 0);
	struct plx_wr wide = good;
	const struct plx_wr *chain[] = {&good, &good, &odd, &good};
	int err = 0;

	wide.num_sge = 5;
	assert_int_equal(plx_qp_post_send(pair.a.qp, chain, 4, &err), 2);
	assert_int_equal(err, -ENOTSUP);
	chain[0] = &wide;
	assert_int_equal(plx_qp_post_send(pair.a.qp, chain, 4, &err), 0);
	assert_int_equal(err, -EINVAL);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	expect_no_wc(&pair.a);
}

static void
inline_payload_needs_no_key_and_has_a_limit(void **state)
{
	char text[65] = "inline";
	struct plx_sge from = {.addr = (uintptr_t)text, .length = 64};
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &from, 0);

	wr.flags |= PLX_WR_INLINE;
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	assert_string_equal((char *)pair.b.mem, "inline");
	from.length = 65;
	assert_int_equal(post_send(pair.a.qp, &wr), -EINVAL);
}

static void
a_full_receive_queue_refuses_and_has_room_again_when_one_is_consumed(void **state)
{
	struct plx_sge to = at(&pair.b, 0, 64), from = at(&pair.a, 0, 4);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_SEND, &from, 0);

	for (int i = 0; i < SIDE_DEPTH; i++)
		assert_int_equal(post_recv(pair.b.qp, i, &to, 1), 0);
	assert_int_equal(post_recv(pair.b.qp, 99, &to, 1), -ENOMEM);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	assert_int_equal(post_recv(pair.b.qp, 99, &to, 1), 0);
	expect_wc(&pair.b, 0, PLX_ST_SUCCESS);
}

static void
a_qp_can_be_connected_to_itself(void **state)
{
	struct side self;
	struct plx_sge to, from;
	struct plx_wr wr;

	side_open(&self, "loopback2", 8, PLX_ACCESS_ALL);
	side_connect(&self, &self, &pair.path);
	to = at(&self, 0, 16);
	from = at(&self, 100, 16);
	wr = wr_to(&self, 1, PLX_OPCODE_SEND, &from, 0);
	strcpy((char *)&self.mem[100], "to myself");
	assert_int_equal(post_recv(self.qp, 2, &to, 1), 0);
	assert_int_equal(post_recv(self.qp, 3, &to, 1), 0);
	assert_int_equal(post_send(self.qp, &wr), 0);
	expect_wc(&self, 2, PLX_ST_SUCCESS);
	expect_wc(&self, 1, PLX_ST_SUCCESS);
	assert_string_equal((char *)self.mem, "to myself");
	assert_int_equal(plx_qp_to_error(self.qp), 0);
	expect_wc(&self, 3, PLX_ST_WR_FLUSH_ERR);
	side_close(&self);
}

static void
a_cq_that_overflows_drops_and_keeps_what_it_has(void **state)
{
	struct side c, d;
	struct plx_sge from;
	struct plx_wr wr;

	side_open(&c, "loopback0,max_cqe=4", 4, PLX_ACCESS_ALL);
	side_open(&d, "loopback1", 4, PLX_ACCESS_ALL);
	side_connect(&c, &d, &pair.path);
	side_connect(&d, &c, &pair.path);
	from = at(&c, 0, 4);
	for (int i = 0; i < 6; i++) { /* both rings: own sends, and what comes from d */
		struct side *by = i & 1 ? &c : &d;
		struct side *to = i & 1 ? &d : &c;

		from = at(to, 0, 4);
		assert_int_equal(post_recv(to->qp, 10 + i, &from, 1), 0);
		from = at(by, 0, 4);
		wr = wr_to(to, i, PLX_OPCODE_SEND, &from, 0);
		assert_int_equal(post_send(by->qp, &wr), 0);
	}
	for (int i = 0; i < 4; i++)
		next_wc(&c);
	expect_no_wc(&c);
	side_close(&c);
	side_close(&d);
}

static void
traffic_before_bring_up_is_refused(void **state)
{
	struct side c;
	struct plx_sge from;
	struct plx_wr wr;

	side_open(&c, "loopback0", 4, PLX_ACCESS_ALL);
	from = at(&c, 0, 4);
	wr = wr_to(&c, 1, PLX_OPCODE_SEND, &from, 0);
	assert_int_equal(plx_qp_query_state(c.qp), PLX_QP_INIT);
	assert_int_equal(post_send(c.qp, &wr), -EINVAL);
	assert_int_equal(post_recv(c.qp, 2, &from, 1), 0);
	assert_int_equal(plx_qp_to_error(c.qp), 0);
	expect_wc(&c, 2, PLX_ST_WR_FLUSH_ERR);
	side_close(&c);
}

static void
bring_up_happens_once(void **state)
{
	struct plx_qp_addr addr;

	assert_int_equal(plx_qp_local_addr(pair.b.qp, &pair.path, &addr), 0);
	assert_int_equal(plx_qp_bring_up(pair.a.qp, &pair.path, &addr), -EISCONN);
	assert_int_equal(plx_qp_query_state(pair.a.qp), PLX_QP_RTS);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
	T(send_arrives_in_the_receive_and_completes_on_both_sides),
	T(pieces_are_gathered_and_scattered_in_order),
	T(write_and_read_need_nothing_of_the_peers_thread),
	T(empty_messages_need_no_key),
	T(unsignaled_wrs_make_no_completion_and_hold_their_slot_until_a_later_one_is_polled),
	T(a_chain_is_taken_up_to_the_first_refusal),
	T(inline_payload_needs_no_key_and_has_a_limit),
	T(a_full_receive_queue_refuses_and_has_room_again_when_one_is_consumed),
	T(a_qp_can_be_connected_to_itself),
	T(a_cq_that_overflows_drops_and_keeps_what_it_has),
	T(traffic_before_bring_up_is_refused),
	T(bring_up_happens_once),
};

PLX_TEST_SUITE(loopback, transfer, tests);
