/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The op's state machine and what its result shows, without a dispatcher: the two sides are called by hand.
 */

#include "plx_op_pool.h"

#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include "plx_op_queue.h"

#define FIRST_ID ((UINT64_C(7) << 24) | 3)

static struct plx_op op;

static int
fresh(void **state)
{
	memset(&op, 0xee, sizeof(op));
	plx_op_init(&op, NULL, FIRST_ID);
	return 0;
}

static void
make(enum plx_op_state wanted)
{
	fresh(NULL);
	if (wanted == PLX_OP_FREE)
		return;
	plx_op_prep_send(&op, &op, 8, 1, NULL, NULL);
	if (wanted == PLX_OP_PREPARED)
		return;
	plx_op_set_state(&op, PLX_OP_POSTED);
	plx_op_arm(&op);
	if (wanted == PLX_OP_ORPHANED)
		plx_op_set_state(&op, PLX_OP_ORPHANED);
	if (wanted != PLX_OP_COMPLETED)
		return;
	assert_true(plx_op_claim(&op, FIRST_ID));
	plx_op_complete(&op);
}

static const enum plx_op_state states[] = {
	PLX_OP_FREE, PLX_OP_PREPARED, PLX_OP_COMPLETED, PLX_OP_POSTED, PLX_OP_ORPHANED,
};

static void
prep_prepares_every_op_that_is_not_in_custody(void **state)
{
	for (size_t i = 0; i < NB_OF(states); i++) {
		bool custody = states[i] & PLX_OP_IN_CUSTODY;

		make(states[i]);
		plx_op_prep(&op, PLX_OPCODE_WRITE, &op, 16, 2, NULL, NULL);
		assert_int_equal(op.state, custody ? states[i] : PLX_OP_PREPARED);
		assert_int_equal(op.wr.opcode, custody ? PLX_OPCODE_SEND : PLX_OPCODE_WRITE);
		assert_int_equal(op.sge.length, custody ? 8 : 16);
	}
}

static void
generation_grows_when_a_completed_op_is_prepared_and_only_then(void **state)
{
	for (size_t i = 0; i < NB_OF(states); i++) {
		make(states[i]);
		plx_op_prep_recv(&op, &op, 8, 1, NULL, NULL);
		assert_int_equal(plx_op_generation(&op), states[i] == PLX_OP_COMPLETED);
		assert_int_equal((uint32_t)plx_op_id(&op), (uint32_t)FIRST_ID);
	}
}

static void
again_takes_a_completed_op_alone(void **state)
{
	for (size_t i = 0; i < NB_OF(states); i++) {
		bool done = states[i] == PLX_OP_COMPLETED;

		make(states[i]);
		assert_int_equal(plx_op_again(&op), done ? 0 : -EBUSY);
		assert_int_equal(op.state, done ? PLX_OP_PREPARED : states[i]);
		assert_int_equal(plx_op_generation(&op), done);
	}
}

static void
generation_wraps_without_touching_tag_and_slot(void **state)
{
	op.wr.wr_id |= UINT64_C(0xffffffff) << 32;
	plx_op_renew(&op);
	assert_true(plx_op_id(&op) == FIRST_ID);
}

static void
claim_wins_once_and_only_with_the_id_in_flight(void **state)
{
	for (int shared = 0; shared <= 1; shared++) {
		bool (*claim)(struct plx_op *, uint64_t) = shared ? plx_op_claim_shared : plx_op_claim;

		make(PLX_OP_PREPARED);
		assert_false(claim(&op, FIRST_ID)); /* not in flight yet */
		plx_op_arm(&op);
		assert_false(claim(&op, FIRST_ID + (UINT64_C(1) << 32)));
		assert_false(claim(&op, FIRST_ID + 1));
		assert_false(claim(&op, 0));
		assert_true(claim(&op, FIRST_ID));
		assert_false(claim(&op, FIRST_ID));
	}
}

static void
disarmed_op_cannot_be_claimed(void **state)
{
	make(PLX_OP_POSTED);
	plx_op_disarm(&op);
	assert_false(plx_op_claim(&op, FIRST_ID));
}

static void
only_a_completed_op_is_done(void **state)
{
	for (size_t i = 0; i < NB_OF(states); i++) {
		make(states[i]);
		assert_int_equal(plx_op_is_done(&op), states[i] == PLX_OP_COMPLETED);
	}
}

static void
prep_sets_everything_that_a_plain_send_needs(void **state)
{
	memset(&op, 0xa5, offsetof(struct plx_op, sges)); /* what its last use left */
	op.state = PLX_OP_FREE;
	op.wr.sg_list = &op.sge; /* of every free op */
	plx_op_prep_send(&op, (void *)0x1000, 12, 34, NULL, &op);
	assert_int_equal(op.wr.opcode, PLX_OPCODE_SEND);
	assert_int_equal(op.wr.flags, PLX_WR_SIGNALED);
	assert_int_equal(op.wr.num_sge, 1);
	assert_ptr_equal(op.wr.sg_list, &op.sge);
	assert_int_equal(op.sge.addr, 0x1000);
	assert_int_equal(op.sge.length, 12);
	assert_int_equal(op.sge.lkey, 34);
	assert_int_equal(op.attention, 0);
	assert_ptr_equal(op.cb, plx_op_polled);
	assert_ptr_equal(op.arg, &op);
}

static void
sge_list_lasts_for_one_use(void **state)
{
	struct plx_sge list[2] = {{0}};

	make(PLX_OP_PREPARED);
	plx_op_set_sges(&op, list, 2);
	plx_op_prep_send(&op, &op, 8, 1, NULL, NULL);
	assert_ptr_equal(op.wr.sg_list, &op.sge);
	plx_op_set_sges(&op, list, 2);
	assert_true(plx_op_end(&op)); /* as put does */
	plx_op_prep_send(&op, &op, 8, 1, NULL, NULL);
	assert_ptr_equal(op.wr.sg_list, &op.sge);
	assert_int_equal(op.attention, 0);
}

