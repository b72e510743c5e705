/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "fake_cq.h"

static void
each_cq_is_added_once_up_to_the_maximum(void **state)
{
	struct fake_cq cqs[PLX_POLLER_MAX_CQS + 1];

	for (unsigned int i = 0; i < PLX_POLLER_MAX_CQS; i++) {
		cqs[i] = (struct fake_cq)FAKE_CQ;
		assert_int_equal(plx_poller_add_cq(poller, &cqs[i].base, d), 0);
		plx_test_refusal(plx_poller_add_cq(poller, &cqs[0].base, d), -EEXIST, "poller test: it has this CQ already");
	}
	cqs[PLX_POLLER_MAX_CQS] = (struct fake_cq)FAKE_CQ;
	plx_test_refusal(plx_poller_add_cq(poller, &cqs[PLX_POLLER_MAX_CQS].base, d), -ENOSPC, "CQs, and no more fit");
	plx_poller_once(poller);
	for (unsigned int i = 0; i <= PLX_POLLER_MAX_CQS; i++)
		assert_int_equal(cqs[i].nb_polls, i < PLX_POLLER_MAX_CQS);
	assert_int_equal(plx_poller_remove_cq(poller, &cqs[PLX_POLLER_MAX_CQS].base), -ENOENT);
	assert_int_equal(plx_poller_remove_cq(poller, &cqs[5].base), 0);
	assert_int_equal(plx_poller_remove_cq(poller, &cqs[5].base), -ENOENT);
	assert_int_equal(plx_poller_add_cq(poller, &cqs[PLX_POLLER_MAX_CQS].base, d), 0);
	plx_poller_once(poller);
	assert_int_equal(cqs[5].nb_polls, 1);
	assert_int_equal(cqs[PLX_POLLER_MAX_CQS].nb_polls, 1);
}

static unsigned int
touch(void *arg)
{
	char *calls = arg;

	++*calls;
	return 0;
}

static unsigned int
touch_too(void *arg)
{
	return touch(arg);
}

static void
each_hook_and_argument_is_added_once_up_to_the_maximum(void **state)
{
	char calls[PLX_POLLER_MAX_HOOKS] = {0};

	for (unsigned int i = 0; i < PLX_POLLER_MAX_HOOKS - 1; i++)
		assert_int_equal(plx_poller_add_hook(poller, touch, &calls[i]), 0);
	plx_test_refusal(plx_poller_add_hook(poller, touch, &calls[3]), -EEXIST, "this hook, with this argument, already");
	assert_int_equal(plx_poller_add_hook(poller, touch_too, &calls[3]), 0); /* the function differs */
	plx_test_refusal(plx_poller_add_hook(poller, touch_too, &calls[4]), -ENOSPC, "hooks, and no more fit");
	plx_poller_once(poller);
	assert_int_equal(calls[2], 1);
	assert_int_equal(calls[3], 2);
	assert_int_equal(plx_poller_remove_hook(poller, touch_too, &calls[4]), -ENOENT);
	assert_int_equal(plx_poller_remove_hook(poller, touch, &calls[3]), 0);
	assert_int_equal(plx_poller_remove_hook(poller, touch, &calls[3]), -ENOENT);
	plx_poller_once(poller);
	assert_int_equal(calls[3], 3);
	assert_int_equal(calls[PLX_POLLER_MAX_HOOKS - 2], 2);
}

static void
budget_above_the_maximum_is_refused(void **state)
{
	struct plx_poller_conf conf = {.name = plx_test_long_name(), .budget = 513};
	struct fake_cq cq = FAKE_CQ, none = FAKE_CQ;
	struct plx_poller *other;

	assert_int_equal(plx_poller_add_cq(poller, &cq.base, d), 0);
	plx_test_refusal(plx_poller_set_budget(poller, &cq.base, 513), -EINVAL, "of 513 completions for a CQ, the maximum is 512");
	plx_test_refusal(plx_poller_set_budget(poller, &none.base, 5), -ENOENT, "a budget of 5 for a CQ that is none of its 1");
	rte_errno = 0;
	plx_test_refusal((intptr_t)plx_poller_create(&conf), 0, "n: a budget of 513 completions, the maximum is 512");
	assert_int_equal(rte_errno, EINVAL);
	conf.name = NULL;
	conf.budget = 512;
	other = plx_poller_create(&conf); /* and a name is not needed */
	assert_non_null(other);
	assert_int_equal(plx_poller_destroy(other), 0);
}

static void
nothing_is_neither_polled_nor_called(void **state)
{
	struct plx_cq cq = {0};

	plx_test_refusal(plx_poller_add_cq(poller, NULL, d), -EINVAL, "no CQ to poll");
	plx_test_refusal(plx_poller_add_cq(poller, &cq, NULL), -EINVAL, "no dispatcher of a CQ to poll");
	plx_test_refusal(plx_poller_add_cq(poller, &cq, d), -ENOTSUP, "table has no poll_cq");
	plx_test_refusal(plx_poller_add_hook(poller, NULL, NULL), -EINVAL, "a hook that is NULL");
	assert_int_equal(plx_poller_once(poller), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
static const struct CMUnitTest tests[] = {
	TEST(each_cq_is_added_once_up_to_the_maximum),
	TEST(each_hook_and_argument_is_added_once_up_to_the_maximum),
	TEST(nothing_is_neither_polled_nor_called),
	TEST(budget_above_the_maximum_is_refused),
};

PLX_TEST_SUITE(poller, setup, tests, .lcores = 2);
