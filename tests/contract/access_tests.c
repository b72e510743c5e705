/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Run the table of access cases, one test a row.
 *
 * The memory in question, the region, is a part of a side's buffer:
 *
 *      buf    REGION_AT            REGION_AT + REGION_LEN
 *       |        |==== region ==========|          |
 *       |   SPOT |    SPOT or data      |  SPOT    |
 *
 * Everything else of a case is well: the other side's memory, the QPs, the lengths.
 */

#include "access_cases.h"
#include "contract_pair.h"

#include <stdlib.h>
#include <string.h>

#define REGION_AT  4712u /* on no page boundary */
#define REGION_LEN 3000u
#define MSG	   256u	 /* bytes of a message */
#define SPOT	   0x3c
#define SEED	   5
#define SPOTS	   (SPOT * UINT64_C(0x0101010101010101))
#define IMM	   0x01020304

struct access {
	struct pair pair; /* first: pair_teardown() takes it */
	const struct access_case *row;
	struct side *victim;
	uint32_t key;
	uint32_t len;
	size_t at; /**< where in the victim's buffer the access begins */
};

static bool
is_atomic(const struct access_case *row)
{
	return row->opcode == PLX_OPCODE_FETCH_ADD || row->opcode == PLX_OPCODE_CMP_SWAP;
}

/* ---- the wrong that is done ---------------------------------------------------------------- */

/** The right that the region, or the responder's QP, must have. */
static uint32_t
right_needed(const struct access_case *row)
{
	if (row->whose != WHOSE_REMOTE)
		return PLX_ACCESS_LOCAL_WRITE;
	switch (row->opcode) {
	case PLX_OPCODE_WRITE:
	case PLX_OPCODE_WRITE_IMM:
		return PLX_ACCESS_REMOTE_WRITE;
	case PLX_OPCODE_READ:
		return PLX_ACCESS_REMOTE_READ;
	default:
		return PLX_ACCESS_REMOTE_ATOMIC;
	}
}

static uint32_t
region_rights(const struct access_case *row)
{
	uint32_t rights = contract_rights();

	if (row->how != HOW_NO_RIGHT)
		return rights;
	rights &= ~right_needed(row);
	/* Without local write there is no remote write either. */
	return rights & PLX_ACCESS_LOCAL_WRITE ? rights : rights & PLX_ACCESS_REMOTE_READ;
}

static uint32_t
region_key(struct access *acc)
{
	struct pair *pair = &acc->pair;
	bool other = acc->row->how == HOW_WRONG_PD;
	struct plx_pd *pd = other ? objects_pd(&pair->objs, contract.dev) : pair->pd;
	struct plx_mr *mr = objects_mr(&pair->objs, pd, acc->victim->buf + REGION_AT, REGION_LEN,
		region_rights(acc->row));
	uint32_t key = acc->row->whose == WHOSE_REMOTE ? mr->rkey : mr->lkey;

	if (acc->row->how == HOW_DEREGISTERED)
		objects_drop_mr(&pair->objs, mr);
	return acc->row->how == HOW_BAD_KEY ? key ^ 0x5a5a5a00 : key;
}

/** Where the access begins, from the beginning of the region. An atomic's word is aligned in any case. */
static int64_t
access_offset(const struct access_case *row, uint32_t len)
{
	uint32_t step = is_atomic(row) ? 8 : 1;

	switch (row->how) {
	case HOW_BEFORE:
		return -(int64_t)step;
	case HOW_LAST:
		return REGION_LEN - len;
	case HOW_PAST:
	case HOW_LAST_SGE:
		return REGION_LEN - len + step;
	default:
		return 0;
	}
}

/** The victim's SGEs; three of them where the last one is the wrong one. */
static uint32_t
victim_sges(const struct access *acc, struct plx_sge *sges)
{
	uint64_t addr = (uintptr_t)acc->victim->buf;
	uint32_t len = acc->len - (acc->row->how == HOW_SHORT);

	if (acc->row->how != HOW_LAST_SGE) {
		sges[0] = (struct plx_sge){addr + acc->at, len, acc->key};
		return 1;
	}
	sges[0] = (struct plx_sge){addr + REGION_AT, 10, acc->key};
	sges[1] = (struct plx_sge){addr + REGION_AT + 500, 20, acc->key};
	sges[2] = (struct plx_sge){addr + acc->at + 30, len - 30, acc->key};
	return 3;
}

/* ---- the operation ------------------------------------------------------------------------- */

#define RECV_ID 2
#define SEND_ID 1

static void
post_receive(struct access *acc)
{
	struct plx_sge sges[3];
	struct plx_wr wr;

	if (acc->row->opcode != PLX_OPCODE_SEND && acc->row->opcode != PLX_OPCODE_WRITE_IMM)
		return;
	if (acc->row->whose != WHOSE_RECV) {
		post_recv_at(&acc->pair.b, RECV_ID, 0, MSG);
		return;
	}
	wr = wr_of(RECV_ID, PLX_OPCODE_RECV, sges, victim_sges(acc, sges));
	post_recv(&acc->pair.b, &wr);
}

static void
post_request(struct access *acc)
{
	struct pair *pair = &acc->pair;
	struct plx_sge sges[3] = {side_sge(&pair->a, 0, acc->len)};
	uint32_t n = 1;
	struct plx_wr wr;

	if (acc->row->whose == WHOSE_LOCAL)
		n = victim_sges(acc, sges);
	wr = wr_remote(SEND_ID, acc->row->opcode, sges, n, &pair->b, 0);
	if (acc->row->whose == WHOSE_REMOTE) {
		wr.remote_addr = (uintptr_t)pair->b.buf + acc->at;
		wr.rkey = acc->key;
	}
	wr.compare_add = acc->row->opcode == PLX_OPCODE_FETCH_ADD ? 1 : SPOTS;
	wr.swap = SPOTS + 1;
	wr.imm = IMM;
	post_send(&pair->a, &wr);
}

