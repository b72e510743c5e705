/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Receiver not ready: the sender tries again, as often as it was told.
 */

#include "contract_pair.h"

static void
send_8(struct pair *pair, uint64_t wr_id, unsigned int seed)
{
	struct plx_sge sge = side_sge(&pair->a, wr_id * 8, 8);
	struct plx_wr wr = wr_of(wr_id, PLX_OPCODE_SEND, &sge, 1);

	fill(pair->a.buf + wr_id * 8, 8, seed);
	post_send(&pair->a, &wr);
}

/** A pair that retries @p rnr_retry times, 0.64 ms apart. */
static void
pair_of_rnr(struct pair *pair, uint8_t rnr_retry)
{
	struct pair_conf conf = pair_conf();

	conf.path.rnr_retry = rnr_retry;
	conf.path.min_rnr_timer = 12;
	pair_make(pair, contract.dev, &conf);
}

static void
finite_retries_without_a_receive_end_in_an_error(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	needs_flag(PLX_CAP_RNR);
	pair_of_rnr(pair, 2);
	send_8(pair, 1, 1);
	send_8(pair, 2, 2);
	wait_wc(pair->a.cq, 1, PLX_ST_RNR_RETRY_EXC_ERR);
	wait_wc(pair->a.cq, 2, PLX_ST_WR_FLUSH_ERR);
	expect_empty(pair->a.cq);
	expect_empty(pair->b.cq);
}

static void
no_retries_end_in_an_error_at_once(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	needs_flag(PLX_CAP_RNR);
	pair_of_rnr(pair, 0);
	send_8(pair, 1, 1);
	wait_wc(pair->a.cq, 1, PLX_ST_RNR_RETRY_EXC_ERR);
}

static void
write_with_immediate_also_needs_a_receive(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	needs_flag(PLX_CAP_RNR);
	needs_kind(PLX_OPCODE_WRITE_IMM);
	pair_of_rnr(pair, 1);
	sge = side_sge(&pair->a, 0, 8);
	wr = wr_remote(1, PLX_OPCODE_WRITE_IMM, &sge, 1, &pair->b, 0);
	post_send(&pair->a, &wr);
	wait_wc(pair->a.cq, 1, PLX_ST_RNR_RETRY_EXC_ERR);
}

static void
write_needs_no_receive(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	pair_of_rnr(pair, 0);
	sge = side_sge(&pair->a, 0, 8);
	wr = wr_remote(1, PLX_OPCODE_WRITE, &sge, 1, &pair->b, 0);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 1);
}

/** rnr_retry 7 is for ever: the sends wait for as long as nobody posts, then arrive in order. */
static void
late_receives_are_waited_for_and_order_holds(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	needs_flag(PLX_CAP_RNR);
	pair_of_rnr(pair, 7);
	for (unsigned int i = 0; i < 4; i++)
		send_8(pair, i, i);
	expect_empty(pair->a.cq);
	expect_empty(pair->b.cq);
	for (unsigned int i = 0; i < 4; i++)
		post_recv_at(&pair->b, 10 + i, 1000 + i * 8, 8);
	for (unsigned int i = 0; i < 4; i++) {
		wait_ok(pair->a.cq, i);
		wait_ok(pair->b.cq, 10 + i);
		expect_filled(pair->b.buf + 1000 + i * 8, 8, i);
	}
}

const struct CMUnitTest rnr_tests[] = {
	pair_test_empty(finite_retries_without_a_receive_end_in_an_error),
	pair_test_empty(no_retries_end_in_an_error_at_once),
	pair_test_empty(write_with_immediate_also_needs_a_receive),
	pair_test_empty(write_needs_no_receive),
	pair_test_empty(late_receives_are_waited_for_and_order_holds),
};
const size_t nb_rnr_tests = NB_OF(rnr_tests);
