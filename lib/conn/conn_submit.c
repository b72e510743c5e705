/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include "conn_internal.h"
#include "plx_clock.h"

/** Whether a pool, and nobody else, gives @p q its receives: its own posts see to the limit (recv_pool_conn_post()). */
static bool
is_pools(const struct plx_conn *conn, const struct plx_op_queue *q)
{
	return q == &conn->rq && conn->recv_pool != NULL;
}

/** Whether a submit on the owner may post on @p q without looking further: nobody is before it. */
static bool
is_open(struct plx_conn *conn, const struct plx_op_queue *q)
{
	return conn_state_admits(conn, q) && conn_waiting(conn, q)->nb == 0 && !is_pools(conn, q) &&
	       (q == &conn->rq || conn->held.nb == 0);
}

void
conn_update_limit(struct plx_conn *conn, struct plx_op_queue *q)
{
	q->limit = is_open(conn, q) ? q->most : 0;
}

uint32_t
conn_room(struct plx_conn *conn, const struct plx_op_queue *q)
{
	return is_open(conn, q) ? plx_op_queue_room(q) : 0;
}

/** What a post said, as -errno. Backends of users say it as providers do: errno, -errno, or -1 and errno; or not at all. */
static int
post_code(int said)
{
	if (said == -1 && errno != 0)
		return -errno;
	return said == 0 ? -EIO : said > 0 ? -said : said;
}

static struct plx_op_deadlines *
deadlines_of(const struct plx_op_queue *q)
{
	struct plx_conn *conn = plx_op_queue_conn(q);

	return &conn->dispatcher->deadlines;
}

void
plx_conn_post_undo(struct plx_op_queue *q, struct plx_op **ops, uint16_t taken, uint16_t ready, int code,
	struct plx_submit_err *err)
{
	q->head -= ready - taken;
	for (uint16_t i = taken; i < ready; i++) {
		plx_op_disarm(ops[i]);
		plx_op_renew(ops[i]); /* some device may have it after all, and complete it under its old id */
		plx_op_deadlines_remove(deadlines_of(q), ops[i]);
		plx_op_prepared_again(ops[i]);
	}
	*err = (struct plx_submit_err){.code = post_code(code), .index = taken, .got = ready - taken};
}

/** Whether @p op has not asked for a completion of its own. With a deadline it has: it is to be over in time. */
static bool
can_be_late(const struct plx_op *op)
{
	return (op->wr.flags & PLX_OP_LATE_OK) && op->wr.opcode != PLX_OPCODE_RECV &&
	       !((op->attention & PLX_OP_OWN_MORE) && op->deadline != 0);
}

/** What the completion of @p op, which does not come, would say that it brought; the list may be gone when it is over. */
static uint32_t
late_len(const struct plx_op *op)
{
	return op->wr.opcode >= PLX_OPCODE_READ && op->wr.opcode <= PLX_OPCODE_FETCH_ADD ? (uint32_t)conn_op_length(op) : 0;
}

/**
 * Which of @p ops, the next to be posted, behind @p run unsignaled ones, ask for a completion: each that must, the last,
 * so that no chain ends in silence, and one in every half queue, so that there is always credit on its way. No other
 * flag changes.
 */
static void
choose_signals(const struct plx_op_queue *q, struct plx_op **ops, uint16_t n, uint32_t run)
{
	for (uint16_t i = 0; i < n; i++) {
		struct plx_op *op = ops[i];

		if (!can_be_late(op) || i + 1 == n || (run + 2) * 2 > q->depth) {
			op->wr.flags |= PLX_WR_SIGNALED;
			run = 0;
			continue;
		}
		op->wr.flags &= (uint8_t)~PLX_WR_SIGNALED;
		op->byte_len = late_len(op);
		run++;
	}
}

uint16_t
plx_conn_take_rest(struct plx_conn *conn, struct plx_op_queue *q, struct plx_op **ops, uint16_t at, uint16_t n,
	struct plx_submit_err *err)
{
	const uint16_t first = at;

