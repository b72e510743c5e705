/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_TIMER_H
#define SOFT_TIMER_H

/**
 * @file
 * The two waits of a reliable connection, in nanoseconds.
 */

#include <stdint.h>

#define SOFT_TIMER_NEVER UINT64_MAX

/** How long a requester waits after "receiver not ready": IBA table 45, @p code 0 to 31. */
uint64_t soft_timer_rnr_ns(unsigned int code);

/** How long it waits for an answer: 4.096 us x 2^code; code 0 is for ever (IBA 9.9.2.4.1). */
uint64_t soft_timer_ack_ns(unsigned int code);

#endif
