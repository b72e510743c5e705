/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "perf_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

enum { DEPTH = 256, BURST, LATE, HANDOFF, FAULT, JSON };

static const struct option long_options[] = {
	{"device", required_argument, NULL, 'd'},
	{"type", required_argument, NULL, 't'},
	{"size", required_argument, NULL, 's'},
	{"iterations", required_argument, NULL, 'n'},
	{"duration", required_argument, NULL, 'D'},
	{"connections", required_argument, NULL, 'q'},
	{"depth", required_argument, NULL, DEPTH},
	{"burst", required_argument, NULL, BURST},
	{"late", required_argument, NULL, LATE},
	{"handoff", required_argument, NULL, HANDOFF},
	{"fault", required_argument, NULL, FAULT},
	{"json", required_argument, NULL, JSON},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

void
perf_usage(void)
{
	printf("plx-perf [EAL arguments] -- [options]      rate and latency of RDMA ops over a shared CQ\n"
	       "\n"
	       "  -d DEVICE        loopback0, rxe0, mlx5_0, ... with its arguments (loopback0)\n"
	       "  -t TYPE          send, write or read (send)\n"
	       "  -s BYTES         size of a message; k, m, g are x 1024 (64)\n"
	       "  -D SECONDS       how long to measure (5)\n"
	       "  -n COUNT         ops of each connection, in place of -D\n"
	       "  -q COUNT         connections, an initiator and a target QP each, all on one CQ (64)\n"
	       "  --depth N        ops that a connection has in flight (16)\n"
	       "  --burst N        ops in one submit call, at most (16)\n"
	       "  --late N         signal every Nth op; the others may complete with a later one (1)\n"
	       "  --handoff on|off callbacks on a worker lcore, or on the poller (on)\n"
	       "  --fault SCRIPT   misbehave as the script says, doc/guide/fault.md: \"drop cqe 1/1000; dup cqe "
	       "7\"\n"
	       "  --json FILE      the result as one JSON object on one line; - is stdout, and nothing else "
	       "there\n"
	       "\n"
	       "Latency is from the submit call to the callback. The loop is closed: a connection submits "
	       "its next\n"
	       "op when one is over. Ctrl-C ends the run with the result so far.\n"
	       "Without EAL arguments: --no-huge --no-shconf --no-pci -m 512 and a map of three lcores.\n");
}

static int
parse_type(const char *text, struct perf_options *opts, struct app_error *error)
{
	static const char *const words[] = {"send", "write", "read", NULL};
	static const enum plx_opcode opcodes[] = {PLX_OPCODE_SEND, PLX_OPCODE_WRITE, PLX_OPCODE_READ};
	int i = app_parse_word("-t", text, words, error);

	if (i < 0)
		return i;
	opts->opcode = opcodes[i];
	return 0;
}

static int
parse_u32(const char *option, const char *text, bool units, uint32_t min, uint32_t max, uint32_t *value,
	struct app_error *error)
{
	uint64_t wide = 0;
	int err = app_parse_u64(option, text, units, min, max, &wide, error);

	*value = (uint32_t)wide;
	return err;
}

static int
parse_handoff(const char *text, struct perf_options *opts, struct app_error *error)
{
	static const char *const words[] = {"off", "on", NULL};
	int i = app_parse_word("--handoff", text, words, error);

	opts->handoff = i == 1;
	return i < 0 ? i : 0;
}

static int
parse_one(int c, struct perf_options *opts, struct app_error *error)
{
	switch (c) {
	case 'd':
		opts->device = optarg;
		return 0;
	case 't':
		return parse_type(optarg, opts, error);
	case 's':
		return parse_u32("-s", optarg, true, 0, UINT32_MAX, &opts->size, error);
	case 'n':
		return app_parse_u64(
			"-n", optarg, false, 1, UINT64_C(1000000000000), &opts->iterations, error);
	case 'D':
		return app_parse_seconds("-D", optarg, 1e6, &opts->seconds, error);
	case 'q':
		return parse_u32("-q", optarg, false, 1, PERF_MAX_CONNECTIONS, &opts->connections, error);
	case DEPTH:
		return parse_u32("--depth", optarg, false, 1, PERF_MAX_DEPTH, &opts->depth, error);
	case BURST:
		return parse_u32("--burst", optarg, false, 1, PERF_MAX_BURST, &opts->burst, error);
	case LATE:
		return parse_u32("--late", optarg, false, 1, PERF_MAX_DEPTH, &opts->late, error);
	case HANDOFF:
		return parse_handoff(optarg, opts, error);
	case FAULT:
		opts->fault = optarg;
		return 0;
	case JSON:
		opts->json = optarg;
		return 0;
	default: /* 'h' */
		opts->help = true;
		return 0;
	}
}

int
perf_options_parse(int argc, char **argv, struct perf_options *opts, struct app_error *error)
{
	int c, err = 0;

	*opts = (struct perf_options){
		.device = "loopback0",
		.opcode = PLX_OPCODE_SEND,
		.size = 64,
		.connections = 64,
		.depth = 16,
		.burst = 16,
		.late = 1,
		.handoff = true,
	};
	optind = 0; /* glibc: start anew */
	opterr = 0;
	while (err == 0 && (c = getopt_long(argc, argv, "+:d:t:s:n:D:q:h", long_options, NULL)) != -1) {
		if (c == '?' || c == ':')
			return app_bad_option(c, argv[optind - 1], optopt, error);
		err = parse_one(c, opts, error);
	}
	if (err == 0 && optind < argc)
		return app_fail(error, -EINVAL, "%s: no option", argv[optind]);
	if (err == 0 && opts->iterations != 0 && opts->seconds != 0)
		return app_fail(error, -EINVAL, "-n %llu and -D %g: one of them, not both",
			(unsigned long long)opts->iterations, opts->seconds);
	if (opts->seconds == 0)
		opts->seconds = 5;
	return err;
}
