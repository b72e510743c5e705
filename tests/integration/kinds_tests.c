/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include "plx_clock.h"
#include "plx_conn.h"
#include "plx_drivers.h"
#include "plx_loopback_fast.h"
#include "plx_poll.h"
#include "plx_prep.h"
#if PLX_HAS_VERBS
#include "plx_verbs_fast.h"
#endif

/**
 * @file
 * Every kind of op through the whole stack, on any device: by singles, by bursts, by the constant table; and what comes of
 * it at both ends. One thread steps everything as lcore 1: kinds-tests -d rxe0.
 *
 *      A: region [ out | in | old values ]  ---- conn ---->  B: region, receives, a window
 */

#define OWNER 1
#define N     4	    /* ops of each kind */
#define LEN   64u   /* bytes of each */
#define IN    4096u /* where they go to in the region */
#define OLD   8192u /* where old values go to */
#define WORD  8448u /* the word that atomics are for */
#define BYTES 16384u

struct kinds {
	const char *spec;
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_region *mem;
	struct plx_cq *cq;
	struct plx_control *control;
	struct plx_dispatcher *d;
	struct plx_conn_group *group;
	struct plx_conn *a, *b;
	unsigned int nb_closed, was;
	struct plx_remote remote; /**< all of mem, as the peer sees it */
};

static struct kinds k;

/* ---- making -------------------------------------------------------------------------------- */

static void
closed(struct plx_conn *conn, void *arg)
{
	k.nb_closed++;
}

static struct plx_conn *
conn_make(void)
{
	struct plx_conn_conf conf = {
		.group = k.group, .pd = k.pd, .cap = {16, 16, 4, 4, 64}, .home = OWNER, .drain_ms = 300, .closed_cb = closed};
	struct plx_conn *conn;

	conf.cap.inline_len = RTE_MIN(conf.cap.inline_len, plx_device_caps(k.dev)->max_inline);
	plx_qp_path_default(&conf.path);
	conf.path.rights = PLX_ACCESS_REMOTE;
	assert_non_null(conn = plx_conn_create(&conf));
	return conn;
}

static void
open_on(const char *spec)
{
	static const unsigned int owner = OWNER;
	struct plx_control_conf control = {.lcores = &owner, .nb_lcores = 1};
	struct plx_dispatcher_conf d = {.name = "kinds", .owner = OWNER, .pool = {.nb_ops = 128, .socket_id = -1}};
	struct plx_conn_group_conf group = {.name = "kinds"};
	struct plx_qp_addr addr_a, addr_b;

	memset(&k, 0, sizeof(k));
	assert_non_null(k.dev = plx_device_open(spec));
	assert_non_null(k.pd = plx_pd_create(k.dev));
	assert_non_null(k.mem = plx_region_alloc(k.pd, BYTES, PLX_ACCESS_ALL));
	assert_non_null(k.cq = plx_cq_create(k.dev, 256));
	assert_non_null(k.control = plx_control_create(&control));
	assert_non_null(k.d = plx_dispatcher_create(&d));
	group.dispatcher = k.d;
	group.cq = k.cq;
	group.control = k.control;
	assert_non_null(k.group = plx_conn_group_create(&group));
	k.a = conn_make();
	k.b = conn_make();
	assert_int_equal(plx_conn_local_attr(k.a, &addr_a), 0);
	assert_int_equal(plx_conn_local_attr(k.b, &addr_b), 0);
	assert_int_equal(plx_conn_bring_up(k.a, &addr_b), 0);
	assert_int_equal(plx_conn_bring_up(k.b, &addr_a), 0);
	k.remote = plx_remote_of_region(k.mem);
	k.was = plx_test_as_lcore(OWNER);
}

static void
turn(void)
{
	assert_true(plx_poll(k.cq, k.d) >= 0);
	plx_dispatcher_once(k.d);
	plx_conn_group_once(k.group);
}

static int
make(void **state)
{
	open_on(plx_test_device());
	return 0;
}

