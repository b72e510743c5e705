/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "kinds.h"

#include "plx_loopback_fast.h"
#if PLX_HAS_VERBS
#include "plx_verbs_fast.h"
#endif

/**
 * @file
 * Every kind of op through the whole stack, on any device: by singles, by bursts, by the constant table; and what comes of
 * it at both ends. One thread steps everything as lcore 1: kinds-tests -d rxe0.
 */

#define N 4 /* ops of each kind */

/* ---- by singles, by bursts, by the constant table ------------------------------------------- */

enum style { SINGLES, BURST, TABLE };

/** A call for each kind, so that the compiler sees it. */
#define POST_TABLE(fast, kind)                                                                               \
	case kind:                                                                                           \
		return plx_conn_post_kind_with(fast, kinds.a, kind, ops, N, &err)
#define POST_KINDS(fast)                                                                                     \
	switch (kind) {                                                                                      \
		POST_TABLE(fast, PLX_OPCODE_SEND);                                                           \
		POST_TABLE(fast, PLX_OPCODE_SEND_IMM);                                                       \
		POST_TABLE(fast, PLX_OPCODE_SEND_INV);                                                       \
		POST_TABLE(fast, PLX_OPCODE_WRITE);                                                          \
		POST_TABLE(fast, PLX_OPCODE_WRITE_IMM);                                                      \
		POST_TABLE(fast, PLX_OPCODE_READ);                                                           \
		POST_TABLE(fast, PLX_OPCODE_CMP_SWAP);                                                       \
		POST_TABLE(fast, PLX_OPCODE_FETCH_ADD);                                                      \
		POST_TABLE(fast, PLX_OPCODE_BIND_MW);                                                        \
		POST_TABLE(fast, PLX_OPCODE_LOCAL_INV);                                                      \
	default:                                                                                             \
		return 0;                                                                                    \
	}

static uint16_t
post_table(enum plx_opcode kind, struct plx_op **ops)
{
	struct plx_submit_err err;

#if PLX_HAS_VERBS
	if (strncmp(plx_device_name(kinds.dev), "loopback", 8) != 0)
		POST_KINDS(&plx_verbs_fast);
#endif
	POST_KINDS(&plx_loopback_fast);
}

/** All N of one kind from A. */
static void
post_all(enum style style, enum plx_opcode kind, struct plx_op **ops)
{
	struct plx_submit_err err = {.code = 0};

	if (style == BURST && plx_conn_submit_burst(kinds.a, ops, N, &err) != N)
		fail_msg("%s: %d", plx_opcode_name(kind), err.code);
	for (unsigned int i = 0; i < N && style == SINGLES; i++)
		assert_int_equal(plx_conn_submit(kinds.a, ops[i]), 0);
	if (style == TABLE)
		assert_int_equal(post_table(kind, ops), N);
}

/** Receives of B for N messages. */
static void
recvs_post(struct plx_op **recvs)
{
	struct plx_submit_err err;

	for (unsigned int i = 0; i < N; i++) {
		struct plx_view into = kinds_view(IN + i * LEN, LEN);

		recvs[i] = kinds_op();
		plx_prep_recv(recvs[i], &into, NULL, NULL);
	}
	assert_int_equal(plx_conn_recv_burst(kinds.b, recvs, N, &err), N);
}

