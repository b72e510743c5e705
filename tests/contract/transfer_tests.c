/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Send, write and read move exactly the bytes that were asked for, in every size and split.
 */

#include "contract_pair.h"

#include <string.h>

#include <rte_common.h>

#define GUARD 64    /* bytes looked at on either side of a target */
#define AT    1003  /* an odd place in the buffer */
#define SPOT  0xee  /* what is there before */

/** The sizes to try: around a cache line, around the MTU, and one of many packets. */
static unsigned int
sizes_fill(uint32_t *sizes)
{
	const uint32_t fixed[] = {0, 1, 63, 64, 65};
	struct plx_port_attr port;
	unsigned int n = NB_OF(fixed);

	assert_int_equal(plx_port_query(contract.dev, plx_port_default(contract.dev), &port), 0);
	memcpy(sizes, fixed, sizeof(fixed));
	sizes[n++] = port.mtu - 1;
	sizes[n++] = port.mtu;
	sizes[n++] = port.mtu + 1;
	sizes[n++] = 1u << 20;
	return n;
}
#define NB_SIZES 9

/** @p buf holds the message at AT and what was there before around it. */
static void
expect_arrived(const uint8_t *buf, uint32_t len, unsigned int seed)
{
	expect_all(buf + AT - GUARD, GUARD, SPOT);
	expect_filled(buf + AT, len, seed);
	expect_all(buf + AT + len, GUARD, SPOT);
}

static void
spot(uint8_t *buf, uint32_t len)
{
	memset(buf + AT - GUARD, SPOT, len + 2 * GUARD);
}

static void
sends_of_all_sizes_arrive(void **state)
{
	struct pair *pair = *state;
	uint32_t sizes[NB_SIZES];
	struct plx_wc wc;

	needs_connection();
	for (unsigned int i = 0; i < sizes_fill(sizes); i++) {
		struct plx_sge sge = side_sge(&pair->a, 0, sizes[i]);
		struct plx_wr wr = wr_of(i, PLX_OPCODE_SEND, &sge, sizes[i] > 0);

		fill(pair->a.buf, sizes[i], i);
		spot(pair->b.buf, sizes[i]);
		post_recv_at(&pair->b, 100 + i, AT, sizes[i] + GUARD); /* room that stays untouched */
		post_send(&pair->a, &wr);
		wc = wait_ok(pair->a.cq, i);
		assert_int_equal(wc.qp_num, pair->a.qp->qp_num);
		assert_int_equal(wc.opcode, PLX_OPCODE_SEND);
		assert_int_equal(wc.byte_len, 0); /* nothing came */
		wc = wait_ok(pair->b.cq, 100 + i);
		assert_int_equal(wc.qp_num, pair->b.qp->qp_num);
		assert_int_equal(wc.opcode, PLX_OPCODE_RECV);
		assert_int_equal(wc.byte_len, sizes[i]);
		assert_int_equal(wc.flags, 0);
		expect_arrived(pair->b.buf, sizes[i], i);
	}
}

static void
message_may_fill_its_receive_exactly(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	sge = side_sge(&pair->a, 0, 5000);
	wr = wr_of(1, PLX_OPCODE_SEND, &sge, 1);
	fill(pair->a.buf, 5000, 9);
	spot(pair->b.buf, 5000);
	post_recv_at(&pair->b, 2, AT, 5000);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 1);
	assert_int_equal(wait_ok(pair->b.cq, 2).byte_len, 5000);
	expect_arrived(pair->b.buf, 5000, 9);
}

static void
writes_of_all_sizes_arrive(void **state)
{
	struct pair *pair = *state;
	uint32_t sizes[NB_SIZES];

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	for (unsigned int i = 0; i < sizes_fill(sizes); i++) {
		struct plx_sge sge = side_sge(&pair->a, 0, sizes[i]);
		struct plx_wr wr = wr_remote(i, PLX_OPCODE_WRITE, &sge, sizes[i] > 0, &pair->b, AT);
		struct plx_wc wc;

		fill(pair->a.buf, sizes[i], i);
		spot(pair->b.buf, sizes[i]);
		post_send(&pair->a, &wr);
		wc = wait_ok(pair->a.cq, i);
		assert_int_equal(wc.opcode, PLX_OPCODE_WRITE);
		assert_int_equal(wc.byte_len, 0);
		expect_arrived(pair->b.buf, sizes[i], i);
	}
	expect_empty(pair->b.cq); /* a write is no news to its target */
}