static int
unmake(void **state)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(10000000000);

	plx_conn_close(k.a);
	plx_conn_close(k.b);
	while (k.nb_closed < 2 && plx_clock_monotonic_ns() < end)
		turn();
	assert_int_equal(plx_conn_destroy(k.a), 0);
	assert_int_equal(plx_conn_destroy(k.b), 0);
	plx_test_as_lcore(k.was);
	assert_int_equal(plx_conn_group_destroy(k.group), 0);
	assert_int_equal(plx_cq_destroy(k.cq), 0);
	assert_int_equal(plx_op_pool_in_use(k.d->pool), 0);
	assert_int_equal(plx_dispatcher_destroy(k.d), 0);
	assert_int_equal(plx_control_destroy(k.control), 0);
	assert_int_equal(plx_region_destroy(k.mem), 0);
	assert_int_equal(plx_pd_destroy(k.pd), 0);
	assert_int_equal(plx_device_close(k.dev), 0);
	return 0;
}

/* ---- ops ----------------------------------------------------------------------------------- */

static bool
has(unsigned int opcode)
{
	return plx_device_caps(k.dev)->kinds & PLX_KIND(opcode);
}

static uint8_t *
at(size_t off)
{
	return (uint8_t *)k.mem->addr + off;
}

static struct plx_view
view(size_t off, size_t len)
{
	struct plx_view v;

	assert_int_equal(plx_region_view(k.mem, off, len, &v), 0);
	return v;
}

static struct plx_op *
op_new(void)
{
	struct plx_op *op = plx_op_get(k.d->pool);

	assert_non_null(op);
	return op;
}

static struct plx_result
wait_for(const struct plx_op *op, enum plx_status status)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(10000000000);
	struct plx_result res;

	while (!plx_op_is_done(op)) {
		turn();
		if (plx_clock_monotonic_ns() > end)
			fail_msg("%s did not complete", plx_opcode_name(op->wr.opcode));
	}
	plx_op_result(op, &res);
	if (res.status != status)
		fail_msg("%s ended as %s, vendor 0x%x", plx_opcode_name(op->wr.opcode), plx_status_name(res.status), res.vendor_err);
	return res;
}

/** Submit, wait, give back. */
static struct plx_result
run(struct plx_conn *conn, struct plx_op *op)
{
	struct plx_result res;

	assert_int_equal(plx_conn_submit(conn, op), 0);
	res = wait_for(op, PLX_ST_SUCCESS);
	assert_int_equal(plx_op_put(op), 0);
	return res;
}

/* ---- by singles, by bursts, by the constant table ------------------------------------------- */

enum style { SINGLES, BURST, TABLE };

/** A call for each kind, so that the compiler sees it. */
#define POST_TABLE(fast, kind)                                                                               \
	case kind:                                                                                           \
		return plx_conn_post_kind_with(fast, k.a, kind, ops, N, &err)
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
	if (strncmp(plx_device_name(k.dev), "loopback", 8) != 0)
		POST_KINDS(&plx_verbs_fast);
#endif
	POST_KINDS(&plx_loopback_fast);
}

/** All N of one kind from A. */
static void
post_all(enum style style, enum plx_opcode kind, struct plx_op **ops)
{
	struct plx_submit_err err = {.code = 0};

	if (style == BURST && plx_conn_submit_burst(k.a, ops, N, &err) != N)
		fail_msg("%s: %d", plx_opcode_name(kind), err.code);
	for (unsigned int i = 0; i < N && style == SINGLES; i++)
		assert_int_equal(plx_conn_submit(k.a, ops[i]), 0);
	if (style == TABLE)
		assert_int_equal(post_table(kind, ops), N);
}

/** Receives of B for N messages. */
static void
recvs_post(struct plx_op **recvs)
{
	struct plx_submit_err err;

	for (unsigned int i = 0; i < N; i++) {
		struct plx_view into = view(IN + i * LEN, LEN);

		recvs[i] = op_new();
		plx_prep_recv(recvs[i], &into, NULL, NULL);
	}
	assert_int_equal(plx_conn_recv_burst(k.b, recvs, N, &err), N);
}