static void
prepare(struct plx_op *op, enum plx_opcode kind, unsigned int i, struct plx_mw **mws)
{
	struct plx_view out = kinds_view(i * LEN, LEN), old = kinds_view(OLD + i * 8, 8);
	struct plx_remote window = {.rkey = mws[i] == NULL ? 0 : mws[i]->rkey};

	switch (kind) {
	case PLX_OPCODE_SEND:
		plx_prep_send(op, &out, NULL, NULL);
		break;
	case PLX_OPCODE_SEND_IMM:
		plx_prep_send_imm(op, &out, 0x01020304 + i, NULL, NULL);
		break;
	case PLX_OPCODE_SEND_INV:
		plx_prep_send_inv(op, &out, &window, NULL, NULL);
		break;
	case PLX_OPCODE_WRITE:
		plx_prep_write(op, &out, &kinds.remote, IN + i * LEN, NULL, NULL);
		break;
	case PLX_OPCODE_WRITE_IMM:
		plx_prep_write_imm(op, &out, &kinds.remote, IN + i * LEN, 0x01020304 + i, NULL, NULL);
		break;
	case PLX_OPCODE_READ:
		out = kinds_view(IN + i * LEN, LEN);
		plx_prep_read(op, &out, &kinds.remote, i * LEN, NULL, NULL);
		break;
	case PLX_OPCODE_CMP_SWAP:
		plx_prep_cmp_swap(op, &old, &kinds.remote, WORD, 100 + i, 101 + i, NULL, NULL);
		break;
	case PLX_OPCODE_FETCH_ADD:
		plx_prep_fetch_add(op, &old, &kinds.remote, WORD, 1, NULL, NULL);
		break;
	case PLX_OPCODE_BIND_MW:
		assert_int_equal(plx_prep_bind(op, mws[i], &out, PLX_ACCESS_REMOTE_READ, &window, NULL, NULL), 0);
		assert_int_equal(window.rkey, mws[i]->rkey);
		break;
	default:
		plx_prep_local_inv(op, &window, NULL, NULL);
	}
}

static bool
takes_receive(enum plx_opcode kind)
{
	return kind <= PLX_OPCODE_SEND_INV || kind == PLX_OPCODE_WRITE_IMM;
}

static bool
is_atomic(enum plx_opcode kind)
{
	return kind == PLX_OPCODE_CMP_SWAP || kind == PLX_OPCODE_FETCH_ADD;
}

static void
expect_received(enum plx_opcode kind, unsigned int i, struct plx_op *recv, struct plx_mw **mws)
{
	struct plx_result res = kinds_wait(recv, PLX_ST_SUCCESS);
	bool imm = kind == PLX_OPCODE_SEND_IMM || kind == PLX_OPCODE_WRITE_IMM;
	bool inv = kind == PLX_OPCODE_SEND_INV;

	assert_int_equal(res.kind, kind == PLX_OPCODE_WRITE_IMM ? PLX_OPCODE_RECV_WRITE_IMM : PLX_OPCODE_RECV);
	assert_int_equal(res.byte_len, LEN);
	assert_int_equal(res.wc_flags, imm ? PLX_WC_WITH_IMM : inv ? PLX_WC_WITH_INV : 0);
	assert_int_equal(res.imm, imm ? 0x01020304 + i : 0);
	assert_int_equal(res.inv_rkey, inv ? mws[i]->rkey : 0);
	assert_ptr_equal(res.conn, kinds.b);
	assert_int_equal(plx_op_put(recv), 0);
}

static void
expect_done(enum plx_opcode kind, unsigned int i, struct plx_op *op)
{
	struct plx_result res = kinds_wait(op, PLX_ST_SUCCESS);

	assert_int_equal(res.kind, kind);
	assert_int_equal(res.byte_len, kind == PLX_OPCODE_READ ? LEN : is_atomic(kind) ? 8 : 0);
	assert_int_equal(res.inv_rkey, 0);
	assert_int_equal(res.post_errno, 0);
	assert_ptr_equal(res.conn, kinds.a);
	if (is_atomic(kind))
		assert_true(plx_conn_old_value(kinds.a, op) == 100 + i);
	if (kind <= PLX_OPCODE_READ)
		assert_memory_equal(kinds_at(i * LEN), kinds_at(IN + i * LEN), LEN);
	assert_int_equal(plx_op_put(op), 0);
}

/** N of @p kind from A to B and everything that came of them. @p mws: of a send-inv bound on B, of the others on A. */
static void
run_kind(enum style style, enum plx_opcode kind, struct plx_mw **mws)
{
	struct plx_op *ops[N], *recvs[N];
	uint64_t word = 100;

	memset(kinds.mem->addr, 0, BYTES);
	for (unsigned int i = 0; i < N * LEN; i++)
		*kinds_at(i) = (uint8_t)(i * 7 + kind);
	memcpy(kinds_at(WORD), &word, sizeof(word));
	if (takes_receive(kind))
		recvs_post(recvs);
	for (unsigned int i = 0; i < N; i++)
		prepare(ops[i] = kinds_op(), kind, i, mws);
	post_all(style, kind, ops);
	for (unsigned int i = 0; i < N; i++)
		expect_done(kind, i, ops[i]);
	for (unsigned int i = 0; i < N && takes_receive(kind); i++)
		expect_received(kind, i, recvs[i], mws);
	memcpy(&word, kinds_at(WORD), sizeof(word));
	assert_true(word == (is_atomic(kind) ? 100 + N : 100));
}