static void
reads_of_all_sizes_arrive(void **state)
{
	struct pair *pair = *state;
	uint32_t sizes[NB_SIZES];

	needs_connection();
	needs_kind(PLX_OPCODE_READ);
	for (unsigned int i = 0; i < sizes_fill(sizes); i++) {
		struct plx_sge sge = side_sge(&pair->a, AT, sizes[i]);
		struct plx_wr wr = wr_remote(i, PLX_OPCODE_READ, &sge, sizes[i] > 0, &pair->b, 5);
		struct plx_wc wc;

		fill(pair->b.buf + 5, sizes[i], i);
		spot(pair->a.buf, sizes[i]);
		post_send(&pair->a, &wr);
		wc = wait_ok(pair->a.cq, i);
		assert_int_equal(wc.opcode, PLX_OPCODE_READ);
		assert_int_equal(wc.byte_len, sizes[i]);
		expect_arrived(pair->a.buf, sizes[i], i);
	}
	expect_empty(pair->b.cq);
}

/** case 10.12 */
static void
send_brings_its_immediate_in_host_order(void **state)
{
	struct pair *pair = *state;
	const uint32_t lens[] = {0, 1, 5000};
	struct plx_wc wc;

	needs_connection();
	needs_kind(PLX_OPCODE_SEND_IMM);
	for (unsigned int i = 0; i < NB_OF(lens); i++) {
		struct plx_sge sge = side_sge(&pair->a, 0, lens[i]);
		struct plx_wr wr = wr_of(i, PLX_OPCODE_SEND_IMM, &sge, lens[i] > 0);

		wr.imm = 0x01020304 + i;
		fill(pair->a.buf, lens[i], i);
		post_recv_at(&pair->b, 10 + i, 0, 8192);
		post_send(&pair->a, &wr);
		wait_ok(pair->a.cq, i);
		wc = wait_ok(pair->b.cq, 10 + i);
		assert_int_equal(wc.opcode, PLX_OPCODE_RECV);
		assert_int_equal(wc.flags, PLX_WC_WITH_IMM);
		assert_int_equal(wc.imm, 0x01020304 + i);
		assert_int_equal(wc.byte_len, lens[i]);
		expect_filled(pair->b.buf, lens[i], i);
	}
}

/** The data goes to the target, the receive is only consumed; its memory is not touched. */
static void
write_with_immediate_consumes_a_receive(void **state)
{
	struct pair *pair = *state;
	const uint32_t lens[] = {0, 1, 5000};
	struct plx_wc wc;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE_IMM);
	for (unsigned int i = 0; i < NB_OF(lens); i++) {
		struct plx_sge sge = side_sge(&pair->a, 0, lens[i]);
		struct plx_wr wr =
			wr_remote(i, PLX_OPCODE_WRITE_IMM, &sge, lens[i] > 0, &pair->b, 100000 + AT);
		struct plx_wr empty = wr_of(10 + i, PLX_OPCODE_RECV, NULL, 0);

		wr.imm = 0xfedcba98 - i;
		fill(pair->a.buf, lens[i], i);
		spot(pair->b.buf + 100000, lens[i]);
		memset(pair->b.buf, SPOT, 100);
		if (i == 0)
			post_recv(&pair->b, &empty);
		else
			post_recv_at(&pair->b, 10 + i, 0, 100); /* shorter than the data, which is no matter */
		post_send(&pair->a, &wr);
		wait_ok(pair->a.cq, i);
		wc = wait_ok(pair->b.cq, 10 + i);
		assert_int_equal(wc.opcode, PLX_OPCODE_RECV_WRITE_IMM);
		assert_int_equal(wc.flags, PLX_WC_WITH_IMM);
		assert_int_equal(wc.imm, 0xfedcba98 - i);
		assert_int_equal(wc.byte_len, lens[i]);
		expect_arrived(pair->b.buf + 100000, lens[i], i);
		expect_all(pair->b.buf, 100, SPOT);
	}
}

/* ---- lists --------------------------------------------------------------------------------- */

#define LIST_MAX 64

/**
 * Split @p len bytes from offset @p at of the buffer into @p n uneven pieces with holes of 3 bytes between.
 * Returns how far the list reaches.
 */
