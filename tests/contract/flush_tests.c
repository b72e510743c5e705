/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A QP in error: every posted WR completes exactly once, in order, and so does what is posted later.
 */

#include "contract_pair.h"

#include <string.h>

#define N 8

static void
post_sends(struct pair *pair, uint64_t first, unsigned int n, uint8_t flags)
{
	for (unsigned int i = 0; i < n; i++) {
		struct plx_sge sge = side_sge(&pair->a, 0, 8);
		struct plx_wr wr = wr_of(first + i, PLX_OPCODE_SEND, &sge, 1);

		wr.flags = flags;
		post_send(&pair->a, &wr);
	}
}

static void
expect_flushed(struct plx_cq *cq, uint64_t first, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		wait_wc(cq, first + i, PLX_ST_WR_FLUSH_ERR);
	expect_empty(cq);
}

static void
posted_receives_flush_in_order(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	for (unsigned int i = 0; i < N; i++)
		post_recv_at(&pair->b, i, 0, 8);
	assert_int_equal(plx_qp_to_error(pair->b.qp), 0);
	expect_flushed(pair->b.cq, 0, N);
}

/** No receive is posted and rnr_retry is for ever, so the sends are still there. */
static void
posted_sends_flush_in_order(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	needs_flag(PLX_CAP_RNR);
	post_sends(pair, 0, N, PLX_WR_SIGNALED);
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	expect_flushed(pair->a.cq, 0, N);
}

/** case 4.5: an error is told, asked or not */
static void
unsignaled_sends_flush_with_a_completion(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	needs_flag(PLX_CAP_RNR);
	post_sends(pair, 0, N, 0);
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	expect_flushed(pair->a.cq, 0, N);
}

static void
sends_posted_in_error_flush(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	post_sends(pair, 0, N, PLX_WR_SIGNALED);
	expect_flushed(pair->a.cq, 0, N);
}

/** case 2.8: rxe leaves such receives where they are until the QP is taken to error again */
static void
receives_posted_in_error_flush_when_told_again(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	for (unsigned int i = 0; i < N; i++)
		post_recv_at(&pair->a, 10 + i, 0, 8);
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	expect_flushed(pair->a.cq, 10, N);
}

static void
going_to_error_twice_flushes_once(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	post_recv_at(&pair->a, 1, 0, 8);
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	expect_flushed(pair->a.cq, 1, 1);
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	expect_empty(pair->a.cq);
}

/** Nothing else of it means anything (case 3.1); what the user sees of the rest is the dispatcher's matter. */
static void
error_completion_names_its_wr_its_qp_and_the_cause(void **state)
{
	struct pair *pair = *state;
	struct plx_wc wc;

	needs_connection();
	post_recv_at(&pair->b, 5, 0, 8);
	assert_int_equal(plx_qp_to_error(pair->b.qp), 0);
	memset(&wc, 0xa5, sizeof(wc));
	wait_wcs(pair->b.cq, &wc, 1);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.qp_num, pair->b.qp->qp_num);
	assert_int_equal(wc.status, PLX_ST_WR_FLUSH_ERR);
	assert_int_not_equal(wc.raw_status, 0);
	assert_int_not_equal(wc.raw_status, 0xa5a5a5a5);
	assert_int_not_equal(wc.vendor_err, 0xa5a5a5a5);
}

static struct plx_wr
write_of(const struct pair *pair, uint64_t wr_id, const struct plx_sge *sge)
{
	return wr_remote(wr_id, PLX_OPCODE_WRITE, sge, 1, &pair->b, 0);
}

/**
 * case 4.5: ten unsignaled writes, the fourth with a key that is none. It fails by its own status, what
 * is behind it flushes, what is in front of it succeeded and stays silent.
 */
static void
failed_wr_ends_the_ones_behind_it(void **state)
{
	struct pair *pair = *state;
	const struct plx_wr *ptrs[10];
	struct plx_wr wrs[10];
	struct plx_sge sge;
	int err = 0;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	sge = side_sge(&pair->a, 0, 8);
	for (unsigned int i = 0; i < NB_OF(wrs); i++) {
		wrs[i] = write_of(pair, i, &sge);
		wrs[i].flags = 0;
		ptrs[i] = &wrs[i];
	}
	wrs[3].rkey ^= 0x5a5a5a00;
	assert_int_equal(plx_qp_post_send(pair->a.qp, ptrs, NB_OF(wrs), &err), NB_OF(wrs));
	wait_wc(pair->a.cq, 3, PLX_ST_REM_ACCESS_ERR);
	expect_flushed(pair->a.cq, 4, 6);
	assert_true(wait_error(pair->a.qp));
}

/** The responder ends as well (IBA 9.9.3.1.4, class C), with what it had posted. */
static void
refused_access_ends_the_responder_too(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	post_recv_at(&pair->b, 7, 0, 8);
	sge = side_sge(&pair->a, 0, 8);
	wr = write_of(pair, 1, &sge);
	wr.rkey ^= 0x5a5a5a00;
	post_send(&pair->a, &wr);
	wait_wc(pair->a.cq, 1, PLX_ST_REM_ACCESS_ERR);
	wait_wc(pair->b.cq, 7, PLX_ST_WR_FLUSH_ERR);
	assert_true(wait_error(pair->b.qp));
}

/** case 5.3: destroying a QP does not purge its CQ, and the number on the completions is its own */
static void
completions_of_a_destroyed_qp_stay(void **state)
{
	struct pair *pair = *state;
	uint32_t qp_num;
	struct plx_wc wc;

	needs_connection();
	qp_num = pair->b.qp->qp_num;
	for (unsigned int i = 0; i < N; i++)
		post_recv_at(&pair->b, 10 + i, 0, 8);
	post_sends(pair, 0, N, PLX_WR_SIGNALED);
	for (unsigned int i = 0; i < N; i++)
		wait_ok(pair->a.cq, i); /* acknowledged, so received */
	objects_drop_qp(&pair->objs, pair->b.qp);
	for (unsigned int i = 0; i < N; i++) {
		wc = wait_ok(pair->b.cq, 10 + i);
		assert_int_equal(wc.qp_num, qp_num);
	}
	expect_empty(pair->b.cq);
}

static void
sending_to_a_destroyed_qp_ends_in_an_error(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;

	needs_connection();
	conf = pair_conf();
	conf.path.retry_cnt = 1; /* 7 would be for ever on rxe */
	conf.path.timeout = 10;	 /* 4 ms */
	pair_make(pair, contract.dev, &conf);
	objects_drop_qp(&pair->objs, pair->b.qp);
	post_sends(pair, 1, 1, PLX_WR_SIGNALED);
	wait_wc(pair->a.cq, 1, PLX_ST_RETRY_EXC_ERR);
}

const struct CMUnitTest flush_tests[] = {
	pair_test(posted_receives_flush_in_order),
	pair_test(posted_sends_flush_in_order),
	pair_test(unsignaled_sends_flush_with_a_completion),
	pair_test(sends_posted_in_error_flush),
	pair_test(receives_posted_in_error_flush_when_told_again),
	pair_test(going_to_error_twice_flushes_once),
	pair_test(error_completion_names_its_wr_its_qp_and_the_cause),
	pair_test(failed_wr_ends_the_ones_behind_it),
	pair_test(refused_access_ends_the_responder_too),
	pair_test(completions_of_a_destroyed_qp_stay),
	pair_test_empty(sending_to_a_destroyed_qp_ends_in_an_error),
};
const size_t nb_flush_tests = NB_OF(flush_tests);