/** Bound, taken back here; bound on B, taken back by A's sends. */
static void
run_windows(enum style style)
{
	struct plx_mw *mws[N];

	for (unsigned int i = 0; i < N; i++)
		assert_non_null(mws[i] = plx_mw_create(kinds.mem->mr));
	run_kind(style, PLX_OPCODE_BIND_MW, mws);
	run_kind(style, PLX_OPCODE_LOCAL_INV, mws);
	for (unsigned int i = 0; i < N; i++) {
		struct plx_view part = kinds_view(0, LEN);
		struct plx_op *op = kinds_op();

		assert_int_equal(plx_prep_bind(op, mws[i], &part, PLX_ACCESS_REMOTE_WRITE, NULL, NULL, NULL), 0);
		kinds_run(kinds.b, op);
	}
	run_kind(style, PLX_OPCODE_SEND_INV, mws);
	for (unsigned int i = 0; i < N; i++)
		assert_int_equal(plx_mw_destroy(mws[i]), 0);
}

static void
run_all(enum style style)
{
	static const enum plx_opcode plain[] = {PLX_OPCODE_SEND, PLX_OPCODE_SEND_IMM, PLX_OPCODE_WRITE, PLX_OPCODE_WRITE_IMM,
		PLX_OPCODE_READ, PLX_OPCODE_CMP_SWAP, PLX_OPCODE_FETCH_ADD};
	struct plx_mw *none[N] = {NULL};

	for (unsigned int i = 0; i < NB_OF(plain); i++)
		if (kinds_has(plain[i]))
			run_kind(style, plain[i], none);
	if (plx_device_caps(kinds.dev)->flags & PLX_CAP_MW)
		run_windows(style);
}

static void
each_kind_does_its_work_by_singles(void **state)
{
	run_all(SINGLES);
}

static void
each_kind_does_its_work_by_bursts(void **state)
{
	run_all(BURST);
}

static void
each_kind_does_its_work_by_the_constant_table(void **state)
{
	run_all(TABLE);
}

/* ---- atomics ------------------------------------------------------------------------------- */

/** case 9.1 */
static void
old_value_is_in_host_order_and_raw_as_it_came(void **state)
{
	const uint64_t value = 0x0102030405060708;
	bool loopback = strncmp(plx_test_device(), "loopback", 8) == 0;

	for (unsigned int i = 0; i < (loopback ? 2 : 1); i++) {
		struct plx_view old;
		struct plx_op *op;

		if (i == 1) {
			struct kinds_conf conf = kinds_conf();

			kinds_close();
			kinds_open("loopback0,atomics=big", &conf);
		}
		if (!kinds_has(PLX_OPCODE_FETCH_ADD))
			return;
		old = kinds_view(OLD + 1, 8); /* which need not be aligned */
		memcpy(kinds_at(WORD), &value, sizeof(value));
		op = kinds_op();
		plx_prep_fetch_add(op, &old, &kinds.remote, WORD, 1, NULL, NULL);
		assert_int_equal(plx_conn_submit(kinds.a, op), 0);
		kinds_wait(op, PLX_ST_SUCCESS);
		assert_true(plx_conn_old_value(kinds.a, op) == value);
		assert_true(plx_op_raw_value(op) == (i == 1 ? rte_cpu_to_be_64(value) : value));
		assert_int_equal(plx_op_put(op), 0);
	}
}