/* ---- the outcome --------------------------------------------------------------------------- */

/** Whether the device writes to the victim's memory. */
static bool
victim_is_written(const struct access_case *row)
{
	if (row->whose == WHOSE_LOCAL)
		return row->opcode == PLX_OPCODE_READ || is_atomic(row);
	return row->whose == WHOSE_RECV || row->opcode != PLX_OPCODE_READ;
}

/** Nothing outside the region was written; and where remote access was refused, nothing inside. */
static void
expect_refusal_kept_out(const struct access *acc)
{
	const uint8_t *buf = acc->victim->buf;

	if (!victim_is_written(acc->row))
		return;
	if (acc->row->how != HOW_SHORT) {
		expect_all(buf + REGION_AT - 64, 64, SPOT);
		expect_all(buf + REGION_AT + REGION_LEN, 64, SPOT);
	}
	if (acc->row->whose == WHOSE_REMOTE)
		expect_all(buf + REGION_AT, REGION_LEN, SPOT);
}

static void
expect_data(const struct access *acc)
{
	const struct pair *pair = &acc->pair;
	size_t victim_at = acc->at;

	switch (acc->row->opcode) {
	case PLX_OPCODE_READ:
		expect_filled(pair->a.buf + (acc->row->whose == WHOSE_LOCAL ? victim_at : 0), acc->len, SEED);
		break;
	case PLX_OPCODE_FETCH_ADD: /* of the eight SPOTs the lowest has become one more */
	case PLX_OPCODE_CMP_SWAP:
		assert_int_equal(pair->b.buf[victim_at], SPOT + 1);
		break;
	default:
		expect_filled(pair->b.buf + (acc->row->whose == WHOSE_LOCAL ? 0 : victim_at), acc->len, SEED);
	}
}

static void
expect_status(struct plx_cq *cq, uint64_t wr_id, unsigned int status)
{
	if (status == ACCESS_NONE)
		expect_empty(cq);
	else
		wait_wc(cq, wr_id, status);
}

/** Source data where the operation takes it from, SPOT everywhere else. */
static void
fill_buffers(struct access *acc)
{
	struct pair *pair = &acc->pair;
	struct side *source = acc->row->opcode == PLX_OPCODE_READ ? &pair->b : &pair->a;

	memset(pair->a.buf, SPOT, 3 * REGION_AT);
	memset(pair->b.buf, SPOT, 3 * REGION_AT);
	if (!is_atomic(acc->row))
		fill(source->buf + (source == acc->victim ? acc->at : 0), acc->len, SEED);
}

static void
access_run(struct access *acc)
{
	const struct access_case *row = acc->row;
	const struct access_status *want = contract.rxe ? &row->rxe : &row->spec;

	acc->victim = row->whose == WHOSE_LOCAL ? &acc->pair.a : &acc->pair.b;
	acc->len = is_atomic(row) ? 8 : MSG;
	acc->at = REGION_AT + access_offset(row, acc->len);
	acc->key = region_key(acc);
	fill_buffers(acc);
	post_receive(acc);
	post_request(acc);
	expect_status(acc->pair.a.cq, SEND_ID, want->requester);
	expect_status(acc->pair.b.cq, RECV_ID, want->receive);
	if (want->requester == PLX_ST_SUCCESS) {
		expect_data(acc);
		return;
	}
	expect_refusal_kept_out(acc);
	assert_true(wait_error(acc->pair.a.qp));
	/* What is wrong at the responder ends it too (IBA 9.9.3.1, classes A and C). */
	if (row->whose == WHOSE_LOCAL)
		assert_int_equal(plx_qp_query_state(acc->pair.b.qp), PLX_QP_RTS);
	else
		assert_true(wait_error(acc->pair.b.qp));
}

/* ---- rows as tests ------------------------------------------------------------------------- */

static const char *
row_needs(const struct access_case *row)
{
	if (!contract_has_flag(PLX_CAP_ATTR_EXCHANGE))
		return "PLX_CAP_ATTR_EXCHANGE";
	if (!contract_has_kind(row->opcode))
		return plx_opcode_name(row->opcode);
	if (row->how == HOW_LAST_SGE && contract_caps()->max_sge < 3)
		return "lists of three SGEs";
	return NULL;
}

static void
access_test(void **state)
{
	struct access *acc = *state;
	const char *missing = row_needs(acc->row);
	struct pair_conf conf;

	if (missing != NULL)
		plx_test_skip(acc->row->name, missing);
	conf = pair_conf();
	if (acc->row->how == HOW_QP_NO_RIGHT)
		conf.b_rights &= ~right_needed(acc->row);
	pair_make(&acc->pair, contract.dev, &conf);
	access_run(acc);
}

/** cmocka hands the row over as the initial state. */
static int
access_setup(void **state)
{
	struct access *acc = calloc(1, sizeof(*acc));

	if (acc == NULL)
		return -1;
	acc->row = *state;
	*state = acc;
	return 0;
}

struct contract_group
access_group(void)
{
	struct CMUnitTest *tests = calloc(nb_access_cases, sizeof(*tests)); /* freed by main */
	struct contract_group group = {"access", tests, nb_access_cases};

	for (unsigned int i = 0; tests != NULL && i < nb_access_cases; i++)
		tests[i] = (struct CMUnitTest){
			.name = access_cases[i].name,
			.test_func = access_test,
			.setup_func = access_setup,
			.teardown_func = pair_teardown,
			.initial_state = (void *)(uintptr_t)&access_cases[i],
		};
	return group;
}