	for (; at < n; at++) {
		struct plx_op *op = ops[at];

		if (plx_conn_check(conn, q, op, err) != 0) {
			err->index = at;
			break;
		}
		conn_strip_sges(op);
		plx_op_posted(op, conn->home);
		op->queue = q;
		op->seq = q->head + at;
		q->slots[op->seq & q->mask] = op;
		conn_arm(conn, op);
	}
	/* In front of the first odd one all are signaled. */
	choose_signals(q, ops + first, at - first, first == 0 ? plx_op_queue_unsignaled_tail(q) : 0);
	return at;
}

/* ---- ops that are taken already ---------------------------------------------------------- */

int
conn_post_taken(struct plx_conn *conn, struct plx_op_queue *q, struct plx_op **ops, uint16_t n)
{
	const struct plx_wr *wrs[PLX_POST_BURST];
	uint16_t posted;
	int code = 0;

	choose_signals(q, ops, n, plx_op_queue_unsignaled_tail(q));
	for (uint16_t i = 0; i < n; i++) {
		ops[i]->seq = q->head;
		q->slots[q->head++ & q->mask] = ops[i];
		conn_arm(conn, ops[i]);
		wrs[i] = &ops[i]->wr;
	}
	plx_dispatcher_post_begin(conn->dispatcher);
	posted = q == &conn->sq ? conn->fast->post_send(conn->qp, wrs, n, &code)
				: conn->fast->post_recv(conn->qp, wrs, n, &code);
	q->head -= n - posted;
	plx_op_queue_note_most(q);
	if (posted < n)
		code = post_code(code);
	for (uint16_t i = posted; i < n; i++)
		plx_dispatcher_fail(conn->dispatcher, ops[i], PLX_ST_POST_FAILED, code);
	plx_dispatcher_post_end(conn->dispatcher);
	return posted == n ? 0 : code;
}

static void
marker_done(struct plx_op *op, void *arg)
{
	plx_op_put(op);
}

int
conn_signal_tail(struct plx_conn *conn)
{
	struct plx_op_queue *q = &conn->sq;
	struct plx_op *op;

	if (plx_op_queue_unsignaled_tail(q) == 0)
		return 0;
	if (q->head - q->tail == q->depth)
		return -EAGAIN;
	op = plx_op_get(conn->dispatcher->pool);
	if (op == NULL)
		return -EAGAIN;
	/* Any operation that the device knows: in ERR none is executed. */
	plx_op_prep(op, (enum plx_opcode)rte_bsf32(conn->kinds), NULL, 0, 0, marker_done, NULL);
	op->queue = q;
	plx_op_posted(op, (uint16_t)conn->owner);
	return conn_post_taken(conn, q, &op, 1);
}

/** Credit for ops that are not held: those have theirs already, whoever posts before they are flushed. */
static uint32_t
credit(const struct plx_conn *conn, const struct plx_op_queue *q)
{
	uint32_t held = q == &conn->sq ? conn->held.nb : 0;

	return q->depth - (q->head - q->tail) - held;
}

/** Post ops of @p list, at most one chain and at most @p room. */
static uint16_t
post_list(struct plx_conn *conn, struct plx_op_queue *q, struct plx_op_list *list, uint32_t room, int *code)
{
	struct plx_op *ops[PLX_POST_BURST];
	uint16_t n = 0;

	while (n < PLX_POST_BURST && n < room && list->nb != 0)
		ops[n++] = plx_op_list_take(list);
	if (n != 0)
		*code = conn_post_taken(conn, q, ops, n);
	return n;
}

unsigned int
conn_post_waiting(struct plx_conn *conn, struct plx_op_queue *q)
{
	struct plx_op_list *waiting = conn_waiting(conn, q);
	unsigned int did = 0, n;
	int code;

	if (waiting->nb == 0 || !conn_state_admits(conn, q))
		return 0;
	while ((n = post_list(conn, q, waiting, credit(conn, q), &code)) != 0)
		did += n;
	conn_unqueue(conn, did);
	conn_update_limit(conn, q);
	return did;
}

