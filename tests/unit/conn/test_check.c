/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <string.h>

#include "rig.h"

/**
 * @file
 * What is checked before anything is posted, contract 4.5: which error, in which order, with which numbers. Each refused
 * op is then mended and submitted unchanged otherwise: not taken means still the caller's.
 */

static struct rig rig;
static struct plx_conn *conn;
static struct plx_op *op;
static char buf[4096];

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	conn = rig_conn(&rig, 16, OWNER, true);
	op = plx_op_get(rig.d->pool);
	return 0;
}

static int
unmake(void **state)
{
	if (plx_op_put(op) != 0) /* posted: comes back with the close */
		plx_op_abandon(rig.d, op);
	rig_close(&rig, conn);
	rig_break(&rig);
	return 0;
}

/* Every errno of the header's list: a text of its own that says what to check. */
static void
each_refusal_has_a_text_of_its_own(void **state)
{
	static const struct {
		int code;
		const char *says;
	} rows[] = {
		{-EAGAIN, "plx_conn_flush()"},
		{-EBUSY, "the op is not prepared"},
		{-ENOTSUP, "not on this connection"},
		{-EINVAL, "the op's home is one of the dispatcher's"},
		{-EOVERFLOW, "does not fit 32 bits"},
		{-EMSGSIZE, "the port's max_msg_sz"},
		{-ERANGE, "outside the remote memory"},
		{-ENOBUFS, "inline_len that was granted"},
		{-E2BIG, "too many SGEs"},
		{-EFAULT, "no multiple of 8"},
		{-EACCES, "lacks the right"},
		{-ENOTCONN, "is not READY"},
		{-ECONNABORTED, "plx_conn_first_error()"},
		{-EPERM, "not on this lcore"},
		{-EIO, "said no reason"},
		{-ENOMEM, "the device's own post"},
	};

	for (unsigned int row = 0; row < NB_OF(rows); row++) {
		assert_non_null(strstr(plx_submit_err_str(rows[row].code), "check"));
		for (unsigned int other = 0; other < NB_OF(rows); other++)
			assert_int_equal(strstr(plx_submit_err_str(rows[other].code), rows[row].says) != NULL, row == other);
	}
	assert_string_equal(plx_submit_err_str(0), "success");
	assert_string_equal(plx_submit_err_str(EAGAIN), plx_submit_err_str(-ENOMEM)); /* no -errno */
}

static void
submit_says(int code, uint64_t got, uint64_t limit)
{
	unsigned int posts = fake_qp(conn->qp)->nb_posts;
	struct plx_submit_err err;
	uint8_t state = op->state;
	uint64_t id = plx_op_id(op);

	memset(&err, 0x5a, sizeof(err));
	assert_int_equal(plx_conn_submit_burst(conn, &op, 1, &err), 0);
	assert_int_equal(err.code, code);
	assert_int_equal(err.index, 0);
	assert_int_equal(err.got, got);
	assert_int_equal(err.limit, limit);
	assert_int_equal(op->state, state);
	assert_int_equal(plx_op_id(op), id);
	assert_int_equal(op->device_word, 0);
	assert_true(fake_qp(conn->qp)->sq.head == 0);
	assert_int_equal(fake_qp(conn->qp)->nb_posts, posts); /* not even an empty chain */
}

static void
submit_takes(void)
{
	struct plx_submit_err err = {.code = 1};

	assert_int_equal(plx_conn_submit_burst(conn, &op, 1, &err), 1);
	assert_int_equal(op->state, PLX_OP_POSTED);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 1);
}

/** Leave the one that is posted to the close. */
static void
another_op(void)
{
	plx_op_abandon(rig.d, op);
	assert_non_null(op = plx_op_get(rig.d->pool));
}

static void
a_length_above_32_bits_is_eoverflow(void **state)
{
	plx_op_prep_send(op, buf, (size_t)UINT32_MAX + 1, 1, NULL, NULL);
	submit_says(-EOVERFLOW, UINT64_C(1) << 32, UINT32_MAX);
	plx_op_prep_send(op, buf, 8, 1, NULL, NULL);
	submit_takes();
}

static void
a_message_above_max_msg_sz_is_emsgsize_and_equal_is_taken(void **state)
{
	plx_op_prep_send(op, buf, (1 << 20) + 1, 1, NULL, NULL);
	submit_says(-EMSGSIZE, (1 << 20) + 1, 1 << 20);
	plx_op_prep_send(op, buf, 1 << 20, 1, NULL, NULL);
	submit_takes();
}

