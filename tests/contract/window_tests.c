/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Memory windows: bound they open, invalidated they do not, and each bind's rkey opens only what that bind said.
 *
 *      B binds a window onto its own buffer ---> A writes and reads through its rkey ---> B or A invalidates it
 */

#include "contract_pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#define AT   4712u
#define LEN  512u
#define SEED 3

#define needs_windows()                                                                                      \
	do {                                                                                                 \
		needs_connection();                                                                          \
		needs_flag(PLX_CAP_MW);                                                                      \
	} while (0)

static void
bind_as(struct pair *pair, struct plx_mw *mw, uint64_t wr_id, uint32_t rights, unsigned int status)
{
	struct plx_wr wr = {.wr_id = wr_id};
	struct plx_wc wc;

	assert_int_equal(plx_mw_bind_wr(mw, (uintptr_t)pair->b.buf + AT, LEN, rights, &wr), 0);
	post_send(&pair->b, &wr);
	wc = wait_wc(pair->b.cq, wr_id, status);
	if (status == PLX_ST_SUCCESS)
		assert_int_equal(wc.opcode, PLX_OPCODE_BIND_MW);
}

static void
bind_ok(struct pair *pair, struct plx_mw *mw)
{
	bind_as(pair, mw, 1, PLX_ACCESS_REMOTE_WRITE | PLX_ACCESS_REMOTE_READ, PLX_ST_SUCCESS);
}

/** A's write or read of @p len bytes at @p off of the window. */
static void
use(struct pair *pair, unsigned int opcode, uint32_t rkey, size_t off, uint32_t len, unsigned int status)
{
	struct plx_sge sge = side_sge(&pair->a, 0, len);
	struct plx_wr wr = wr_remote(20, opcode, &sge, 1, &pair->b, AT + off);

	wr.rkey = rkey;
	post_send(&pair->a, &wr);
	wait_wc(pair->a.cq, 20, status);
}

static void
invalidate_here(struct pair *pair, uint32_t rkey)
{
	struct plx_wr wr = wr_of(30, PLX_OPCODE_LOCAL_INV, NULL, 0);

	wr.rkey = rkey;
	post_send(&pair->b, &wr);
	assert_int_equal(wait_ok(pair->b.cq, 30).opcode, PLX_OPCODE_LOCAL_INV);
}

/** A send of @p len bytes from A that takes @p rkey away from itself. */
static struct plx_wc
send_invalidate(struct pair *pair, uint32_t rkey, uint32_t len)
{
	struct plx_sge sge = side_sge(&pair->a, 0, len);
	struct plx_wr wr = wr_of(40, PLX_OPCODE_SEND_INV, &sge, len > 0);

	wr.rkey = rkey;
	post_recv_at(&pair->b, 41, 0, LEN);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 40);
	return wait_ok(pair->b.cq, 41);
}

/* ---- what they open ------------------------------------------------------------------------ */

static void
bound_window_opens_its_range_to_the_byte(void **state)
{
	struct pair *pair = *state;
	struct plx_mw *mw;

	needs_windows();
	mw = objects_mw(&pair->objs, pair->b.mr);
	bind_ok(pair, mw);
	fill(pair->a.buf, LEN, SEED);
	use(pair, PLX_OPCODE_WRITE, mw->rkey, 0, LEN, PLX_ST_SUCCESS);
	expect_filled(pair->b.buf + AT, LEN, SEED);
	expect_all(pair->b.buf + AT - 64, 64, 0);
	expect_all(pair->b.buf + AT + LEN, 64, 0);
	memset(pair->a.buf, 0, LEN);
	use(pair, PLX_OPCODE_READ, mw->rkey, 0, LEN, PLX_ST_SUCCESS);
	expect_filled(pair->a.buf, LEN, SEED);
	use(pair, PLX_OPCODE_WRITE, mw->rkey, LEN - 1, 1, PLX_ST_SUCCESS);
}

/* Linux 6.1's rxe looks at the region's range only. */
#define needs_window_bounds() plx_test_needs(strncmp(contract.name, "rxe", 3) != 0, "windows that end in front of their region")

static void
one_byte_behind_the_window_is_closed(void **state)
{
	struct pair *pair = *state;
	struct plx_mw *mw;

	needs_windows();
	needs_window_bounds();
	mw = objects_mw(&pair->objs, pair->b.mr);
	bind_ok(pair, mw);
	use(pair, PLX_OPCODE_WRITE, mw->rkey, 1, LEN, PLX_ST_REM_ACCESS_ERR);
	expect_all(pair->b.buf + AT, LEN + 1, 0);
}

