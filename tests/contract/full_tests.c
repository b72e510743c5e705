/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Queues that are full, chains that break off, a CQ that overflows: what was taken is told exactly.
 */

#include "contract_pair.h"

#include <errno.h>

#define DEPTH 16
/** More than any provider makes of DEPTH by rounding up, and still one chain: nothing of it runs meanwhile. */
#define MANY PLX_POST_BURST

struct burst {
	struct plx_wr wrs[MANY];
	const struct plx_wr *ptrs[MANY];
};

static void
burst_make(struct burst *burst, const struct plx_wr *like)
{
	for (unsigned int i = 0; i < MANY; i++) {
		burst->wrs[i] = *like;
		burst->wrs[i].wr_id = i;
		burst->ptrs[i] = &burst->wrs[i];
	}
}

static void
pair_of_depth(struct pair *pair, uint32_t depth)
{
	struct pair_conf conf = pair_conf();

	conf.cap.send_depth = depth;
	conf.cap.recv_depth = depth;
	pair_make(pair, contract.dev, &conf);
}

/** case 1.10: full is -ENOMEM, and the count is exact */
static void
full_send_queue_takes_what_fits(void **state)
{
	struct pair *pair = *state;
	struct burst burst;
	struct plx_sge sge;
	struct plx_wr wr;
	uint16_t taken;
	int err = 0;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	pair_of_depth(pair, DEPTH);
	sge = side_sge(&pair->a, 0, 1);
	wr = wr_remote(0, PLX_OPCODE_WRITE, &sge, 1, &pair->b, 0);
	burst_make(&burst, &wr);
	taken = plx_qp_post_send(pair->a.qp, burst.ptrs, MANY, &err);
	assert_in_range(taken, pair->a.qp->cap.send_depth, MANY - 1);
	assert_int_equal(err, -ENOMEM);
	for (unsigned int i = 0; i < taken; i++)
		wait_ok(pair->a.cq, i);
	expect_empty(pair->a.cq);
	/* Completions give the room back. */
	for (unsigned int i = 0; i < pair->a.qp->cap.send_depth; i++)
		post_send(&pair->a, &burst.wrs[i]);
	for (unsigned int i = 0; i < pair->a.qp->cap.send_depth; i++)
		wait_ok(pair->a.cq, i);
}

static void
full_receive_queue_takes_what_fits(void **state)
{
	struct pair *pair = *state;
	struct burst burst;
	struct plx_wr wr = wr_of(0, PLX_OPCODE_RECV, NULL, 0);
	uint16_t taken;
	int err = 0;

	needs_connection();
	pair_of_depth(pair, DEPTH);
	burst_make(&burst, &wr);
	taken = plx_qp_post_recv(pair->b.qp, burst.ptrs, MANY, &err);
	assert_in_range(taken, pair->b.qp->cap.recv_depth, MANY - 1);
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(plx_qp_to_error(pair->b.qp), 0);
	for (unsigned int i = 0; i < taken; i++)
		wait_wc(pair->b.cq, i, PLX_ST_WR_FLUSH_ERR);
	expect_empty(pair->b.cq);
}

/** case 4.2: a queue of unsignaled WRs is freed by the signaled ones among them */
static void
signaled_completions_free_the_unsignaled_before_them(void **state)
{
	struct pair *pair = *state;
	unsigned int depth;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	pair_of_depth(pair, DEPTH);
	depth = pair->a.qp->cap.send_depth;
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < depth; i++) {
			struct plx_sge sge = side_sge(&pair->a, 0, 1);
			struct plx_wr wr = wr_remote(i, PLX_OPCODE_WRITE, &sge, 1, &pair->b, 0);

			if (i != depth - 1)
				wr.flags = 0;
			post_send(&pair->a, &wr);
		}
		wait_ok(pair->a.cq, depth - 1);
	}
	expect_empty(pair->a.cq);
}

/* ---- chains that break off ----------------------------------------------------------------- */

#define CHAIN 9
#define BAD   5

/** Post a chain whose WR number BAD is @p bad: the ones in front of it are taken and complete. */
static void
expect_chain_breaks(struct pair *pair, const struct plx_wr *bad, int want_err)
{
	const struct plx_wr *ptrs[CHAIN];
	struct plx_wr wrs[CHAIN];
	struct plx_sge sge = side_sge(&pair->a, 0, 1);
	int err = 0;

	for (unsigned int i = 0; i < CHAIN; i++) {
		wrs[i] = wr_remote(i, PLX_OPCODE_WRITE, &sge, 1, &pair->b, i);
		ptrs[i] = &wrs[i];
	}
	ptrs[BAD] = bad;
	assert_int_equal(plx_qp_post_send(pair->a.qp, ptrs, CHAIN, &err), BAD);
	if (want_err != 0)
		assert_int_equal(err, want_err);
	assert_true(err < 0);
	for (unsigned int i = 0; i < BAD; i++)
		wait_ok(pair->a.cq, i);
	expect_empty(pair->a.cq);
	post_send(&pair->a, &wrs[CHAIN - 1]); /* and the queue works on */
	wait_ok(pair->a.cq, CHAIN - 1);
}

