/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/*
 * Keys, rights, protection domains and ranges, byte by byte: a table of what is wrong and which status says so,
 * by the specification and by rxe. Nothing may be copied, not even the part that would be allowed.
 */

#include "pair.h"

struct attempt {
	struct plx_sge local[2];
	struct plx_sge recv;
	struct plx_wr wr;
};

struct trial {
	const char *name;
	uint8_t opcode;
	void (*spoil)(struct pair *pair, struct attempt *attempt);
	enum plx_status iba;
	enum plx_status rxe;
	enum plx_status recv_iba; /* SUCCESS: no receive is consumed */
	enum plx_status recv_rxe;
};

#define END SIDE_BYTES

static struct plx_pd *other_pd_a, *other_pd_b;
static struct plx_mr *other_mr_a, *other_mr_b, *read_only_a, *read_only_b;

static void lkey_unknown(struct pair *p, struct attempt *t) { t->local[0].lkey = 0xbad0bad; }
static void lkey_zero(struct pair *p, struct attempt *t) { t->local[0].lkey = 0; }
static void lkey_is_rkey(struct pair *p, struct attempt *t) { t->local[0].lkey = p->a.mr->rkey; }
static void lkey_other_pd(struct pair *p, struct attempt *t) { t->local[0].lkey = other_mr_a->lkey; }
static void lkey_last_sge(struct pair *p, struct attempt *t) { t->local[1].lkey = 0xbad0bad; }
static void lkey_read_only(struct pair *p, struct attempt *t) { t->local[0].lkey = read_only_a->lkey; }
static void local_before(struct pair *p, struct attempt *t) { t->local[0].addr = (uintptr_t)p->a.mem - 1; }
static void local_past(struct pair *p, struct attempt *t) { t->local[1].addr = (uintptr_t)p->a.mem + END - 7; }
static void local_wraps(struct pair *p, struct attempt *t) { t->local[0].addr = UINT64_MAX - 3; }
static void local_edge(struct pair *p, struct attempt *t) { t->local[1].addr = (uintptr_t)p->a.mem + END - 8; }
static void rkey_unknown(struct pair *p, struct attempt *t) { t->wr.rkey = 0xbad0bad; }
static void rkey_is_lkey(struct pair *p, struct attempt *t) { t->wr.rkey = p->b.mr->lkey; }
static void rkey_other_pd(struct pair *p, struct attempt *t) { t->wr.rkey = other_mr_b->rkey; }
static void rkey_read_only(struct pair *p, struct attempt *t) { t->wr.rkey = read_only_b->rkey; }
static void remote_before(struct pair *p, struct attempt *t) { t->wr.remote_addr = (uintptr_t)p->b.mem - 1; }
static void remote_past(struct pair *p, struct attempt *t) { t->wr.remote_addr = (uintptr_t)p->b.mem + END - 15; }
static void remote_wraps(struct pair *p, struct attempt *t) { t->wr.remote_addr = UINT64_MAX - 7; }
static void remote_edge(struct pair *p, struct attempt *t) { t->wr.remote_addr = (uintptr_t)p->b.mem + END - 16; }
static void recv_short(struct pair *p, struct attempt *t) { t->recv.length = 15; }
static void recv_exact(struct pair *p, struct attempt *t) { t->recv.length = 16; }
static void recv_lkey(struct pair *p, struct attempt *t) { t->recv.lkey = 0xbad0bad; }
static void recv_read_only(struct pair *p, struct attempt *t) { t->recv.lkey = read_only_b->lkey; }
static void recv_past(struct pair *p, struct attempt *t) { t->recv.addr = (uintptr_t)p->b.mem + END - 15; }
static void recv_unused_past(struct pair *p, struct attempt *t) { t->recv.addr = (uintptr_t)p->b.mem + END - 16; }

#define SEND  PLX_OPCODE_SEND
#define WRITE PLX_OPCODE_WRITE
#define READ  PLX_OPCODE_READ
#define S(status) PLX_ST_##status

