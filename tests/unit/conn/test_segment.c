/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <string.h>

#include "rig.h"

#include "plx_segment.h"

/**
 * @file
 * Transfers longer than a message: how they are cut, and that they end once. The fake device's messages are of 1 MiB, and
 * nothing is ever read or written, so addresses are only numbers.
 */

#define MSG	UINT64_C(0x100000)
#define LOCAL	UINT64_C(0x100000000000)
#define REMOTE	UINT64_C(0x200000000000)
#define ALL_LEN (UINT64_C(1) << 40)

static struct rig rig;
static struct plx_conn *conn;
static struct rig_count count;
static struct plx_segment seg;
static unsigned int nb_done;

static void
done(struct plx_segment *of, void *arg)
{
	assert_ptr_equal(of, &seg);
	assert_ptr_equal(arg, &rig);
	assert_int_equal(of->in_flight, 0);
	nb_done++;
}

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	conn = rig_conn(&rig, 8, OWNER, true);
	count = (struct rig_count){.rig = &rig};
	nb_done = 0;
	memset(&seg, 0xa5, sizeof(seg)); /* whatever was there */
	return 0;
}

/** No op may be out: rig_break() looks. */
static int
unmake(void **state)
{
	rig_close(&rig, conn);
	rig_break(&rig);
	return 0;
}

static struct plx_segment_conf
conf_of(enum plx_opcode opcode, uint64_t len, unsigned int window)
{
	return (struct plx_segment_conf){
		.conn = conn,
		.opcode = opcode,
		.local = {.addr = (void *)LOCAL, .len = len, .lkey = 5},
		.remote = {.addr = REMOTE, .len = ALL_LEN, .rkey = 0x80000006,
			.rights = PLX_ACCESS_REMOTE_READ | PLX_ACCESS_REMOTE_WRITE},
		.off = 64,
		.window = window,
		.done_cb = done,
		.arg = &rig,
	};
}

/** One piece after the other: each begins where the one before ended. Returns how many bytes they were. */
static uint64_t
step_through(void)
{
	struct fake_qp *qp = fake_qp(conn->qp);
	uint64_t at = 0;

	while (nb_done == 0) {
		uint64_t len = qp->last.num_sge == 0 ? 0 : qp->last_sges[0].length;

		assert_int_equal(qp->last.remote_addr, REMOTE + 64 + at);
		assert_int_equal(qp->last.rkey, 0x80000006);
		if (len > 0)
			assert_int_equal(qp->last_sges[0].addr, LOCAL + at);
		assert_true(len <= MSG);
		at += len;
		fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
		rig_turn(&rig);
	}
	return at;
}

/** Complete what is in flight, one by one, to the end. */
static void
complete_all(void)
{
	while (nb_done == 0) {
		fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
		rig_turn(&rig);
	}
}

/* case 8.8 */
static void
lengths_on_either_side_of_every_limit_arrive_whole(void **state)
{
	static const uint64_t lens[] = {0, 1, MSG - 1, MSG, MSG + 1, INT32_MAX, UINT64_C(1) << 31, UINT32_MAX,
		UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1, UINT64_C(5) << 30};

	for (unsigned int i = 0; i < NB_OF(lens); i++) {
		struct plx_segment_conf conf = conf_of(i % 2 ? PLX_OPCODE_READ : PLX_OPCODE_WRITE, lens[i], 1);

		nb_done = 0;
		assert_int_equal(plx_segment_start(&seg, &conf), 0);
		assert_int_equal(fake_qp(conn->qp)->last.opcode, conf.opcode);
		assert_int_equal(step_through(), lens[i]);
		assert_int_equal(nb_done, 1);
		assert_int_equal(seg.status, PLX_ST_SUCCESS);
		assert_int_equal(plx_segment_moved(&seg), lens[i]);
		assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	}
}

