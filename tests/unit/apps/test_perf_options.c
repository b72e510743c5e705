/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include "perf_options.h"

/** Parse "prog words"; NULL when taken, else why not. */
static const char *
parse(const char *words, struct perf_options *opts)
{
	static struct app_error error;
	static char line[256];
	char *argv[32];
	int argc = 0;

	error.text[0] = '\0';
	snprintf(line, sizeof(line), "prog %s", words);
	for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return perf_options_parse(argc, argv, opts, &error) == 0 ? NULL : error.text;
}

static void
defaults_are_as_documented(void **state)
{
	struct perf_options opts;

	(void)state;
	assert_null(parse("", &opts));
	assert_string_equal(opts.device, "loopback0");
	assert_int_equal(opts.opcode, PLX_OPCODE_SEND);
	assert_int_equal(opts.size, 64);
	assert_int_equal(opts.iterations, 0);
	assert_true(opts.seconds == 5);
	assert_int_equal(opts.connections, 64);
	assert_int_equal(opts.depth, 16);
	assert_int_equal(opts.burst, 16);
	assert_int_equal(opts.late, 1);
	assert_true(opts.handoff);
	assert_null(opts.fault);
	assert_null(opts.json);
}

static void
every_option_is_taken(void **state)
{
	struct perf_options opts;

	(void)state;
	assert_null(parse("-d rxe0 -t read -s 4k -n 7 -q 3 --depth 2 --burst 1 --late 4 --handoff off --fault x --json -",
		&opts));
	assert_string_equal(opts.device, "rxe0");
	assert_int_equal(opts.opcode, PLX_OPCODE_READ);
	assert_int_equal(opts.size, 4096);
	assert_int_equal(opts.iterations, 7);
	assert_int_equal(opts.connections, 3);
	assert_int_equal(opts.depth, 2);
	assert_int_equal(opts.burst, 1);
	assert_int_equal(opts.late, 4);
	assert_false(opts.handoff);
	assert_string_equal(opts.fault, "x");
	assert_string_equal(opts.json, "-");
	assert_null(parse("-D 0.5 -t write", &opts));
	assert_true(opts.seconds == 0.5);
	assert_int_equal(opts.opcode, PLX_OPCODE_WRITE);
}

static void
what_is_refused_is_named(void **state)
{
	static const struct {
		const char *given, *why;
	} bad[] = {
		{"-D 0", "-D 0: not a number of seconds above 0 and up to 1e+06"},
		{"-n 0", "-n 0: not a number from 1 to 1000000000000"},
		{"-q 0", "-q 0: not a number from 1 to 65536"},
		{"-q 65537", "-q 65537: not a number from 1 to 65536"},
		{"--depth 0", "--depth 0: not a number from 1 to 16384"},
		{"--burst 1025", "--burst 1025: not a number from 1 to 1024"},
		{"--late 0", "--late 0: not a number from 1 to 16384"},
		{"-t swim", "-t swim: not one of send, write, read"},
		{"--handoff maybe", "--handoff maybe: not one of off, on"},
		{"-s 4294967296", "-s 4294967296: not a number from 0 to 4294967295 (k, m, g are x 1024)"},
		{"-n 5 -D 5", "-n 5 and -D 5: one of them, not both"},
		{"-q", "-q: needs a value"},
		{"--depth", "--depth: needs a value"},
		{"-x", "-x: unknown option (EAL's options stand before a --; --help lists ours)"},
		{"--lcores 1", "--lcores: unknown option (EAL's options stand before a --; --help lists ours)"},
		{"word", "word: no option"},
	};
	struct perf_options opts;

	(void)state;
	for (unsigned int i = 0; i < NB_OF(bad); i++) {
		const char *why = parse(bad[i].given, &opts);

		assert_non_null(why);
		assert_string_equal(why, bad[i].why);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(defaults_are_as_documented),
	cmocka_unit_test(every_option_is_taken),
	cmocka_unit_test(what_is_refused_is_named),
};

PLX_TEST_SUITE(apps, perf_options, tests);
