/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include "fault_script.h"
#include "plx_event.h"
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
expect_which(const char *text, uint64_t first, uint64_t last, uint32_t nth)
{
	const struct fault_which *which = &rule_of(text)->which;

	assert_int_equal(which->first, first);
	assert_int_equal(which->last, last);
	assert_int_equal(which->nth, nth);
}

static void
each_which_is_decoded(void **state)
{
	expect_which("drop cqe 1/1000", 1, UINT64_MAX, 1000);
	assert_false(script.rules[0].which.seeded);
	expect_which("drop cqe 1000000000", 1000000000, 1000000000, 1);
	expect_which("drop cqe 7..9", 7, 9, 1);
	expect_which("drop cqe 7..7", 7, 7, 1);
	expect_which("drop cqe 7..", 7, UINT64_MAX, 1);
	expect_which("drop cqe 1/7 seed 4294967295", 1, UINT64_MAX, 7);
	assert_true(script.rules[0].which.seeded);
	assert_int_equal(script.rules[0].which.seed, UINT32_MAX);
	expect_which("hold cqe 5", 1, UINT64_MAX, 1); /* every one */
}

static void
each_rule_on_cqes_is_decoded(void **state)
{
	static const char *const objects[] = {"drop cqe 1", "drop ok 1", "drop err 1", "drop send 1", "drop recv 1"};
	static const char *const kinds[] = {"wrid 1 hash", "wrid 1 zero", "wrid 1 ones", "wrid 1 flip 63", "wrid 1 last"};
	const struct fault_rule *rule;

	for (unsigned int i = 0; i < NB_OF(objects); i++)
		assert_int_equal(rule_of(objects[i])->object, FAULT_ANY + i);
	for (unsigned int i = 0; i < NB_OF(kinds); i++)
		assert_int_equal(rule_of(kinds[i])->how, FAULT_HASH + i);
	assert_int_equal(rule_of(kinds[3])->arg, 63);
	assert_int_equal(rule_of("wrid 1/2")->how, FAULT_HASH);
	assert_int_equal(rule_of("wrid err 1/2")->object, FAULT_ERR);
	assert_int_equal(rule_of("drop cqe 1")->action, FAULT_DROP);
	assert_int_equal(rule_of("dup cqe 1")->action, FAULT_DUP);
	assert_int_equal(rule_of("swap cqe 1")->action, FAULT_SWAP);
	rule = rule_of("replay cqe 2 1024");
	assert_int_equal(rule->action, FAULT_REPLAY);
	assert_int_equal(rule->arg, 1024);
	rule = rule_of("hold cqe 32");
	assert_int_equal(rule->action, FAULT_HOLD);
	assert_int_equal(rule->arg, 32);
	assert_int_equal(rule->most, 32);
	rule = rule_of("hold cqe 3..1000000 1/7");
	assert_int_equal(rule->arg, 3);
	assert_int_equal(rule->most, 1000000);
	rule = rule_of("error RNR_RETRY_EXC_ERR 3");
	assert_int_equal(rule->action, FAULT_ERROR);
	assert_int_equal(rule->arg, PLX_ST_RNR_RETRY_EXC_ERR);
	assert_int_equal(rule->object, FAULT_OK);
	assert_false(rule->fatal);
	rule = rule_of("error REM_OP_ERR recv 3 fatal");
	assert_int_equal(rule->object, FAULT_RECEIVED);
	assert_true(rule->fatal);
	assert_int_equal(rule_of("poison")->action, FAULT_POISON);
}