/** case 9.3 */
static void
crooked_atomics_are_refused_and_the_connection_lives(void **state)
{
	static const uint32_t lens[] = {0, 4, 7, 9, 16};
	struct plx_view old = kinds_view(OLD, 8);
	struct plx_op *op = kinds_op();

	plx_test_needs(kinds_has(PLX_OPCODE_FETCH_ADD), "atomics");
	for (unsigned int off = 1; off < 8; off++) {
		plx_prep_fetch_add(op, &old, &kinds.remote, WORD + off, 1, NULL, NULL);
		assert_int_equal(plx_conn_submit(kinds.a, op), -EFAULT);
		plx_op_prep_cmp_swap(op, kinds_at(OLD), kinds.mem->lkey, (uintptr_t)kinds_at(WORD) + off, kinds.mem->rkey, 0, 1, NULL, NULL);
		assert_int_equal(plx_conn_submit(kinds.a, op), -EFAULT);
	}
	for (unsigned int i = 0; i < NB_OF(lens); i++) {
		old = kinds_view(OLD, lens[i]);
		plx_prep_fetch_add(op, &old, &kinds.remote, WORD, 1, NULL, NULL);
		assert_int_equal(plx_conn_submit(kinds.a, op), -EINVAL);
	}
	old = kinds_view(OLD, 8);
	plx_prep_fetch_add(op, &old, &kinds.remote, BYTES - 4, 1, NULL, NULL);
	assert_int_equal(plx_conn_submit(kinds.a, op), -ERANGE);
	kinds.remote.rights &= ~PLX_ACCESS_REMOTE_ATOMIC;
	plx_prep_cmp_swap(op, &old, &kinds.remote, WORD, 0, 1, NULL, NULL);
	assert_int_equal(plx_conn_submit(kinds.a, op), -EACCES);
	kinds.remote.rights |= PLX_ACCESS_REMOTE_ATOMIC;
	plx_prep_fetch_add(op, &old, &kinds.remote, WORD, 5, NULL, NULL);
	kinds_run(kinds.a, op);
	assert_int_equal(*kinds_at(WORD), 5);
}

static void
old_value_may_be_scattered(void **state)
{
	struct plx_sge halves[2] = {{(uintptr_t)kinds_at(OLD), 3, kinds.mem->lkey}, {(uintptr_t)kinds_at(OLD + 100), 5, kinds.mem->lkey}};
	const uint64_t value = 0x0102030405060708;
	struct plx_view old = kinds_view(OLD, 8);
	struct plx_op *op = kinds_op();

	plx_test_needs(kinds_has(PLX_OPCODE_FETCH_ADD), "atomics");
	memcpy(kinds_at(WORD), &value, sizeof(value));
	plx_prep_fetch_add(op, &old, &kinds.remote, WORD, 1, NULL, NULL);
	plx_prep_set_sges(op, halves, 2, &kinds.remote, WORD);
	kinds_run(kinds.a, op);
	assert_memory_equal(kinds_at(OLD), &value, 3);
	assert_memory_equal(kinds_at(OLD + 100), (const uint8_t *)&value + 3, 5);
	op = kinds_op();
	plx_prep_fetch_add(op, &old, &kinds.remote, WORD, 1, NULL, NULL);
	halves[1].length = 6;
	plx_prep_set_sges(op, halves, 2, &kinds.remote, WORD);
	assert_int_equal(plx_conn_submit(kinds.a, op), -EINVAL);
	assert_int_equal(plx_op_put(op), 0);
}

/* ---- no bytes ------------------------------------------------------------------------------ */

/** case 10.5: an SGE of no bytes would be 2^31 of them on some devices */
static void
sges_of_no_bytes_are_left_out(void **state)
{
	const struct plx_sge lists[][4] = {
		{{0, 0, 0}},
		{{(uintptr_t)kinds_at(0), 10, kinds.mem->lkey}, {0, 0, 0}, {(uintptr_t)kinds_at(100), 20, kinds.mem->lkey}, {0, 0, 0}},
	};
	const uint32_t nbs[] = {1, 4}, lens[] = {0, 30};

	for (unsigned int i = 0; i < 10; i++)
		*kinds_at(i) = *kinds_at(100 + i) = *kinds_at(110 + i) = (uint8_t)(i + 1);
	for (unsigned int i = 0; i < 2; i++) {
		struct plx_op *op = kinds_op(), *recv = kinds_op();
		struct plx_view into = kinds_view(IN, LEN);

		plx_prep_recv(recv, &into, NULL, NULL);
		assert_int_equal(plx_conn_submit(kinds.b, recv), 0);
		plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
		plx_op_set_sges(op, lists[i], nbs[i]);
		kinds_run(kinds.a, op);
		assert_int_equal(kinds_wait(recv, PLX_ST_SUCCESS).byte_len, lens[i]);
		assert_int_equal(plx_op_put(recv), 0);
	}
	assert_memory_equal(kinds_at(IN), kinds_at(0), 10);
	assert_memory_equal(kinds_at(IN + 10), kinds_at(100), 20);
}

