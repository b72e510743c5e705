/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Compare-and-swap and fetch-and-add: what happens to the word, and what comes back.
 */

#include "contract_pair.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define NAT 0x0102030405060708ull /* no byte like another: case 9.1 */

/** The word at offset 64 of the target's buffer. */
static uint64_t *
target(struct pair *pair)
{
	return (uint64_t *)(pair->b.buf + 64);
}

static struct plx_wr
atomic_wr(const struct pair *pair, uint64_t wr_id, unsigned int opcode, const struct plx_sge *sge)
{
	return wr_remote(wr_id, opcode, sge, 1, &pair->b, 64);
}

/** The old value as it lies in the requester's buffer, in host order. */
static uint64_t
old_value(const struct pair *pair)
{
	uint64_t raw;

	memcpy(&raw, pair->a.buf, sizeof(raw));
	return contract_caps()->atomic_big_endian ? be64toh(raw) : raw;
}

static void
run(struct pair *pair, struct plx_wr *wr)
{
	struct plx_wc wc;

	post_send(&pair->a, wr);
	wc = wait_ok(pair->a.cq, wr->wr_id);
	assert_int_equal(wc.opcode, wr->opcode);
	assert_int_equal(wc.byte_len, 8);
	expect_all(pair->a.buf + 8, 64, 0);
	expect_all(pair->b.buf, 64, 0);
	expect_all(pair->b.buf + 72, 64, 0);
}

/** case 9.1 */
static void
fetch_add_adds_and_returns_the_old_value(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	needs_kind(PLX_OPCODE_FETCH_ADD);
	sge = side_sge(&pair->a, 0, 8);
	*target(pair) = NAT;
	wr = atomic_wr(pair, 1, PLX_OPCODE_FETCH_ADD, &sge);
	wr.compare_add = 0x10;
	run(pair, &wr);
	assert_true(old_value(pair) == NAT);
	assert_true(*target(pair) == NAT + 0x10);
	wr.compare_add = UINT64_MAX; /* minus one */
	run(pair, &wr);
	assert_true(old_value(pair) == NAT + 0x10);
	assert_true(*target(pair) == NAT + 0xf);
}

static void
fetch_add_wraps_around(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	needs_kind(PLX_OPCODE_FETCH_ADD);
	sge = side_sge(&pair->a, 0, 8);
	*target(pair) = UINT64_MAX;
	wr = atomic_wr(pair, 1, PLX_OPCODE_FETCH_ADD, &sge);
	wr.compare_add = 3;
	run(pair, &wr);
	assert_true(old_value(pair) == UINT64_MAX);
	assert_true(*target(pair) == 2);
}

static void
compare_and_swap_swaps_only_what_it_expects(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	needs_kind(PLX_OPCODE_CMP_SWAP);
	sge = side_sge(&pair->a, 0, 8);
	*target(pair) = NAT;
	wr = atomic_wr(pair, 1, PLX_OPCODE_CMP_SWAP, &sge);
	wr.compare_add = NAT + 1;
	wr.swap = 5;
	run(pair, &wr);
	assert_true(old_value(pair) == NAT);
	assert_true(*target(pair) == NAT);
	wr.compare_add = NAT;
	run(pair, &wr);
	assert_true(old_value(pair) == NAT);
	assert_true(*target(pair) == 5);
}

/** cases 9.6, 9.8: more than the device runs at once are queued, none is refused or lost */
static void
more_atomics_than_run_at_once_all_count(void **state)
{
	struct pair *pair = *state;

	needs_connection();
	needs_kind(PLX_OPCODE_FETCH_ADD);
	for (unsigned int i = 0; i < 60; i++) {
		struct plx_sge sge = side_sge(&pair->a, i * 8, 8);
		struct plx_wr wr = atomic_wr(pair, i, PLX_OPCODE_FETCH_ADD, &sge);

		wr.compare_add = 1;
		post_send(&pair->a, &wr);
	}
	for (unsigned int i = 0; i < 60; i++)
		wait_ok(pair->a.cq, i);
	assert_true(*target(pair) == 60);
}

static void
reads_beyond_rd_atomic_are_queued(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;

	needs_connection();
	needs_kind(PLX_OPCODE_READ);
	conf = pair_conf();
	conf.path.rd_atomic = 1;
	pair_make(pair, contract.dev, &conf);
	fill(pair->b.buf, 40 * 100, 1);
	for (unsigned int i = 0; i < 40; i++) {
		struct plx_sge sge = side_sge(&pair->a, i * 100, 100);
		struct plx_wr wr = wr_remote(i, PLX_OPCODE_READ, &sge, 1, &pair->b, i * 100);

		post_send(&pair->a, &wr);
	}
	for (unsigned int i = 0; i < 40; i++)
		wait_ok(pair->a.cq, i);
	expect_filled(pair->a.buf, 40 * 100, 1);
}

/**
 * case 9.3: refused by the post (rxe's library), or by the responder as an invalid request (IBA 9.4.5). lib/conn
 * lets none through.
 */
static void
misaligned_atomic_changes_nothing(void **state)
{
	struct pair *pair = *state;
	const struct plx_wr *wrs[1];
	struct plx_sge sge;
	struct plx_wr wr;
	int err = 0;

	needs_connection();
	needs_kind(PLX_OPCODE_FETCH_ADD);
	sge = side_sge(&pair->a, 0, 8);
	wr = wr_remote(1, PLX_OPCODE_FETCH_ADD, &sge, 1, &pair->b, 65);
	wr.compare_add = 1;
	wrs[0] = &wr;
	if (plx_qp_post_send(pair->a.qp, wrs, 1, &err) == 0)
		assert_int_equal(err, -EINVAL);
	else
		wait_wc(pair->a.cq, 1, PLX_ST_REM_INV_REQ_ERR);
	expect_all(pair->b.buf, 128, 0);
}

const struct CMUnitTest atomic_tests[] = {
	pair_test(fetch_add_adds_and_returns_the_old_value),
	pair_test(fetch_add_wraps_around),
	pair_test(compare_and_swap_swaps_only_what_it_expects),
	pair_test(more_atomics_than_run_at_once_all_count),
	pair_test_empty(reads_beyond_rd_atomic_are_queued),
	pair_test(misaligned_atomic_changes_nothing),
};
const size_t nb_atomic_tests = NB_OF(atomic_tests);