static void
prepare(struct plx_op *op, enum plx_opcode kind, unsigned int i, struct plx_mw **mws)
{
	struct plx_view out = view(i * LEN, LEN), old = view(OLD + i * 8, 8);
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
		plx_prep_write(op, &out, &k.remote, IN + i * LEN, NULL, NULL);
		break;
	case PLX_OPCODE_WRITE_IMM:
		plx_prep_write_imm(op, &out, &k.remote, IN + i * LEN, 0x01020304 + i, NULL, NULL);
		break;
	case PLX_OPCODE_READ:
		out = view(IN + i * LEN, LEN);
		plx_prep_read(op, &out, &k.remote, i * LEN, NULL, NULL);
		break;
	case PLX_OPCODE_CMP_SWAP:
		plx_prep_cmp_swap(op, &old, &k.remote, WORD, 100 + i, 101 + i, NULL, NULL);
		break;
	case PLX_OPCODE_FETCH_ADD:
		plx_prep_fetch_add(op, &old, &k.remote, WORD, 1, NULL, NULL);
		break;
	case PLX_OPCODE_BIND_MW:
		assert_int_equal(plx_prep_bind(op, mws[i], &out, PLX_ACCESS_REMOTE_READ, &window, NULL, NULL), 0);
		assert_int_equal(window.rkey, mws[i]->rkey);
		break;
	default:
		plx_prep_local_inv(op, mws[i], NULL, NULL);
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
	struct plx_result res = wait_for(recv, PLX_ST_SUCCESS);
	bool imm = kind == PLX_OPCODE_SEND_IMM || kind == PLX_OPCODE_WRITE_IMM;
	bool inv = kind == PLX_OPCODE_SEND_INV;

	assert_int_equal(res.kind, kind == PLX_OPCODE_WRITE_IMM ? PLX_OPCODE_RECV_WRITE_IMM : PLX_OPCODE_RECV);
	assert_int_equal(res.byte_len, LEN);
	assert_int_equal(res.wc_flags, imm ? PLX_WC_WITH_IMM : inv ? PLX_WC_WITH_INV : 0);
	assert_int_equal(res.imm, imm ? 0x01020304 + i : 0);
	assert_int_equal(res.inv_rkey, inv ? mws[i]->rkey : 0);
	assert_ptr_equal(res.conn, k.b);
	assert_int_equal(plx_op_put(recv), 0);
}

static void
expect_done(enum plx_opcode kind, unsigned int i, struct plx_op *op)
{
	struct plx_result res = wait_for(op, PLX_ST_SUCCESS);

	assert_int_equal(res.kind, kind);
	assert_int_equal(res.byte_len, kind == PLX_OPCODE_READ ? LEN : is_atomic(kind) ? 8 : res.byte_len);
	assert_int_equal(res.inv_rkey, 0);
	assert_int_equal(res.post_errno, 0);
	assert_ptr_equal(res.conn, k.a);
	if (is_atomic(kind))
		assert_true(plx_conn_old_value(k.a, op) == 100 + i);
	if (kind <= PLX_OPCODE_READ)
		assert_memory_equal(at(i * LEN), at(IN + i * LEN), LEN);
	assert_int_equal(plx_op_put(op), 0);
}

/** N of @p kind from A to B and everything that came of them. @p mws: of a send-inv bound on B, of the others on A. */
static void
run_kind(enum style style, enum plx_opcode kind, struct plx_mw **mws)
{
	struct plx_op *ops[N], *recvs[N];
	uint64_t word = 100;

	memset(k.mem->addr, 0, BYTES);
	for (unsigned int i = 0; i < N * LEN; i++)
		*at(i) = (uint8_t)(i * 7 + kind);
	memcpy(at(WORD), &word, sizeof(word));
	if (takes_receive(kind))
		recvs_post(recvs);
	for (unsigned int i = 0; i < N; i++)
		prepare(ops[i] = op_new(), kind, i, mws);
	post_all(style, kind, ops);
	for (unsigned int i = 0; i < N; i++)
		expect_done(kind, i, ops[i]);
	for (unsigned int i = 0; i < N && takes_receive(kind); i++)
		expect_received(kind, i, recvs[i], mws);
	memcpy(&word, at(WORD), sizeof(word));
	assert_true(word == (is_atomic(kind) ? 100 + N : 100));
}

