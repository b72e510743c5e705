/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Which completions count, and what they leave in the op: OWNED, on the owner.
 */

#include "fixture.h"
#include "plx_op_queue.h"

#define NEXT_GENERATION (UINT64_C(1) << 32)

static uint64_t
refused(void)
{
	struct plx_dispatcher_stats s = stats();

	return s.stale + s.duplicate + s.foreign + s.misrouted;
}

static void
completion_calls_back_once_with_the_result(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);

	assert_int_equal(plx_dispatcher_deliver(d, plx_op_id(op), PLX_ST_SUCCESS, 7, 8, PLX_WC_WITH_IMM), 0);
	assert_int_equal(nb_called, 1);
	assert_ptr_equal(called[0], op);
	assert_int_equal(called_on[0], OWNER);
	assert_int_equal(called_with[0].status, PLX_ST_SUCCESS);
	assert_int_equal(called_with[0].kind, PLX_OPCODE_SEND);
	assert_int_equal(called_with[0].byte_len, 7);
	assert_int_equal(called_with[0].imm, 8);
	assert_int_equal(called_with[0].wc_flags, PLX_WC_WITH_IMM);
	assert_int_equal(stats().delivered, 1);
	assert_int_equal(refused(), 0);
	plx_op_put(op);
}

/* contract 1.8: a completion before anybody waits is kept in the op */
static void
polled_op_keeps_its_result(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, NULL, NULL);

	assert_false(plx_op_is_done(op));
	deliver_as(OWNER, plx_op_id(op));
	assert_true(plx_op_is_done(op));
	assert_int_equal(plx_op_put(op), 0);
}

static void
posted_op_is_refused_a_second_post_and_a_put(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, NULL, NULL);

	assert_int_equal(plx_dispatcher_posting(d, op), -EBUSY);
	assert_int_equal(plx_op_put(op), -EBUSY);
	assert_int_equal(plx_op_again(op), -EBUSY);
	plx_op_prep_recv(op, NULL, 0, 0, NULL, NULL);
	assert_int_equal(plx_dispatcher_posting(d, op), -EBUSY);
	assert_int_equal(op->wr.opcode, PLX_OPCODE_SEND);
	deliver_as(OWNER, plx_op_id(op));
	assert_int_equal(plx_dispatcher_posting(d, op), -EBUSY); /* COMPLETED is not PREPARED */
	plx_op_put(op);
}

static void
op_goes_round_without_the_pool_under_a_new_generation(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);

	for (unsigned int round = 0; round < 5; round++) {
		uint64_t id = plx_op_id(op);

		deliver_as(OWNER, id);
		assert_int_equal(nb_called, round + 1);
		assert_int_equal(plx_op_again(op), 0);
		assert_int_equal(plx_op_id(op), id + NEXT_GENERATION);
		assert_int_equal(plx_dispatcher_posting(d, op), 0);
		plx_dispatcher_posted(d, op, true);
		deliver_as(OWNER, id); /* stale */
		assert_int_equal(nb_called, round + 1);
	}
	assert_int_equal(stats().stale, 5);
	deliver_as(OWNER, plx_op_id(op));
	plx_op_put(op);
}

static void
post_that_was_not_taken_leaves_the_op_prepared(void **state)
{
	struct plx_op *op = prepare(PLX_HOME_ANY, on_done, NULL);
	uint64_t id = plx_op_id(op);

	assert_int_equal(plx_dispatcher_posting(d, op), 0);
	plx_dispatcher_posted(d, op, false);
	assert_int_equal(op->state, PLX_OP_PREPARED);
	deliver_as(OWNER, plx_op_id(op));
	assert_int_equal(nb_called, 0);
	assert_int_equal(stats().duplicate, 1);
	assert_int_equal(plx_dispatcher_posting(d, op), 0);
	plx_dispatcher_posted(d, op, true);
	deliver_as(OWNER, id); /* a device that had it all the same */
	assert_int_equal(nb_called, 0);
	assert_int_equal(stats().stale, 1);
	deliver_as(OWNER, plx_op_id(op));
	assert_int_equal(nb_called, 1);
	assert_int_equal(plx_op_put(op), 0);
}

