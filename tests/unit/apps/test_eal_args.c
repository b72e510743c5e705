/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include "app_eal.h"

/** A machine with CPUs 0 to @p nb_cpus - 1. */
static struct app_machine
machine(int nb_cpus, bool free_hugepages)
{
	struct app_machine m = {.free_hugepages = free_hugepages};

	CPU_ZERO(&m.cpus);
	for (int i = 0; i < nb_cpus; i++)
		CPU_SET(i, &m.cpus);
	return m;
}

/** Split "prog words" at blanks; the words stay in @p line. */
static void
split(const char *words, char line[256], struct app_args *args)
{
	static char *argv[32];
	struct app_error error = {""};
	int argc = 0;

	snprintf(line, 256, "prog %s", words);
	for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	assert_int_equal(app_args_split(argc, argv, args, &error), 0);
}

/** What EAL gets on @p m for a command line; "refused: why" if it gets nothing. */
static const char *
eal_gets(const char *words, const struct app_machine *m)
{
	static char result[1024];
	struct app_error error = {""};
	struct app_args args;
	char line[256], text[512];
	size_t len = 0;

	split(words, line, &args);
	if (app_eal_check(&args, &error) != 0 ||
		app_eal_complete(&args, m, text, sizeof(text), &error) != 0) {
		snprintf(result, sizeof(result), "refused: %s", error.text);
		return result;
	}
	result[0] = '\0';
	for (int i = 1; i < args.eal_argc; i++)
		len += (size_t)snprintf(result + len, sizeof(result) - len, "%s%s", i > 1 ? " " : "",
			args.eal_argv[i]);
	return result;
}

static void
arguments_are_split_at_the_dashes(void **state)
{
	struct app_args args;
	char line[256];

	(void)state;
	split("-l 0-2 -- -q 4 -- x", line, &args);
	assert_int_equal(args.eal_argc, 3);
	assert_string_equal(args.eal_argv[1], "-l");
	assert_int_equal(args.argc, 5);
	assert_string_equal(args.argv[0], "prog");
	assert_string_equal(args.argv[1], "-q");

	split("-- -q 4", line, &args);
	assert_int_equal(args.eal_argc, 1);
	assert_int_equal(args.argc, 3);

	split("-q 4", line, &args);
	assert_int_equal(args.eal_argc, 1);
	assert_int_equal(args.argc, 3);
	assert_string_equal(args.argv[2], "4");
}

static void
too_many_eal_arguments_are_refused(void **state)
{
	char *argv[APP_EAL_ARGS_MAX + 4], version[] = "-v";
	struct app_error error = {""};
	struct app_args args;

	(void)state;
	for (int i = 0; i < APP_EAL_ARGS_MAX + 3; i++)
		argv[i] = version;
	argv[APP_EAL_ARGS_MAX + 2] = (char[]){"--"};
	argv[APP_EAL_ARGS_MAX + 3] = NULL;
	assert_int_equal(app_args_split(APP_EAL_ARGS_MAX + 3, argv, &args, &error), -E2BIG);
	assert_string_equal(error.text, "65 EAL arguments; at most 64");
}

static void
nothing_given_uses_no_hugepages_and_a_map_of_the_cpus_allowed(void **state)
{
	const char *const base = "--no-huge --no-shconf --no-pci -m 512 --lcores ";
	struct app_machine two = machine(2, false), one = machine(1, true), odd = machine(0, false);
	char expected[128];

	(void)state;
	snprintf(expected, sizeof(expected), "%s0@(0,1),1@0,2@1", base);
	assert_string_equal(eal_gets("", &two), expected);
	assert_string_equal(eal_gets("-- -q 1", &two), expected);
	assert_string_equal(eal_gets("-q 1", &two), expected);
	snprintf(expected, sizeof(expected), "%s0@(0),1@0,2@0", base);
	assert_string_equal(eal_gets("", &one), expected);
	CPU_SET(3, &odd.cpus);
	CPU_SET(7, &odd.cpus);
	CPU_SET(9, &odd.cpus);
	snprintf(expected, sizeof(expected), "%s0@(3,7,9),1@3,2@7", base);
	assert_string_equal(eal_gets("", &odd), expected);
}

/* case 14.1 */
static void
legal_sets_reach_eal_as_they_are_where_there_are_hugepages(void **state)
{
	static const char *const sets[] = {"--no-huge", "--no-huge -m 256", "--in-memory", "--huge-unlink",
		"--huge-unlink=existing --no-huge", "--socket-mem 64", "--socket-mem=64,64", "-m 128 --file-prefix x",
		"--no-huge --huge-unlink=never", "--vdev no-huge --log-level pollux:8", "--iova-mode=va -n 4"};
	struct app_machine m = machine(2, true);
	char line[160], expected[256];

	(void)state;
	for (unsigned int i = 0; i < NB_OF(sets); i++) {
		snprintf(line, sizeof(line), "%s --", sets[i]);
		snprintf(expected, sizeof(expected), "%s --lcores 0@(0,1),1@0,2@1", sets[i]);
		assert_string_equal(eal_gets(line, &m), expected);
	}
}

