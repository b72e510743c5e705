/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef LINE_H
#define LINE_H

/**
 * @file
 * The twin of a ping-pong: a bare cache line each way, 8 bytes in it. No two threads of this machine can do it faster, so
 * this is also what the machine's own tail looks like.
 *
 * With a cargo: whoever is about to write its line first copies a message into the other's memory, one memcpy, and whoever
 * has read a line looks at both ends of the message that came before it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_common.h>

#include "plx_clock.h"
#include "plx_hist.h"

#define LINE_STOP UINT64_MAX

/** Number @p n at both ends of a message. */
static inline void
line_stamp(char *message, uint32_t len, uint64_t n)
{
	memcpy(message, &n, sizeof(n));
	memcpy(message + len - sizeof(n), &n, sizeof(n));
}

/** Whether it is message @p n that arrived, whole. */
static inline bool
line_is_stamped(const char *message, uint32_t len, uint64_t n)
{
	return memcmp(message, &n, sizeof(n)) == 0 && memcmp(message + len - sizeof(n), &n, sizeof(n)) == 0;
}

/** What one side carries along: messages that take turns in @p nb places, @p place bytes apart. */
struct line_cargo {
	char *from;
	char *to;	  /**< the other's memory */
	const char *into; /**< where the other's arrive */
	size_t place;
	uint32_t len;
	unsigned int nb;
};

static inline void
line_load(const struct line_cargo *cargo, uint64_t n)
{
	size_t at = n % cargo->nb * cargo->place;

	line_stamp(cargo->from + at, cargo->len, n);
	memcpy(cargo->to + at, cargo->from + at, cargo->len);
}

static inline bool
line_unload(const struct line_cargo *cargo, uint64_t n)
{
	return line_is_stamped(cargo->into + n % cargo->nb * cargo->place, cargo->len, n);
}

struct line {
	uint64_t ping __rte_cache_aligned;
	uint64_t pong __rte_cache_aligned;
	uint64_t nb __rte_cache_aligned; /**< the asking side's */
	uint64_t nb_torn;		 /**< the asking side's: cargo that was not whole, there or back */
};

/** The answering side, until the asking one says stop. @p cargo NULL: none; a constant. */
static inline void
line_answer(struct line *line, const struct line_cargo *cargo)
{
	uint64_t last = __atomic_load_n(&line->pong, __ATOMIC_RELAXED), ping;

	for (;;) {
		ping = __atomic_load_n(&line->ping, __ATOMIC_ACQUIRE);
		if (ping == last)
			continue;
		if (ping == LINE_STOP)
			return;
		if (cargo != NULL && line_unload(cargo, ping)) /* else the asking side misses it */
			line_load(cargo, ping);
		__atomic_store_n(&line->pong, ping, __ATOMIC_RELEASE);
		last = ping;
	}
}

/** The asking side: @p n round trips, each recorded in @p hist, in ticks. */
static inline void
line_ask(struct line *line, const struct line_cargo *cargo, uint64_t n, struct plx_hist *hist)
{
	const struct plx_clock *clock = plx_clock_get();
	uint64_t begun = plx_clock_now(clock), now;

	for (uint64_t i = 0; i < n; i++, begun = now) {
		if (cargo != NULL)
			line_load(cargo, line->nb + 1);
		__atomic_store_n(&line->ping, ++line->nb, __ATOMIC_RELEASE);
		while (__atomic_load_n(&line->pong, __ATOMIC_ACQUIRE) != line->nb)
			;
		if (cargo != NULL)
			line->nb_torn += !line_unload(cargo, line->nb);
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
