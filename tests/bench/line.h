/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef LINE_H
#define LINE_H

/**
 * @file
 * The twin of a ping-pong: a bare cache line each way, 8 bytes in it. No two threads of this machine can do it faster, so
 * this is also what the machine's own tail looks like.
 */

#include <stdint.h>

#include <rte_common.h>

#include "plx_clock.h"
#include "plx_hist.h"

#define LINE_STOP UINT64_MAX

struct line {
	uint64_t ping __rte_cache_aligned;
	uint64_t pong __rte_cache_aligned;
	uint64_t nb __rte_cache_aligned; /**< the asking side's */
};

/** The answering side, until the asking one says stop. */
static inline void
line_answer(struct line *line)
{
	uint64_t last = __atomic_load_n(&line->pong, __ATOMIC_RELAXED), ping;

	for (;;) {
		ping = __atomic_load_n(&line->ping, __ATOMIC_ACQUIRE);
		if (ping == last)
			continue;
		if (ping == LINE_STOP)
			return;
		__atomic_store_n(&line->pong, ping, __ATOMIC_RELEASE);
		last = ping;
	}
}

/** The asking side: @p n round trips, each recorded in @p hist, in ticks. */
static inline void
line_ask(struct line *line, uint64_t n, struct plx_hist *hist)
{
	const struct plx_clock *clock = plx_clock_get();
	uint64_t begun = plx_clock_now(clock), now;

	for (uint64_t i = 0; i < n; i++, begun = now) {
		__atomic_store_n(&line->ping, ++line->nb, __ATOMIC_RELEASE);
		while (__atomic_load_n(&line->pong, __ATOMIC_ACQUIRE) != line->nb)
			;
		now = plx_clock_now(clock);
		if (hist != NULL)
			plx_hist_record(hist, now - begun);
	}
}

/** The asking side: let the answering one go. It waits until it has gone, so that the lines can be used again. */
static inline void
line_stop(struct line *line)
{
	__atomic_store_n(&line->ping, LINE_STOP, __ATOMIC_RELEASE);
}

#endif
