/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

unsigned long plx_test_nb_skipped;

/* PLX_TEST_TIMES; what is no number is not passed over: a soak that is shorter than asked for proves less. */
static unsigned long
soak_times(void)
{
	const char *times = getenv("PLX_TEST_TIMES");
	char *end;
	unsigned long n;

	if (times == NULL)
		return 1;
	errno = 0;
	n = strtoul(times, &end, 10);
	if (errno != 0 || *end != '\0' || *times < '0' || *times > '9' || n == 0 || n > 100) {
		fprintf(stderr, "PLX_TEST_TIMES=%s: not a number from 1 to 100\n", times);
		exit(2);
	}
	return n;
}

unsigned long
plx_test_scale(void)
{
	const char *scale = getenv("PLX_TEST_SCALE");

	if (scale != NULL && strcmp(scale, "small") == 0)
		return 100000;
	if (scale != NULL && strcmp(scale, "soak") == 0)
		return 10000000 * soak_times();
	return 1000000;
}

bool
plx_test_is_soak(void)
{
	return plx_test_scale() >= (plx_test_device_is_fast() ? 10000000 : 1000000);
}

/* ---- log lines ----------------------------------------------------------------------------- */

static struct {
	FILE *stream, *before;
	char text[4096];
} kept;

void
plx_test_log_keep(void)
{
	memset(kept.text, 0, sizeof(kept.text));
	kept.before = rte_log_get_stream();
	kept.stream = fmemopen(kept.text, sizeof(kept.text) - 1, "w");
	assert_non_null(kept.stream);
	rte_openlog_stream(kept.stream);
}

const char *
plx_test_log_end(void)
{
	rte_openlog_stream(kept.before);
	fclose(kept.stream);
	return kept.text;
}

bool
plx_test_is_one_line(const char *log, const char *says)
{
	const size_t most = 400;
	const char *end = strchr(log, '\n');

	if (end != NULL && end[1] == '\0' && (size_t)(end - log) <= most && strstr(log, says) != NULL)
		return true;
	print_error("wants one line of at most %zu bytes that says: %s\nlogged was: %s\n", most, says, log);
	return false;
}

const char *
plx_test_long_name(void)
{
	static char name[1001];

	memset(name, 'n', sizeof(name) - 1);
	return name;
}
