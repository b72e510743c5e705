/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Ops that do not end as they should: errors, completions that are lost, and completions that come late.
 *
 * A lost completion is noticed when a later one of the same queue comes: then the buffer is free again, the
 * op is not. It stays in custody until it completes late or its connection is closed, and another op takes
 * its slot.
 *
 *      in flight  A B C          C completes first: A and B are overtaken, on the owner (perf_overtaken);
 *      slots      A B C    ->    a d C     and replaced at home, where C's callback finds out.
 *
 * When all that a connection has in flight is lost nothing overtakes it, so once in a while one connection is
 * looked at, and if nothing happened on it for many turns of the poller, one more op is put behind.
 */

#include "perf.h"

#include "plx_status.h"

#define STALL_TURNS 30000 /* of the poller: milliseconds, where a completion takes microseconds */
#define VISIT_TURNS 64	  /* of ours, between two looks */

void
perf_overtaken(struct plx_conn *conn, const struct plx_op *op, void *arg)
{
	struct perf_end *end = arg;
	struct perf_note *note = perf_note((struct plx_op *)(uintptr_t)op);

	(void)conn;
	__atomic_store_n(&note->overtaken, 1, __ATOMIC_RELAXED);
	/* Release pairs with the acquire in perf_replace_overtaken(): the op's mark is there. */
	__atomic_store_n(&end->overtaken, end->overtaken + 1, __ATOMIC_RELEASE);
}

/** Another op for @p slot; false, and the run fails, when the pool is dry. */
static bool
replace(struct perf_end *end, uint32_t slot)
{
	struct perf_loop *loop = end->pair->loop;
	struct plx_op *op = plx_op_get(loop->perf->dispatcher->pool);

	if (op == NULL) {
		perf_loop_fail(loop,
			"out of ops: of the pool's %u all are in flight or lost; lost ones stay out until "
			"their connection is closed",
			loop->perf->dispatcher->pool->nb_ops);
		return false;
	}
	*perf_note(op) = (struct perf_note){.slot = slot};
	end->ops[slot] = op;
	return true;
}

static void
replace_sent(struct perf_end *end, uint32_t slot)
{
	if (!replace(end, slot))
		return;
	end->idle[end->nb_idle++] = end->ops[slot];
	end->pair->in_flight--;
	end->pair->stalled = false;
	perf_initiator_issue(end->pair);
	perf_pair_update(end->pair);
}

/** Its message has arrived all the same. */
static void
replace_received(struct perf_end *end, uint32_t slot)
{
	perf_target_check(end, slot, perf_note(end->ops[slot])->seq, end->pair->loop->perf->opts.size);
	if (!replace(end, slot))
		return;
	end->ready[end->nb_ready++] = end->ops[slot];
	perf_pair_touch(end->pair);
}

void
perf_replace_overtaken(struct perf_end *end)
{
	end->overtaken_seen = __atomic_load_n(&end->overtaken, __ATOMIC_ACQUIRE);
	if (end->pair->loop->closing)
		return;
	for (uint32_t slot = 0; slot < end->nb_slots; slot++) {
		struct plx_op *op = end->ops[slot];

		if (op == NULL || !__atomic_load_n(&perf_note(op)->overtaken, __ATOMIC_RELAXED))
			continue;
		if (perf_is_initiator(end))
			replace_sent(end, slot);
		else
			replace_received(end, slot);
	}
}

void
perf_op_late(struct perf_end *end, struct plx_op *op)
{
	end->pair->loop->late++;
	plx_op_put(op);
}

/** Whether closing explains the status. */
static bool
is_ending(unsigned int status)
{
	return status == PLX_ST_SUCCESS || status == PLX_ST_WR_FLUSH_ERR || status == PLX_ST_STOPPED ||
	       status == PLX_ST_CONN_LOST;
}

void
perf_op_failed(struct perf_end *end, struct plx_op *op)
{
	struct perf_loop *loop = end->pair->loop;
	struct perf_note *note = perf_note(op);

	if (op->status == PLX_ST_CONN_LOST) {
		loop->lost++;
		loop->silent += plx_op_is_unsignaled(op);
	}
	if (!loop->closing || !is_ending(op->status)) {
		loop->errors++;
		perf_loop_fail(loop, "connection %u: %s ended with %s: %s", end->pair->index,
			perf_is_initiator(end) ? plx_opcode_name(loop->perf->opts.opcode) : "receive",
			plx_status_name(op->status),
			op->status == PLX_ST_POST_FAILED ? strerror(-op->post_errno) : plx_status_str(op->status));
	}
	if (end->ops[note->slot] == op) {
		end->ops[note->slot] = NULL;
		end->pair->in_flight -= perf_is_initiator(end);
		perf_pair_update(end->pair);
	}
	plx_op_put(op);
}

/* ---- stalls -------------------------------------------------------------------------------- */

/** Nothing more is to be issued: closing will settle it. Else one more op goes behind, if a slot is left. */
static void
stalled(struct perf_pair *pair)
{
	struct perf_end *end = &pair->initiator;

	if (pair->quota == 0) {
		pair->stalled = true;
		perf_pair_update(pair);
	} else if (end->nb_idle > 0) {
		end->ready[end->nb_ready++] = end->idle[--end->nb_idle];
		pair->in_flight++;
		pair->quota--;
		perf_pair_touch(pair);
	}
}

static void
look_at(struct perf_pair *pair, uint64_t turns)
{
	if (pair->stalled)
		return;
	if (pair->in_flight == 0 || pair->nb_done != pair->visit_done) {
		pair->visit_done = pair->nb_done;
		pair->visit_turns = turns;
	} else if (turns - pair->visit_turns > STALL_TURNS) {
		pair->visit_turns = turns;
		stalled(pair);
	}
}

void
perf_look_for_stall(struct perf_loop *loop)
{
	struct plx_poller_stats stats;

	if (++loop->turns_to_visit < VISIT_TURNS || loop->closing)
		return;
	loop->turns_to_visit = 0;
	plx_poller_stats(loop->perf->poller, &stats);
	look_at(&loop->perf->pairs[loop->visit], stats.turns);
	loop->visit = (loop->visit + 1) % loop->perf->opts.connections;
}

/* ---- the end ------------------------------------------------------------------------------- */

static void
put_end(struct perf_end *end)
{
	for (uint32_t slot = 0; slot < end->nb_slots; slot++) {
		/* One in custody stays where it is; its callback puts it. */
		if (end->ops[slot] != NULL && plx_op_put(end->ops[slot]) == 0)
			end->ops[slot] = NULL;
	}
	end->nb_ready = 0;
	end->nb_idle = 0;
}

void
perf_put_all(struct perf_loop *loop)
{
	for (uint32_t i = 0; i < loop->perf->opts.connections; i++) {
		put_end(&loop->perf->pairs[i].initiator);
		put_end(&loop->perf->pairs[i].target);
	}
}