static void
window_bounds_what_is_in_flight(void **state)
{
	for (unsigned int window = 1; window <= PLX_SEGMENT_WINDOW; window++) {
		struct plx_segment_conf conf = conf_of(PLX_OPCODE_WRITE, 20 * MSG, window);
		struct plx_conn_stats stats;

		nb_done = 0;
		assert_int_equal(plx_segment_start(&seg, &conf), 0);
		for (unsigned int left = 20; left > 0; left--) {
			plx_conn_stats(conn, &stats);
			assert_int_equal(stats.in_flight, left < window ? left : window);
			assert_int_equal(nb_done, 0);
			fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
			rig_turn(&rig);
		}
		assert_int_equal(nb_done, 1);
	}
}

static void
first_failure_is_told_and_the_flushes_behind_it_are_not(void **state)
{
	struct plx_segment_conf conf = conf_of(PLX_OPCODE_WRITE, 20 * MSG, 4);

	assert_int_equal(plx_segment_start(&seg, &conf), 0);
	fake_complete(conn->qp, false, 2, PLX_ST_SUCCESS);
	rig_turn(&rig);
	fake_complete(conn->qp, false, 1, PLX_ST_REM_ACCESS_ERR);
	rig_turn(&rig);
	assert_int_equal(nb_done, 0);
	fake_complete(conn->qp, false, 3, PLX_ST_WR_FLUSH_ERR);
	rig_turn(&rig);
	assert_int_equal(nb_done, 1);
	assert_int_equal(seg.status, PLX_ST_REM_ACCESS_ERR);
	assert_int_equal(plx_segment_moved(&seg), 2 * MSG);
}

static void
what_is_wrong_is_told_before_anything_is_posted(void **state)
{
	struct plx_segment_conf conf = conf_of(PLX_OPCODE_SEND, MSG, 1);

	plx_test_refusal(plx_segment_start(&seg, &conf), -ENOTSUP, "a write or a read, not a send");
	conf = conf_of(PLX_OPCODE_WRITE, MSG, PLX_SEGMENT_WINDOW + 1);
	plx_test_refusal(plx_segment_start(&seg, &conf), -EINVAL, "a window of 9 pieces, the maximum is 8");
	conf = conf_of(PLX_OPCODE_WRITE, ALL_LEN - 63, 1);
	assert_int_equal(plx_segment_start(&seg, &conf), -ERANGE);
	conf = conf_of(PLX_OPCODE_WRITE, UINT64_MAX, 1);
	assert_int_equal(plx_segment_start(&seg, &conf), -ERANGE);
	conf = conf_of(PLX_OPCODE_WRITE, 5 * MSG, 1);
	conf.remote.rights = PLX_ACCESS_REMOTE_READ;
	assert_int_equal(plx_segment_start(&seg, &conf), -EACCES);
	conf.opcode = PLX_OPCODE_READ;
	conf.remote.rights = PLX_ACCESS_REMOTE_WRITE;
	assert_int_equal(plx_segment_start(&seg, &conf), -EACCES);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, 0);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 0);
	assert_int_equal(nb_done, 0);
}

static void
full_queue_takes_nothing_and_an_empty_pool_neither(void **state)
{
	struct plx_segment_conf conf = conf_of(PLX_OPCODE_WRITE, 5 * MSG, 4);
	struct plx_op *ops[2048];
	struct plx_submit_err err;
	unsigned int nb = 0;

	rig_ops(&rig, PLX_OPCODE_SEND, ops, 8, &count);
	assert_int_equal(plx_conn_submit_burst(conn, ops, 8, &err), 8);
	assert_int_equal(plx_segment_start(&seg, &conf), -EAGAIN);
	assert_int_equal(plx_op_pool_in_use(rig.d->pool), 8);
	fake_complete(conn->qp, false, 8, PLX_ST_SUCCESS);
	rig_turn(&rig);
	while (nb < NB_OF(ops) && (ops[nb] = plx_op_get(rig.d->pool)) != NULL)
		nb++;
	assert_true(nb < NB_OF(ops)); /* it is empty */
	assert_int_equal(plx_segment_start(&seg, &conf), -EAGAIN);
	assert_int_equal(plx_op_put_bulk(rig.d->pool, ops, nb), nb);
	assert_int_equal(plx_segment_start(&seg, &conf), 0);
	while (nb_done == 0) {
		fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
		rig_turn(&rig);
	}
	assert_int_equal(seg.status, PLX_ST_SUCCESS);
}

