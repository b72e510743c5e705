/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FUZZ_H
#define FUZZ_H

/**
 * @file
 * A decoder under arbitrary bytes.
 *
 *      fuzz_NAME.c + libFuzzer (clang)  -->  fuzz_NAME      makes up inputs
 *      fuzz_NAME.c + replay.c           -->  replay_NAME    takes the files of corpus/NAME and kept/NAME, any compiler
 *
 * A sanitizer sees what is read or written out of place; what else must hold is said with fuzz_require().
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** Called before the first input. Both are libFuzzer's names. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
/** One input: @p size bytes at @p data and not one more. 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What must hold for every input; the end of the program if it does not. */
#define fuzz_require(holds)                                                                                  \
	do {                                                                                                 \
		if (!(holds)) {                                                                              \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds);           \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

#endif