/* case 2.1: what comes after the put; contract 2.1 */
static void
stale_wr_id_is_refused_after_put(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);
	uint64_t id = plx_op_id(op);

	deliver_as(OWNER, id);
	plx_op_put(op);
	assert_int_equal(deliver_as(OWNER, id), 0);
	assert_int_equal(stats().stale, 1);
	for (unsigned int i = 0; i < d->pool->nb_slots; i++) { /* that slot among them */
		op = post(PLX_HOME_ANY, on_done, NULL);
		deliver_as(OWNER, id);
		assert_int_equal(nb_called, 1 + i);
		deliver_as(OWNER, plx_op_id(op));
		plx_op_put(op);
	}
	assert_int_equal(stats().stale, 1 + d->pool->nb_slots);
	assert_int_equal(refused(), stats().stale);
}

static void
duplicate_is_counted_and_touches_nothing(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);

	plx_dispatcher_deliver(d, plx_op_id(op), PLX_ST_SUCCESS, 5, 0, 0);
	plx_dispatcher_deliver(d, plx_op_id(op), PLX_ST_WR_FLUSH_ERR, 6, 0, 0);
	assert_int_equal(nb_called, 1);
	assert_int_equal(stats().duplicate, 1);
	assert_int_equal(refused(), 1);
	assert_int_equal(op->byte_len, 5);
	assert_int_equal(op->status, PLX_ST_SUCCESS);
	plx_op_put(op);
}

/* case 3.5: random wr_ids on error completions */
static void
foreign_wr_ids_are_refused_whatever_they_are(void **state)
{
	struct plx_dispatcher *mine = d, *other = make(PLX_DISPATCHER_OWNED, NB_OPS, 0);
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL), *theirs;
	uint64_t base = (uint64_t)mine->pool->tag << 24;
	uint64_t bad[] = {0, 1, UINT64_MAX, (uintptr_t)op, base + mine->pool->nb_slots, base | 0xffffff, base - 1, 0};
	uint64_t seed = 88172645463325252;

	d = other;
	theirs = post(PLX_HOME_ANY, on_done, NULL);
	bad[NB_OF(bad) - 1] = plx_op_id(theirs);
	d = mine;
	for (size_t i = 0; i < NB_OF(bad); i++) {
		assert_int_equal(plx_dispatcher_deliver(d, bad[i], PLX_ST_WR_FLUSH_ERR, 0, 0, 0), 0);
		assert_int_equal(stats().foreign, i + 1);
	}
	for (unsigned int i = 0; i < 10000; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		plx_dispatcher_deliver(d, seed | NEXT_GENERATION, PLX_ST_WR_FLUSH_ERR, 0, 0, 0);
	}
	assert_int_equal(refused(), NB_OF(bad) + 10000);
	assert_int_equal(nb_called, 0);
	deliver_as(OWNER, plx_op_id(op));
	plx_op_put(op);
	d = other;
	deliver_as(OWNER, plx_op_id(theirs));
	plx_op_put(theirs);
	assert_int_equal(nb_called, 2);
	d = mine;
	assert_int_equal(plx_dispatcher_destroy(other), 0);
}

/* What a post on `q` does. */
static struct plx_op *
post_on(struct plx_op_queue *q)
{
	struct plx_op *op = prepare(PLX_HOME_ANY, on_done, NULL);

	assert_int_equal(plx_dispatcher_posting(d, op), 0);
	op->queue = q;
	op->seq = q->head;
	q->slots[q->head++ & q->mask] = op;
	plx_dispatcher_posted(d, op, true);
	return op;
}

static void
deliver_on(uint32_t qp_num, uint64_t id)
{
	struct plx_wc wc = {.wr_id = id, .qp_num = qp_num, .status = PLX_ST_SUCCESS};

	assert_int_equal(plx_dispatcher_deliver_burst(d, &wc, 1), 1);
}

/* An op that was posted on a queue once must not have a later completion booked there. */
static void
op_posted_by_hand_is_on_no_queue(void **state)
{
	struct plx_op_queue q __rte_cache_aligned;
	struct plx_op *first, *op;

	plx_op_queue_init(&q, 4, SOCKET_ID_ANY);
	q.qp_num = 17;
	first = post_on(&q);
	deliver_on(17, plx_op_id(first));
	plx_op_put(first);
	do { /* until the same node comes round */
		op = post(PLX_HOME_ANY, on_done, NULL);
		deliver_on(17, plx_op_id(op));
		plx_op_put(op);
	} while (op != first);
	assert_int_equal(q.tail, 1);
	assert_null(called_with[(nb_called - 1) % NB_OPS].conn);
	plx_op_queue_fini(&q);
}