static void
a_submit_that_fails_later_ends_the_transfer(void **state)
{
	struct plx_segment_conf conf = conf_of(PLX_OPCODE_WRITE, 5 * MSG, 2);

	assert_int_equal(plx_segment_start(&seg, &conf), 0);
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = EIO;
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(nb_done, 0);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	assert_int_equal(nb_done, 1);
	assert_int_equal(seg.status, PLX_ST_POST_FAILED);
	assert_int_equal(seg.post_errno, -EIO);
	assert_int_equal(plx_segment_moved(&seg), 2 * MSG);
}

static void
a_piece_that_fails_after_a_submit_that_failed_is_the_cause(void **state)
{
	struct plx_segment_conf conf = conf_of(PLX_OPCODE_WRITE, 5 * MSG, 2);

	assert_int_equal(plx_segment_start(&seg, &conf), 0);
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = EIO;
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS);
	rig_turn(&rig);
	fake_complete(conn->qp, false, 1, PLX_ST_REM_ACCESS_ERR);
	rig_turn(&rig);
	assert_int_equal(nb_done, 1);
	assert_int_equal(seg.status, PLX_ST_REM_ACCESS_ERR);
	assert_int_equal(seg.post_errno, 0);
	assert_int_equal(plx_segment_moved(&seg), MSG);
}

static void
no_window_in_the_conf_is_two_pieces(void **state)
{
	struct plx_segment_conf conf = conf_of(PLX_OPCODE_WRITE, 5 * MSG, 0);

	assert_int_equal(plx_segment_start(&seg, &conf), 0);
	assert_int_equal(seg.in_flight, 2);
	complete_all();
	assert_int_equal(seg.status, PLX_ST_SUCCESS);
}

static void
failure_is_told_whole_and_nothing_behind_it_counts(void **state)
{
	struct plx_segment_conf conf = conf_of(PLX_OPCODE_WRITE, 5 * MSG, 2);
	struct fake_qp *qp = fake_qp(conn->qp);
	struct plx_wc wc = {.status = PLX_ST_REM_ACCESS_ERR, .raw_status = 10, .vendor_err = 0x51, .qp_num = conn->qp->qp_num};

	assert_int_equal(plx_segment_start(&seg, &conf), 0);
	wc.wr_id = qp->sq.wr_ids[qp->sq.tail % FAKE_DEPTH];
	fake_lose(conn->qp, false); /* it comes by hand, with what the fake leaves 0 */
	assert_int_equal(plx_dispatcher_deliver_burst(rig.d, &wc, 1), 1);
	assert_int_equal(nb_done, 0);
	fake_complete(conn->qp, false, 1, PLX_ST_SUCCESS); /* behind a gap: not counted */
	rig_turn(&rig);
	assert_int_equal(nb_done, 1);
	assert_int_equal(seg.status, PLX_ST_REM_ACCESS_ERR);
	assert_int_equal(seg.vendor_err, 0x51);
	assert_int_equal(seg.raw_status, 10);
	assert_int_equal(seg.post_errno, 0);
	assert_int_equal(plx_segment_moved(&seg), 0);
}

static void
post_that_fails_on_the_owner_is_told_with_its_errno(void **state)
{
	struct plx_conn *far = rig_conn(&rig, 8, WORKER, true);
	struct plx_segment_conf conf = conf_of(PLX_OPCODE_WRITE, MSG, 1);

	conf.conn = far;
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_segment_start(&seg, &conf), 0); /* queued: the owner posts */
	rig.dev->fail_post_at = 1;
	rig.dev->fail_post_errno = -EIO;
	for (unsigned int turns = 0; turns < 4 && nb_done == 0; turns++) { /* out by the lane, back by the lane */
		rig_turn(&rig);
		rig_home_turn(&rig, WORKER);
	}
	assert_int_equal(nb_done, 1);
	assert_int_equal(seg.status, PLX_ST_POST_FAILED);
	assert_int_equal(seg.post_errno, -EIO);
	plx_test_as_lcore(OWNER);
	rig_close(&rig, far);
}