static void
the_sum_of_sges_is_what_counts_and_it_does_not_wrap(void **state)
{
	struct plx_sge list[4] = {{.length = UINT32_MAX}, {.length = UINT32_MAX}, {.length = UINT32_MAX}, {.length = 3}};

	plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
	plx_op_set_sges(op, list, 4); /* 2^33 + 2^32, and 0 modulo 2^32 */
	submit_says(-EMSGSIZE, UINT64_C(3) * UINT32_MAX + 3, 1 << 20);
}

static void
outside_the_remote_range_is_erange(void **state)
{
	struct plx_view view = {.addr = buf, .len = 9};
	struct plx_remote remote = {.addr = 0x1000, .len = 8, .rkey = 7, .rights = PLX_ACCESS_REMOTE};

	plx_prep_write(op, &view, &remote, 0, NULL, NULL);
	submit_says(-ERANGE, 9, 0);
	view.len = 8;
	plx_prep_write(op, &view, &remote, 0, NULL, NULL);
	submit_takes();
	assert_int_equal(fake_qp(conn->qp)->last.remote_addr, 0x1000);
	assert_int_equal(fake_qp(conn->qp)->last.rkey, 7);
}

static void
a_list_is_held_against_the_remote_range_as_a_whole(void **state)
{
	struct plx_view view = {.addr = buf, .len = 4};
	struct plx_remote remote = {.addr = 0x1000, .len = 8, .rkey = 7, .rights = PLX_ACCESS_REMOTE_WRITE};
	struct plx_sge list[2] = {{.length = 4}, {.length = 5}};

	plx_prep_write(op, &view, &remote, 0, NULL, NULL);
	plx_prep_set_sges(op, list, 2, &remote, 0);
	submit_says(-ERANGE, 9, 0);
	list[1].length = 4;
	plx_prep_set_sges(op, list, 2, &remote, 0);
	submit_takes();
	assert_int_equal(fake_qp(conn->qp)->last.num_sge, 2);
}

/* case 1.10 */
static void
inline_above_the_granted_limit_is_enobufs_and_equal_is_taken(void **state)
{
	plx_op_prep_send(op, buf, 33, 0, NULL, NULL);
	plx_op_add_flags(op, PLX_WR_INLINE);
	submit_says(-ENOBUFS, 33, 32);
	plx_op_prep_send(op, buf, 32, 0, NULL, NULL);
	plx_op_add_flags(op, PLX_WR_INLINE);
	submit_takes();
	assert_true(fake_qp(conn->qp)->last.flags & PLX_WR_INLINE);
}

static void
no_bytes_inline_pass_a_limit_of_zero(void **state)
{
	conn->cap.inline_len = 0;
	plx_op_prep_send(op, buf, 1, 0, NULL, NULL);
	plx_op_add_flags(op, PLX_WR_INLINE);
	submit_says(-ENOBUFS, 1, 0);
	plx_op_prep_send(op, buf, 0, 0, NULL, NULL);
	plx_op_add_flags(op, PLX_WR_INLINE);
	submit_takes();
	assert_int_equal(fake_qp(conn->qp)->last.num_sge, 0);
}

/* case 1.10 */
static void
more_sges_than_granted_are_e2big_never_truncated(void **state)
{
	struct plx_sge list[5] = {{.length = 1}, {.length = 2}, {.length = 3}, {.length = 4}, {.length = 5}};

	plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
	plx_op_set_sges(op, list, 5);
	submit_says(-E2BIG, 5, 4);
	plx_op_set_sges(op, list, 4);
	submit_takes();
	assert_int_equal(fake_qp(conn->qp)->last.num_sge, 4);
	assert_int_equal(fake_qp(conn->qp)->last_sges[3].length, 4);
}

