/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

/**
 * @file
 * What every app's option parser is made of.
 *
 * A bad option ends the program with status 2, and the last line on stderr names the option, the value and
 * the limits:
 *
 *      plx-perf: --depth 0: not a number from 1 to 16384
 *
 * So a reader of the last line has the cause, whatever was printed before it.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Exit status of a program whose arguments or set-up are wrong, and of one whose run failed. */
#define APP_EXIT_USAGE 2
#define APP_EXIT_FAILED 1

#define APP_ERROR_LEN 512

/** One line of text about what went wrong; empty: nothing did. */
struct app_error {
	char text[APP_ERROR_LEN];
};

/** Note what is wrong, unless something was noted before: the first cause is the cause. Returns @p err. */
int app_fail(struct app_error *error, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** The last line: "NAME: text" on stderr. */
void app_error_print(const char *name, const struct app_error *error);

/** A result that nobody can read is none: 0 when all that was printed to @p out, called @p name, has got there, or -EIO. */
int app_check_written(FILE *out, const char *name, struct app_error *error);

/**
 * The decimal number @p text, with an optional suffix k, m or g (x 1024 each) when @p units, from @p min to
 * @p max. 0, or -EINVAL with @p error naming @p option, the text and the limits.
 */
int app_parse_u64(const char *option, const char *text, bool units, uint64_t min, uint64_t max,
	uint64_t *value, struct app_error *error);

/** A number of seconds, which may have a fraction, above 0 and up to @p max. */
int app_parse_seconds(
	const char *option, const char *text, double max, double *value, struct app_error *error);

/** The index of @p text in @p words (NULL at the end), or -EINVAL with @p error listing them. */
int app_parse_word(const char *option, const char *text, const char *const *words, struct app_error *error);

/**
 * What getopt_long(3) refused, with opterr 0 and optstring beginning with ':': @p result is '?' or ':', @p
 * word the argument that it looked at (argv[optind - 1]), @p opt is optopt. Returns -EINVAL.
 */
int app_bad_option(int result, const char *word, int opt, struct app_error *error);

#endif
