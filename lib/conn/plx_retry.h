/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_RETRY_H
#define PLX_RETRY_H

/**
 * @file
 * The loop that everybody writes by hand: "full, so make progress and try again", with a deadline.
 *
 * @since 0.1
 */

#include <errno.h>

#include "plx_clock.h"
#include "plx_common.h"
#include "plx_turn.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Call @p attempt(@p arg) until it returns anything but -EAGAIN, calling @p progress(@p progress_arg) in between (a
 * poller's turn, as a rule). Returns what @p attempt returned last, or -ETIMEDOUT after @p timeout_ns with nothing done.
 * The first attempt costs no clock. What it calls "retry after progress" (plx_is_retry()): an empty pool, a full queue or
 * lane. Each progress is followed by an attempt, however long it took.
 * Not in a callback or hook, whose turn would be the progress: a debug build ends there (plx_turn.h).
 */
PLX_INLINE int
plx_retry(int (*attempt)(void *arg), void *arg, unsigned int (*progress)(void *arg), void *progress_arg,
	uint64_t timeout_ns)
{
	int err = attempt(arg);
	uint64_t start;

	if (!plx_is_retry(err))
		return err;
	plx_turn_waits("plx_retry()");
	start = plx_clock_monotonic_ns();
	do {
		if (plx_clock_monotonic_ns() - start >= timeout_ns)
			return -ETIMEDOUT;
		progress(progress_arg);
		err = attempt(arg);
	} while (plx_is_retry(err));
	return err;
}

#ifdef __cplusplus
}
#endif

#endif
