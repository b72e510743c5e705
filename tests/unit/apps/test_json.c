/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "app_json.h"

#include "plx_test.h"

#include <stdlib.h>

static void
string_writes(const char *text, const char *json)
{
	char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	assert_non_null(out);
	app_json_string(text, out);
	fclose(out);
	assert_string_equal(got, json);
	free(got);
}

static void
string_escapes_what_json_does_not_have(void **state)
{
	string_writes("", "\"\"");
	string_writes("rxe0", "\"rxe0\"");
	string_writes("a\"b\\c", "\"a\\\"b\\\\c\"");
	string_writes("tab\there\n", "\"tab\\u0009here\\u000a\"");
	string_writes("\x7f\xff", "\"\\u007f\\u00ff\"");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(string_escapes_what_json_does_not_have),
};

PLX_TEST_SUITE(apps, json, tests);