static uint64_t delivered_before;

static void
on_done_look(struct plx_op *op, void *arg)
{
	on_done(op, arg);
	delivered_before = stats().delivered;
}

/* Whoever reads it, in a callback too: refused completions are never among the delivered, whatever is behind. */
static void
delivered_never_goes_back(void **state)
{
	for (unsigned int special = 0; special < 2; special++) {
		struct plx_op *op = post(special ? WORKER : PLX_HOME_ANY, on_done, NULL);
		struct plx_op *seen = post(PLX_HOME_ANY, on_done_look, NULL);
		struct plx_wc wcs[] = {{.wr_id = plx_op_id(op)}, {.wr_id = plx_op_id(op)}, {.wr_id = plx_op_id(seen)},
			{.wr_id = 12345}, {.wr_id = plx_op_id(seen)}};

		assert_int_equal(plx_dispatcher_deliver_burst(d, wcs, NB_OF(wcs)), NB_OF(wcs));
		once_as(WORKER);
		assert_int_equal(stats().delivered, 2 * (special + 1));
		assert_true(delivered_before <= stats().delivered);
		assert_int_equal(stats().duplicate, 2 * (special + 1));
		plx_op_put(op);
		plx_op_put(seen);
	}
}

/* No QP has such a number, but nothing keeps a caller of deliver_burst() from naming it. */
static void
completion_with_the_number_of_no_queue_is_booked_nowhere(void **state)
{
	for (unsigned int i = 0; i < 3; i++) {
		struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);

		deliver_on(UINT32_MAX, plx_op_id(op));
		assert_int_equal(nb_called, i + 1);
		op->seq = 1; /* as a post on a connection leaves it */
		plx_op_put(op);
	}
}

static void
misrouted_completion_is_refused_and_the_op_stays_in_flight(void **state)
{
	struct plx_op_queue q __rte_cache_aligned;
	struct plx_op *op;

	plx_op_queue_init(&q, 4, SOCKET_ID_ANY);
	q.qp_num = 17;
	op = post_on(&q);
	deliver_on(18, plx_op_id(op));
	assert_int_equal(nb_called, 0);
	assert_int_equal(stats().misrouted, 1);
	assert_int_equal(op->state, PLX_OP_POSTED);
	assert_int_equal(plx_op_queue_room(&q), 3);
	deliver_on(17, plx_op_id(op));
	assert_int_equal(nb_called, 1);
	assert_int_equal(called_with[0].qp_num, 17);
	assert_true(plx_op_queue_idle(&q));
	plx_op_put(op);
	plx_op_queue_fini(&q);
}

/* A caller of deliver() does not know the QP: the op does. */
static void
deliver_without_qp_num_takes_it_from_the_queue(void **state)
{
	struct plx_op_queue q __rte_cache_aligned;
	struct plx_op *op;

	plx_op_queue_init(&q, 4, SOCKET_ID_ANY);
	q.qp_num = 17;
	op = post_on(&q);
	deliver_as(OWNER, plx_op_id(op));
	assert_int_equal(called_with[0].qp_num, 17);
	assert_ptr_equal(called_with[0].conn, plx_op_queue_conn(&q));
	assert_int_equal(stats().misrouted, 0);
	plx_op_put(op);
	plx_op_queue_fini(&q);
}