/** Bound, taken back here; bound on B, taken back by A's sends. */
static void
run_windows(enum style style)
{
	struct plx_mw *mws[N];

	for (unsigned int i = 0; i < N; i++)
		assert_non_null(mws[i] = plx_mw_create(k.mem->mr));
	run_kind(style, PLX_OPCODE_BIND_MW, mws);
	run_kind(style, PLX_OPCODE_LOCAL_INV, mws);
	for (unsigned int i = 0; i < N; i++) {
		struct plx_view part = view(0, LEN);
		struct plx_op *op = op_new();

		assert_int_equal(plx_prep_bind(op, mws[i], &part, PLX_ACCESS_REMOTE_WRITE, NULL, NULL, NULL), 0);
		run(k.b, op);
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
		if (has(plain[i]))
			run_kind(style, plain[i], none);
	if (plx_device_caps(k.dev)->flags & PLX_CAP_MW)
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
			unmake(state);
			open_on("loopback0,atomics=big");
		}
		if (!has(PLX_OPCODE_FETCH_ADD))
			return;
		old = view(OLD + 1, 8); /* which need not be aligned */
		memcpy(at(WORD), &value, sizeof(value));
		op = op_new();
		plx_prep_fetch_add(op, &old, &k.remote, WORD, 1, NULL, NULL);
		assert_int_equal(plx_conn_submit(k.a, op), 0);
		wait_for(op, PLX_ST_SUCCESS);
		assert_true(plx_conn_old_value(k.a, op) == value);
		assert_true(plx_op_raw_value(op) == (i == 1 ? rte_cpu_to_be_64(value) : value));
		assert_int_equal(plx_op_put(op), 0);
	}
}

/** case 9.3 */
static void
crooked_atomics_are_refused_and_the_connection_lives(void **state)
{
	static const uint32_t lens[] = {0, 4, 7, 9, 16};
	struct plx_view old = view(OLD, 8);
	struct plx_op *op = op_new();

	plx_test_needs(has(PLX_OPCODE_FETCH_ADD), "atomics");
	for (unsigned int off = 1; off < 8; off++) {
		plx_prep_fetch_add(op, &old, &k.remote, WORD + off, 1, NULL, NULL);
		assert_int_equal(plx_conn_submit(k.a, op), -EFAULT);
		plx_op_prep_cmp_swap(op, at(OLD), k.mem->lkey, (uintptr_t)at(WORD) + off, k.mem->rkey, 0, 1, NULL, NULL);
		assert_int_equal(plx_conn_submit(k.a, op), -EFAULT);
	}
	for (unsigned int i = 0; i < NB_OF(lens); i++) {
		old = view(OLD, lens[i]);
		plx_prep_fetch_add(op, &old, &k.remote, WORD, 1, NULL, NULL);
		assert_int_equal(plx_conn_submit(k.a, op), -EINVAL);
	}
	old = view(OLD, 8);
	plx_prep_fetch_add(op, &old, &k.remote, BYTES - 4, 1, NULL, NULL);
	assert_int_equal(plx_conn_submit(k.a, op), -ERANGE);
	k.remote.rights &= ~PLX_ACCESS_REMOTE_ATOMIC;
	plx_prep_cmp_swap(op, &old, &k.remote, WORD, 0, 1, NULL, NULL);
	assert_int_equal(plx_conn_submit(k.a, op), -EACCES);
	k.remote.rights |= PLX_ACCESS_REMOTE_ATOMIC;
	plx_prep_fetch_add(op, &old, &k.remote, WORD, 5, NULL, NULL);
	run(k.a, op);
	assert_int_equal(*at(WORD), 5);
}

static void
old_value_may_be_scattered(void **state)
{
	struct plx_sge halves[2] = {{(uintptr_t)at(OLD), 3, k.mem->lkey}, {(uintptr_t)at(OLD + 100), 5, k.mem->lkey}};
	const uint64_t value = 0x0102030405060708;
	struct plx_view old = view(OLD, 8);
	struct plx_op *op = op_new();

	plx_test_needs(has(PLX_OPCODE_FETCH_ADD), "atomics");
	memcpy(at(WORD), &value, sizeof(value));
	plx_prep_fetch_add(op, &old, &k.remote, WORD, 1, NULL, NULL);
	plx_prep_set_sges(op, halves, 2, &k.remote, WORD);
	run(k.a, op);
	assert_memory_equal(at(OLD), &value, 3);
	assert_memory_equal(at(OLD + 100), (const uint8_t *)&value + 3, 5);
	op = op_new();
	plx_prep_fetch_add(op, &old, &k.remote, WORD, 1, NULL, NULL);
	halves[1].length = 6;
	plx_prep_set_sges(op, halves, 2, &k.remote, WORD);
	assert_int_equal(plx_conn_submit(k.a, op), -EINVAL);
	assert_int_equal(plx_op_put(op), 0);
}