static void
one_byte_in_front_of_the_window_is_closed(void **state)
{
	struct pair *pair = *state;
	struct plx_mw *mw;

	needs_windows();
	needs_window_bounds();
	mw = objects_mw(&pair->objs, pair->b.mr);
	bind_ok(pair, mw);
	use(pair, PLX_OPCODE_WRITE, mw->rkey, -1, 2, PLX_ST_REM_ACCESS_ERR);
	expect_all(pair->b.buf + AT - 1, LEN, 0);
}

static void
right_that_the_bind_left_out_is_missing(void **state)
{
	struct pair *pair = *state;
	struct plx_mw *mw;

	needs_windows();
	mw = objects_mw(&pair->objs, pair->b.mr);
	bind_as(pair, mw, 1, PLX_ACCESS_REMOTE_READ, PLX_ST_SUCCESS);
	use(pair, PLX_OPCODE_READ, mw->rkey, 0, LEN, PLX_ST_SUCCESS);
	use(pair, PLX_OPCODE_WRITE, mw->rkey, 0, LEN, PLX_ST_REM_ACCESS_ERR);
}

/** That is what windows are for: the region itself is closed to peers. */
static void
window_opens_a_region_that_has_no_remote_right(void **state)
{
	struct pair *pair = *state;
	struct plx_mr *closed;
	struct plx_mw *mw;

	needs_windows();
	closed = objects_mr(&pair->objs, pair->pd, pair->b.buf, PAIR_BUF_LEN, PLX_ACCESS_LOCAL_WRITE);
	mw = objects_mw(&pair->objs, closed);
	bind_ok(pair, mw);
	use(pair, PLX_OPCODE_WRITE, mw->rkey, 0, LEN, PLX_ST_SUCCESS);
	use(pair, PLX_OPCODE_WRITE, closed->rkey, 0, LEN, PLX_ST_REM_ACCESS_ERR);
}

static void
unbound_window_opens_nothing(void **state)
{
	struct pair *pair = *state;
	struct plx_mw *mw;

	needs_windows();
	mw = objects_mw(&pair->objs, pair->b.mr);
	use(pair, PLX_OPCODE_WRITE, mw->rkey, 0, LEN, PLX_ST_REM_ACCESS_ERR);
}

/** Of type 2: through the QP that it was bound on, and no other of the PD (IBA 10.6.7.2.2). */
static void
window_opens_through_its_own_qp_only(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;
	struct pair *other;
	struct plx_mw *mw;

	needs_windows();
	mw = objects_mw(&pair->objs, pair->b.mr);
	bind_ok(pair, mw);
	use(pair, PLX_OPCODE_WRITE, mw->rkey, 0, LEN, PLX_ST_SUCCESS);
	conf = pair_conf();
	other = calloc(1, sizeof(*other));
	assert_non_null(other);
	*other = *pair; /* the same memory, the same PD, QPs of its own */
	other->a.qp = objects_qp(&pair->objs, pair->pd, pair->a.cq, &conf.cap);
	other->b.qp = objects_qp(&pair->objs, pair->pd, pair->b.cq, &conf.cap);
	pair_connect(other, &conf);
	use(other, PLX_OPCODE_WRITE, pair->b.mr->rkey, 0, LEN, PLX_ST_SUCCESS);
	use(other, PLX_OPCODE_WRITE, mw->rkey, 0, LEN, PLX_ST_REM_ACCESS_ERR);
	free(other);
	use(pair, PLX_OPCODE_WRITE, mw->rkey, 0, LEN, PLX_ST_SUCCESS);
}

static void
atomics_go_through_a_window(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_mw *mw;
	struct plx_wr wr;

	needs_windows();
	needs_kind(PLX_OPCODE_FETCH_ADD);
	mw = objects_mw(&pair->objs, pair->b.mr);
	bind_as(pair, mw, 1, PLX_ACCESS_REMOTE_ATOMIC, PLX_ST_SUCCESS);
	sge = side_sge(&pair->a, 0, 8);
	wr = wr_remote(20, PLX_OPCODE_FETCH_ADD, &sge, 1, &pair->b, AT);
	wr.rkey = mw->rkey;
	wr.compare_add = 5;
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 20);
	assert_int_equal(pair->b.buf[AT], 5);
}

/* ---- what takes them away ------------------------------------------------------------------ */

