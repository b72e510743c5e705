/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <string.h>

#include "soft_sq.h"
#include "soft_timer.h"

static struct soft_sq_dones dones;
static struct soft_sq sq;

static const struct plx_qp_cap cap = {.send_depth = 3, .send_sge = 2, .inline_len = 8};

static int
setup(void **state)
{
	soft_sq_dones_init(&dones);
	return soft_sq_init(&sq, &cap, &dones);
}

static int
teardown(void **state)
{
	soft_sq_fini(&sq, &dones);
	soft_sq_dones_fini(&dones);
	return 0;
}

static void
a_slot_is_free_when_a_completion_at_or_behind_it_was_polled(void **state)
{
	for (int i = 0; i < 3; i++) {
		assert_false(soft_sq_full(&sq));
		sq.posted++;
	}
	assert_true(soft_sq_full(&sq));
	soft_sq_done_advance(sq.done, 2); /* frees the first too, which was not signaled */
	assert_false(soft_sq_full(&sq));
	sq.posted++;
	soft_sq_done_advance(sq.done, 1); /* older news */
	assert_false(soft_sq_full(&sq));
	sq.posted++;
	assert_true(soft_sq_full(&sq));
}

static void
late_completions_of_the_last_user_give_the_next_no_slots(void **state)
{
	struct soft_sq_done *word = sq.done;
	uint64_t late = sq.base + 3;

	sq.posted += 3;
	soft_sq_fini(&sq, &dones);
	assert_int_equal(soft_sq_init(&sq, &cap, &dones), 0);
	assert_ptr_equal(sq.done, word);
	assert_false(soft_sq_full(&sq));
	sq.posted += 3;
	soft_sq_done_advance(word, late);
	assert_true(soft_sq_full(&sq));
}

static void
a_kept_wr_owns_its_list_and_its_inline_payload(void **state)
{
	struct plx_sge sges[2] = {{.addr = 1, .length = 2, .lkey = 3}, {.addr = 4, .length = 5, .lkey = 6}};
	struct plx_wr wr = {.wr_id = 7, .sg_list = sges, .num_sge = 2};
	char text[] = "12345678";
	struct plx_sge text_sges[2] = {{.addr = (uintptr_t)text, .length = 3},
		{.addr = (uintptr_t)&text[3], .length = 5}};
	const struct plx_wr *kept;

	sq.posted++;
	soft_sq_keep(&sq, &wr);
	wr.sg_list = text_sges;
	wr.flags = PLX_WR_INLINE;
	sq.posted++;
	soft_sq_keep(&sq, &wr);
	memset(sges, 0, sizeof(sges));
	memset(text, 0, sizeof(text));

	kept = soft_sq_first(&sq);
	assert_int_equal(kept->wr_id, 7);
	assert_int_equal(kept->sg_list[1].lkey, 6);
	sq.first++;
	kept = soft_sq_first(&sq);
	assert_int_equal(kept->num_sge, 1);
	assert_memory_equal((void *)(uintptr_t)kept->sg_list[0].addr, "12345678", 8);
	sq.first++;
	assert_false(soft_sq_stalled(&sq));
}

static void
the_timers_are_those_of_the_standard(void **state)
{
	assert_int_equal(soft_timer_rnr_ns(0), 655360000);
	assert_int_equal(soft_timer_rnr_ns(1), 10000);
	assert_int_equal(soft_timer_rnr_ns(12), 640000);
	assert_int_equal(soft_timer_rnr_ns(31), 491520000);
	assert_int_equal(soft_timer_ack_ns(14), 67108864);
	assert_true(soft_timer_ack_ns(0) == SOFT_TIMER_NEVER);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
	T(a_slot_is_free_when_a_completion_at_or_behind_it_was_polled),
	T(late_completions_of_the_last_user_give_the_next_no_slots),
	T(a_kept_wr_owns_its_list_and_its_inline_payload),
	T(the_timers_are_those_of_the_standard),
};

PLX_TEST_SUITE(soft, sq, tests);
