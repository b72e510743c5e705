/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include "fault_script.h"
#include "plx_status.h"

static struct fault_script script;
static char error[FAULT_ERROR_LEN];

static int
parse(const char *text)
{
	return fault_script_parse(text, strlen(text), &script, error);
}

/* The only rule of @p text. */
static const struct fault_rule *
rule_of(const char *text)
{
	assert_int_equal(parse(text), 0);
	assert_string_equal(error, "");
	assert_int_equal(script.nb_rules, 1);
	return &script.rules[0];
}

static void
each_verb_is_decoded(void **state)
{
	const struct fault_rule *rule;

	rule = rule_of("drop cqe 1/1000");
	assert_int_equal(rule->action, FAULT_DROP);
	assert_int_equal(rule->which.nth, 1000);
	assert_false(rule->which.once);
	assert_false(rule->which.seeded);
	rule = rule_of("dup cqe 1000000000");
	assert_int_equal(rule->action, FAULT_DUP);
	assert_int_equal(rule->which.nth, 1000000000);
	assert_true(rule->which.once);
	rule = rule_of("hold cqe 32");
	assert_int_equal(rule->action, FAULT_HOLD);
	assert_int_equal(rule->arg, 32);
	assert_int_equal(rule->which.nth, 1);
	assert_false(rule->which.once);
	rule = rule_of("hold cqe 1000000 1/7 seed 4294967295");
	assert_int_equal(rule->arg, 1000000);
	assert_int_equal(rule->which.nth, 7);
	assert_true(rule->which.seeded);
	assert_int_equal(rule->which.seed, UINT32_MAX);
	rule = rule_of("error RNR_RETRY_EXC_ERR 3");
	assert_int_equal(rule->action, FAULT_ERROR);
	assert_int_equal(rule->arg, PLX_ST_RNR_RETRY_EXC_ERR);
	rule = rule_of("wrid 1/2");
	assert_int_equal(rule->action, FAULT_WRID);
	assert_int_equal(rule_of("poison")->action, FAULT_POISON);
	rule = rule_of("fail post_recv 1/9 seed 0 EIO");
	assert_int_equal(rule->action, FAULT_FAIL_RECV);
	assert_int_equal(rule->arg, EIO);
	rule = rule_of("fail post_send 5 ENOMEM");
	assert_int_equal(rule->action, FAULT_FAIL_SEND);
	assert_int_equal(rule->arg, ENOMEM);
	assert_int_equal(rule_of("fail post_send 5 EINVAL")->arg, EINVAL);
	assert_int_equal(rule_of("fail post_send 5 EAGAIN")->arg, EAGAIN);
}

static void
blank_rules_and_spaces_are_nothing(void **state)
{
	static const char *const blanks[] = {"", " ", ";", " ; ;\t;\n", ";;;;;;;;;;;;;;;;;;;;;;;;"};

	for (unsigned int i = 0; i < NB_OF(blanks); i++) {
		assert_int_equal(parse(blanks[i]), 0);
		assert_int_equal(script.nb_rules, 0);
	}
	assert_int_equal(parse(" ;\n\tdrop  cqe\t1/2;;poison ;"), 0);
	assert_int_equal(script.nb_rules, 2);
	assert_int_equal(script.rules[0].action, FAULT_DROP);
	assert_int_equal(script.rules[1].action, FAULT_POISON);
}