/** The caller's SGE list may go when submit returns: an op that is posted later takes it along. */
static int
carry_sges(struct plx_op *op, struct plx_submit_err *err)
{
	conn_strip_sges(op);
	if (op->wr.sg_list == &op->sge || op->wr.sg_list == op->sges || op->wr.num_sge == 0)
		return 0;
	if (op->wr.num_sge > PLX_OP_SGES) {
		*err = (struct plx_submit_err){.code = -E2BIG, .got = op->wr.num_sge, .limit = PLX_OP_SGES};
		return -E2BIG;
	}
	plx_op_own_sges(op);
	return 0;
}

/* ---- hold and flush ------------------------------------------------------------------------ */

static uint16_t
not_connected(const struct plx_conn *conn, struct plx_submit_err *err)
{
	enum plx_conn_state state = plx_conn_state(conn);

	*err = (struct plx_submit_err){.code = state == PLX_CONN_FAILED ? -ECONNABORTED : -ENOTCONN, .got = state};
	return 0;
}

/** Take @p op without posting it. */
static void
hold_one(struct plx_conn *conn, struct plx_op *op)
{
	op->queue = &conn->sq;
	plx_op_posted(op, conn->home);
	conn_enqueue(conn, &conn->held, op);
}

/** @p stays: beyond the call, so that SGE lists have to come along. */
static uint16_t
hold(struct plx_conn *conn, struct plx_op **ops, uint16_t n, bool stays, struct plx_submit_err *err)
{
	uint16_t i;

	for (i = 0; i < n; i++) {
		bool chain_full = conn->held.nb == PLX_POST_BURST;

		if (chain_full || conn->waiting[0].nb != 0 || credit(conn, &conn->sq) == 0) {
			*err = (struct plx_submit_err){.code = -EAGAIN,
				.index = i,
				.got = n - i,
				.limit = chain_full ? PLX_POST_BURST : conn->sq.depth};
			break;
		}
		if (plx_conn_check(conn, &conn->sq, ops[i], err) != 0 || (stays && carry_sges(ops[i], err) != 0)) {
			err->index = i;
			break;
		}
		conn_strip_sges(ops[i]);
		hold_one(conn, ops[i]);
	}
	conn_update_limit(conn, &conn->sq);
	return i;
}

uint16_t
plx_conn_hold_burst(struct plx_conn *conn, struct plx_op **ops, uint16_t n, struct plx_submit_err *err)
{
	if (rte_lcore_id() != conn->owner) {
		*err = (struct plx_submit_err){.code = -EPERM};
		return 0;
	}
	if (!conn_state_admits(conn, &conn->sq))
		return not_connected(conn, err);
	return hold(conn, ops, n, true, err);
}

int
plx_conn_flush(struct plx_conn *conn)
{
	int code = 0;

	if (rte_lcore_id() != conn->owner)
		return -EPERM;
	if (!conn_state_admits(conn, &conn->sq))
		return plx_conn_state(conn) == PLX_CONN_FAILED ? -ECONNABORTED : -ENOTCONN;
	post_list(conn, &conn->sq, &conn->held, conn->held.nb, &code);
	conn_update_limit(conn, &conn->sq);
	return code;
}

/* ---- the slow ways in ---------------------------------------------------------------------- */

/** Reserve room for up to @p n more queued ops. Returns for how many. */
static uint16_t
queue_reserve(struct plx_conn *conn, uint16_t n)
{
	uint32_t used = __atomic_fetch_add(&conn->nb_queued, n, __ATOMIC_SEQ_CST);
	uint32_t room = used < conn->max_queued ? conn->max_queued - used : 0;

	if (n <= room)
		return n;
	conn_unqueue(conn, n - room);
	return (uint16_t)room;
}

static uint32_t
lane_capacity(const struct plx_conn *conn)
{
	struct plx_lane_stats stats;

	plx_lane_stats(conn->group->lane, &stats);
	return stats.capacity;
}

/** From another lcore: check now, then queue in order to the owner. */
static uint16_t
submit_elsewhere(struct plx_conn *conn, struct plx_op_queue *q, struct plx_op **ops, uint16_t n,
	struct plx_submit_err *err)
{
	uint16_t room = queue_reserve(conn, n), ready, sent;