/** case 2.13 */
static void
chain_breaks_off_at_a_list_that_is_too_long(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sges[64];
	struct plx_wr bad;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	plx_test_needs(pair->a.qp->cap.send_sge < NB_OF(sges), "lists shorter than the test's");
	for (unsigned int i = 0; i < NB_OF(sges); i++)
		sges[i] = side_sge(&pair->a, i, 1);
	bad = wr_remote(99, PLX_OPCODE_WRITE, sges, pair->a.qp->cap.send_sge + 1, &pair->b, 0);
	expect_chain_breaks(pair, &bad, 0); /* EINVAL, or ENOMEM on some providers */
}

static void
chain_breaks_off_at_an_opcode_that_is_none(void **state)
{
	struct pair *pair = *state;
	struct plx_wr bad;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	bad = wr_of(99, PLX_NB_OPCODES, NULL, 0);
	expect_chain_breaks(pair, &bad, -ENOTSUP);
}

static void
receive_with_too_long_a_list_is_not_posted(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sges[64];
	const struct plx_wr *wrs[2];
	struct plx_wr good, bad;
	int err = 0;

	needs_connection();
	plx_test_needs(pair->b.qp->cap.recv_sge < NB_OF(sges), "lists shorter than the test's");
	for (unsigned int i = 0; i < NB_OF(sges); i++)
		sges[i] = side_sge(&pair->b, i, 1);
	good = wr_of(1, PLX_OPCODE_RECV, sges, 1);
	bad = wr_of(2, PLX_OPCODE_RECV, sges, pair->b.qp->cap.recv_sge + 1);
	wrs[0] = &good;
	wrs[1] = &bad;
	assert_int_equal(plx_qp_post_recv(pair->b.qp, wrs, 2, &err), 1);
	assert_true(err < 0);
	assert_int_equal(plx_qp_to_error(pair->b.qp), 0);
	wait_wc(pair->b.cq, 1, PLX_ST_WR_FLUSH_ERR);
	expect_empty(pair->b.cq);
}

static void
posting_nothing_does_nothing(void **state)
{
	struct pair *pair = *state;
	int err = 0;

	needs_connection();
	assert_int_equal(plx_qp_post_send(pair->a.qp, NULL, 0, &err), 0);
	assert_int_equal(plx_qp_post_recv(pair->a.qp, NULL, 0, &err), 0);
	expect_empty(pair->a.cq);
}

/* ---- a CQ that overflows ------------------------------------------------------------------- */

/**
 * case 1.8: nobody polls, and more completes than the CQ holds. What can be polled afterwards is a part of it,
 * each once, in order; or the CQ is dead and says so. Everything can be destroyed.
 */
static void
overflowing_cq_loses_completions_and_nothing_else(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;
	struct plx_wc wc;
	unsigned int posted = 64, seen = 0;
	uint64_t last = 0;
	int got;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	conf = pair_conf();
	conf.nb_cqe = 8;
	pair_make(pair, contract.dev, &conf);
	plx_test_needs(pair->a.cq->nb_cqe < posted, "a CQ shorter than the send queue");
	pair->a.buf[0] = 0x77;
	for (unsigned int i = 0; i < posted; i++) {
		struct plx_sge sge = side_sge(&pair->a, 0, 1);
		struct plx_wr wr = wr_remote(1 + i, PLX_OPCODE_WRITE, &sge, 1, &pair->b, i);

		post_send(&pair->a, &wr);
	}
	/* A device may also stop at the overflow; then the rest never arrives, and that is all right. */
	for (unsigned int i = 0; i < pair->a.cq->nb_cqe; i++)
		assert_true(wait_byte(&pair->b.buf[i], 0x77));
	while ((got = plx_cq_poll(pair->a.cq, &wc, 1)) > 0) {
		assert_true(wc.wr_id > last && wc.wr_id <= posted);
		last = wc.wr_id;
		seen++;
	}
	assert_in_range(seen, 0, posted);
	assert_true(got == 0 || got < 0);
}

const struct CMUnitTest full_tests[] = {
	pair_test_empty(full_send_queue_takes_what_fits),
	pair_test_empty(full_receive_queue_takes_what_fits),
	pair_test_empty(signaled_completions_free_the_unsignaled_before_them),
	pair_test(chain_breaks_off_at_a_list_that_is_too_long),
	pair_test(chain_breaks_off_at_an_opcode_that_is_none),
	pair_test(receive_with_too_long_a_list_is_not_posted),
	pair_test(posting_nothing_does_nothing),
	pair_test_empty(overflowing_cq_loses_completions_and_nothing_else),
};
const size_t nb_full_tests = NB_OF(full_tests);
