/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Order, and who hears of what: completions follow the posts, data is there when its news is.
 */

#include "contract_pair.h"

static struct plx_wr
small_write(const struct pair *pair, uint64_t wr_id, const struct plx_sge *sge, size_t at)
{
	return wr_remote(wr_id, PLX_OPCODE_WRITE, sge, 1, &pair->b, at);
}

/** The write is visible when the receive of the send behind it completes (IBA 9.5, o9-20). */
static void
write_is_there_when_the_send_behind_it_arrives(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	for (unsigned int round = 0; round < 50; round++) {
		struct plx_sge data = side_sge(&pair->a, 0, 10000), note = side_sge(&pair->a, 0, 8);
		struct plx_wr write = small_write(pair, 1, &data, 4);
		struct plx_wr send = wr_of(2, PLX_OPCODE_SEND, &note, 1);
		const struct plx_wr *chain[] = {&write, &send};
		int err = 0;

		fill(pair->a.buf, 10000, round);
		post_recv_at(&pair->b, 3, 100000, 8);
		assert_int_equal(plx_qp_post_send(pair->a.qp, chain, 2, &err), 2);
		wait_ok(pair->b.cq, 3);
		expect_filled(pair->b.buf + 4, 10000, round);
		wait_ok(pair->a.cq, 1);
		wait_ok(pair->a.cq, 2);
	}
}

static void
completions_follow_the_posts(void **state)
{
	struct pair *pair = *state;
	const unsigned int kinds[] = {PLX_OPCODE_WRITE, PLX_OPCODE_READ, PLX_OPCODE_SEND, PLX_OPCODE_READ,
		PLX_OPCODE_WRITE};

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	needs_kind(PLX_OPCODE_READ);
	for (unsigned int i = 0; i < 30; i++)
		post_recv_at(&pair->b, 100 + i, 200000 + i * 64, 64);
	for (unsigned int i = 0; i < 30; i++) {
		struct plx_sge sge = side_sge(&pair->a, i * 64, 64);
		struct plx_wr wr = wr_remote(i, kinds[i % NB_OF(kinds)], &sge, 1, &pair->b, i * 64);

		post_send(&pair->a, &wr);
	}
	for (unsigned int i = 0; i < 30; i++)
		wait_ok(pair->a.cq, i);
	for (unsigned int i = 0; i < 30 / NB_OF(kinds); i++)
		wait_ok(pair->b.cq, 100 + i);
}

static void
messages_arrive_in_order(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	for (unsigned int i = 0; i < 40; i++)
		post_recv_at(&pair->b, i, i * 1000, 1000);
	for (unsigned int i = 0; i < 40; i++) {
		struct plx_sge sge = side_sge(&pair->a, i * 1000, 1 + i * 25);
		struct plx_wr wr = wr_of(i, PLX_OPCODE_SEND, &sge, 1);

		fill(pair->a.buf + i * 1000, 1 + i * 25, i);
		post_send(&pair->a, &wr);
	}
	for (unsigned int i = 0; i < 40; i++) {
		wait_ok(pair->a.cq, i);
		assert_int_equal(wait_ok(pair->b.cq, i).byte_len, 1 + i * 25);
		expect_filled(pair->b.buf + i * 1000, 1 + i * 25, i);
	}
}

/** A burst of more than one chain, and several completions at one poll. */
static void
burst_longer_than_a_chain_is_posted_whole(void **state)
{
	struct pair *pair = *state;
	const struct plx_wr *ptrs[PLX_POST_BURST + 9];
	struct plx_wr wrs[NB_OF(ptrs)];
	struct plx_wc wcs[NB_OF(ptrs)];
	int err = 0;

	needs_connection();
	for (unsigned int i = 0; i < NB_OF(ptrs); i++) {
		wrs[i] = wr_of(i, PLX_OPCODE_RECV, NULL, 0);
		ptrs[i] = &wrs[i];
	}
	assert_int_equal(plx_qp_post_recv(pair->b.qp, ptrs, NB_OF(ptrs), &err), NB_OF(ptrs));
	for (unsigned int i = 0; i < NB_OF(ptrs); i++)
		wrs[i] = wr_of(i, PLX_OPCODE_SEND, NULL, 0);
	assert_int_equal(plx_qp_post_send(pair->a.qp, ptrs, NB_OF(ptrs), &err), NB_OF(ptrs));
	wait_wcs(pair->a.cq, wcs, NB_OF(ptrs));
	for (unsigned int i = 0; i < NB_OF(ptrs); i++)
		assert_true(wcs[i].wr_id == i && wcs[i].status == PLX_ST_SUCCESS);
	wait_wcs(pair->b.cq, wcs, NB_OF(ptrs));
	for (unsigned int i = 0; i < NB_OF(ptrs); i++)
		assert_true(wcs[i].wr_id == i && wcs[i].status == PLX_ST_SUCCESS);
}