/* A prep of a posted op does nothing, and so must what follows it, until submit says -EBUSY. */
static void
only_a_prepared_op_takes_a_home_flags_or_a_list(void **state)
{
	struct plx_sge list[2] = {{0}};

	for (size_t i = 0; i < NB_OF(states); i++) {
		struct plx_op was;

		if (states[i] == PLX_OP_PREPARED)
			continue;
		make(states[i]);
		was = op;
		plx_op_set_home(&op, 5);
		plx_op_add_flags(&op, PLX_WR_FENCE);
		plx_op_set_sges(&op, list, 2);
		assert_memory_equal(&op, &was, sizeof(op));
	}
}

/* What made submit look at the op, it has to look at again. */
static void
op_that_was_not_posted_keeps_its_notes(void **state)
{
	make(PLX_OP_PREPARED);
	plx_op_add_flags(&op, PLX_WR_INLINE);
	plx_op_posted(&op, 2);
	plx_op_prepared_again(&op);
	assert_int_equal(op.state, PLX_OP_PREPARED);
	assert_int_equal(op.home, PLX_HOME_ANY);
	assert_int_equal(op.attention, PLX_OP_OWN_FLAGS);
}

static void
empty_message_has_no_sge(void **state)
{
	plx_op_prep_send(&op, NULL, 0, 0, NULL, NULL);
	assert_int_equal(op.wr.num_sge, 0);
	assert_int_equal(op.attention, 0);
}

static void
length_above_32_bits_is_noted_not_cut(void **state)
{
	plx_op_prep_send(&op, NULL, (size_t)UINT32_MAX, 0, NULL, NULL);
	assert_int_equal(op.attention, 0);
	plx_op_prep_send(&op, NULL, (size_t)UINT32_MAX + 1, 0, NULL, NULL);
	assert_int_equal(op.attention, PLX_OP_BAD_LENGTH);
}

static void
home_of_its_own_lasts_through_again_and_ends_with_prep(void **state)
{
	make(PLX_OP_PREPARED);
	plx_op_set_home(&op, 3);
	plx_op_posted(&op, 2);
	plx_op_complete(&op);
	assert_int_equal(plx_op_again(&op), 0);
	assert_int_equal(op.home, 3);
	assert_int_equal(op.attention, PLX_OP_OWN_HOME);
	plx_op_prep_send(&op, &op, 1, 1, NULL, NULL);
	assert_int_equal(op.attention, 0);
}

static void
result_of_success_shows_no_leftovers_of_an_error(void **state)
{
	struct plx_result res;

	op.status = PLX_ST_SUCCESS;
	op.wr.opcode = PLX_OPCODE_READ;
	op.byte_len = 9;
	op.vendor_err = op.raw_status = op.inv_rkey = 77;
	op.post_errno = -ENOMEM;
	plx_op_result(&op, &res);
	assert_int_equal(res.status, PLX_ST_SUCCESS);
	assert_int_equal(res.kind, PLX_OPCODE_READ);
	assert_int_equal(res.byte_len, 9);
	assert_int_equal(res.vendor_err, 0);
	assert_int_equal(res.raw_status, 0);
	assert_int_equal(res.inv_rkey, 0);
	assert_int_equal(res.post_errno, 0);
	assert_null(res.conn);
}

/* contract 1.7: a failed post is a status of its own, with its errno */
static void
result_of_a_failed_post_has_the_errno(void **state)
{
	struct plx_result res;

	op.post_errno = -ENOMEM;
	op.status = PLX_ST_WR_FLUSH_ERR;
	plx_op_result(&op, &res);
	assert_int_equal(res.post_errno, 0);
	op.status = PLX_ST_POST_FAILED;
	plx_op_result(&op, &res);
	assert_int_equal(res.post_errno, -ENOMEM);
}

/* The connection need not be there any more: nothing at these addresses can be read. */
static void
result_names_the_connection_by_its_address_alone(void **state)
{
	static const uintptr_t at[] = {PLX_OP_SQ_AT, PLX_OP_RQ_AT};
	struct plx_result res;

	for (size_t i = 0; i < NB_OF(at); i++) {
		op.queue = (struct plx_op_queue *)(64 + at[i]);
		plx_op_result(&op, &res);
		assert_ptr_equal(res.conn, (void *)64);
	}
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)
static const struct CMUnitTest tests[] = {
	TEST(prep_prepares_every_op_that_is_not_in_custody),
	TEST(generation_grows_when_a_completed_op_is_prepared_and_only_then),
	TEST(again_takes_a_completed_op_alone),
	TEST(generation_wraps_without_touching_tag_and_slot),
	TEST(claim_wins_once_and_only_with_the_id_in_flight),
	TEST(disarmed_op_cannot_be_claimed),
	TEST(only_a_completed_op_is_done),
	TEST(prep_sets_everything_that_a_plain_send_needs),
	TEST(sge_list_lasts_for_one_use),
	TEST(only_a_prepared_op_takes_a_home_flags_or_a_list),
	TEST(op_that_was_not_posted_keeps_its_notes),
	TEST(empty_message_has_no_sge),
	TEST(length_above_32_bits_is_noted_not_cut),
	TEST(home_of_its_own_lasts_through_again_and_ends_with_prep),
	TEST(result_of_success_shows_no_leftovers_of_an_error),
	TEST(result_of_a_failed_post_has_the_errno),
	TEST(result_names_the_connection_by_its_address_alone),
};

PLX_TEST_SUITE(op, op, tests);
