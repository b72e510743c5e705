/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Inline: the payload is copied while posting, so neither its memory nor its key matter afterwards.
 */

#include "contract_pair.h"

#include <string.h>

/* What a QP may inline is what it was granted, `cap.inline_len`. */
#define needs_inline() plx_test_needs(contract_caps()->max_inline > 0, "inline")

static void
inline_send(struct pair *pair, uint64_t wr_id, uint32_t len)
{
	uint8_t payload[8192];
	struct plx_sge sge = {(uintptr_t)payload, len, 0xdeadbeef}; /* a key that is none */
	struct plx_wr wr = wr_of(wr_id, PLX_OPCODE_SEND, &sge, len > 0);

	wr.flags |= PLX_WR_INLINE;
	fill(payload, len, len);
	post_recv_at(&pair->b, 1000 + wr_id, 0, sizeof(payload));
	post_send(&pair->a, &wr);
	memset(payload, 0, sizeof(payload));
	wait_ok(pair->a.cq, wr_id);
	assert_int_equal(wait_ok(pair->b.cq, 1000 + wr_id).byte_len, len);
	expect_filled(pair->b.buf, len, len);
}

static void
inline_of_0_to_the_granted_length_is_copied(void **state)
{
	struct pair *pair = *state;
	uint32_t granted;

	needs_connection();
	needs_inline();
	granted = pair->a.qp->cap.inline_len;
	assert_in_range(granted, 1, 8192);
	inline_send(pair, 1, 0);
	inline_send(pair, 2, 1);
	inline_send(pair, 3, granted - 1);
	inline_send(pair, 4, granted);
}

static void
most_inline_that_the_device_has_works(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;

	needs_connection();
	needs_inline();
	conf = pair_conf();
	conf.cap = (struct plx_qp_cap){1, 1, 1, 1, contract_caps()->max_inline};
	pair_make(pair, contract.dev, &conf);
	inline_send(pair, 1, contract_caps()->max_inline);
}

static void
one_byte_more_than_granted_is_not_posted(void **state)
{
	struct pair *pair = *state;
	const struct plx_wr *wrs[1];
	struct plx_sge sge;
	struct plx_wr wr;
	int err = 0;

	needs_connection();
	sge = side_sge(&pair->a, 0, pair->a.qp->cap.inline_len + 1);
	wr = wr_of(1, PLX_OPCODE_SEND, &sge, 1);
	wr.flags |= PLX_WR_INLINE;
	wrs[0] = &wr;
	post_recv_at(&pair->b, 2, 0, 8192);
	assert_int_equal(plx_qp_post_send(pair->a.qp, wrs, 1, &err), 0);
	assert_true(err < 0); /* EINVAL, or ENOMEM on some providers */
	expect_empty(pair->a.cq);
	wr = wr_of(3, PLX_OPCODE_SEND, &sge, 1); /* the QP lives on */
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 3);
	wait_ok(pair->b.cq, 2);
}

static void
inline_list_is_gathered_and_its_sum_counts(void **state)
{
	struct pair *pair = *state;
	uint8_t bytes[8192];
	struct plx_sge sges[2];
	const struct plx_wr *wrs[1];
	struct plx_wr wr;
	uint32_t granted, half;
	int err = 0;

	needs_connection();
	needs_inline();
	plx_test_needs(pair->a.qp->cap.send_sge >= 2, "lists of two SGEs");
	granted = pair->a.qp->cap.inline_len;
	half = granted / 2;
	fill(bytes, granted + 1, 1);
	sges[0] = (struct plx_sge){(uintptr_t)bytes, half, 0};
	sges[1] = (struct plx_sge){(uintptr_t)bytes + half, granted - half, 0};
	wr = wr_of(1, PLX_OPCODE_SEND, sges, 2);
	wr.flags |= PLX_WR_INLINE;
	post_recv_at(&pair->b, 2, 0, sizeof(bytes));
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 1);
	assert_int_equal(wait_ok(pair->b.cq, 2).byte_len, granted);
	expect_filled(pair->b.buf, granted, 1);

	sges[1].length++;
	wrs[0] = &wr;
	assert_int_equal(plx_qp_post_send(pair->a.qp, wrs, 1, &err), 0);
	assert_true(err < 0);
}

static void
inline_write_arrives(void **state)
{
	struct pair *pair = *state;
	uint8_t byte = 0x5a;
	struct plx_sge sge = {(uintptr_t)&byte, 1, 0};
	struct plx_wr wr;

	needs_connection();
	needs_inline();
	needs_kind(PLX_OPCODE_WRITE);
	wr = wr_remote(1, PLX_OPCODE_WRITE, &sge, 1, &pair->b, 77);
	wr.flags |= PLX_WR_INLINE;
	post_send(&pair->a, &wr);
	byte = 0;
	wait_ok(pair->a.cq, 1);
	assert_int_equal(pair->b.buf[77], 0x5a);
}

/** case 10.7: nothing at nowhere */
static void
zero_bytes_need_neither_memory_nor_keys(void **state)
{
	struct pair *pair = *state;
	const unsigned int opcodes[] = {PLX_OPCODE_WRITE, PLX_OPCODE_READ};

	needs_connection();
	for (unsigned int i = 0; i < NB_OF(opcodes); i++) {
		struct plx_wr wr = wr_of(i, opcodes[i], NULL, 0);

		if (!contract_has_kind(opcodes[i]))
			continue;
		post_send(&pair->a, &wr); /* remote address 0, rkey 0: IBA 9.7.4.1.5, C9-88 */
		wait_ok(pair->a.cq, i);
	}
	expect_all(pair->b.buf, PAIR_BUF_LEN, 0);
}

const struct CMUnitTest inline_tests[] = {
	pair_test(inline_of_0_to_the_granted_length_is_copied),
	pair_test_empty(most_inline_that_the_device_has_works),
	pair_test(one_byte_more_than_granted_is_not_posted),
	pair_test(inline_list_is_gathered_and_its_sum_counts),
	pair_test(inline_write_arrives),
	pair_test(zero_bytes_need_neither_memory_nor_keys),
};
const size_t nb_inline_tests = NB_OF(inline_tests);