static void
close_ends_the_transfer_once(void **state)
{
	struct plx_segment_conf conf = conf_of(PLX_OPCODE_WRITE, 20 * MSG, 4);

	assert_int_equal(plx_segment_start(&seg, &conf), 0);
	rig_close(&rig, conn);
	assert_int_equal(nb_done, 1);
	assert_int_equal(seg.status, PLX_ST_WR_FLUSH_ERR);
	assert_int_equal(plx_segment_moved(&seg), 0);
	conn = rig_conn(&rig, 8, OWNER, true);
}

/** Submit sends as the worker until max_queued of them wait. */
static void
fill_queue_as_worker(struct plx_conn *c)
{
	struct plx_op *op;

	do {
		rig_ops(&rig, PLX_OPCODE_SEND, &op, 1, &count);
	} while (plx_conn_submit(c, op) == 0);
	assert_int_equal(plx_op_put(op), 0);
}

static void
transfer_that_others_crowd_out_is_gone_on_with_by_advance(void **state)
{
	struct plx_conn *far = rig_conn(&rig, 2, WORKER, true);
	struct plx_segment_conf conf = conf_of(PLX_OPCODE_WRITE, 3 * MSG, 1);

	conf.conn = far;
	plx_test_as_lcore(WORKER);
	assert_int_equal(plx_segment_start(&seg, &conf), 0);
	assert_int_equal(plx_segment_advance(&seg), 0); /* nothing to do */
	rig_turn(&rig);
	fill_queue_as_worker(far);
	rig_turn(&rig);
	fake_complete(far->qp, false, 1, PLX_ST_SUCCESS); /* the piece; its callback is on its way to the worker */
	rig_turn(&rig);
	fill_queue_as_worker(far);
	rig_home_turn(&rig, WORKER);
	assert_int_equal(seg.in_flight, 0);
	assert_int_equal(nb_done, 0);
	assert_int_equal(plx_segment_advance(&seg), -EAGAIN);
	while (nb_done == 0) {
		if (fake_qp(far->qp)->sq.head != fake_qp(far->qp)->sq.tail)
			fake_complete(far->qp, false, 1, PLX_ST_SUCCESS);
		rig_turn(&rig);
		rig_home_turn(&rig, WORKER);
		plx_segment_advance(&seg);
	}
	assert_int_equal(seg.status, PLX_ST_SUCCESS);
	assert_int_equal(plx_segment_moved(&seg), 3 * MSG);
	plx_test_as_lcore(OWNER);
	rig_close(&rig, far);
	assert_int_equal(nb_done, 1);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(lengths_on_either_side_of_every_limit_arrive_whole),
	CASE(window_bounds_what_is_in_flight),
	CASE(first_failure_is_told_and_the_flushes_behind_it_are_not),
	CASE(what_is_wrong_is_told_before_anything_is_posted),
	CASE(full_queue_takes_nothing_and_an_empty_pool_neither),
	CASE(a_submit_that_fails_later_ends_the_transfer),
	CASE(a_piece_that_fails_after_a_submit_that_failed_is_the_cause),
	CASE(no_window_in_the_conf_is_two_pieces),
	CASE(failure_is_told_whole_and_nothing_behind_it_counts),
	CASE(post_that_fails_on_the_owner_is_told_with_its_errno),
	CASE(close_ends_the_transfer_once),
	CASE(transfer_that_others_crowd_out_is_gone_on_with_by_advance),
};

PLX_TEST_SUITE(conn, segment, tests, .lcores = 3);