/** case 10.5: also where they would be too many, and unless the others are too many for the op's own list */
static void
sges_of_no_bytes_are_not_posted(void **state)
{
	struct plx_sge list[9] = {{0}, {1, 1, 1}, {0}, {2, 2, 2}, {0}, {0}, {3, 3, 3}, {0}, {4, 4, 4}};
	struct plx_sge all_empty[2] = {{0}};
	const struct plx_wr *last = &fake_qp(conn->qp)->last;

	plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
	plx_op_set_sges(op, list, 9);
	submit_takes();
	assert_int_equal(last->num_sge, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_true(last->sg_list[i].addr == i + 1);
	another_op();
	plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
	plx_op_set_sges(op, all_empty, 2);
	assert_int_equal(plx_conn_submit(conn, op), 0);
	assert_int_equal(last->num_sge, 0);
}

static void
what_has_no_payload_is_not_inlined(void **state)
{
	plx_op_prep_read(op, buf, 8, 1, 0x1000, 1, NULL, NULL);
	plx_op_add_flags(op, PLX_WR_INLINE);
	submit_says(-ENOBUFS, 8, 0);
	plx_op_prep_fetch_add(op, buf, 1, 0x1000, 1, 1, NULL, NULL);
	plx_op_add_flags(op, PLX_WR_INLINE);
	submit_says(-ENOBUFS, 8, 0);
	plx_op_prep_write(op, buf, 8, 1, 0x1000, 1, NULL, NULL);
	plx_op_add_flags(op, PLX_WR_INLINE);
	submit_takes();
}

/** case 4.3: whatever else is decided about the WR */
static void
every_flag_of_the_caller_reaches_the_device(void **state)
{
	for (uint8_t flags = 0; flags < 16; flags++) {
		struct plx_op *one = plx_op_get(rig.d->pool);

		plx_op_prep_send(one, buf, 8, 1, NULL, NULL);
		plx_op_add_flags(one, flags);
		assert_int_equal(plx_conn_submit(conn, one), 0);
		assert_int_equal(fake_qp(conn->qp)->last.flags, flags | PLX_WR_SIGNALED);
		plx_op_abandon(rig.d, one);
	}
}

/** The fields of each kind, as they reach the device; and a posted op that is left alone. */
static void
each_kind_is_posted_as_prepared(void **state)
{
	const struct plx_wr *last = &fake_qp(conn->qp)->last;

	plx_op_prep_write(op, buf, 8, 1, 0x1000, 7, NULL, NULL);
	submit_takes();
	assert_true(last->opcode == PLX_OPCODE_WRITE && last->remote_addr == 0x1000 && last->rkey == 7 && last->num_sge == 1);
	plx_op_prep_send_imm(op, buf, 9, 1, 5, NULL, NULL);
	plx_op_prep_send_inv(op, buf, 9, 1, 5, NULL, NULL);
	plx_op_prep_write_imm(op, buf, 9, 1, 0x2000, 5, 5, NULL, NULL);
	plx_op_prep_read(op, buf, 9, 1, 0x2000, 5, NULL, NULL);
	plx_op_prep_cmp_swap(op, buf, 1, 0x2001, 5, 5, 5, NULL, NULL);
	plx_op_prep_local_inv(op, 5, NULL, NULL);
	assert_true(op->wr.opcode == PLX_OPCODE_WRITE && op->wr.remote_addr == 0x1000 && op->wr.rkey == 7);
	assert_true(op->attention == 0 && op->state == PLX_OP_POSTED);
	another_op();
	plx_op_prep_cmp_swap(op, buf, 1, 0x2000, 5, 11, 12, NULL, NULL);
	assert_int_equal(plx_conn_submit(conn, op), -ENOTSUP); /* the fake has one of the two */
	assert_true(op->wr.compare_add == 11 && op->wr.swap == 12 && op->wr.remote_addr == 0x2000);
	plx_op_prep_fetch_add(op, buf, 1, 0x2000, 5, 13, NULL, NULL);
	assert_int_equal(plx_conn_submit(conn, op), 0);
	assert_true(last->opcode == PLX_OPCODE_FETCH_ADD && last->compare_add == 13 && last->sg_list[0].length == 8);
}

static void
a_read_has_the_sge_limit_of_reads(void **state)
{
	struct plx_sge list[3] = {{.length = 1}, {.length = 2}, {.length = 3}};

	plx_op_prep(op, PLX_OPCODE_READ, NULL, 0, 0, NULL, NULL);
	plx_op_set_sges(op, list, 3);
	submit_says(-E2BIG, 3, 2);
}

static void
a_bad_atomic_is_einval_and_a_crooked_address_efault(void **state)
{
	struct plx_sge list[2] = {{.length = 4}, {.length = 5}};

	plx_op_prep(op, PLX_OPCODE_FETCH_ADD, buf, 4, 1, NULL, NULL);
	submit_says(-EINVAL, 4, 8);
	plx_op_prep_atomic(op, PLX_OPCODE_FETCH_ADD, buf, 16, 1, 0x1004, 1, 1, 0, NULL, NULL);
	submit_says(-EINVAL, 16, 8);
	plx_op_prep_fetch_add(op, buf, 1, 0x1004, 1, 1, NULL, NULL);
	submit_says(-EFAULT, 4, 0);
	plx_op_prep_fetch_add(op, buf, 1, 0x1008, 1, 1, NULL, NULL);
	plx_op_set_sges(op, list, 2);
	submit_says(-EINVAL, 9, 8);
	list[1].length = 4;
	submit_takes();
}

/** A later word about an op takes the place of the one before it, whichever of the two was wrong. */
static void
a_list_takes_the_place_of_a_buffer_that_is_too_long(void **state)
{
	struct plx_view huge = {.addr = buf, .len = UINT64_C(8) << 30}, small = {.addr = buf, .len = 8};
	struct plx_remote remote = {.addr = 0x1000, .len = UINT64_C(16) << 30, .rkey = 7, .rights = PLX_ACCESS_REMOTE};
	struct plx_sge list[2] = {{.length = 3}, {.length = 5}};

	plx_prep_write(op, &huge, &remote, 0, NULL, NULL);
	submit_says(-EOVERFLOW, UINT64_C(1) << 32, UINT32_MAX);
	plx_prep_set_sges(op, list, 2, &remote, 64);
	submit_takes();
	assert_int_equal(fake_qp(conn->qp)->last.num_sge, 2);
	another_op();
	plx_prep_write(op, &small, &remote, 0, NULL, NULL);
	plx_op_set_sges(op, list, 2);
	plx_prep_write(op, &huge, &remote, 0, NULL, NULL);
	assert_int_equal(plx_conn_submit(conn, op), -EOVERFLOW);
}

static void
an_atomic_is_as_aligned_as_its_last_address(void **state)
{
	struct plx_view old = {.addr = buf, .len = 8};
	struct plx_remote remote = {.addr = 0x1000, .len = 64, .rkey = 7, .rights = PLX_ACCESS_REMOTE};
	struct plx_sge list[2] = {{.length = 4}, {.length = 4}};

	plx_prep_fetch_add(op, &old, &remote, 8, 1, NULL, NULL);
	plx_prep_set_sges(op, list, 2, &remote, 12);
	submit_says(-EFAULT, 4, 0);
	plx_prep_fetch_add(op, &old, &remote, 8, 1, NULL, NULL);
	plx_prep_set_remote(op, &remote, 9, 8, PLX_ACCESS_REMOTE_ATOMIC);
	submit_says(-EFAULT, 1, 0);
	plx_prep_fetch_add(op, &old, &remote, 12, 1, NULL, NULL);
	submit_says(-EFAULT, 4, 0);
	plx_prep_set_remote(op, &remote, 16, 8, PLX_ACCESS_REMOTE_ATOMIC);
	submit_takes();
	assert_int_equal(fake_qp(conn->qp)->last.remote_addr, 0x1010);
	another_op();
	plx_prep_fetch_add(op, &old, &remote, 12, 1, NULL, NULL);
	plx_prep_set_sges(op, list, 2, &remote, 16);
	assert_int_equal(plx_conn_submit(conn, op), 0);
	assert_int_equal(fake_qp(conn->qp)->last.remote_addr, 0x1010);
}

static void
a_right_known_to_be_missing_is_eacces(void **state)
{
	struct plx_view view = {.addr = buf, .len = 8};
	struct plx_remote remote = {.addr = 0x1000, .len = 8, .rkey = 7, .rights = PLX_ACCESS_REMOTE_READ};

	plx_prep_write(op, &view, &remote, 0, NULL, NULL);
	submit_says(-EACCES, 0, 0);
	plx_prep_read(op, &view, &remote, 0, NULL, NULL);
	submit_takes();
}

static void
the_first_error_in_the_order_of_the_contract_is_told(void **state)
{
	struct plx_sge list[5] = {{.length = 1 << 20}, {.length = 1}};

	plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
	plx_op_set_sges(op, list, 5);
	plx_op_add_flags(op, PLX_WR_INLINE);
	op->wr.remote_addr = 0x1004;
	op->attention = PLX_OP_BAD_LENGTH | PLX_OP_BAD_RANGE | PLX_OP_BAD_ATOMIC | PLX_OP_BAD_ALIGN | PLX_OP_BAD_RIGHTS;
	submit_says(-EOVERFLOW, UINT64_C(1) << 32, UINT32_MAX);
	op->attention &= ~PLX_OP_BAD_LENGTH;
	submit_says(-EMSGSIZE, (1 << 20) + 1, 1 << 20);
	list[0].length = 100;
	submit_says(-ERANGE, 101, 0);
	op->attention &= ~PLX_OP_BAD_RANGE;
	submit_says(-ENOBUFS, 101, 32);
	list[0].length = 8;
	list[2].length = list[3].length = list[4].length = 1;
	submit_says(-E2BIG, 5, 4);
	plx_op_set_sges(op, list, 2);
	submit_says(-EINVAL, 9, 8);
	op->attention &= ~PLX_OP_BAD_ATOMIC;
	submit_says(-EFAULT, 4, 0);
	op->attention &= ~PLX_OP_BAD_ALIGN;
	submit_says(-EACCES, 0, 0);
	op->attention &= ~PLX_OP_BAD_RIGHTS;
	submit_takes();
}

static void
what_the_device_does_not_have_is_enotsup(void **state)
{
	plx_op_prep(op, PLX_OPCODE_CMP_SWAP, buf, 8, 1, NULL, NULL);
	submit_says(-ENOTSUP, PLX_OPCODE_CMP_SWAP, conn->kinds);
}

static void
reads_and_atomics_are_enotsup_where_the_path_has_none_in_flight(void **state)
{
	struct plx_conn_conf conf = {.group = rig.group, .pd = rig.pd, .home = OWNER};
	struct plx_submit_err err;
	struct plx_conn *none;

	plx_qp_path_default(&conf.path);
	conf.path.rd_atomic = 0;
	assert_non_null(none = plx_conn_create(&conf));
	assert_int_equal(none->kinds, conn->kinds & ~PLX_KINDS_RD_ATOMIC);
	plx_op_prep_read(op, buf, 8, 1, 0x1000, 1, NULL, NULL);
	assert_int_equal(plx_conn_check(none, &none->sq, op, &err), -ENOTSUP);
	assert_true(err.got == PLX_OPCODE_READ && err.limit == none->kinds);
	plx_op_prep_fetch_add(op, buf, 1, 0x1000, 1, 1, NULL, NULL);
	assert_int_equal(plx_conn_check(none, &none->sq, op, &err), -ENOTSUP);
	plx_op_prep_write(op, buf, 8, 1, 0x1000, 1, NULL, NULL);
	assert_int_equal(plx_conn_check(none, &none->sq, op, &err), 0);
	assert_int_equal(plx_conn_destroy(none), 0);
}

static void
a_send_whose_completion_would_never_come_is_enotsup(void **state)
{
	plx_op_prep_send(op, buf, 8, 1, NULL, NULL);
	op->wr.flags = 0;
	plx_op_add_flags(op, PLX_WR_FENCE);
	submit_says(-ENOTSUP, PLX_WR_FENCE, PLX_WR_FENCE | PLX_WR_SIGNALED);
	plx_op_add_flags(op, PLX_WR_SIGNALED);
	submit_takes();
}

/** The window keeps the rkey under which it is bound. */
static void
a_bind_on_a_posted_op_changes_nothing(void **state)
{
	struct plx_mr mr = {.addr = buf, .len = sizeof(buf), .rights = PLX_ACCESS_LOCAL_WRITE};
	struct plx_mw mw = {.mr = &mr, .rkey = 0x1207};
	struct plx_view part = {.addr = buf, .len = 8};

	plx_op_prep_send(op, buf, 8, 1, NULL, NULL);
	submit_takes();
	assert_int_equal(plx_prep_bind(op, &mw, &part, PLX_ACCESS_REMOTE_READ, NULL, NULL, NULL), -EBUSY);
	assert_int_equal(op->wr.opcode, PLX_OPCODE_SEND);
	assert_int_equal(mw.rkey, 0x1207);
}

static void
a_receive_completes_whatever_its_flags(void **state)
{
	plx_op_prep_recv(op, buf, 8, 1, NULL, NULL);
	op->wr.flags = 0;
	plx_op_add_flags(op, PLX_WR_INLINE);
	assert_int_equal(plx_conn_submit(conn, op), 0);
}

static void
a_receive_on_the_send_queue_and_a_send_on_the_other_are_enotsup(void **state)
{
	struct plx_submit_err err;

	plx_op_prep_recv(op, buf, 8, 1, NULL, NULL);
	submit_says(-ENOTSUP, PLX_OPCODE_RECV, conn->kinds);
	plx_op_prep_send(op, buf, 8, 1, NULL, NULL);
	assert_int_equal(plx_conn_recv_burst(conn, &op, 1, &err), 0);
	assert_int_equal(err.code, -ENOTSUP);
}

static void
a_receive_may_be_larger_than_any_message(void **state)
{
	plx_op_prep_recv(op, buf, (1 << 20) + 1, 1, NULL, NULL);
	assert_int_equal(plx_conn_submit(conn, op), 0);
}

static void
an_op_posted_or_not_prepared_is_ebusy(void **state)
{
	submit_says(-EBUSY, PLX_OP_FREE, PLX_OP_PREPARED);
	plx_op_prep_send(op, buf, 8, 1, NULL, NULL);
	submit_takes();
	assert_int_equal(plx_conn_submit(conn, op), -EBUSY);
	assert_int_equal(fake_qp(conn->qp)->sq.head, 1);
}

static void
a_home_that_is_none_is_einval(void **state)
{
	plx_op_prep_send(op, buf, 8, 1, NULL, NULL);
	plx_op_set_home(op, 3);
	submit_says(-EINVAL, 3, OWNER);
	plx_op_set_home(op, 65536 + WORKER); /* not its lower half */
	submit_says(-EINVAL, PLX_HOME_ANY - 1, OWNER);
	plx_op_set_home(op, WORKER);
	submit_takes();
	assert_int_equal(op->home, WORKER);
}

/* 32 more than a send's would pass for one, were its bit looked up by the lower five alone. */
static void
an_opcode_that_is_none_is_refused(void **state)
{
	static const unsigned int none[] = {PLX_NB_OPCODES, 31, 32, 32 + PLX_OPCODE_WRITE, 255};

	for (size_t i = 0; i < NB_OF(none); i++) {
		plx_op_prep(op, (enum plx_opcode)none[i], buf, 8, 1, NULL, NULL);
		submit_says(-ENOTSUP, none[i], conn->kinds);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_refusal_has_a_text_of_its_own),
	CASE(a_length_above_32_bits_is_eoverflow),
	CASE(a_message_above_max_msg_sz_is_emsgsize_and_equal_is_taken),
	CASE(the_sum_of_sges_is_what_counts_and_it_does_not_wrap),
	CASE(outside_the_remote_range_is_erange),
	CASE(a_list_is_held_against_the_remote_range_as_a_whole),
	CASE(inline_above_the_granted_limit_is_enobufs_and_equal_is_taken),
	CASE(no_bytes_inline_pass_a_limit_of_zero),
	CASE(more_sges_than_granted_are_e2big_never_truncated),
	CASE(sges_of_no_bytes_are_not_posted),
	CASE(what_has_no_payload_is_not_inlined),
	CASE(every_flag_of_the_caller_reaches_the_device),
	CASE(each_kind_is_posted_as_prepared),
	CASE(a_read_has_the_sge_limit_of_reads),
	CASE(a_bad_atomic_is_einval_and_a_crooked_address_efault),
	CASE(a_list_takes_the_place_of_a_buffer_that_is_too_long),
	CASE(an_atomic_is_as_aligned_as_its_last_address),
	CASE(a_right_known_to_be_missing_is_eacces),
	CASE(the_first_error_in_the_order_of_the_contract_is_told),
	CASE(what_the_device_does_not_have_is_enotsup),
	CASE(reads_and_atomics_are_enotsup_where_the_path_has_none_in_flight),
	CASE(a_send_whose_completion_would_never_come_is_enotsup),
	CASE(a_bind_on_a_posted_op_changes_nothing),
	CASE(a_receive_completes_whatever_its_flags),
	CASE(a_receive_on_the_send_queue_and_a_send_on_the_other_are_enotsup),
	CASE(a_receive_may_be_larger_than_any_message),
	CASE(an_op_posted_or_not_prepared_is_ebusy),
	CASE(a_home_that_is_none_is_einval),
	CASE(an_opcode_that_is_none_is_refused),
};

PLX_TEST_SUITE(conn, check, tests, .lcores = 3);
