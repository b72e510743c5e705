/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "app_options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
app_fail(struct app_error *error, int err, const char *fmt, ...)
{
	va_list args;

	if (error->text[0] != '\0')
		return err;
	va_start(args, fmt);
	vsnprintf(error->text, sizeof(error->text), fmt, args);
	va_end(args);
	return err;
}

void
app_error_print(const char *name, const struct app_error *error)
{
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", name, error->text);
}

int
app_check_written(FILE *out, const char *name, struct app_error *error)
{
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return app_fail(error, -EIO, "%s: the result could not be written: %s", name, strerror(errno));
}

/** How far @p unit shifts: k 10, m 20, g 30; nothing 0; -1: no unit. */
static int
unit_shift(const char *unit)
{
	static const char units[] = "kmg";
	const char *at;

	if (*unit == '\0')
		return 0;
	at = strchr(units, tolower((unsigned char)*unit));
	return at != NULL && unit[1] == '\0' ? 10 * (int)(at - units + 1) : -1;
}

/** The number and nothing else: no sign, no blank, no overflow. */
static bool
number(const char *text, bool units, uint64_t *value)
{
	char *end;
	int shift;

	if (!isdigit((unsigned char)text[0]))
		return false; /* strtoull would take blanks and a minus */
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno != 0)
		return false;
	shift = units ? unit_shift(end) : (*end == '\0' ? 0 : -1);
	if (shift < 0 || *value > UINT64_MAX >> shift)
		return false;
	*value <<= shift;
	return true;
}

int
app_parse_u64(const char *option, const char *text, bool units, uint64_t min, uint64_t max, uint64_t *value,
	struct app_error *error)
{
	if (number(text, units, value) && *value >= min && *value <= max)
		return 0;
	return app_fail(error, -EINVAL, "%s %s: not a number from %" PRIu64 " to %" PRIu64 "%s", option, text,
		min, max, units ? " (k, m, g are x 1024)" : "");
}

int
app_parse_seconds(const char *option, const char *text, double max, double *value, struct app_error *error)
{
	char *end;

	*value = strtod(text, &end);
	if (isdigit((unsigned char)text[0]) && *end == '\0' && isfinite(*value) && *value > 0 &&
		*value <= max)
		return 0;
	return app_fail(
		error, -EINVAL, "%s %s: not a number of seconds above 0 and up to %g", option, text, max);
}

int
app_parse_word(const char *option, const char *text, const char *const *words, struct app_error *error)
{
	char list[128] = "";

	for (int i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], text) == 0)
			return i;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i > 0 ? ", " : "",
			words[i]);
	}
	return app_fail(error, -EINVAL, "%s %s: not one of %s", option, text, list);
}

int
app_bad_option(int result, const char *word, int opt, struct app_error *error)
{
	if (result == ':')
		return app_fail(error, -EINVAL, "%s: needs a value", word);
	if (opt != 0 && word[0] == '-' && word[1] != '-')
		return app_fail(error, -EINVAL,
			"-%c: unknown option (EAL's options stand before a --; --help lists ours)", opt);
	return app_fail(error, -EINVAL,
		"%s: unknown option (EAL's options stand before a --; --help lists ours)", word);
}
