/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

/**
 * @file
 * What plx-perf was asked to do.
 */

#include <stdbool.h>
#include <stdint.h>

#include "app_options.h"
#include "plx_wr.h"

struct perf_options {
	const char *device;	/**< with its arguments: "loopback0,max_cqe=64" */
	enum plx_opcode opcode; /**< SEND, WRITE or READ */
	uint32_t size;		/**< bytes of a message */
	uint64_t iterations;	/**< of each connection; 0: run for `seconds` */
	double seconds;
	uint32_t connections;
	uint32_t depth;	   /**< ops that a connection has in flight */
	uint32_t burst;	   /**< ops in one submit call, at most */
	uint32_t late;	   /**< one op in so many must be signaled; 1: each */
	bool handoff;	   /**< callbacks on the worker lcore, not on the poller */
	const char *fault; /**< script; NULL: no fault driver at all */
	const char *json;  /**< file, "-" is stdout; NULL: none */
	bool help;
};

#define PERF_MAX_CONNECTIONS 65536
#define PERF_MAX_DEPTH 16384
#define PERF_MAX_BURST 1024

/** 0, or -EINVAL with @p error naming the option, its value and the limits. @p argv[0] is skipped. */
int perf_options_parse(int argc, char **argv, struct perf_options *opts, struct app_error *error);

/** What --help prints, on stdout. */
void perf_usage(void);

#endif