/* case 5.1: two devices hand out the same QP number, one dispatcher has both */
static void
equal_qp_numbers_of_two_devices_keep_their_own_books(void **state)
{
	struct plx_op_queue q[2] __rte_cache_aligned;
	struct plx_op *ops[2][3];

	for (unsigned int i = 0; i < 2; i++) {
		plx_op_queue_init(&q[i], 4, SOCKET_ID_ANY);
		q[i].qp_num = 17;
		for (unsigned int k = 0; k < 3; k++)
			ops[i][k] = post_on(&q[i]);
	}
	deliver_on(17, plx_op_id(ops[1][0]));
	deliver_on(17, plx_op_id(ops[1][1]));
	assert_int_equal(plx_op_queue_room(&q[0]), 1);
	assert_int_equal(plx_op_queue_room(&q[1]), 3);
	assert_ptr_equal(called_with[1].conn, plx_op_queue_conn(&q[1]));
	deliver_on(17, plx_op_id(ops[0][0]));
	assert_int_equal(plx_op_queue_room(&q[0]), 2);
	assert_ptr_equal(called_with[2].conn, plx_op_queue_conn(&q[0]));
	deliver_on(17, plx_op_id(ops[1][2]));
	deliver_on(17, plx_op_id(ops[0][1]));
	deliver_on(17, plx_op_id(ops[0][2]));
	assert_int_equal(nb_called, 6);
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(plx_op_queue_idle(&q[i]));
		assert_int_equal(q[i].nb_lost, 0);
		assert_int_equal(plx_op_put_bulk(d->pool, ops[i], 3), 3);
		plx_op_queue_fini(&q[i]);
	}
	assert_int_equal(refused(), 0);
}

/* case 5.2: a QP dies with CQEs queued, its number is reused at once, then the CQEs come */
static void
late_completions_of_a_dead_qp_do_not_credit_its_successor(void **state)
{
	struct plx_op_queue old, successor;
	struct plx_op *ops[4];
	uint64_t ids[4];

	plx_op_queue_init(&old, 4, SOCKET_ID_ANY);
	plx_op_queue_init(&successor, 4, SOCKET_ID_ANY);
	old.qp_num = successor.qp_num = 17;
	for (unsigned int i = 0; i < 4; i++) {
		ops[i] = post_on(&old);
		ids[i] = plx_op_id(ops[i]);
	}
	for (unsigned int i = 0; i < 4; i++) { /* settled: the QP is gone */
		assert_ptr_equal(plx_op_queue_take_unsettled(&old), ops[i]);
		plx_dispatcher_fail(d, ops[i], PLX_ST_CONN_LOST, 0);
		assert_int_equal(called_with[i].status, PLX_ST_CONN_LOST);
		plx_op_put(ops[i]);
	}
	for (unsigned int i = 0; i < 4; i++)
		ops[i] = post_on(&successor);
	for (unsigned int i = 0; i < 4; i++)
		deliver_on(17, ids[i]);
	assert_int_equal(stats().stale, 4);
	assert_int_equal(nb_called, 4);
	assert_int_equal(plx_op_queue_room(&successor), 0);
	for (unsigned int i = 0; i < 4; i++)
		deliver_on(17, plx_op_id(ops[i]));
	assert_int_equal(nb_called, 8);
	plx_op_put_bulk(d->pool, ops, 4);
	plx_op_queue_fini(&old);
	plx_op_queue_fini(&successor);
}

/* case 3.1: what an error completion does not define is poisoned */
static void
error_result_has_only_what_an_error_defines(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);
	struct plx_wc wc;

	memset(&wc, 0xa5, sizeof(wc));
	wc.wr_id = plx_op_id(op);
	wc.status = PLX_ST_REM_ACCESS_ERR;
	wc.qp_num = 9;
	wc.vendor_err = 10;
	wc.raw_status = 11;
	assert_int_equal(plx_dispatcher_deliver_burst(d, &wc, 1), 1);
	assert_int_equal(called_with[0].status, PLX_ST_REM_ACCESS_ERR);
	assert_int_equal(called_with[0].kind, PLX_OPCODE_SEND);
	assert_int_equal(called_with[0].qp_num, 9);
	assert_int_equal(called_with[0].vendor_err, 10);
	assert_int_equal(called_with[0].raw_status, 11);
	assert_int_equal(called_with[0].byte_len, 0);
	assert_int_equal(called_with[0].imm, 0);
	assert_int_equal(called_with[0].inv_rkey, 0);
	assert_int_equal(called_with[0].wc_flags, 0);
	assert_int_equal(called_with[0].post_errno, 0);
	plx_op_put(op);
}

/* case 3.4: nothing between the CQE and the user changes the status */
static void
every_status_reaches_the_user_unchanged(void **state)
{
	unsigned int n = 0;

	for (unsigned int status = 0; status < PLX_NB_STATUS; status++) {
		struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);

		plx_dispatcher_deliver(d, plx_op_id(op), (enum plx_status)status, 1, 1, 0);
		assert_int_equal(called_with[n++ % NB_OPS].status, status);
		plx_op_put(op);
	}
}