static const struct trial trials[] = {
	{"unknown lkey, send", SEND, lkey_unknown, S(LOC_PROT_ERR), S(LOC_QP_OP_ERR), 0, 0},
	{"unknown lkey, write", WRITE, lkey_unknown, S(LOC_PROT_ERR), S(LOC_QP_OP_ERR), 0, 0},
	{"unknown lkey, read", READ, lkey_unknown, S(LOC_PROT_ERR), S(LOC_PROT_ERR), 0, 0},
	{"lkey 0", WRITE, lkey_zero, S(LOC_PROT_ERR), S(LOC_QP_OP_ERR), 0, 0},
	{"rkey used as lkey", WRITE, lkey_is_rkey, S(LOC_PROT_ERR), S(LOC_QP_OP_ERR), 0, 0},
	{"lkey of another PD, write", WRITE, lkey_other_pd, S(LOC_PROT_ERR), S(LOC_QP_OP_ERR), 0, 0},
	{"lkey of another PD, read", READ, lkey_other_pd, S(LOC_PROT_ERR), S(LOC_PROT_ERR), 0, 0},
	{"unknown lkey in the last SGE", WRITE, lkey_last_sge, S(LOC_PROT_ERR), S(LOC_QP_OP_ERR), 0, 0},
	{"read into memory without local write", READ, lkey_read_only, S(LOC_PROT_ERR), S(LOC_PROT_ERR), 0, 0},
	{"send from memory without local write", SEND, lkey_read_only, 0, 0, 0, 0},
	{"first byte before the region", SEND, local_before, S(LOC_PROT_ERR), S(LOC_PROT_ERR), 0, 0},
	{"last byte past the region, write", WRITE, local_past, S(LOC_PROT_ERR), S(LOC_PROT_ERR), 0, 0},
	{"last byte past the region, read", READ, local_past, S(LOC_PROT_ERR), S(LOC_PROT_ERR), 0, 0},
	{"local address wraps", WRITE, local_wraps, S(LOC_PROT_ERR), S(LOC_PROT_ERR), 0, 0},
	{"up to the last byte", WRITE, local_edge, 0, 0, 0, 0},
	{"unknown rkey, write", WRITE, rkey_unknown, S(REM_ACCESS_ERR), S(REM_ACCESS_ERR), 0, 0},
	{"unknown rkey, read", READ, rkey_unknown, S(REM_ACCESS_ERR), S(REM_ACCESS_ERR), 0, 0},
	{"lkey used as rkey", WRITE, rkey_is_lkey, S(REM_ACCESS_ERR), S(REM_ACCESS_ERR), 0, 0},
	{"rkey of another PD", WRITE, rkey_other_pd, S(REM_ACCESS_ERR), S(REM_ACCESS_ERR), 0, 0},
	{"write to a region without remote write", WRITE, rkey_read_only, S(REM_ACCESS_ERR), S(REM_ACCESS_ERR), 0, 0},
	{"read of a region with remote read only", READ, rkey_read_only, 0, 0, 0, 0},
	{"first byte before the target", WRITE, remote_before, S(REM_ACCESS_ERR), S(REM_ACCESS_ERR), 0, 0},
	{"last byte past the target, write", WRITE, remote_past, S(REM_ACCESS_ERR), S(REM_ACCESS_ERR), 0, 0},
	{"last byte past the target, read", READ, remote_past, S(REM_ACCESS_ERR), S(REM_ACCESS_ERR), 0, 0},
	{"remote address wraps", READ, remote_wraps, S(REM_ACCESS_ERR), S(REM_ACCESS_ERR), 0, 0},
	{"up to the target's last byte", WRITE, remote_edge, 0, 0, 0, 0},
	{"receive one byte short", SEND, recv_short, S(REM_INV_REQ_ERR), S(REM_OP_ERR), S(LOC_LEN_ERR),
		S(LOC_QP_OP_ERR)},
	{"receive of the message's length", SEND, recv_exact, 0, 0, 0, 0},
	{"receive with an unknown lkey", SEND, recv_lkey, S(REM_OP_ERR), S(REM_OP_ERR), S(LOC_PROT_ERR),
		S(LOC_QP_OP_ERR)},
	{"receive without local write", SEND, recv_read_only, S(REM_OP_ERR), S(REM_OP_ERR), S(LOC_PROT_ERR),
		S(LOC_QP_OP_ERR)},
	{"message past the receive's region", SEND, recv_past, S(REM_OP_ERR), S(REM_OP_ERR), S(LOC_PROT_ERR),
		S(LOC_QP_OP_ERR)},
	{"only unused bytes past the receive's region", SEND, recv_unused_past, 0, 0, 0, 0},
};

