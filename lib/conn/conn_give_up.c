/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <assert.h>
#include <errno.h>

#include "conn_internal.h"
#include "plx_clock.h"

/**
 * @file
 * Ops that are over before the device is done with them: deadlines and cancel, on the owner, where completions come too,
 * so that the first of them wins and nothing else has to see to that.
 *
 *      where the owner has it          device_word       given up it is
 *      ------------------------------------------------------------------------------------------------
 *      in the device's hands           plx_op_id(), or   settled, and the device keeps its half
 *                                      plx_op_watched()
 *      the same, overtaken             likewise          settled: the device is done with it
 *      waiting for credit, held        plx_op_queued()   settled
 *      on its way from another lcore   another           marked, and settled when it comes
 *      over                            another           (the mark finds nothing)
 *
 * The device word has the id in it and is the owner's alone, so that it tells of an id that anybody may name whether
 * the op may be touched.
 */

static_assert(sizeof(uintptr_t) == sizeof(uint64_t), "lane_cancel()");

void
conn_arm_more(struct plx_conn *conn, struct plx_op *op)
{
	if (op->deadline == 0) {
		plx_op_arm(op);
		return;
	}
	if (op->deadline_at == 0)
		plx_op_deadlines_add(&conn->dispatcher->deadlines, op);
	plx_op_arm_watched(op);
}

void
conn_enqueue(struct plx_conn *conn, struct plx_op_list *list, struct plx_op *op)
{
	if ((op->attention & PLX_OP_OWN_MORE) && op->deadline != 0)
		plx_op_deadlines_add(&conn->dispatcher->deadlines, op);
	plx_op_enqueued(op);
	plx_op_list_append(list, op);
}

/** Settle @p op, which is queued on @p conn. */
static void
give_up_queued(struct plx_conn *conn, struct plx_op *op, enum plx_status status)
{
	struct plx_op_queue *q = op->queue;

	if (plx_op_list_remove(conn_waiting(conn, q), op))
		conn_unqueue(conn, 1);
	else
		plx_op_list_remove(&conn->held, op);
	conn_update_limit(conn, q);
	plx_dispatcher_fail(conn->dispatcher, op, status, 0);
}

/** Settle @p op, whose device word is @p word and names its present use. */
static void
give_up(struct plx_dispatcher *d, struct plx_op *op, uint64_t word, enum plx_status status)
{
	if (word == plx_op_queued(plx_op_id(op)))
		give_up_queued(plx_op_conn(op), op, status);
	else if (plx_op_queue_forget_lost(op->queue, op))
		plx_dispatcher_fail(d, op, status, 0);
	else
		plx_dispatcher_settle_early(d, op, status);
}

static uint64_t
word_of(const struct plx_op *op)
{
	return __atomic_load_n(&op->device_word, __ATOMIC_RELAXED);
}

/* ---- deadlines ----------------------------------------------------------------------------- */

unsigned int
conn_group_expire(struct plx_conn_group *group)
{
	struct plx_dispatcher *d = group->dispatcher;
	uint64_t now = plx_clock_monotonic_ns();
	/* No more than there are: a callback may submit one that is late already, again and again. */
	unsigned int most = d->deadlines.nb, did = 0;
	struct plx_op *op;

	while (did < most && (op = plx_op_deadlines_due(&d->deadlines, now)) != NULL) {
		give_up(d, op, word_of(op), PLX_ST_TIMED_OUT);
		did++;
	}
	return did;
}

/* ---- cancel -------------------------------------------------------------------------------- */

/** On an op that may be anybody's by now, the mark is the owner's all the same; out of ASan's sight. */
static __attribute__((noinline, no_sanitize_address)) void
mark_cancelled(struct plx_dispatcher *d, struct plx_op *op, uint64_t id)
{
	op->cancel_gen = (uint32_t)(id >> 32);
	d->nb_marked += !op->cancel_marked;
	op->cancel_marked = true;
}

/**
 * Whether @p op, which comes from elsewhere, is to be cancelled. A mark that came too late for an earlier use goes,
 * too.
 */
