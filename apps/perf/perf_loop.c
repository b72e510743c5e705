/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The home lcore's turn, after its callbacks:
 *
 *      callbacks of the turn:  note when each op had been submitted; put what is next on its pair's ready
 * list here:                   read the clock, once; record; submit what is ready
 *
 * One reading of the clock serves the completions before it and the submits behind it. A clock costs as much
 * as a good part of an op does, so reading it twice for each op would distort what it measures. A latency is
 * so never too short, and too long by what is left of one turn at most. Long messages, which take time to
 * fill and to compare, have readings of their own.
 */

#include "perf.h"

#include <stdarg.h>
#include <stdio.h>

#define LONG_MESSAGE 512 /* bytes; from here on filling and comparing take longer than reading a clock */

void
perf_loop_init(struct perf_loop *loop, struct perf *perf)
{
	loop->perf = perf;
	loop->clock = plx_clock_get();
	loop->each = perf->opts.size > LONG_MESSAGE;
	loop->until = UINT64_MAX;
	plx_hist_reset(&loop->hist);
}

void
perf_loop_fail(struct perf_loop *loop, const char *fmt, ...)
{
	struct app_error *error = &loop->perf->loop_error;
	va_list args;

	if (loop->failed)
		return;
	va_start(args, fmt);
	vsnprintf(error->text, sizeof(error->text), fmt, args);
	va_end(args);
	/* Release pairs with main's acquire: the text is whole. */
	__atomic_store_n(&loop->failed, 1, __ATOMIC_RELEASE);
}

/* ---- pairs --------------------------------------------------------------------------------- */

void
perf_pair_touch(struct perf_pair *pair)
{
	struct perf_loop *loop = pair->loop;

	if (pair->dirty)
		return;
	pair->dirty = true;
	pair->next_dirty = NULL;
	if (loop->dirty != NULL)
		loop->dirty_tail->next_dirty = pair;
	else
		loop->dirty = pair;
	loop->dirty_tail = pair;
}

void
perf_pair_update(struct perf_pair *pair)
{
	struct perf_loop *loop = pair->loop;
	bool open = pair->quota > 0 || (pair->in_flight > 0 && !pair->stalled);

	if (open == pair->open)
		return;
	pair->open = open;
	__atomic_store_n(&loop->nb_open, loop->nb_open + (open ? 1 : -1), __ATOMIC_RELEASE);
}

/* ---- the measurement ----------------------------------------------------------------------- */

static void
end_measurement(struct perf_loop *loop, uint64_t now)
{
	if (loop->measuring)
		loop->ended = now;
	loop->measuring = false;
}

static void
record_turn(struct perf_loop *loop, uint64_t now)
{
	if (loop->nb_done == 0)
		return;
	__atomic_store_n(&loop->nb_completed, loop->nb_completed + loop->nb_done, __ATOMIC_RELAXED);
	if (loop->measuring) {
		loop->last_done = now;
		for (uint32_t i = 0; i < loop->nb_done; i++) {
			if (loop->done[i] >= loop->count_from)
				plx_hist_record(&loop->hist, now - loop->done[i]);
		}
	}
	loop->nb_done = 0;
	if (now >= loop->until)
		end_measurement(loop, now);
}

void
perf_loop_record(struct perf_loop *loop, uint64_t submitted)
{
	loop->done[loop->nb_done++] = submitted;
	if (loop->each || loop->nb_done == PERF_TURN_MAX)
		record_turn(loop, plx_clock_now(loop->clock));
}

/* ---- commands ------------------------------------------------------------------------------ */

/** Every pair may issue @p quota ops from now on. */
static void
give_quota(struct perf_loop *loop, uint64_t quota)
{
	for (uint32_t i = 0; i < loop->perf->opts.connections; i++) {
		struct perf_pair *pair = &loop->perf->pairs[i];

		pair->quota = quota;
		pair->stalled = pair->stalled && quota == 0;
		perf_initiator_issue(pair);
		perf_pair_update(pair);
	}
}

/** Targets first: their receives are posted before anything can arrive. */
static void
begin_warm_up(struct perf_loop *loop)
{
	const struct perf_options *opts = &loop->perf->opts;

	for (uint32_t i = 0; i < opts->connections; i++)
		perf_target_post_all(&loop->perf->pairs[i]);
	give_quota(loop, opts->iterations != 0 ? opts->depth : UINT64_MAX);
}

/**
 * By time, the warm-up flows over into the measurement; what is in flight now counts as what is in flight at
 * the end does not. By count, exactly the ops that are issued from here on are the measurement.
 */
static void
begin_measurement(struct perf_loop *loop)
{
	const struct perf_options *opts = &loop->perf->opts;

	loop->nb_done = 0;
	loop->measuring = true;
	loop->started = plx_clock_now(loop->clock);
	loop->last_done = loop->started;
	if (opts->iterations == 0) {
		loop->until = loop->started + (uint64_t)(opts->seconds * (double)loop->clock->hz);
		return;
	}
	loop->count_from = loop->started;
	give_quota(loop, opts->iterations);
}

/** By count, the end is when the last op was over; by time, or when interrupted, it is now. */
static void
stop(struct perf_loop *loop)
{
	bool counted = loop->perf->opts.iterations != 0 && loop->nb_open == 0;

	end_measurement(loop, counted ? loop->last_done : plx_clock_now(loop->clock));
	give_quota(loop, 0);
}

static void
obey(struct perf_loop *loop, uint32_t command)
{
	switch ((enum perf_command)command) {
	case PERF_WAIT:
		break;
	case PERF_WARM:
		begin_warm_up(loop);
		break;
	case PERF_MEASURE:
		begin_measurement(loop);
		break;
	case PERF_STOP:
		stop(loop);
		break;
	case PERF_CLOSE:
		loop->closing = true;
		perf_put_all(loop);
		break;
	}
	loop->obeyed = command;
	__atomic_store_n(&loop->reached, command, __ATOMIC_RELEASE);
}

/* ---- the turn ------------------------------------------------------------------------------ */

/** Submit what is ready; a pair for which there was no room stays in the list. */
static void
submit_dirty(struct perf_loop *loop, uint64_t now)
{
	struct perf_pair *pair = loop->dirty;

	loop->dirty = NULL;
	while (pair != NULL) {
		struct perf_pair *next = pair->next_dirty;

		pair->dirty = false;
		perf_target_submit(pair); /* before the sends that it is for */
		perf_initiator_submit(pair, now);
		if (pair->target.nb_ready + pair->initiator.nb_ready > 0)
			perf_pair_touch(pair);
		pair = next;
	}
}

unsigned int
perf_loop_once(void *arg)
{
	struct perf_loop *loop = arg;
	uint32_t command = __atomic_load_n(&loop->command, __ATOMIC_ACQUIRE);
	unsigned int did = 0;

	if (loop->nb_done > 0 || loop->dirty != NULL) {
		uint64_t now = plx_clock_now(loop->clock);

		did = 1;
		record_turn(loop, now);
		if (!loop->closing)
			submit_dirty(loop, now);
	}
	/* A turn later: what had been delivered before main spoke has been called back by then. */
	if (command != loop->obeyed && command == loop->heard)
		obey(loop, command);
	loop->heard = command;
	if (loop->perf->spare != 0)
		perf_look_for_stall(loop);
	return did;
}