static void
spares_make(struct pair *pair)
{
	other_pd_a = plx_pd_create(pair->a.dev);
	other_pd_b = plx_pd_create(pair->b.dev);
	other_mr_a = plx_mr_register(other_pd_a, pair->a.mem, SIDE_BYTES, PLX_ACCESS_ALL);
	other_mr_b = plx_mr_register(other_pd_b, pair->b.mem, SIDE_BYTES, PLX_ACCESS_ALL);
	read_only_a = plx_mr_register(pair->a.pd, pair->a.mem, SIDE_BYTES, PLX_ACCESS_REMOTE_READ);
	read_only_b = plx_mr_register(pair->b.pd, pair->b.mem, SIDE_BYTES, PLX_ACCESS_REMOTE_READ);
}

static void
spares_drop(void)
{
	struct plx_mr *mrs[] = {other_mr_a, other_mr_b, read_only_a, read_only_b};

	for (unsigned int i = 0; i < NB_OF(mrs); i++)
		assert_int_equal(plx_mr_deregister(mrs[i]), 0);
	assert_int_equal(plx_pd_destroy(other_pd_a), 0);
	assert_int_equal(plx_pd_destroy(other_pd_b), 0);
}

/* Two SGEs of 8 bytes here, 32 bytes there. */
static struct attempt
attempt_make(struct pair *pair, const struct trial *trial)
{
	struct attempt attempt = {
		.local = {at(&pair->a, 0, 8), at(&pair->a, 64, 8)},
		.recv = at(&pair->b, 128, 32),
	};

	attempt.wr = wr_to(&pair->b, 7, trial->opcode, NULL, 256);
	attempt.wr.num_sge = 2;
	trial->spoil(pair, &attempt);
	return attempt;
}

static bool
untouched(const struct side *side, uint8_t mark)
{
	for (unsigned int i = 0; i < SIDE_BYTES; i++)
		if (side->mem[i] != mark)
			return false;
	return true;
}

/* IBA 9.9.3: who refuses a request goes to ERR; who never hears of it does not. */
static bool
responder_refused(enum plx_status status)
{
	return status == PLX_ST_REM_ACCESS_ERR || status == PLX_ST_REM_INV_REQ_ERR || status == PLX_ST_REM_OP_ERR;
}

static void
trial_run(const struct trial *trial, bool rxe)
{
	enum plx_status want = rxe ? trial->rxe : trial->iba;
	enum plx_status want_recv = rxe ? trial->recv_rxe : trial->recv_iba;
	const char *name = rxe ? "loopback0,status=rxe" : "loopback0";
	struct attempt attempt;
	struct pair pair;

	print_message("   %s, %s\n", trial->name, rxe ? "rxe" : "iba");
	pair_open(&pair, name, name);
	pair_connect(&pair);
	spares_make(&pair);
	memset(pair.a.mem, 'a', SIDE_BYTES);
	memset(pair.b.mem, 'b', SIDE_BYTES);
	attempt = attempt_make(&pair, trial);
	attempt.wr.sg_list = attempt.local;
	assert_int_equal(post_recv(pair.b.qp, 8, &attempt.recv, 1), 0);
	assert_int_equal(post_send(pair.a.qp, &attempt.wr), 0);
	expect_wc(&pair.a, 7, want);
	if (want != PLX_ST_SUCCESS) {
		assert_true(untouched(&pair.a, 'a'));
		assert_true(untouched(&pair.b, 'b'));
		assert_int_equal(plx_qp_query_state(pair.a.qp), PLX_QP_ERR);
	}
	if (want_recv != PLX_ST_SUCCESS)
		expect_wc(&pair.b, 8, want_recv);
	assert_int_equal(plx_qp_query_state(pair.b.qp), responder_refused(want) ? PLX_QP_ERR : PLX_QP_RTS);
	spares_drop();
	pair_close(&pair);
}