/* case 14.1 */
static void
legal_sets_are_made_to_start_where_there_are_no_hugepages(void **state)
{
	static const struct {
		const char *given, *used;
	} sets[] = {
		{"--no-huge --", "--no-huge"},
		{"--no-huge -m 256 --", "--no-huge -m 256"},
		{"--in-memory --", "--no-shconf --no-huge -m 512"},
		{"--in-memory -m 64 --", "--no-shconf -m 64 --no-huge"},
		{"--huge-unlink --no-pci --", "--no-pci --no-huge -m 512"},
		{"--huge-unlink=always --", "--no-huge -m 512"},
		{"--socket-mem 64 --no-pci --", "--no-pci --no-huge -m 64"},
		{"--socket-mem=64,32 --", "--no-huge -m 96"},
		{"--file-prefix x --", "--file-prefix x --no-huge -m 512"},
	};
	struct app_machine m = machine(2, false);
	char expected[256];

	(void)state;
	for (unsigned int i = 0; i < NB_OF(sets); i++) {
		snprintf(expected, sizeof(expected), "%s --lcores 0@(0,1),1@0,2@1", sets[i].used);
		assert_string_equal(eal_gets(sets[i].given, &m), expected);
	}
}

/* case 14.1 */
static void
conflicts_are_refused_by_name_before_eal(void **state)
{
	static const struct {
		const char *given, *why;
	} sets[] = {
		{"--in-memory --no-huge --", "EAL options --in-memory and --no-huge exclude each other"},
		{"--no-huge --huge-unlink --", "EAL options --huge-unlink and --no-huge exclude each other"},
		{"--huge-unlink=always --no-huge --", "EAL options --huge-unlink and --no-huge exclude each other"},
		{"--no-huge --socket-mem 64 --", "EAL options --socket-mem and --no-huge exclude each other"},
		{"--legacy-mem --in-memory --", "EAL options --legacy-mem and --in-memory exclude each other"},
		{"-m 64 --socket-mem 64 --", "EAL options -m and --socket-mem exclude each other"},
		{"-c 3 -l 0,1 --", "EAL options -c and -l exclude each other"},
		{"-l 0 --lcores 0@0 --", "EAL options -l and --lcores exclude each other"},
		{"--no-huge --socket-mem= --", "EAL option --socket-mem '': empty"},
		{"--socket-mem , --", "EAL option --socket-mem ',': empty"},
		{"--socket-mem x --", "EAL option --socket-mem x: not MiB per NUMA node, \"64,64\""},
		{"no-huge --", "EAL argument 'no-huge' is no option: --no-huge is"},
		{"--no-huge more --", "EAL argument 'more' is no option (the program's own stand behind a --)"},
		{"--no-huge -m --", "EAL option -m needs a value"},
		{"-m x --", "EAL option -m x: not a number from 1 to 4194304"},
	};
	struct app_machine m = machine(2, true);
	char expected[256];

	(void)state;
	for (unsigned int i = 0; i < NB_OF(sets); i++) {
		snprintf(expected, sizeof(expected), "refused: %s", sets[i].why);
		assert_string_equal(eal_gets(sets[i].given, &m), expected);
	}
}

static void
lcores_of_the_user_are_left_alone(void **state)
{
	static const char *const sets[] = {"--no-huge -l 0,1", "--no-huge -c 3", "--no-huge --lcores 0@0,5@1",
		"--no-huge -l 0-3 --main-lcore 3"};
	struct app_machine m = machine(2, false);
	char line[128];

	(void)state;
	for (unsigned int i = 0; i < NB_OF(sets); i++) {
		snprintf(line, sizeof(line), "%s --", sets[i]);
		assert_string_equal(eal_gets(line, &m), sets[i]);
	}
}

static void
option_that_only_eal_knows_goes_through(void **state)
{
	struct app_machine m = machine(2, true);

	(void)state;
	assert_string_equal(eal_gets("--new-thing 3 -l 0,1 --", &m), "--new-thing 3 -l 0,1");
}

static void
what_was_chosen_is_printed_as_a_shell_takes_it(void **state)
{
	struct app_machine m = machine(2, false);
	struct app_error error = {""};
	struct app_args args;
	char line[256], text[256];

	(void)state;
	split("--", line, &args);
	assert_int_equal(app_eal_complete(&args, &m, text, sizeof(text), &error), 0);
	assert_string_equal(text,
		"EAL arguments: --no-huge --no-shconf --no-pci -m 512 --lcores '0@(0,1),1@0,2@1'");
	split("--no-huge -l 0 --", line, &args);
	assert_int_equal(app_eal_complete(&args, &m, text, sizeof(text), &error), 0);
	assert_string_equal(text, "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(arguments_are_split_at_the_dashes),
	cmocka_unit_test(too_many_eal_arguments_are_refused),
	cmocka_unit_test(nothing_given_uses_no_hugepages_and_a_map_of_the_cpus_allowed),
	cmocka_unit_test(legal_sets_reach_eal_as_they_are_where_there_are_hugepages),
	cmocka_unit_test(legal_sets_are_made_to_start_where_there_are_no_hugepages),
	cmocka_unit_test(conflicts_are_refused_by_name_before_eal),
	cmocka_unit_test(lcores_of_the_user_are_left_alone),
	cmocka_unit_test(option_that_only_eal_knows_goes_through),
	cmocka_unit_test(what_was_chosen_is_printed_as_a_shell_takes_it),
};

PLX_TEST_SUITE(apps, eal_args, tests);