static size_t
list_split(struct plx_sge *sges, unsigned int n, const struct side *side, size_t at, uint32_t len)
{
	uint32_t left = len;

	for (unsigned int i = 0; i < n; i++) {
		uint32_t part = i == n - 1 ? left : RTE_MIN(left, len / n + (i % 5) - 2);

		sges[i] = side_sge(side, at, part);
		at += part + 3;
		left -= part;
	}
	return at;
}

static void
list_fill(const struct plx_sge *sges, unsigned int n, const uint8_t *bytes)
{
	for (unsigned int i = 0; i < n; i++) {
		memcpy((void *)(uintptr_t)sges[i].addr, bytes, sges[i].length);
		bytes += sges[i].length;
	}
}

static void
list_expect(const struct plx_sge *sges, unsigned int n, const uint8_t *bytes)
{
	for (unsigned int i = 0; i < n; i++) {
		assert_memory_equal((void *)(uintptr_t)sges[i].addr, bytes, sges[i].length);
		expect_all((uint8_t *)(uintptr_t)sges[i].addr + sges[i].length, 3, SPOT); /* the hole */
		bytes += sges[i].length;
	}
}

/** A pair whose QPs have lists as long as the device allows. */
static unsigned int
pair_of_long_lists(struct pair *pair)
{
	struct pair_conf conf = pair_conf();
	uint32_t n = RTE_MIN(contract_caps()->max_sge, (uint32_t)LIST_MAX);

	conf.cap = (struct plx_qp_cap){16, 16, n, n, 0};
	pair_make(pair, contract.dev, &conf);
	return n;
}

#define LIST_LEN 9001

static void
longest_list_gathers_and_scatters_a_send(void **state)
{
	struct pair *pair = *state;
	struct plx_sge from[LIST_MAX], to[LIST_MAX];
	uint8_t bytes[LIST_LEN];
	struct plx_wr wr;
	unsigned int n;

	needs_connection();
	n = pair_of_long_lists(pair);
	fill(bytes, LIST_LEN, 3);
	memset(pair->b.buf, SPOT, 20000);
	list_split(from, n, &pair->a, 1, LIST_LEN);
	list_split(to, n > 1 ? n - 1 : n, &pair->b, 2, LIST_LEN); /* cut elsewhere than the source */
	list_fill(from, n, bytes);
	wr = wr_of(1, PLX_OPCODE_RECV, to, n > 1 ? n - 1 : n);
	post_recv(&pair->b, &wr);
	wr = wr_of(2, PLX_OPCODE_SEND, from, n);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 2);
	assert_int_equal(wait_ok(pair->b.cq, 1).byte_len, LIST_LEN);
	list_expect(to, n > 1 ? n - 1 : n, bytes);
}

static void
longest_list_is_filled_by_a_receive(void **state)
{
	struct pair *pair = *state;
	struct plx_sge to[LIST_MAX], from;
	uint8_t bytes[LIST_LEN];
	struct plx_wr wr;
	unsigned int n;

	needs_connection();
	n = pair_of_long_lists(pair);
	fill(bytes, LIST_LEN, 4);
	memset(pair->b.buf, SPOT, 20000);
	list_split(to, n, &pair->b, 2, LIST_LEN);
	memcpy(pair->a.buf, bytes, LIST_LEN);
	wr = wr_of(1, PLX_OPCODE_RECV, to, n);
	post_recv(&pair->b, &wr);
	from = side_sge(&pair->a, 0, LIST_LEN);
	wr = wr_of(2, PLX_OPCODE_SEND, &from, 1);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 2);
	assert_int_equal(wait_ok(pair->b.cq, 1).byte_len, LIST_LEN);
	list_expect(to, n, bytes);
}

static void
longest_list_gathers_a_write(void **state)
{
	struct pair *pair = *state;
	struct plx_sge from[LIST_MAX];
	uint8_t bytes[LIST_LEN];
	struct plx_wr wr;
	unsigned int n;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	n = pair_of_long_lists(pair);
	fill(bytes, LIST_LEN, 5);
	list_split(from, n, &pair->a, 1, LIST_LEN);
	list_fill(from, n, bytes);
	wr = wr_remote(1, PLX_OPCODE_WRITE, from, n, &pair->b, AT);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 1);
	assert_memory_equal(pair->b.buf + AT, bytes, LIST_LEN);
}