static void
every_byte_is_checked_and_the_status_is_the_specifications(void **state)
{
	for (unsigned int i = 0; i < NB_OF(trials); i++)
		trial_run(&trials[i], false);
}

static void
every_byte_is_checked_and_the_status_is_rxes(void **state)
{
	for (unsigned int i = 0; i < NB_OF(trials); i++)
		trial_run(&trials[i], true);
}

/* ---- the rest ------------------------------------------------------------------------------ */

static struct pair pair;

static int
setup(void **state)
{
	pair_open(&pair, "loopback0,max_msg_sz=1000", "loopback1");
	return 0;
}

static int
teardown(void **state)
{
	pair_close(&pair);
	return 0;
}

static void
a_qp_without_the_right_refuses_and_goes_to_error(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 8), to = at(&pair.b, 0, 8);
	struct plx_wr read = wr_to(&pair.b, 1, PLX_OPCODE_READ, &from, 0);

	pair.path.rights = PLX_ACCESS_REMOTE_WRITE;
	pair_connect(&pair);
	assert_int_equal(post_recv(pair.b.qp, 2, &to, 1), 0);
	assert_int_equal(post_send(pair.a.qp, &read), 0);
	expect_wc(&pair.a, 1, PLX_ST_REM_INV_REQ_ERR);
	expect_wc(&pair.b, 2, PLX_ST_WR_FLUSH_ERR);
	assert_int_equal(plx_qp_query_state(pair.b.qp), PLX_QP_ERR);
}

static void
a_deregistered_key_opens_nothing_and_is_not_handed_out_again(void **state)
{
	struct plx_mr *mr = plx_mr_register(pair.b.pd, pair.b.mem, 64, PLX_ACCESS_ALL), *next;
	struct plx_sge from = at(&pair.a, 0, 8);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &from, 0);

	pair_connect(&pair);
	wr.rkey = mr->rkey;
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	assert_int_equal(plx_mr_deregister(mr), 0);
	for (int i = 0; i < 1000; i++) {
		next = plx_mr_register(pair.b.pd, pair.b.mem, 64, PLX_ACCESS_ALL);
		assert_int_not_equal(next->rkey, wr.rkey);
		assert_int_equal(plx_mr_deregister(next), 0);
	}
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_REM_ACCESS_ERR);
}

static void
a_message_above_max_msg_sz_fails_at_its_sender(void **state)
{
	struct plx_sge from = at(&pair.a, 0, 1000);
	struct plx_wr wr = wr_to(&pair.b, 1, PLX_OPCODE_WRITE, &from, 0);

	pair_connect(&pair);
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_SUCCESS);
	from.length = 1001;
	assert_int_equal(post_send(pair.a.qp, &wr), 0);
	expect_wc(&pair.a, 1, PLX_ST_LOC_LEN_ERR);
	assert_int_equal(plx_qp_query_state(pair.b.qp), PLX_QP_RTS);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_byte_is_checked_and_the_status_is_the_specifications),
	cmocka_unit_test(every_byte_is_checked_and_the_status_is_rxes),
	T(a_qp_without_the_right_refuses_and_goes_to_error),
	T(a_deregistered_key_opens_nothing_and_is_not_handed_out_again),
	T(a_message_above_max_msg_sz_fails_at_its_sender),
};

PLX_TEST_SUITE(loopback, access, tests);
