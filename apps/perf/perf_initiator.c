/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The side of a connection that is timed: issue, submit, callback, and again.
 */

#include "perf.h"

#include <string.h>

#include "perf_payload.h"
#include "plx_prep.h"

/** Idle slots become ready ones, up to the depth. */
void
perf_initiator_issue(struct perf_pair *pair)
{
	struct perf_end *end = &pair->initiator;
	uint32_t depth = pair->loop->perf->opts.depth, before = end->nb_ready;

	while (pair->quota > 0 && pair->in_flight < depth && end->nb_idle > 0) {
		end->ready[end->nb_ready++] = end->idle[--end->nb_idle];
		pair->in_flight++;
		pair->quota--;
	}
	if (end->nb_ready != before)
		perf_pair_touch(pair);
}

static void
prepare(struct perf_end *end, struct plx_op *op, uint64_t seq)
{
	const struct perf_options *opts = &end->pair->loop->perf->opts;
	struct perf_note *note = perf_note(op);
	uint8_t *buffer = perf_buffer(end, note->slot);
	uint64_t off = note->slot * end->pair->loop->perf->stride;

	note->seq = seq;
	end->used[note->slot] = 1;
	plx_op_prep(op, opts->opcode, buffer, opts->size, end->lkey, perf_initiator_done, end);
	switch (opts->opcode) {
	case PLX_OPCODE_WRITE:
		perf_payload_stamp(buffer, opts->size, end->pair->index, seq);
		plx_prep_set_remote(op, &end->pair->remote, off, opts->size, PLX_ACCESS_REMOTE_WRITE);
		break;
	case PLX_OPCODE_READ:
		plx_prep_set_remote(op, &end->pair->remote, off, opts->size, PLX_ACCESS_REMOTE_READ);
		break;
	default:
		perf_payload_fill(buffer, opts->size, end->pair->index, seq);
		break;
	}
	if ((seq + 1) % opts->late != 0)
		plx_op_add_flags(op, PLX_OP_LATE_OK);
}

/** One submit call. Returns how many were taken. */
static uint16_t
submit_burst(struct perf_end *end, uint16_t n, uint64_t now)
{
	struct perf_loop *loop = end->pair->loop;
	struct plx_submit_err err = {0};
	uint16_t taken;

	for (uint16_t i = 0; i < n; i++)
		prepare(end, end->ready[i], end->next_seq + i);
	if (loop->each)
		now = plx_clock_now(loop->clock);
	for (uint16_t i = 0; i < n; i++)
		perf_note(end->ready[i])->submitted = now;
	taken = plx_conn_submit_burst(end->conn, end->ready, n, &err);
	end->next_seq += taken;
	/* What was not taken is submitted again; under a fault script that is so whatever the reason. */
	if (taken < n && !plx_is_retry(err.code) && loop->perf->fault == NULL)
		perf_loop_fail(loop, "connection %u: %s not taken: %s (%llu, limit %llu)", end->pair->index,
			plx_opcode_name(loop->perf->opts.opcode), strerror(-err.code),
			(unsigned long long)err.got, (unsigned long long)err.limit);
	return taken;
}

void
perf_initiator_submit(struct perf_pair *pair, uint64_t now)
{
	struct perf_end *end = &pair->initiator;
	uint32_t burst = pair->loop->perf->opts.burst;

	while (end->nb_ready > 0 && !pair->loop->failed) {
		uint16_t n = (uint16_t)RTE_MIN(end->nb_ready, burst);
		uint16_t taken = submit_burst(end, n, now);

		end->nb_ready -= taken;
		memmove(end->ready, end->ready + taken, end->nb_ready * sizeof(end->ready[0]));
		if (taken < n)
			return;
	}
}

/** The script made the post of a queued op fail: issue it again, under another number. */
static void
issue_again(struct perf_end *end, struct plx_op *op)
{
	struct perf_pair *pair = end->pair;

	pair->loop->refused++;
	pair->nb_refused++;
	end->idle[end->nb_idle++] = op;
	pair->in_flight--;
	pair->quota++;
	perf_initiator_issue(pair);
}

void
perf_initiator_done(struct plx_op *op, void *arg)
{
	struct perf_end *end = arg;
	struct perf_pair *pair = end->pair;
	struct perf_note *note = perf_note(op);

	perf_look_overtaken(end);
	if (__builtin_expect(op->status == PLX_ST_POST_FAILED, 0) && pair->loop->perf->fault != NULL &&
		!pair->loop->closing) {
		issue_again(end, op);
		return;
	}
	if (__builtin_expect(op->status != PLX_ST_SUCCESS || pair->loop->closing, 0)) {
		perf_op_failed(end, op);
		return;
	}
	pair->nb_done++;
	perf_loop_record(pair->loop, note->submitted);
	if (__builtin_expect(end->ops[note->slot] != op, 0)) {
		perf_op_late(end, op);
		return;
	}
	end->idle[end->nb_idle++] = op;
	pair->in_flight--;
	pair->stalled = false;
	perf_initiator_issue(pair);
	if (pair->quota == 0)
		perf_pair_update(pair);
}