static bool
take_mark(struct plx_dispatcher *d, struct plx_op *op)
{
	if (!op->cancel_marked)
		return false;
	op->cancel_marked = false;
	d->nb_marked--;
	return op->cancel_gen == plx_op_generation(op);
}

/** Of an op in flight, whose connection lives. Not inlined: gcc 12 then sees a queue of a connection that is NULL. */
static __attribute__((noinline)) bool
is_of_a_pool(const struct plx_op *op)
{
	const struct plx_conn *conn = plx_op_queue_conn(op->queue);

	return op->wr.opcode == PLX_OPCODE_RECV && conn->recv_pool != NULL;
}

/**
 * As the device word @p word tells, @p op is the owner's to settle, and its use @p id is not settled yet. An op posted by
 * hand, or on an SRQ, is in no connection's books: those stay as they are. A pool's receive would be lost to its
 * connection.
 */
static bool
can_give_up(const struct plx_op *op, uint64_t word, uint64_t id)
{
	return (word == id || word == plx_op_queued(id) || (word == plx_op_watched(id) && !plx_op_is_split(op))) &&
	       plx_op_queue_conn(op->queue) != NULL && !is_of_a_pool(op);
}

/** @p group is NULL for a connection that was attached: nothing comes to it from elsewhere. */
static void
cancel_here(struct plx_dispatcher *d, struct plx_conn_group *group, uint64_t id)
{
	struct plx_op *op = plx_op_find(d->pool, id);
	uint64_t word = word_of(op);

	if (can_give_up(op, word, id)) {
		give_up(d, op, word, PLX_ST_CANCELLED);
	} else if (group != NULL && word != id && word != plx_op_watched(id) && plx_dispatcher_in_device(d, id)) {
		mark_cancelled(d, op, id);
	}
}

void
conn_group_cancel(struct plx_conn_group *group, uint64_t word)
{
	struct plx_dispatcher *d = group->dispatcher;

	cancel_here(d, group, word >> 24 << 32 | d->pool->first_id | (word & 0xffffff));
}

int
plx_conn_cancel(struct plx_conn *conn, uint64_t id)
{
	struct plx_dispatcher *d = conn->dispatcher;
	uintptr_t word = lane_cancel(id);

	if (plx_op_find(d->pool, id) == NULL)
		return -EINVAL;
	if (rte_lcore_id() == conn->owner) {
		/* As during a post: no callback before this has returned. */
		plx_dispatcher_post_begin(d);
		cancel_here(d, conn->group, id);
		plx_dispatcher_post_end(d);
		return 0;
	}
	if (conn->group == NULL)
		return -EPERM;
	return plx_lane_send(conn->group->lane, &word, 1) == 1 ? 0 : -EAGAIN;
}

/* ---- what comes from elsewhere too late ----------------------------------------------------- */

/** PLX_ST_SUCCESS: it is to be posted. The clock is read for the first that has a deadline, *now being 0 before. */
static enum plx_status
fate_of(const struct plx_conn *conn, struct plx_op *op, uint64_t *now)
{
	if (conn->dispatcher->nb_marked != 0 && take_mark(conn->dispatcher, op))
		return PLX_ST_CANCELLED;
	if (!(op->attention & PLX_OP_OWN_MORE) || op->deadline == 0)
		return PLX_ST_SUCCESS;
	if (*now == 0)
		*now = plx_clock_monotonic_ns();
	return op->deadline <= *now ? PLX_ST_TIMED_OUT : PLX_ST_SUCCESS;
}

unsigned int
conn_sort_out(struct plx_conn *conn, struct plx_op **ops, unsigned int n)
{
	unsigned int left = 0;
	uint64_t now = 0;

	for (unsigned int i = 0; i < n; i++) {
		enum plx_status fate = fate_of(conn, ops[i], &now);

		if (fate == PLX_ST_SUCCESS) {
			ops[left++] = ops[i];
			continue;
		}
		conn_unqueue(conn, 1);
		/* As during a post: its callback may cancel those that stay, which are not where a cancel looks yet. */
		plx_dispatcher_post_begin(conn->dispatcher);
		plx_dispatcher_fail(conn->dispatcher, ops[i], fate, 0);
		plx_dispatcher_post_end(conn->dispatcher);
	}
	return left;
}
