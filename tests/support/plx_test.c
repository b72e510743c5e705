/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <stdlib.h>
#include <string.h>

unsigned long plx_test_nb_skipped;

unsigned long
plx_test_scale(void)
{
	const char *scale = getenv("PLX_TEST_SCALE");

	if (scale != NULL && strcmp(scale, "small") == 0)
		return 100000;
	if (scale != NULL && strcmp(scale, "soak") == 0)
		return 10000000;
	return 1000000;
}

bool
plx_test_is_soak(void)
{
	return plx_test_scale() >= (plx_test_device_is_fast() ? 10000000 : 1000000);
}
