/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include "app_options.h"

static int
u64(const char *text, bool units, uint64_t *value, struct app_error *error)
{
	error->text[0] = '\0';
	return app_parse_u64("--depth", text, units, 1, 4096, value, error);
}

static void
number_within_the_limits_is_taken(void **state)
{
	struct app_error error;
	uint64_t value;

	(void)state;
	assert_int_equal(u64("1", false, &value, &error), 0);
	assert_int_equal(value, 1);
	assert_int_equal(u64("4096", false, &value, &error), 0);
	assert_int_equal(value, 4096);
	assert_int_equal(u64("2k", true, &value, &error), 0);
	assert_int_equal(value, 2048);
	assert_string_equal(error.text, "");
}

static void
bad_number_is_told_with_option_value_and_limits(void **state)
{
	static const char *const bad[] = {"0", "4097", "-1", "+1", " 1", "1 ", "", "x", "1x", "0x10", "1k", "1.5",
		"18446744073709551617"};
	struct app_error error;
	char expected[128];
	uint64_t value;

	(void)state;
	for (unsigned int i = 0; i < NB_OF(bad); i++) {
		assert_int_equal(u64(bad[i], false, &value, &error), -EINVAL);
		snprintf(expected, sizeof(expected), "--depth %s: not a number from 1 to 4096", bad[i]);
		assert_string_equal(error.text, expected);
	}
}

static void
units_do_not_overflow(void **state)
{
	struct app_error error = {""};
	uint64_t value;

	(void)state;
	assert_int_equal(app_parse_u64("-s", "17179869184g", true, 0, UINT64_MAX, &value, &error), -EINVAL);
	error.text[0] = '\0';
	assert_int_equal(app_parse_u64("-s", "17179869183g", true, 0, UINT64_MAX, &value, &error), 0);
	assert_int_equal(value, UINT64_C(17179869183) << 30);
	assert_int_equal(app_parse_u64("-s", "1kk", true, 0, UINT64_MAX, &value, &error), -EINVAL);
}

static void
seconds_are_above_zero_and_finite(void **state)
{
	static const char *const bad[] = {"0", "0.0", "-1", "nan", "inf", "1e9", "", "1s", " 1"};
	struct app_error error = {""};
	double value;

	(void)state;
	assert_int_equal(app_parse_seconds("-D", "0.25", 1e6, &value, &error), 0);
	assert_true(value == 0.25);
	for (unsigned int i = 0; i < NB_OF(bad); i++) {
		error.text[0] = '\0';
		assert_int_equal(app_parse_seconds("-D", bad[i], 1e6, &value, &error), -EINVAL);
		assert_non_null(strstr(error.text, "above 0 and up to 1e+06"));
	}
}

static void
word_is_one_of_a_list_that_is_told(void **state)
{
	static const char *const words[] = {"send", "write", "read", NULL};
	struct app_error error = {""};

	(void)state;
	assert_int_equal(app_parse_word("-t", "read", words, &error), 2);
	assert_int_equal(app_parse_word("-t", "swim", words, &error), -EINVAL);
	assert_string_equal(error.text, "-t swim: not one of send, write, read");
}

static void
first_cause_is_kept(void **state)
{
	struct app_error error = {""};

	(void)state;
	assert_int_equal(app_fail(&error, -ENOMEM, "no %s", "memory"), -ENOMEM);
	assert_int_equal(app_fail(&error, -EIO, "and so nothing works"), -EIO);
	assert_string_equal(error.text, "no memory");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(number_within_the_limits_is_taken),
	cmocka_unit_test(bad_number_is_told_with_option_value_and_limits),
	cmocka_unit_test(units_do_not_overflow),
	cmocka_unit_test(seconds_are_above_zero_and_finite),
	cmocka_unit_test(word_is_one_of_a_list_that_is_told),
	cmocka_unit_test(first_cause_is_kept),
};

PLX_TEST_SUITE(apps, options, tests);
