/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The side of a connection that answers: receives are compared and posted again. For a write or a read it
 * does nothing, and its memory is compared at the end.
 *
 * RC keeps the order of messages and of receives, so the k-th receive that is posted gets the k-th message,
 * whatever becomes of the completions.
 */

#include "perf.h"

#include <string.h>

#include "perf_payload.h"

void
perf_target_post_all(struct perf_pair *pair)
{
	if (pair->target.nb_ready > 0)
		perf_pair_touch(pair);
}

static uint16_t
post_burst(struct perf_end *end, uint16_t n)
{
	struct perf_loop *loop = end->pair->loop;
	struct plx_submit_err err = {0};
	uint16_t taken;

	for (uint16_t i = 0; i < n; i++) {
		struct perf_note *note = perf_note(end->ready[i]);

		note->seq = end->next_seq + i;
		plx_op_prep_recv(end->ready[i], perf_buffer(end, note->slot), loop->perf->opts.size,
			end->lkey, perf_target_received, end);
	}
	taken = plx_conn_recv_burst(end->conn, end->ready, n, &err);
	end->next_seq += taken;
	if (taken < n && !plx_is_retry(err.code))
		perf_loop_fail(loop, "connection %u: receive not taken: %s (%llu, limit %llu)",
			end->pair->index, strerror(-err.code), (unsigned long long)err.got,
			(unsigned long long)err.limit);
	return taken;
}

void
perf_target_submit(struct perf_pair *pair)
{
	struct perf_end *end = &pair->target;
	uint32_t burst = pair->loop->perf->opts.burst;

	while (end->nb_ready > 0 && !pair->loop->failed) {
		uint16_t n = (uint16_t)RTE_MIN(end->nb_ready, burst);
		uint16_t taken = post_burst(end, n);

		end->nb_ready -= taken;
		memmove(end->ready, end->ready + taken, end->nb_ready * sizeof(end->ready[0]));
		if (taken < n)
			return;
	}
}

/** Whether message @p seq is another because posts failed before it, as the script wants: that many numbers are skipped. */
static bool
is_behind_refused(struct perf_pair *pair, const uint8_t *buffer, uint32_t size, uint64_t seq)
{
	uint64_t first, found;

	if (pair->nb_refused == pair->nb_skipped || size < sizeof(first))
		return false;
	memcpy(&first, buffer, sizeof(first));
	found = perf_payload_seq(pair->index, first);
	if (found <= seq || found - seq > pair->nb_refused - pair->nb_skipped ||
		!perf_payload_holds(buffer, size, pair->index, found))
		return false;
	pair->nb_skipped += found - seq;
	return true;
}

void
perf_target_check(struct perf_end *end, uint32_t slot, uint64_t seq, uint32_t len)
{
	struct perf_loop *loop = end->pair->loop;
	uint32_t size = loop->perf->opts.size;

	seq += end->pair->nb_skipped;
	if (__builtin_expect(len != size, 0))
		perf_loop_fail(loop, "connection %u: message %llu has %u bytes, %u were sent",
			end->pair->index, (unsigned long long)seq, len, size);
	else if (__builtin_expect(
			 !perf_payload_holds(perf_buffer(end, slot), size, end->pair->index, seq), 0) &&
		 !is_behind_refused(end->pair, perf_buffer(end, slot), size, seq))
		perf_loop_fail(loop, "connection %u: message %llu is not what was sent", end->pair->index,
			(unsigned long long)seq);
}

void
perf_target_received(struct plx_op *op, void *arg)
{
	struct perf_end *end = arg;
	struct perf_note *note = perf_note(op);

	perf_look_overtaken(end);
	if (__builtin_expect(op->status != PLX_ST_SUCCESS || end->pair->loop->closing, 0)) {
		perf_op_failed(end, op);
		return;
	}
	if (__builtin_expect(end->ops[note->slot] != op, 0)) {
		perf_op_late(end, op);
		return;
	}
	perf_target_check(end, note->slot, note->seq, op->byte_len);
	end->ready[end->nb_ready++] = op;
	perf_pair_touch(end->pair);
}
