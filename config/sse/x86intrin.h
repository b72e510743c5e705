/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/*
 * In the compiler's place while this tree itself is built for SSE: rte_vect.h asks for every x86 intrinsic to have
 * __m128i. What the compiler has under this name is 60,000 lines, AVX-512 most of them, half the time a file takes.
 */

#ifndef PLX_SSE_X86INTRIN_H
#define PLX_SSE_X86INTRIN_H

#include <smmintrin.h>

#endif /* PLX_SSE_X86INTRIN_H */