static void
bad_script_names_rule_column_and_what_was_expected(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"drip cqe 1/2", "rule 1, column 1: expected drop, dup, hold, error, wrid, poison or fail, "
				 "found \"drip\""},
		{"dropcqe 1/2", "rule 1, column 1: expected drop, dup, hold, error, wrid, poison or fail, "
				"found \"dropcqe\""},
		{"drop", "rule 1, column 5: expected cqe, found the end of the rule"},
		{"drop  cq 1/2", "rule 1, column 7: expected cqe, found \"cq\""},
		{"poison; dup cqe", "rule 2, column 16: expected N or 1/N (1 to 1000000000), found the end of the "
				    "rule"},
		{"poison; dup cqe ; poison", "rule 2, column 17: expected N or 1/N (1 to 1000000000), found the end "
					     "of the rule"},
		{";;drop cqe 2/3", "rule 3, column 12: expected N or 1/N (1 to 1000000000), found \"2/3\""},
		{"drop cqe 1/0", "rule 1, column 10: expected N or 1/N (1 to 1000000000), found \"1/0\""},
		{"drop cqe 0", "rule 1, column 10: expected N or 1/N (1 to 1000000000), found \"0\""},
		{"drop cqe 1/", "rule 1, column 10: expected N or 1/N (1 to 1000000000), found \"1/\""},
		{"drop cqe 1000000001", "rule 1, column 10: expected N or 1/N (1 to 1000000000), found "
					"\"1000000001\""},
		{"drop cqe 18446744073709551617", "rule 1, column 10: expected N or 1/N (1 to 1000000000), found "
						  "\"18446744073709551617\""},
		{"drop cqe -1", "rule 1, column 10: expected N or 1/N (1 to 1000000000), found \"-1\""},
		{"drop cqe 1/2x", "rule 1, column 10: expected N or 1/N (1 to 1000000000), found \"1/2x\""},
		{"drop cqe 1/2 3", "rule 1, column 14: expected ; or the end of the script, found \"3\""},
		{"drop cqe 1/2 seed", "rule 1, column 18: expected a seed (0 to 4294967295), found the end of the "
				      "rule"},
		{"drop cqe 1/2 seed 4294967296", "rule 1, column 19: expected a seed (0 to 4294967295), found "
						 "\"4294967296\""},
		{"drop cqe 2 seed 1", "rule 1, column 12: expected no seed behind N (it goes with 1/N), found "
				      "\"seed\""},
		{"hold cqe", "rule 1, column 9: expected a number of polls (1 to 1000000), found the end of the rule"},
		{"hold cqe 0", "rule 1, column 10: expected a number of polls (1 to 1000000), found \"0\""},
		{"hold cqe 1000001", "rule 1, column 10: expected a number of polls (1 to 1000000), found "
				     "\"1000001\""},
		{"hold cqe 1/2", "rule 1, column 10: expected a number of polls (1 to 1000000), found \"1/2\""},
		{"hold cqe 3 x", "rule 1, column 12: expected N or 1/N (1 to 1000000000), found \"x\""},
		{"fail post 1 EIO", "rule 1, column 6: expected post_send or post_recv, found \"post\""},
		{"fail post_send EIO", "rule 1, column 16: expected N or 1/N (1 to 1000000000), found \"EIO\""},
		{"fail post_send 5", "rule 1, column 17: expected ENOMEM, EINVAL, EAGAIN or EIO, found the end of "
				     "the rule"},
		{"fail post_send 5 EPERM", "rule 1, column 18: expected ENOMEM, EINVAL, EAGAIN or EIO, found "
					   "\"EPERM\""},
		{"error SUCCESS 1", "rule 1, column 7: expected an error status such as RNR_RETRY_EXC_ERR, found "
				    "\"SUCCESS\""},
		{"error TIMED_OUT 1", "rule 1, column 7: expected an error status such as RNR_RETRY_EXC_ERR, found "
				      "\"TIMED_OUT\""},
		{"error REM_OP_ERR", "rule 1, column 17: expected N or 1/N (1 to 1000000000), found the end of the "
				     "rule"},
		{"wrid cqe 1", "rule 1, column 6: expected N or 1/N (1 to 1000000000), found \"cqe\""},
		{"poison 1", "rule 1, column 8: expected ; or the end of the script, found \"1\""},
		{"poison\x01\xff.", "rule 1, column 1: expected drop, dup, hold, error, wrid, poison or fail, found "
				    "\"poison??.\""},
		{"a-word-that-nobody-wants-to-read-in-full", "rule 1, column 1: expected drop, dup, hold, error, "
							     "wrid, poison or fail, found "
							     "\"a-word-that-nobody-wants...\""},
	};

	for (unsigned int i = 0; i < NB_OF(cases); i++) {
		assert_int_equal(parse(cases[i].text), -EINVAL);
		assert_string_equal(error, cases[i].says);
	}
}

static void
too_many_rules_are_refused(void **state)
{
	char text[256] = "";

	for (int i = 0; i < FAULT_RULES_MAX; i++)
		strcat(text, "poison;");
	assert_int_equal(parse(text), 0);
	assert_int_equal(script.nb_rules, FAULT_RULES_MAX);
	strcat(text, " poison");
	assert_int_equal(parse(text), -EINVAL);
	assert_string_equal(error, "rule 17, column 114: expected at most 16 rules, found \"poison\"");

	strcpy(text, "dup cqe 1/1; dup cqe 1/1; dup cqe 1/1; dup cqe 1/1");
	assert_int_equal(parse(text), 0);
	strcat(text, "; dup cqe 1/1");
	assert_int_equal(parse(text), -EINVAL);
	assert_string_equal(error, "rule 5, column 53: expected at most 4 dup rules, found \"dup\"");
}

/* Neither the byte behind the length is read, nor does a NUL within it end the script. */
static void
length_alone_ends_the_script(void **state)
{
	static const char text[] = "poison;drop cqe 1/2 BEHIND";
	static const char nul[] = "poison;\0drop";

	assert_int_equal(fault_script_parse(text, 6, &script, error), 0);
	assert_int_equal(script.nb_rules, 1);
	assert_int_equal(fault_script_parse(text, 19, &script, error), 0);
	assert_int_equal(script.nb_rules, 2);
	assert_int_equal(fault_script_parse(NULL, 0, &script, error), 0);
	assert_int_equal(fault_script_parse(nul, sizeof(nul) - 1, &script, error), -EINVAL);
	assert_string_equal(error,
		"rule 2, column 8: expected drop, dup, hold, error, wrid, poison or fail, found \"?drop\"");
}

static void
seed_picks_the_same_ones_every_time_and_others_than_another_seed(void **state)
{
	const struct fault_which one = {.nth = 10, .seeded = true, .seed = 1};
	const struct fault_which two = {.nth = 10, .seeded = true, .seed = 2};
	unsigned int hits = 0, same = 0;

	for (uint64_t i = 1; i <= 10000; i++) {
		hits += fault_which_hits(&one, i);
		same += fault_which_hits(&one, i) && fault_which_hits(&two, i);
	}
	/* Of splitmix64 as published: a script of a bug report must do the same in later versions. */
	assert_int_equal(hits, 996);
	assert_in_range(same, 50, 150);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_verb_is_decoded),
	cmocka_unit_test(blank_rules_and_spaces_are_nothing),
	cmocka_unit_test(bad_script_names_rule_column_and_what_was_expected),
	cmocka_unit_test(too_many_rules_are_refused),
	cmocka_unit_test(length_alone_ends_the_script),
	cmocka_unit_test(seed_picks_the_same_ones_every_time_and_others_than_another_seed),
};

PLX_TEST_SUITE(fault, fault_script, tests);