static void
unsignaled_success_is_not_told(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	for (unsigned int i = 0; i < 10; i++) {
		struct plx_sge sge = side_sge(&pair->a, i, 1);
		struct plx_wr wr = small_write(pair, i, &sge, i);

		pair->a.buf[i] = i + 1;
		if (i != 9)
			wr.flags = 0;
		post_send(&pair->a, &wr);
	}
	wait_ok(pair->a.cq, 9); /* the first to be heard of */
	expect_empty(pair->a.cq);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(pair->b.buf[i], i + 1);
}

/** A receive completes whether or not it asks to. */
static void
receive_is_told_without_the_flag(void **state)
{
	struct pair *pair = *state;
	struct plx_wr wr = wr_of(1, PLX_OPCODE_RECV, NULL, 0);

	needs_connection();
	wr.flags = 0;
	post_recv(&pair->b, &wr);
	wr = wr_of(2, PLX_OPCODE_SEND, NULL, 0);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 2);
	wait_ok(pair->b.cq, 1);
}

/** The fenced send carries what the read in front of it has fetched (IBA 10.8.3.3). */
static void
fenced_send_waits_for_the_read_before_it(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	needs_flag(PLX_CAP_FENCE);
	needs_kind(PLX_OPCODE_READ);
	for (unsigned int round = 0; round < 20; round++) {
		struct plx_sge sge = side_sge(&pair->a, 0, 5000);
		struct plx_wr read = wr_remote(1, PLX_OPCODE_READ, &sge, 1, &pair->b, 0);
		struct plx_wr send = wr_of(2, PLX_OPCODE_SEND, &sge, 1);
		const struct plx_wr *chain[] = {&read, &send};
		int err = 0;

		send.flags |= PLX_WR_FENCE;
		fill(pair->b.buf, 5000, round);
		post_recv_at(&pair->b, 3, 100000, 5000);
		assert_int_equal(plx_qp_post_send(pair->a.qp, chain, 2, &err), 2);
		wait_ok(pair->a.cq, 1);
		wait_ok(pair->a.cq, 2);
		wait_ok(pair->b.cq, 3);
		expect_filled(pair->b.buf + 100000, 5000, round);
	}
}

/** A read may be fenced too (contract 4.7). */
static void
fenced_read_follows_the_read_before_it(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	needs_flag(PLX_CAP_FENCE);
	needs_kind(PLX_OPCODE_READ);
	fill(pair->b.buf, 100, 1);
	sge = side_sge(&pair->a, 0, 100);
	wr = wr_remote(1, PLX_OPCODE_READ, &sge, 1, &pair->b, 0);
	post_send(&pair->a, &wr);
	wr.wr_id = 2;
	wr.flags |= PLX_WR_FENCE;
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 1);
	wait_ok(pair->a.cq, 2);
	expect_filled(pair->a.buf, 100, 1);
}

static void
solicited_send_arrives(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	needs_flag(PLX_CAP_SOLICITED);
	sge = side_sge(&pair->a, 0, 10);
	wr = wr_of(1, PLX_OPCODE_SEND, &sge, 1);
	wr.flags |= PLX_WR_SOLICITED;
	post_recv_at(&pair->b, 2, 0, 10);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 1);
	wait_ok(pair->b.cq, 2);
}

const struct CMUnitTest order_tests[] = {
	pair_test(write_is_there_when_the_send_behind_it_arrives),
	pair_test(completions_follow_the_posts),
	pair_test(messages_arrive_in_order),
	pair_test(burst_longer_than_a_chain_is_posted_whole),
	pair_test(unsignaled_success_is_not_told),
	pair_test(receive_is_told_without_the_flag),
	pair_test(fenced_send_waits_for_the_read_before_it),
	pair_test(fenced_read_follows_the_read_before_it),
	pair_test(solicited_send_arrives),
};
const size_t nb_order_tests = NB_OF(order_tests);
