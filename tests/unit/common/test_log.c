/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_log.h"

#include "plx_test.h"

#include <stdlib.h>
#include <string.h>

static char *text;
static size_t text_len;
static FILE *stream, *stream_before;
static int level_before;

static int
capture(void **state)
{
	stream_before = rte_log_get_stream();
	level_before = rte_log_get_level((uint32_t)plx_log_type());
	stream = open_memstream(&text, &text_len);
	return stream == NULL ? -1 : rte_openlog_stream(stream);
}

static int
release(void **state)
{
	rte_openlog_stream(stream_before);
	rte_log_set_level((uint32_t)plx_log_type(), (uint32_t)level_before);
	fclose(stream);
	free(text);
	return 0;
}

static const char *
captured(void)
{
	fflush(stream);
	return text;
}

static void
line_names_the_library_and_the_numbers(void **state)
{
	PLX_LOG(ERR, "CQ full: %u of %u reserved, connection needs %u", 4096, 4096, 48);
	assert_string_equal(captured(), "pollux: CQ full: 4096 of 4096 reserved, connection needs 48\n");
}

static void
line_without_arguments_is_fine(void **state)
{
	PLX_LOG(WARNING, "nothing to add");
	assert_string_equal(captured(), "pollux: nothing to add\n");
}

static void
debug_lines_come_when_asked_for_by_name(void **state)
{
	PLX_LOG(DEBUG, "quiet");
	assert_string_equal(captured(), "");
	assert_int_equal(rte_log_set_level_pattern("pollux", RTE_LOG_DEBUG), 0);
	PLX_LOG(DEBUG, "loud");
	assert_string_equal(captured(), "pollux: loud\n");
}

static void
type_is_registered_once(void **state)
{
	assert_true(plx_log_type() >= 0);
	assert_int_equal(plx_log_type(), plx_log_type());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, capture, release)
static const struct CMUnitTest tests[] = {
	TEST(line_names_the_library_and_the_numbers),
	TEST(line_without_arguments_is_fine),
	TEST(debug_lines_come_when_asked_for_by_name),
	TEST(type_is_registered_once),
};

PLX_TEST_SUITE(common, log, tests);
