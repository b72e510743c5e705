/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "internal.h"

#include <stdio.h>
#include <unistd.h>

extern const char __executable_start[];

const char *
describe_code(const void *at)
{
	static char text[160];
	char command[100];
	FILE *out;

	/* The instruction before the return address. */
	snprintf(command, sizeof(command), "addr2line -fse /proc/%d/exe 0x%zx 2>/dev/null", (int)getpid(),
		(size_t)((const char *)at - __executable_start - 1));
	snprintf(text, sizeof(text), "code %p\n", at);
	out = popen(command, "r");
	if (out != NULL) {
		size_t got = fread(text, 1, sizeof(text) - 1, out);

		if (got != 0)
			text[got] = '\0';
		pclose(out);
	}
	for (char *c = text; *c != '\0'; c++)
		if (*c == '\n')
			*c = c[1] != '\0' ? ' ' : '\0';
	return text;
}