static void
longest_list_scatters_a_read(void **state)
{
	struct pair *pair = *state;
	struct plx_sge to[LIST_MAX];
	uint8_t bytes[LIST_LEN];
	struct plx_wr wr;
	unsigned int n;

	needs_connection();
	needs_kind(PLX_OPCODE_READ);
	n = RTE_MIN(pair_of_long_lists(pair), contract_caps()->max_sge_rd);
	fill(bytes, LIST_LEN, 6);
	memcpy(pair->b.buf + AT, bytes, LIST_LEN);
	memset(pair->a.buf, SPOT, 20000);
	list_split(to, n, &pair->a, 1, LIST_LEN);
	wr = wr_remote(1, PLX_OPCODE_READ, to, n, &pair->b, AT);
	post_send(&pair->a, &wr);
	assert_int_equal(wait_ok(pair->a.cq, 1).byte_len, LIST_LEN);
	list_expect(to, n, bytes);
}

/** The SGE array may go when the post returns (contract 4.8). */
static void
list_may_change_once_it_is_posted(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sges[2];
	struct plx_wr wr;

	needs_connection();
	fill(pair->a.buf, 4000, 7);
	sges[0] = side_sge(&pair->b, AT, 2000);
	sges[1] = side_sge(&pair->b, AT + 2000, 2000);
	wr = wr_of(1, PLX_OPCODE_RECV, sges, 2);
	post_recv(&pair->b, &wr);
	memset(sges, 0xff, sizeof(sges));
	sges[0] = side_sge(&pair->a, 0, 4000);
	wr = wr_of(2, PLX_OPCODE_SEND, sges, 1);
	post_send(&pair->a, &wr);
	memset(sges, 0xff, sizeof(sges));
	memset(&wr, 0xff, sizeof(wr));
	wait_ok(pair->a.cq, 2);
	wait_ok(pair->b.cq, 1);
	expect_filled(pair->b.buf + AT, 4000, 7);
}

/** Both sides at once: neither's progress depends on whose turn it is. */
static void
both_directions_carry_data_at_once(void **state)
{
	struct pair *pair = *state;
	struct plx_sge a, b;
	struct plx_wr wr;

	needs_connection();
	fill(pair->a.buf, 3000, 1);
	fill(pair->b.buf, 3000, 2);
	post_recv_at(&pair->a, 1, 10000, 3000);
	post_recv_at(&pair->b, 2, 10000, 3000);
	a = side_sge(&pair->a, 0, 3000);
	b = side_sge(&pair->b, 0, 3000);
	wr = wr_of(3, PLX_OPCODE_SEND, &a, 1);
	post_send(&pair->a, &wr);
	wr = wr_of(4, PLX_OPCODE_SEND, &b, 1);
	post_send(&pair->b, &wr);
	for (int i = 0; i < 2; i++) { /* its own send and its receive come in either order */
		struct plx_wc wc;

		wait_wcs(pair->a.cq, &wc, 1);
		assert_true(wc.status == PLX_ST_SUCCESS && (wc.wr_id == 1 || wc.wr_id == 3));
		wait_wcs(pair->b.cq, &wc, 1);
		assert_true(wc.status == PLX_ST_SUCCESS && (wc.wr_id == 2 || wc.wr_id == 4));
	}
	expect_filled(pair->a.buf + 10000, 3000, 2);
	expect_filled(pair->b.buf + 10000, 3000, 1);
}

const struct CMUnitTest transfer_tests[] = {
	pair_test(sends_of_all_sizes_arrive),
	pair_test(message_may_fill_its_receive_exactly),
	pair_test(writes_of_all_sizes_arrive),
	pair_test(reads_of_all_sizes_arrive),
	pair_test(send_brings_its_immediate_in_host_order),
	pair_test(write_with_immediate_consumes_a_receive),
	pair_test_empty(longest_list_gathers_and_scatters_a_send),
	pair_test_empty(longest_list_is_filled_by_a_receive),
	pair_test_empty(longest_list_gathers_a_write),
	pair_test_empty(longest_list_scatters_a_read),
	pair_test(list_may_change_once_it_is_posted),
	pair_test(both_directions_carry_data_at_once),
};
const size_t nb_transfer_tests = NB_OF(transfer_tests);
