/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"

static struct perf perf;
static struct perf_loop loop;
static struct plx_clock ghz = {.hz = 2000000000, .tsc = true};

static int
setup(void **state)
{
	(void)state;
	perf.loop = &loop;
	loop.clock = &ghz;
	perf.opts = (struct perf_options){.device = "loopback0", .opcode = PLX_OPCODE_WRITE, .size = 8,
		.connections = 2, .depth = 4, .burst = 3, .late = 2, .handoff = true};
	perf.poller_lcore = 1;
	perf.worker_lcore = 2;
	plx_hist_reset(&loop.hist);
	return 0;
}

/** The result as text. */
static char *
json(const struct perf_result *res)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	perf_json(&perf, res, out);
	fclose(out);
	return text;
}

/** What jq makes of @p filter on @p text, its last newline cut; skips without jq. */
static const char *
jq(const char *text, const char *filter)
{
	static char answer[512];
	char path[] = "/tmp/plx-json-XXXXXX", command[600];
	int fd = mkstemp(path);
	FILE *pipe;
	size_t n;

	plx_test_needs(system("command -v jq >/dev/null 2>&1") == 0, "jq");
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	snprintf(command, sizeof(command), "jq -c '%s' %s 2>&1", filter, path);
	pipe = popen(command, "r");
	n = fread(answer, 1, sizeof(answer) - 1, pipe);
	pclose(pipe);
	unlink(path);
	while (n > 0 && answer[n - 1] == '\n')
		n--;
	answer[n] = '\0';
	return answer;
}

static struct perf_result
result(void)
{
	return (struct perf_result){.seconds = 0.5, .ops = 10, .lost = 1, .duplicated = 2, .stale = 3,
		.ns_per_tick = 0.5, .hist = &loop.hist};
}

static void
result_is_one_object_on_one_line_with_the_promised_keys(void **state)
{
	struct perf_result res = result();
	char *text;

	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		plx_hist_record(&loop.hist, i * 20);
	text = json(&res);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_string_equal(jq(text, "[.device,.op,.size,.connections,.depth,.burst,.signal_every,.half_rtt,.loop,.tsc_hz]"),
		"[\"loopback0\",\"write\",8,2,4,3,2,false,\"closed\",2000000000]");
	assert_string_equal(jq(text, ".lcores"), "{\"main\":0,\"poller\":1,\"worker\":2}");
	assert_string_equal(jq(text, "[.seconds,.ops,.rate_ops,.lost,.duplicated,.stale] == [0.5,10,20,1,2,3]"),
		"true");
	assert_string_equal(jq(text, ".latency_ns|keys_unsorted"),
		"[\"samples\",\"min\",\"p50\",\"p90\",\"p99\",\"p99_9\",\"p99_99\",\"max\",\"mean\",\"stdev\"]");
	assert_string_equal(jq(text, ".latency_ns|[.samples,.min,.p50,.p90,.p99,.max,.mean] == "
				     "[10,10,50,90,100,100,55]"),
		"true");
	/* Not an integer: the root of 825. */
	assert_string_equal(jq(text, ".latency_ns.stdev"), "28.723");
	free(text);
}

static void
what_there_is_none_of_is_null(void **state)
{
	struct perf_result res = result();
	struct plx_clock monotonic = {.hz = 1000000000, .tsc = false};
	char *text;

	(void)state;
	res.ops = 0;
	res.seconds = 0;
	loop.clock = &monotonic;
	perf.opts.handoff = false;
	text = json(&res);
	assert_string_equal(jq(text, "[.rate_ops,.latency_ns.samples,.latency_ns.min,.latency_ns.stdev,"
				     ".lcores.worker,.tsc_hz,.clock] == [0,0,null,null,null,null,\"monotonic\"]"),
		"true");
	free(text);
}

static void
strings_of_the_user_cannot_break_out(void **state)
{
	struct perf_result res = result();
	char *text;

	(void)state;
	perf.opts.device = "a\"b\\c\n\xff";
	text = json(&res);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_string_equal(jq(text, ".device|explode"), "[97,34,98,92,99,10,255]");
	free(text);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(result_is_one_object_on_one_line_with_the_promised_keys, setup),
	cmocka_unit_test_setup(what_there_is_none_of_is_null, setup),
	cmocka_unit_test_setup(strings_of_the_user_cannot_break_out, setup),
};

PLX_TEST_SUITE(apps, perf_json, tests);