static void
local_invalidate_closes_and_the_next_bind_has_another_key(void **state)
{
	struct pair *pair = *state;
	struct plx_mw *mw;
	uint32_t first;

	needs_windows();
	needs_kind(PLX_OPCODE_LOCAL_INV);
	mw = objects_mw(&pair->objs, pair->b.mr);
	for (unsigned int i = 0; i < 300; i++) { /* once round the consumer's byte */
		bind_ok(pair, mw);
		first = i == 0 ? mw->rkey : first;
		assert_true(i % 256 == 0 ? mw->rkey == first : mw->rkey != first);
		assert_int_equal(mw->rkey >> 8, first >> 8);
		invalidate_here(pair, mw->rkey);
	}
	bind_ok(pair, mw);
	use(pair, PLX_OPCODE_WRITE, mw->rkey, 0, LEN, PLX_ST_SUCCESS);
	use(pair, PLX_OPCODE_WRITE, mw->rkey ^ 1, 0, LEN, PLX_ST_REM_ACCESS_ERR);
}

static void
send_invalidates_and_the_receive_says_which(void **state)
{
	struct pair *pair = *state;
	const uint32_t lens[] = {0, 1, LEN};
	struct plx_mw *mw;
	struct plx_wc wc;

	needs_windows();
	needs_kind(PLX_OPCODE_SEND_INV);
	mw = objects_mw(&pair->objs, pair->b.mr);
	for (unsigned int i = 0; i < NB_OF(lens); i++) {
		bind_ok(pair, mw);
		fill(pair->a.buf, lens[i], i);
		wc = send_invalidate(pair, mw->rkey, lens[i]);
		assert_int_equal(wc.opcode, PLX_OPCODE_RECV);
		assert_int_equal(wc.flags, PLX_WC_WITH_INV);
		assert_int_equal(wc.inv_rkey, mw->rkey);
		assert_int_equal(wc.byte_len, lens[i]);
		expect_filled(pair->b.buf, lens[i], i);
	}
	use(pair, PLX_OPCODE_WRITE, mw->rkey, 0, LEN, PLX_ST_REM_ACCESS_ERR);
}