/* cases 3.1 3.3: every opcode and every error, and the CQE has nothing but what is defined */
static void
failed_op_is_told_by_what_was_posted_whatever_the_cqe_says(void **state)
{
	for (unsigned int opcode = 0; opcode <= PLX_OPCODE_RECV; opcode++) {
		for (unsigned int status = 1; status <= PLX_ST_TM_RNDV_INCOMPLETE; status++) {
			struct plx_op *op = plx_op_get(d->pool);
			struct plx_result *res = &called_with[nb_called % NB_OPS];
			struct plx_wc wc;

			plx_op_prep(op, opcode, NULL, 0, 0, on_done, NULL);
			assert_int_equal(plx_dispatcher_posting(d, op), 0);
			plx_dispatcher_posted(d, op, true);
			memset(&wc, 0xa5, sizeof(wc));
			wc.wr_id = plx_op_id(op);
			wc.status = (uint8_t)status;
			plx_dispatcher_deliver_burst(d, &wc, 1);
			assert_int_equal(res->kind, opcode);
			assert_int_equal(res->status, status);
			assert_int_equal(res->byte_len, 0);
			assert_int_equal(res->imm, 0);
			assert_int_equal(res->inv_rkey, 0);
			assert_int_equal(res->wc_flags, 0);
			plx_op_put(op);
		}
	}
}

/* An error leaves nothing behind for the op's next success. */
static void
success_after_an_error_shows_none_of_it(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);
	struct plx_wc wc = {
		.wr_id = plx_op_id(op), .status = PLX_ST_RETRY_EXC_ERR, .vendor_err = 3, .raw_status = 12};

	plx_dispatcher_deliver_burst(d, &wc, 1);
	assert_int_equal(called_with[0].vendor_err, 3);
	plx_op_again(op);
	plx_dispatcher_posting(d, op);
	plx_dispatcher_posted(d, op, true);
	deliver_as(OWNER, plx_op_id(op));
	assert_int_equal(called_with[1].vendor_err, 0);
	assert_int_equal(called_with[1].raw_status, 0);
	plx_op_put(op);
}

/* contract 8: kind says what was asked for; of a receive, what arrived */
static void
kind_of_a_receive_is_what_arrived(void **state)
{
	static const struct {
		uint8_t posted, status, reported, kind;
	} rows[] = {
		{PLX_OPCODE_RECV, PLX_ST_SUCCESS, PLX_OPCODE_RECV, PLX_OPCODE_RECV},
		{PLX_OPCODE_RECV, PLX_ST_SUCCESS, PLX_OPCODE_RECV_WRITE_IMM, PLX_OPCODE_RECV_WRITE_IMM},
		{PLX_OPCODE_RECV, PLX_ST_WR_FLUSH_ERR, PLX_OPCODE_RECV_WRITE_IMM, PLX_OPCODE_RECV},
		{PLX_OPCODE_RECV, PLX_ST_SUCCESS, PLX_OPCODE_READ, PLX_OPCODE_RECV},
		{PLX_OPCODE_READ, PLX_ST_SUCCESS, PLX_OPCODE_RECV_WRITE_IMM, PLX_OPCODE_READ},
		{PLX_OPCODE_READ, PLX_ST_WR_FLUSH_ERR, 0xa5, PLX_OPCODE_READ},
	};

	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		struct plx_op *op = prepare(PLX_HOME_ANY, on_done, NULL);
		struct plx_wc wc = {.wr_id = plx_op_id(op), .status = rows[i].status, .opcode = rows[i].reported};

		op->wr.opcode = rows[i].posted;
		plx_dispatcher_posting(d, op);
		plx_dispatcher_posted(d, op, true);
		plx_dispatcher_deliver_burst(d, &wc, 1);
		assert_int_equal(called_with[i].kind, rows[i].kind);
		plx_op_put(op);
	}
}

static void
invalidated_rkey_is_there_only_with_its_flag(void **state)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);
		struct plx_wc wc = {
			.wr_id = plx_op_id(op), .flags = i == 0 ? PLX_WC_WITH_INV : 0, .inv_rkey = 99};

		plx_dispatcher_deliver_burst(d, &wc, 1);
		assert_int_equal(called_with[i].inv_rkey, i == 0 ? 99 : 0);
		plx_op_put(op);
	}
}