	/* Once more: a close that did not find us counted has told us so (submitters_gone()). */
	if (!conn_state_admits(conn, q)) {
		conn_unqueue(conn, room);
		return not_connected(conn, err);
	}
	for (ready = 0; ready < room; ready++) {
		struct plx_op *op = ops[ready];

		if (plx_conn_check(conn, q, op, err) != 0 || carry_sges(op, err) != 0) {
			err->index = ready;
			break;
		}
		op->queue = q;
		plx_op_posted(op, conn->home);
	}
	sent = (uint16_t)plx_lane_send(conn->group->lane, ops, ready);
	for (uint16_t i = sent; i < ready; i++)
		plx_op_prepared_again(ops[i]);
	if (sent < ready || (ready == room && room < n))
		*err = (struct plx_submit_err){.code = -EAGAIN,
			.index = sent,
			.got = n - sent,
			.limit = sent < ready ? lane_capacity(conn) : conn->max_queued};
	if (sent != 0)
		__atomic_store_n(&conn->used_elsewhere, true, __ATOMIC_RELAXED);
	conn_unqueue(conn, room - sent);
	return sent;
}

/** A submit finds @p q full, or others before it: count, and note since when no send has completed. */
static void
exhausted(struct plx_conn *conn, const struct plx_op_queue *q)
{
	struct plx_conn_stall *stall = &conn->stall;

	conn->nb_exhausted++;
	if (q == &conn->rq || (stall->since_ns != 0 && stall->tail == q->tail))
		return;
	stall->tail = q->tail;
	stall->since_ns = plx_clock_monotonic_ns();
}

/** On the owner: in chains, as far as there is credit. */
static uint16_t
submit_here(struct plx_conn *conn, struct plx_op_queue *q, struct plx_op **ops, uint16_t n,
	struct plx_submit_err *err)
{
	uint16_t taken = 0;

	while (taken < n) {
		uint32_t most = RTE_MIN(conn_room(conn, q), (uint32_t)PLX_POST_BURST);
		uint16_t chunk = (uint16_t)RTE_MIN(most, (uint32_t)(n - taken));
		uint16_t got;

		if (chunk == 0) {
			exhausted(conn, q);
			*err = (struct plx_submit_err){
				.code = -EAGAIN, .index = taken, .got = n - taken, .limit = q->depth};
			break;
		}
		q->limit = q->depth;
		got = plx_conn_post_burst_with(conn->fast, conn, q, ops + taken, chunk, err);
		plx_op_queue_note_most(q);
		conn_update_limit(conn, q);
		taken += got;
		if (got < chunk) {
			err->index = taken;
			break;
		}
	}
	return taken;
}

/** On the owner, while ops are held: those go first, in the same chain as far as that reaches. */
static uint16_t
submit_behind_held(struct plx_conn *conn, struct plx_op **ops, uint16_t n, struct plx_submit_err *err)
{
	struct plx_submit_err why = {0, 0, 0, 0};
	uint16_t taken = hold(conn, ops, n, false, &why), more;

	if (taken < n && why.code != -EAGAIN) {
		*err = why;
		if (taken != 0)
			plx_conn_flush(conn);
		return taken;
	}
	plx_conn_flush(conn);
	if (taken == n)
		return n;
	more = submit_here(conn, &conn->sq, ops + taken, n - taken, err);
	if (more < n - taken)
		err->index = taken + more;
	return taken + more;
}

uint16_t
plx_conn_submit_slow(struct plx_conn *conn, struct plx_op_queue *q, struct plx_op **ops, uint16_t n,
	struct plx_submit_err *err)
{
	if (n == 0)
		return 0;
	if (!conn_state_admits(conn, q))
		return not_connected(conn, err);
	if (is_pools(conn, q)) {
		*err = (struct plx_submit_err){.code = -ENOTSUP};
		return 0;
	}
	if (rte_lcore_id() != conn->owner && conn->group == NULL) {
		*err = (struct plx_submit_err){.code = -EPERM};
		return 0;
	}
	if (rte_lcore_id() != conn->owner)
		return submit_elsewhere(conn, q, ops, n, err);
	if (q == &conn->rq || conn->held.nb == 0)
		return submit_here(conn, q, ops, n, err);
	return submit_behind_held(conn, ops, n, err);
}