static void
destroyed_window_opens_nothing(void **state)
{
	struct pair *pair = *state;
	struct plx_mw *mw;
	uint32_t rkey;

	needs_windows();
	mw = objects_mw(&pair->objs, pair->b.mr);
	bind_ok(pair, mw);
	rkey = mw->rkey;
	objects_drop_mw(&pair->objs, mw);
	use(pair, PLX_OPCODE_WRITE, rkey, 0, LEN, PLX_ST_REM_ACCESS_ERR);
	expect_all(pair->b.buf + AT, LEN, 0);
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void
bind_of_a_bound_window_fails(void **state)
{
	struct pair *pair = *state;
	struct plx_mw *mw;

	needs_windows();
	mw = objects_mw(&pair->objs, pair->b.mr);
	bind_ok(pair, mw);
	bind_as(pair, mw, 2, PLX_ACCESS_REMOTE_READ, PLX_ST_MW_BIND_ERR);
	assert_true(wait_error(pair->b.qp));
}

static void
bind_on_a_qp_of_another_pd_fails(void **state)
{
	struct pair *pair = *state;
	struct plx_mr *mr;
	struct plx_mw *mw;
	struct plx_wr wr = {.wr_id = 1};

	needs_windows();
	mr = objects_mr(&pair->objs, objects_pd(&pair->objs, contract.dev), pair->b.buf, PAIR_BUF_LEN, contract_rights());
	mw = objects_mw(&pair->objs, mr);
	assert_int_equal(plx_mw_bind_wr(mw, (uintptr_t)pair->b.buf, LEN, PLX_ACCESS_REMOTE_READ, &wr), 0);
	post_send(&pair->b, &wr);
	wait_wc(pair->b.cq, 1, PLX_ST_MW_BIND_ERR);
}

static void
invalidate_of_a_region_fails(void **state)
{
	struct pair *pair = *state;
	struct plx_wr wr;

	needs_windows();
	needs_kind(PLX_OPCODE_LOCAL_INV);
	wr = wr_of(1, PLX_OPCODE_LOCAL_INV, NULL, 0);
	wr.rkey = pair->b.mr->rkey;
	post_send(&pair->b, &wr);
	wait_wc(pair->b.cq, 1, contract.rxe ? PLX_ST_LOC_QP_OP_ERR : PLX_ST_MW_BIND_ERR);
	assert_true(wait_error(pair->b.qp));
}

/** The message arrives, the invalidate fails: it is the responder that suffers (IBA 9.9.3, class J). */
static void
send_that_cannot_invalidate_ends_the_responder(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_windows();
	needs_kind(PLX_OPCODE_SEND_INV);
	sge = side_sge(&pair->a, 0, LEN);
	wr = wr_of(1, PLX_OPCODE_SEND_INV, &sge, 1);
	wr.rkey = pair->b.mr->rkey; /* of a region, not of a window */
	post_recv_at(&pair->b, 2, 0, LEN);
	post_send(&pair->a, &wr);
	wait_wc(pair->b.cq, 2, contract.rxe ? PLX_ST_REM_INV_REQ_ERR : PLX_ST_MW_BIND_ERR);
	assert_true(wait_error(pair->b.qp));
	wait_ok(pair->a.cq, 1);
}

static void
bad_binds_are_refused_before_the_post(void **state)
{
	struct pair *pair = *state;
	const uint64_t at = (uintptr_t)pair->b.buf;
	struct plx_wr wr = {.wr_id = 7};
	struct plx_mr *closed;
	struct plx_mw *mw;
	uint32_t rkey;

	needs_flag(PLX_CAP_MW);
	mw = objects_mw(&pair->objs, pair->b.mr);
	rkey = mw->rkey;
	assert_int_equal(plx_mw_bind_wr(mw, at, 0, PLX_ACCESS_REMOTE_READ, &wr), -EINVAL);
	assert_int_equal(plx_mw_bind_wr(mw, at, 1, 0, &wr), -EINVAL);
	assert_int_equal(plx_mw_bind_wr(mw, at, 1, PLX_ACCESS_LOCAL_WRITE, &wr), -EINVAL);
	assert_int_equal(plx_mw_bind_wr(mw, at - 1, 1, PLX_ACCESS_REMOTE_READ, &wr), -ERANGE);
	assert_int_equal(plx_mw_bind_wr(mw, at, PAIR_BUF_LEN + 1, PLX_ACCESS_REMOTE_READ, &wr), -ERANGE);
	assert_int_equal(plx_mw_bind_wr(mw, at + 1, UINT64_MAX, PLX_ACCESS_REMOTE_READ, &wr), -ERANGE);
	assert_int_equal(mw->rkey, rkey);
	objects_drop_mw(&pair->objs, mw);
	closed = objects_mr(&pair->objs, pair->pd, pair->b.buf, 100, 0);
	mw = objects_mw(&pair->objs, closed);
	assert_int_equal(plx_mw_bind_wr(mw, at, 1, PLX_ACCESS_REMOTE_WRITE, &wr), -EACCES);
	assert_int_equal(plx_mw_bind_wr(mw, at, 1, PLX_ACCESS_REMOTE_ATOMIC, &wr), -EACCES);
	assert_int_equal(plx_mw_bind_wr(mw, at, 1, PLX_ACCESS_REMOTE_READ, &wr), 0);
	assert_int_equal(plx_mr_deregister(closed), -EBUSY); /* it is looked onto */
	objects_drop_mw(&pair->objs, mw);
	assert_int_equal(plx_mw_destroy(NULL), 0);
}

static void
windows_not_advertised_are_refused(void **state)
{
	struct pair *pair = *state;

	plx_test_needs(!contract_has_flag(PLX_CAP_MW), "a device without PLX_CAP_MW");
	rte_errno = 0;
	assert_null(plx_mw_create(pair->b.mr));
	assert_int_equal(rte_errno, ENOTSUP);
}

/** Whoever has windows can bind and invalidate them. */
static void
windows_come_with_their_operations(void **state)
{
	bool windows = contract_has_flag(PLX_CAP_MW);

	assert_int_equal(windows, contract_has_kind(PLX_OPCODE_BIND_MW));
	assert_int_equal(windows, contract_has_kind(PLX_OPCODE_LOCAL_INV));
	assert_int_equal(windows, contract_caps()->max_mw > 0);
}

const struct CMUnitTest window_tests[] = {
	pair_test(bound_window_opens_its_range_to_the_byte),
	pair_test(one_byte_behind_the_window_is_closed),
	pair_test(one_byte_in_front_of_the_window_is_closed),
	pair_test(right_that_the_bind_left_out_is_missing),
	pair_test(window_opens_a_region_that_has_no_remote_right),
	pair_test(unbound_window_opens_nothing),
	pair_test(window_opens_through_its_own_qp_only),
	pair_test(atomics_go_through_a_window),
	pair_test(local_invalidate_closes_and_the_next_bind_has_another_key),
	pair_test(send_invalidates_and_the_receive_says_which),
	pair_test(destroyed_window_opens_nothing),
	pair_test(bind_of_a_bound_window_fails),
	pair_test(bind_on_a_qp_of_another_pd_fails),
	pair_test(invalidate_of_a_region_fails),
	pair_test(send_that_cannot_invalidate_ends_the_responder),
	pair_test(bad_binds_are_refused_before_the_post),
	pair_test(windows_not_advertised_are_refused),
	cmocka_unit_test(windows_come_with_their_operations),
};
const size_t nb_window_tests = NB_OF(window_tests);
