/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_TEST_H
#define PLX_TEST_H

/**
 * @file
 * What every test file includes first: cmocka with what it needs, and the helpers of all rooms.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "plx_suite.h"
#include "plx_test_eal.h"

#define NB_OF(array) (sizeof(array) / sizeof((array)[0]))

/**
 * Rounds of a stress test, by the environment's PLX_TEST_SCALE: "small" 10^5, unset 10^6, "soak"
 * 10^7, times PLX_TEST_TIMES.
 */
unsigned long plx_test_scale(void);

/** Whether what takes real time takes its long form: PLX_TEST_SCALE=soak; on a kernel's device, whose rounds are small, unset. */
bool plx_test_is_soak(void);

/** From here on what is logged is kept, and not printed; the level of debug lines is what it was. */
void plx_test_log_keep(void);

/** Print log lines again. What was kept, until the next plx_test_log_keep(). */
const char *plx_test_log_end(void);

/** Whether @p log is one line, not a long one, that has @p says in it; else both are printed. */
bool plx_test_is_one_line(const char *log, const char *says);

/** A name of 1000 letters. */
const char *plx_test_long_name(void);

/** @p call returns @p want, and says why in one log line, which has @p says in it. */
#define plx_test_refusal(call, want, says)                                                                   \
	do {                                                                                                 \
		long plx_test_got;                                                                           \
                                                                                                             \
		plx_test_log_keep();                                                                         \
		plx_test_got = (long)(call);                                                                 \
		assert_true(plx_test_is_one_line(plx_test_log_end(), says));                                 \
		assert_int_equal(plx_test_got, want);                                                        \
	} while (0)

/** Cases skipped so far. */
extern unsigned long plx_test_nb_skipped;

/** Leave the running test, called @p name, as skipped; @p what says what it needs. */
#define plx_test_skip(name, what)                                                                            \
	do {                                                                                                 \
		printf("skip: %s: needs %s\n", name, what);                                                  \
		fflush(stdout);                                                                              \
		plx_test_nb_skipped++;                                                                       \
		skip();                                                                                      \
	} while (0)

/** Leave the running test as skipped unless @p has; @p capability says what is missing. */
#define plx_test_needs(has, capability)                                                                      \
	do {                                                                                                 \
		if (!(has))                                                                                  \
			plx_test_skip(__func__, capability);                                                 \
	} while (0)

#endif
