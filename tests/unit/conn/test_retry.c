/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_retry.h"

#include "plx_test.h"

#define FOR_EVER UINT64_MAX

/** An attempt that succeeds, or fails otherwise, once progress has been made so often. */
struct goal {
	unsigned int attempts, turns;
	unsigned int needs_turns;
	int then;
};

static int
attempt(void *arg)
{
	struct goal *goal = arg;

	goal->attempts++;
	return goal->turns >= goal->needs_turns ? goal->then : -EAGAIN;
}

static unsigned int
progress(void *arg)
{
	struct goal *goal = arg;

	goal->turns++;
	return 1;
}

static void
outcome_is(unsigned int needs_turns, int then, uint64_t timeout_ns, int result, unsigned int attempts)
{
	struct goal goal = {.needs_turns = needs_turns, .then = then};

	assert_int_equal(plx_retry(attempt, &goal, progress, &goal, timeout_ns), result);
	assert_int_equal(goal.attempts, attempts);
	assert_int_equal(goal.turns, attempts - 1);
}

static void
success_at_once_makes_no_progress_whatever_the_deadline(void **state)
{
	outcome_is(0, 0, 0, 0, 1);
	outcome_is(0, 5, FOR_EVER, 5, 1);
}

static void
it_goes_on_while_told_to_retry_and_returns_what_comes_then(void **state)
{
	outcome_is(3, 0, FOR_EVER, 0, 4);
	outcome_is(3, -ENOTCONN, FOR_EVER, -ENOTCONN, 4);
	outcome_is(100000, 7, FOR_EVER, 7, 100001);
}

static void
any_other_error_is_not_tried_again(void **state)
{
	static const int others[] = {-ENOMEM, -EBUSY, -ENOTCONN, -EPERM, -ETIMEDOUT};

	for (unsigned int i = 0; i < NB_OF(others); i++)
		outcome_is(0, others[i], FOR_EVER, others[i], 1);
}

/* The deadline has passed by the time it is looked at. */
static void
it_ends_at_the_deadline(void **state)
{
	outcome_is(UINT32_MAX, 0, 0, -ETIMEDOUT, 1);
}

/* A turn that takes longer than all the time there is. */
static unsigned int
long_progress(void *arg)
{
	uint64_t start = plx_clock_monotonic_ns();

	while (plx_clock_monotonic_ns() - start < 2000000)
		;
	return progress(arg);
}

static void
progress_is_followed_by_an_attempt_though_the_deadline_has_passed(void **state)
{
	struct goal goal = {.needs_turns = 1};
	int err = plx_retry(attempt, &goal, long_progress, &goal, 1000000);

	/* unless the machine took that long to begin */
	assert_true(err == (goal.turns == 0 ? -ETIMEDOUT : 0));
	assert_int_equal(goal.attempts, goal.turns + 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(success_at_once_makes_no_progress_whatever_the_deadline),
	cmocka_unit_test(it_goes_on_while_told_to_retry_and_returns_what_comes_then),
	cmocka_unit_test(any_other_error_is_not_tried_again),
	cmocka_unit_test(it_ends_at_the_deadline),
	cmocka_unit_test(progress_is_followed_by_an_attempt_though_the_deadline_has_passed),
};

PLX_TEST_SUITE(conn, retry, tests, .lcores = 1);