/* contract 1.7 */
static void
op_whose_post_failed_is_told_so_with_the_errno(void **state)
{
	struct plx_op *op = post(PLX_HOME_ANY, on_done, NULL);
	uint64_t id = plx_op_id(op);

	plx_dispatcher_fail(d, op, PLX_ST_POST_FAILED, -ENOMEM);
	assert_int_equal(called_with[0].status, PLX_ST_POST_FAILED);
	assert_int_equal(called_with[0].post_errno, -ENOMEM);
	deliver_as(OWNER, id);
	assert_int_equal(nb_called, 1);
	assert_int_equal(stats().duplicate, 1);
	plx_op_put(op);
}

static struct plx_op *batch[8];

static void
put_all(struct plx_op *op, void *arg)
{
	nb_called++;
	plx_op_put(op);
	if (nb_called != 1)
		return;
	/* what closing does to the rest of a connection */
	for (unsigned int i = 1; i < NB_OF(batch); i++)
		assert_int_equal(plx_op_abandon(d, batch[i]), 0);
}

/* case 2.1: the callback of the first error gives up on all others, whose completions are in the same batch */
static void
callback_may_give_up_on_the_rest_of_its_own_batch(void **state)
{
	struct plx_wc wcs[NB_OF(batch)];

	memset(wcs, 0, sizeof(wcs));
	for (unsigned int i = 0; i < NB_OF(batch); i++) {
		batch[i] = post(PLX_HOME_ANY, put_all, NULL);
		wcs[i].wr_id = plx_op_id(batch[i]);
		wcs[i].status = PLX_ST_WR_FLUSH_ERR;
	}
	assert_int_equal(plx_dispatcher_deliver_burst(d, wcs, NB_OF(batch)), NB_OF(batch));
	assert_int_equal(nb_called, 1);
	assert_int_equal(stats().orphans, NB_OF(batch) - 1);
	assert_int_equal(stats().delivered, NB_OF(batch));
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
}

static void
empty_pool_is_counted(void **state)
{
	struct plx_op *ops[NB_OPS], *one;

	assert_int_equal(plx_op_get_bulk(d->pool, ops, NB_OPS), 0);
	assert_null(plx_op_get(d->pool));
	assert_int_equal(plx_op_get_bulk(d->pool, &one, 1), -EAGAIN);
	assert_int_equal(stats().pool_empty, 2);
	plx_op_put_bulk(d->pool, ops, NB_OPS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, owned, destroy)
static const struct CMUnitTest tests[] = {
	TEST(completion_calls_back_once_with_the_result),
	TEST(polled_op_keeps_its_result),
	TEST(posted_op_is_refused_a_second_post_and_a_put),
	TEST(op_goes_round_without_the_pool_under_a_new_generation),
	TEST(post_that_was_not_taken_leaves_the_op_prepared),
	TEST(stale_wr_id_is_refused_after_put),
	TEST(duplicate_is_counted_and_touches_nothing),
	TEST(foreign_wr_ids_are_refused_whatever_they_are),
	TEST(misrouted_completion_is_refused_and_the_op_stays_in_flight),
	TEST(op_posted_by_hand_is_on_no_queue),
	TEST(completion_with_the_number_of_no_queue_is_booked_nowhere),
	TEST(delivered_never_goes_back),
	TEST(deliver_without_qp_num_takes_it_from_the_queue),
	TEST(equal_qp_numbers_of_two_devices_keep_their_own_books),
	TEST(late_completions_of_a_dead_qp_do_not_credit_its_successor),
	TEST(error_result_has_only_what_an_error_defines),
	TEST(every_status_reaches_the_user_unchanged),
	TEST(failed_op_is_told_by_what_was_posted_whatever_the_cqe_says),
	TEST(success_after_an_error_shows_none_of_it),
	TEST(kind_of_a_receive_is_what_arrived),
	TEST(invalidated_rkey_is_there_only_with_its_flag),
	TEST(op_whose_post_failed_is_told_so_with_the_errno),
	TEST(callback_may_give_up_on_the_rest_of_its_own_batch),
	TEST(empty_pool_is_counted),
};

PLX_TEST_SUITE(dispatcher, deliver, tests, .lcores = 4);