/** case 10.7 */
static void
no_bytes_complete_once_and_change_nothing(void **state)
{
	static const enum plx_opcode tried[] = {PLX_OPCODE_SEND, PLX_OPCODE_WRITE, PLX_OPCODE_READ, PLX_OPCODE_WRITE_IMM};
	static const uint8_t zero[BYTES];

	for (unsigned int i = 0; i < 2 * NB_OF(tried); i++) {
		enum plx_opcode kind = tried[i / 2];
		struct plx_op *op = kinds_op(), *recv = takes_receive(kind) ? kinds_op() : NULL;

		if (recv != NULL) {
			plx_op_prep_recv(recv, NULL, 0, 0, NULL, NULL);
			assert_int_equal(plx_conn_submit(kinds.b, recv), 0);
		}
		plx_op_prep(op, kind, NULL, 0, 0, NULL, NULL);
		plx_op_set_remote(op, 0, 0);
		if (i % 2 == 1 && kind != PLX_OPCODE_READ)
			plx_op_add_flags(op, PLX_WR_INLINE);
		kinds_run(kinds.a, op);
		if (recv != NULL) {
			assert_int_equal(kinds_wait(recv, PLX_ST_SUCCESS).byte_len, 0);
			assert_int_equal(plx_op_put(recv), 0);
		}
	}
	assert_memory_equal(kinds_at(0), zero, BYTES);
	assert_int_equal(kinds.a->sq.head - kinds.a->sq.tail, 0);
	assert_int_equal(kinds.b->rq.head - kinds.b->rq.tail, 0);
}

/** A bind that was prepared and thrown away has an rkey of its own, and takes nothing from the one that is bound. */
static void
window_is_taken_back_by_what_its_bind_said(void **state)
{
	struct plx_view part = kinds_view(0, LEN);
	struct plx_remote lent, next;
	struct plx_op *op, *idle;
	struct plx_mw *mw;

	plx_test_needs(kinds_has(PLX_OPCODE_BIND_MW), "windows");
	assert_non_null(mw = plx_mw_create(kinds.mem->mr));
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(plx_prep_bind(op = kinds_op(), mw, &part, PLX_ACCESS_REMOTE_READ, &lent, NULL, NULL), 0);
		kinds_run(kinds.a, op);
		assert_int_equal(plx_prep_bind(idle = kinds_op(), mw, &part, PLX_ACCESS_REMOTE_READ, &next, NULL, NULL), 0);
		assert_int_not_equal(next.rkey, lent.rkey);
		assert_int_equal(plx_op_put(idle), 0);
		plx_prep_local_inv(op = kinds_op(), &lent, NULL, NULL);
		kinds_run(kinds.a, op);
	}
	assert_int_equal(plx_mw_destroy(mw), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, kinds_make, kinds_unmake)
static const struct CMUnitTest tests[] = {
	CASE(each_kind_does_its_work_by_singles),
	CASE(each_kind_does_its_work_by_bursts),
	CASE(each_kind_does_its_work_by_the_constant_table),
	CASE(old_value_is_in_host_order_and_raw_as_it_came),
	CASE(crooked_atomics_are_refused_and_the_connection_lives),
	CASE(old_value_may_be_scattered),
	CASE(sges_of_no_bytes_are_left_out),
	CASE(no_bytes_complete_once_and_change_nothing),
	CASE(window_is_taken_back_by_what_its_bind_said),
};

PLX_TEST_SUITE(kinds, all, tests, .setup = kinds_drivers, .lcores = 2, .device = true, .caps = PLX_CAP_ATTR_EXCHANGE);