/* ---- no bytes ------------------------------------------------------------------------------ */

/** case 10.5: an SGE of no bytes would be 2^31 of them on some devices */
static void
sges_of_no_bytes_are_left_out(void **state)
{
	const struct plx_sge lists[][4] = {
		{{0, 0, 0}},
		{{(uintptr_t)at(0), 10, k.mem->lkey}, {0, 0, 0}, {(uintptr_t)at(100), 20, k.mem->lkey}, {0, 0, 0}},
	};
	const uint32_t nbs[] = {1, 4}, lens[] = {0, 30};

	for (unsigned int i = 0; i < 10; i++)
		*at(i) = *at(100 + i) = *at(110 + i) = (uint8_t)(i + 1);
	for (unsigned int i = 0; i < 2; i++) {
		struct plx_op *op = op_new(), *recv = op_new();
		struct plx_view into = view(IN, LEN);

		plx_prep_recv(recv, &into, NULL, NULL);
		assert_int_equal(plx_conn_submit(k.b, recv), 0);
		plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
		plx_op_set_sges(op, lists[i], nbs[i]);
		run(k.a, op);
		assert_int_equal(wait_for(recv, PLX_ST_SUCCESS).byte_len, lens[i]);
		assert_int_equal(plx_op_put(recv), 0);
	}
	assert_memory_equal(at(IN), at(0), 10);
	assert_memory_equal(at(IN + 10), at(100), 20);
}

/** case 10.7 */
static void
no_bytes_complete_once_and_change_nothing(void **state)
{
	static const enum plx_opcode kinds[] = {PLX_OPCODE_SEND, PLX_OPCODE_WRITE, PLX_OPCODE_READ, PLX_OPCODE_WRITE_IMM};
	static const uint8_t zero[BYTES];

	for (unsigned int i = 0; i < 2 * NB_OF(kinds); i++) {
		enum plx_opcode kind = kinds[i / 2];
		struct plx_op *op = op_new(), *recv = takes_receive(kind) ? op_new() : NULL;

		if (recv != NULL) {
			plx_op_prep_recv(recv, NULL, 0, 0, NULL, NULL);
			assert_int_equal(plx_conn_submit(k.b, recv), 0);
		}
		plx_op_prep(op, kind, NULL, 0, 0, NULL, NULL);
		plx_op_set_remote(op, 0, 0);
		if (i % 2 == 1 && kind != PLX_OPCODE_READ)
			plx_op_add_flags(op, PLX_WR_INLINE);
		run(k.a, op);
		if (recv != NULL) {
			assert_int_equal(wait_for(recv, PLX_ST_SUCCESS).byte_len, 0);
			assert_int_equal(plx_op_put(recv), 0);
		}
	}
	assert_memory_equal(at(0), zero, BYTES);
	assert_int_equal(k.a->sq.head - k.a->sq.tail, 0);
	assert_int_equal(k.b->rq.head - k.b->rq.tail, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(each_kind_does_its_work_by_singles),
	CASE(each_kind_does_its_work_by_bursts),
	CASE(each_kind_does_its_work_by_the_constant_table),
	CASE(old_value_is_in_host_order_and_raw_as_it_came),
	CASE(crooked_atomics_are_refused_and_the_connection_lives),
	CASE(old_value_may_be_scattered),
	CASE(sges_of_no_bytes_are_left_out),
	CASE(no_bytes_complete_once_and_change_nothing),
};

static int
drivers(void **state)
{
	return plx_drivers_register();
}

PLX_TEST_SUITE(kinds, all, tests, .setup = drivers, .lcores = 2, .device = true, .caps = PLX_CAP_ATTR_EXCHANGE);