static void
each_rule_on_posts_is_decoded(void **state)
{
	static const struct {
		const char *text;
		enum fault_action action;
		int queue, how, arg;
	} cases[] = {
		{"fail post_recv 1/9 seed 0 EIO", FAULT_FAIL_POST, FAULT_RECV, FAULT_NEGATIVE, EIO},
		{"fail post_send 5 ENOMEM negative", FAULT_FAIL_POST, FAULT_SEND, FAULT_NEGATIVE, ENOMEM},
		{"fail post_send 5 EINVAL plain", FAULT_FAIL_POST, FAULT_SEND, FAULT_PLAIN, EINVAL},
		{"fail post_send 5 EAGAIN minus-one", FAULT_FAIL_POST, FAULT_SEND, FAULT_MINUS_ONE, EAGAIN},
		{"fail post_srq_recv 5 EAGAIN", FAULT_FAIL_POST, FAULT_SRQ_RECV, FAULT_NEGATIVE, EAGAIN},
		{"deny post_recv 5 ENOSPC plain", FAULT_DENY, FAULT_RECV, FAULT_PLAIN, ENOSPC},
		{"unname post_send 5 EPERM", FAULT_UNNAME, FAULT_SEND, FAULT_NEGATIVE, EPERM},
		{"lose post_send 5 1000000", FAULT_LOSE, FAULT_SEND, 0, 1000000},
		{"link down 5.. 7", FAULT_LINK, FAULT_SEND, 0, 7},
		{"in_err post_send flush", FAULT_IN_ERR, FAULT_SEND, FAULT_FLUSH, 0},
		{"in_err post_recv swallow 1/2", FAULT_IN_ERR, FAULT_RECV, FAULT_SWALLOW, 0},
		{"in_err post_send EBUSY", FAULT_IN_ERR, FAULT_SEND, FAULT_REFUSE, EBUSY},
		{"in_err post_send ENOTSUP 3", FAULT_IN_ERR, FAULT_SEND, FAULT_REFUSE, ENOTSUP},
	};

	for (unsigned int i = 0; i < NB_OF(cases); i++) {
		const struct fault_rule *rule = rule_of(cases[i].text);

		assert_int_equal(rule->action, cases[i].action);
		assert_int_equal(rule->queue, cases[i].queue);
		assert_int_equal(rule->how, cases[i].how);
		assert_int_equal(rule->arg, cases[i].arg);
		assert_int_equal(rule->verbs, 0);
	}
}

static void
each_rule_on_verbs_is_decoded(void **state)
{
	const struct fault_rule *rule = rule_of("fail qp_create 1 EIO");

	assert_int_equal(rule->action, FAULT_FAIL_VERB);
	assert_int_equal(rule->verbs, 1u << FAULT_QP_CREATE);
	assert_int_equal(rule->arg, EIO);
	rule = rule_of("delay control 1000000 2..");
	assert_int_equal(rule->action, FAULT_DELAY);
	assert_int_equal(rule->verbs, (1u << FAULT_NB_VERBS) - 1);
	assert_int_equal(rule->arg, 1000000);
	assert_int_equal(rule_of("delay qp_destroy 5")->verbs, 1u << FAULT_QP_DESTROY);
	rule = rule_of("qpn 16000000");
	assert_int_equal(rule->action, FAULT_QPN);
	assert_int_equal(rule->arg, 16000000);
}

