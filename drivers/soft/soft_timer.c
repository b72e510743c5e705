/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_timer.h"

/* In units of 10 us. The order is the standard's: code 0 is the longest. */
static const uint32_t rnr_10us[32] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512,
	768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

uint64_t
soft_timer_rnr_ns(unsigned int code)
{
	return rnr_10us[code & 31] * UINT64_C(10000);
}

uint64_t
soft_timer_ack_ns(unsigned int code)
{
	return code == 0 ? SOFT_TIMER_NEVER : UINT64_C(4096) << (code & 31);
}
