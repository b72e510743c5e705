/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_SUITE_H
#define PLX_SUITE_H

/**
 * @file
 * A suite is what one test file holds: a table of cases with a name, and what they need.
 *
 *      tests/unit/op/test_pool.c                        linked into
 *        tests[] = {...};                               test_op_pool    plx_test_main.c runs it, alone
 *        PLX_TEST_SUITE(op, pool, tests, .lcores = 4);  plx-test        op_autotest runs all of room op
 *
 * A suite makes itself known before main(). What it says of its needs is asked by plx-test before a run, so
 * that what cannot run is skipped by name; a program of one suite starts an EAL that has what unit tests need.
 *
 * In plx-test suites follow each other in one process, and one may run again: a suite gives back all it takes.
 *
 * Threads: the main one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct CMUnitTest;

enum plx_suite_result {
	PLX_SUITE_OK,
	PLX_SUITE_FAILED,
	PLX_SUITE_SKIPPED, /**< every case of it */
};

struct plx_suite {
	const char *room; /**< ROOM_autotest */
	const char *name; /**< within the room */

	/* Either cases that cmocka runs as a group, */
	const struct CMUnitTest *tests;
	size_t nb_tests;
	int (*setup)(void **state);
	int (*teardown)(void **state);
	/* or a function that does all of it. */
	enum plx_suite_result (*run)(void);

	/* Needs; 0 is none. */
	unsigned int lcores; /**< ids 0 (main) to lcores - 1, and so EAL */
	bool hugepages;
	bool root;
	bool device;   /**< runs on plx_test_device() */
	uint32_t caps; /**< PLX_CAP_* of that device */

	bool perf; /**< ROOM_perf_autotest, which prints times and judges none */
	struct plx_suite *next;
};

/** Those linked into the program, by room and name. */
extern struct plx_suite *plx_suites;

void plx_suite_register(struct plx_suite *suite);

/** Run it, needs unasked. */
enum plx_suite_result plx_suite_run(const struct plx_suite *suite);

/** The device for suites that run on one, "loopback0" unless set: NAME[,key=value...]. */
const char *plx_test_device(void);
void plx_test_device_set(const char *device);
/** Whether that is the in-process one, where a million ops take a second. */
bool plx_test_device_is_fast(void);

/** At the end of a test file: PLX_TEST_SUITE(room, name, table[, .field = value...]). */
#define PLX_TEST_SUITE(room_, name_, table, ...)                                                             \
	PLX_SUITE_REGISTER(room_, name_, .tests = table, .nb_tests = sizeof(table) / sizeof((table)[0]), __VA_ARGS__)

/** The same for a function in place of a table. */
#define PLX_TEST_FUNCTION(room_, name_, function, ...)                                                       \
	PLX_SUITE_REGISTER(room_, name_, .run = function, __VA_ARGS__)

#define PLX_SUITE_REGISTER(room_, name_, ...)                                                                \
	static struct plx_suite suite_##room_##_##name_ = {.room = #room_, .name = #name_, __VA_ARGS__};     \
	__attribute__((constructor)) static void suite_##room_##_##name_##_register(void)                    \
	{                                                                                                    \
		plx_suite_register(&suite_##room_##_##name_);                                                \
	}                                                                                                    \
	struct plx_suite /* takes the semicolon */

#endif