static void
each_rule_on_events_is_decoded(void **state)
{
	const struct fault_rule *rule = rule_of("event last_wqe 2.. late 5");

	assert_int_equal(rule->action, FAULT_EVENT);
	assert_int_equal(rule->event, PLX_EVENT_LAST_WQE);
	assert_int_equal(rule->how, FAULT_EVENT_LATE);
	assert_int_equal(rule->arg, 5);
	assert_int_equal(rule_of("event cq_error 1 drop")->how, FAULT_EVENT_DROP);
	assert_int_equal(rule_of("event srq_limit 1 twice")->how, FAULT_EVENT_TWICE);
	rule = rule_of("raise device_fatal 1/7");
	assert_int_equal(rule->action, FAULT_RAISE);
	assert_int_equal(rule->event, PLX_EVENT_DEVICE_FATAL);
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

#define RULES "drop, dup, hold, swap, replay, error, wrid, poison, fail, deny, unname, lose, link, in_err, delay, qpn, event or raise"
#define OBJECT "cqe, ok, err, send or recv"
#define WHICH "N, N..M, N.. or 1/N (1 to 1000000000)"
#define ERRNOS "ENOMEM, EINVAL, EAGAIN, EIO, ENOSPC, EPERM, EBUSY or ENOTSUP"
#define EVENTS "cq_error, qp_fatal, last_wqe, srq_limit, srq_error, port_down, port_up or device_fatal"
#define END	"the end of the rule"

static void
bad_script_names_rule_column_and_what_was_expected(void **state)
{
	static const struct {
		const char *text;
		unsigned int rule, column;
		const char *expected, *found; /* without quotes: END */
	} cases[] = {
		{"drip cqe 1/2", 1, 1, RULES, "\"drip\""},
		{"dropcqe 1/2", 1, 1, RULES, "\"dropcqe\""},
		{"poison\x01\xff.", 1, 1, RULES, "\"poison??.\""},
		{"a-word-that-nobody-wants-to-read-in-full", 1, 1, RULES, "\"a-word-that-nobody-wants...\""},
		{"drop", 1, 5, OBJECT, END},
		{"drop  cq 1/2", 1, 7, OBJECT, "\"cq\""},
		{"poison; dup cqe", 2, 16, WHICH, END},
		{"poison; dup cqe ; poison", 2, 17, WHICH, END},
		{";;drop cqe 2/3", 3, 12, WHICH, "\"2/3\""},
		{"drop cqe 1/0", 1, 10, WHICH, "\"1/0\""},
		{"drop cqe 0", 1, 10, WHICH, "\"0\""},
		{"drop cqe 1/", 1, 10, WHICH, "\"1/\""},
		{"drop cqe 1000000001", 1, 10, WHICH, "\"1000000001\""},
		{"drop cqe 18446744073709551617", 1, 10, WHICH, "\"18446744073709551617\""},
		{"drop cqe -1", 1, 10, WHICH, "\"-1\""},
		{"drop cqe 1/2x", 1, 10, WHICH, "\"1/2x\""},
		{"drop cqe 3..2", 1, 10, WHICH, "\"3..2\""},
		{"drop cqe ..2", 1, 10, WHICH, "\"..2\""},
		{"drop cqe 0..2", 1, 10, WHICH, "\"0..2\""},
		{"drop cqe 1...2", 1, 10, WHICH, "\"1...2\""},
		{"drop cqe 1..2..3", 1, 10, WHICH, "\"1..2..3\""},
		{"drop cqe 1/2 3", 1, 14, "; or the end of the script", "\"3\""},
		{"drop cqe 1/2 seed", 1, 18, "a seed (0 to 4294967295)", END},
		{"drop cqe 1/2 seed 4294967296", 1, 19, "a seed (0 to 4294967295)", "\"4294967296\""},
		{"drop cqe 2 seed 1", 1, 12, "no seed here (it goes with 1/N)", "\"seed\""},
		{"hold cqe", 1, 9, "a number of polls, T or T..U (1 to 1000000)", END},
		{"hold cqe 0", 1, 10, "a number of polls, T or T..U (1 to 1000000)", "\"0\""},
		{"hold cqe 1000001", 1, 10, "a number of polls, T or T..U (1 to 1000000)", "\"1000001\""},
		{"hold cqe 1/2", 1, 10, "a number of polls, T or T..U (1 to 1000000)", "\"1/2\""},
		{"hold cqe 5..3", 1, 10, "a number of polls, T or T..U (1 to 1000000)", "\"5..3\""},
		{"hold cqe 5..", 1, 10, "a number of polls, T or T..U (1 to 1000000)", "\"5..\""},
		{"hold cqe 3 x", 1, 12, WHICH, "\"x\""},
		{"swap 1", 1, 6, OBJECT, "\"1\""},
		{"replay cqe 1", 1, 13, "how many CQEs back (1 to 1024)", END},
		{"replay cqe 1 1025", 1, 14, "how many CQEs back (1 to 1024)", "\"1025\""},
		{"error SUCCESS 1", 1, 7, "an error status such as RNR_RETRY_EXC_ERR", "\"SUCCESS\""},
		{"error TIMED_OUT 1", 1, 7, "an error status such as RNR_RETRY_EXC_ERR", "\"TIMED_OUT\""},
		{"error REM_OP_ERR", 1, 17, WHICH, END},
		{"error REM_OP_ERR err 1", 1, 18, WHICH, "\"err\""},
		{"error REM_OP_ERR 1 final", 1, 20, "; or the end of the script", "\"final\""},
		{"wrid wr 1", 1, 6, WHICH, "\"wr\""},
		{"wrid 1 flip 64", 1, 13, "a bit (0 to 63)", "\"64\""},
		{"wrid 1 flip", 1, 12, "a bit (0 to 63)", END},
		{"wrid 1 flop", 1, 8, "; or the end of the script", "\"flop\""},
		{"poison 1", 1, 8, "; or the end of the script", "\"1\""},
		{"fail post 1 EIO", 1, 6, "post_send, post_recv, post_srq_recv, a control verb such as qp_create, or control", "\"post\""},
		{"fail post_send EIO", 1, 16, WHICH, "\"EIO\""},
		{"fail post_send 5", 1, 17, ERRNOS, END},
		{"fail post_send 5 EPIPE", 1, 18, ERRNOS, "\"EPIPE\""},
		{"fail post_send 5 EIO odd", 1, 22, "; or the end of the script", "\"odd\""},
		{"fail qp_create 5 EIO plain", 1, 22, "; or the end of the script", "\"plain\""},
		{"in_err post_srq_recv flush", 1, 8, "post_send or post_recv", "\"post_srq_recv\""},
		{"deny qp_create 5 EIO", 1, 6, "post_send, post_recv or post_srq_recv", "\"qp_create\""},
		{"unname post_send 5", 1, 19, ERRNOS, END},
		{"lose post_recv 5 1", 1, 6, "post_send", "\"post_recv\""},
		{"lose post_send 5", 1, 17, "a number of polls (1 to 1000000)", END},
		{"link up 5 1", 1, 6, "down", "\"up\""},
		{"link down 5 0", 1, 13, "a number of polls (1 to 1000000)", "\"0\""},
		{"in_err post_send 5", 1, 18, "flush, swallow, " ERRNOS, "\"5\""},
		{"in_err post_send flush x", 1, 24, WHICH, "\"x\""},
		{"delay post_send 5", 1, 7, "a control verb such as qp_create, or control", "\"post_send\""},
		{"delay control 1000001", 1, 15, "microseconds (1 to 1000000)", "\"1000001\""},
		{"event qp_lost 1 drop", 1, 7, EVENTS, "\"qp_lost\""},
		{"event qp_fatal drop", 1, 16, WHICH, "\"drop\""},
		{"event qp_fatal 1", 1, 17, "drop, twice or late", END},
		{"event qp_fatal 1 late", 1, 22, "a number of looks (1 to 1000000)", END},
		{"raise last_wqe", 1, 15, WHICH, END},
		{"raise last_wqe 1 drop", 1, 18, "; or the end of the script", "\"drop\""},
		{"qpn 0", 1, 5, "a QP number (1 to 16000000)", "\"0\""},
		{"qpn 1; qpn 2", 2, 8, "one qpn", "\"qpn\""},
	};

	for (unsigned int i = 0; i < NB_OF(cases); i++) {
		char says[2 * FAULT_ERROR_LEN];

		snprintf(says, sizeof(says), "rule %u, column %u: expected %s, found %s", cases[i].rule, cases[i].column,
			cases[i].expected, cases[i].found);
		assert_int_equal(parse(cases[i].text), -EINVAL);
		assert_string_equal(error, says);
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

	strcpy(text, "dup cqe 1/1; swap cqe 1/1; replay cqe 1/1 1; dup cqe 1/1");
	assert_int_equal(parse(text), 0);
	strcat(text, "; dup cqe 1/1");
	assert_int_equal(parse(text), -EINVAL);
	assert_string_equal(error, "rule 5, column 59: expected at most 4 rules of dup, swap and replay, found \"dup\"");
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
		"rule 2, column 8: expected " RULES ", found \"?drop\"");
}

static void
seed_picks_the_same_ones_every_time_and_others_than_another_seed(void **state)
{
	const struct fault_which one = {.last = UINT64_MAX, .nth = 10, .seeded = true, .seed = 1};
	const struct fault_which two = {.last = UINT64_MAX, .nth = 10, .seeded = true, .seed = 2};
	unsigned int hits = 0, same = 0;

	for (uint64_t i = 1; i <= 10000; i++) {
		hits += fault_which_hits(&one, i);
		same += fault_which_hits(&one, i) && fault_which_hits(&two, i);
	}
	/* Of splitmix64 as published: a script of a bug report must do the same in later versions. */
	assert_int_equal(hits, 996);
	assert_in_range(same, 50, 150);
}

static void
drawn_numbers_fill_their_range_and_no_more(void **state)
{
	const struct fault_which which = {.seed = 3};
	unsigned int times[8] = {0};

	for (uint64_t i = 1; i <= 4000; i++) {
		uint32_t drawn = fault_which_between(&which, i, 2, 5);

		assert_in_range(drawn, 2, 5);
		assert_int_equal(drawn, fault_which_between(&which, i, 2, 5));
		times[drawn]++;
	}
	for (unsigned int i = 2; i <= 5; i++)
		assert_in_range(times[i], 900, 1100);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_which_is_decoded),
	cmocka_unit_test(each_rule_on_cqes_is_decoded),
	cmocka_unit_test(each_rule_on_posts_is_decoded),
	cmocka_unit_test(each_rule_on_verbs_is_decoded),
	cmocka_unit_test(each_rule_on_events_is_decoded),
	cmocka_unit_test(blank_rules_and_spaces_are_nothing),
	cmocka_unit_test(bad_script_names_rule_column_and_what_was_expected),
	cmocka_unit_test(too_many_rules_are_refused),
	cmocka_unit_test(length_alone_ends_the_script),
	cmocka_unit_test(seed_picks_the_same_ones_every_time_and_others_than_another_seed),
	cmocka_unit_test(drawn_numbers_fill_their_range_and_no_more),
};

PLX_TEST_SUITE(fault, fault_script, tests);
