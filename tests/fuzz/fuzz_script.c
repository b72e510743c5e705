/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Fault scripts: what is refused is explained in one line of text, what is taken keeps to the limits.
 */

#include "fuzz.h"

#include <ctype.h>
#include <string.h>

#include "fault_script.h"

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return 0;
}

static void
require_explained(const char *error)
{
	size_t len = strnlen(error, FAULT_ERROR_LEN);

	fuzz_require(len > 0 && len < FAULT_ERROR_LEN);
	for (size_t i = 0; i < len; i++)
		fuzz_require(isprint((unsigned char)error[i]));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* On the heap, so that a sanitizer watches their borders. */
	struct fault_script *script = malloc(sizeof(*script));
	char *error = malloc(FAULT_ERROR_LEN);

	fuzz_require(script != NULL && error != NULL);
	memset(error, 'x', FAULT_ERROR_LEN);
	if (fault_script_parse((const char *)data, size, script, error) != 0)
		require_explained(error);
	else
		fuzz_require(error[0] == '\0' && script->nb_rules <= FAULT_RULES_MAX);
	for (unsigned int i = 0; error[0] == '\0' && i < script->nb_rules; i++)
		fuzz_require(script->rules[i].which.nth >= 1 && script->rules[i].which.nth <= FAULT_NTH_MAX);
	free(script);
	free(error);
	return 0;
}
