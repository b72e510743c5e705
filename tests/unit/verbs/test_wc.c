/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A completion that somebody polled with libibverbs, translated.
 */

#include <plx_test.h>

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <plx_verbs.h>

/** Every byte wrong: what is not set by a test must not be looked at. */
static struct ibv_wc
poisoned(enum ibv_wc_status status)
{
	struct ibv_wc ibv;

	memset(&ibv, 0xa5, sizeof(ibv));
	ibv.wr_id = 0x123456789abcdef0;
	ibv.status = status;
	ibv.qp_num = 77;
	ibv.vendor_err = 0x99;
	return ibv;
}

static struct ibv_wc
success(enum ibv_wc_opcode opcode)
{
	struct ibv_wc ibv = poisoned(IBV_WC_SUCCESS);

	ibv.opcode = opcode;
	ibv.byte_len = 4096;
	ibv.wc_flags = 0;
	return ibv;
}

/* case 3.1, case 3.4 */
static void
error_keeps_its_cause_and_nothing_undefined(void **state)
{
	for (int status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_TM_RNDV_INCOMPLETE; status++) {
		struct ibv_wc ibv = poisoned(status);
		const struct plx_wc want = {
			.wr_id = ibv.wr_id,
			.qp_num = 77,
			.vendor_err = 0x99,
			.raw_status = status,
			.status = status,
		};
		struct plx_wc wc;

		memset(&wc, 0x5a, sizeof(wc));
		assert_int_equal(plx_wc_from_ibv(&wc, &ibv), 0);
		assert_memory_equal(&wc, &want, sizeof(wc));
	}
}

#define ROW(st) {IBV_WC_##st, PLX_ST_##st, #st}

/* case 3.6: written by hand from infiniband/verbs.h. That it is whole, rdma-core's own list says. */
static void
each_status_of_verbs_is_ours_by_number_and_name(void **state)
{
	static const struct {
		unsigned int ibv, ours;
		const char *name;
	} rows[] = {
		ROW(SUCCESS), ROW(LOC_LEN_ERR), ROW(LOC_QP_OP_ERR), ROW(LOC_EEC_OP_ERR), ROW(LOC_PROT_ERR),
		ROW(WR_FLUSH_ERR), ROW(MW_BIND_ERR), ROW(BAD_RESP_ERR), ROW(LOC_ACCESS_ERR), ROW(REM_INV_REQ_ERR),
		ROW(REM_ACCESS_ERR), ROW(REM_OP_ERR), ROW(RETRY_EXC_ERR), ROW(RNR_RETRY_EXC_ERR), ROW(LOC_RDD_VIOL_ERR),
		ROW(REM_INV_RD_REQ_ERR), ROW(REM_ABORT_ERR), ROW(INV_EECN_ERR), ROW(INV_EEC_STATE_ERR), ROW(FATAL_ERR),
		ROW(RESP_TIMEOUT_ERR), ROW(GENERAL_ERR), ROW(TM_ERR), ROW(TM_RNDV_INCOMPLETE),
	};
	unsigned int theirs = 0;

	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		assert_int_equal(rows[i].ibv, i);
		assert_int_equal(rows[i].ours, i);
		assert_string_equal(plx_status_name(i), rows[i].name);
	}
	/* rdma-core has a text for each that it knows, and "unknown" behind the last. */
	while (strcmp(ibv_wc_status_str((enum ibv_wc_status)theirs), "unknown") != 0)
		theirs++;
	assert_in_range(theirs, PLX_ST_TM_ERR, NB_OF(rows));
}

/* case 3.6 */
static void
unknown_status_keeps_its_number_and_vendor_error(void **state)
{
	for (unsigned int raw = IBV_WC_TM_RNDV_INCOMPLETE + 1; raw < 256; raw++) {
		struct ibv_wc ibv = poisoned((enum ibv_wc_status)raw);
		struct plx_wc wc;

		assert_int_equal(plx_wc_from_ibv(&wc, &ibv), -EINVAL);
		assert_int_equal(wc.status, PLX_ST_OTHER);
		assert_int_equal(wc.raw_status, raw);
		assert_int_equal(wc.vendor_err, 0x99);
		assert_int_equal(wc.byte_len, 0);
	}
}

static void
each_opcode_has_its_name_and_length(void **state)
{
	const struct {
		enum ibv_wc_opcode ibv;
		unsigned int ours;
		uint32_t len;
	} rows[] = {
		{IBV_WC_SEND, PLX_OPCODE_SEND, 0},
		{IBV_WC_RDMA_WRITE, PLX_OPCODE_WRITE, 0},
		{IBV_WC_RDMA_READ, PLX_OPCODE_READ, 4096},
		{IBV_WC_COMP_SWAP, PLX_OPCODE_CMP_SWAP, 8},
		{IBV_WC_FETCH_ADD, PLX_OPCODE_FETCH_ADD, 8},
		{IBV_WC_BIND_MW, PLX_OPCODE_BIND_MW, 0},
		{IBV_WC_LOCAL_INV, PLX_OPCODE_LOCAL_INV, 0},
		{IBV_WC_RECV, PLX_OPCODE_RECV, 4096},
		{IBV_WC_RECV_RDMA_WITH_IMM, PLX_OPCODE_RECV_WRITE_IMM, 4096},
	};

	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		struct ibv_wc ibv = success(rows[i].ibv);
		const struct plx_wc want = {
			.wr_id = ibv.wr_id,
			.byte_len = rows[i].len,
			.qp_num = 77,
			.opcode = rows[i].ours,
		};
		struct plx_wc wc;

		memset(&wc, 0x5a, sizeof(wc));
		assert_int_equal(plx_wc_from_ibv(&wc, &ibv), 0);
		assert_memory_equal(&wc, &want, sizeof(wc));
	}
}

static void
unknown_opcode_is_told(void **state)
{
	struct ibv_wc ibv = success(IBV_WC_TM_ADD);
	struct plx_wc wc;

	assert_int_equal(plx_wc_from_ibv(&wc, &ibv), -EINVAL);
	assert_int_equal(wc.status, PLX_ST_SUCCESS);
	assert_string_equal(plx_opcode_name(wc.opcode), "unknown");
}

/* case 10.12 */
static void
immediate_comes_in_host_order(void **state)
{
	struct ibv_wc ibv = success(IBV_WC_RECV);
	struct plx_wc wc;

	ibv.wc_flags = IBV_WC_WITH_IMM;
	ibv.imm_data = htobe32(0x01020304);
	assert_int_equal(plx_wc_from_ibv(&wc, &ibv), 0);
	assert_int_equal(wc.flags, PLX_WC_WITH_IMM);
	assert_int_equal(wc.imm, 0x01020304);
	assert_int_equal(wc.inv_rkey, 0);
}

static void
invalidated_key_comes_as_it_is(void **state)
{
	struct ibv_wc ibv = success(IBV_WC_RECV);
	struct plx_wc wc;

	ibv.wc_flags = IBV_WC_WITH_INV;
	ibv.invalidated_rkey = 0x01020304;
	assert_int_equal(plx_wc_from_ibv(&wc, &ibv), 0);
	assert_int_equal(wc.flags, PLX_WC_WITH_INV);
	assert_int_equal(wc.inv_rkey, 0x01020304);
	assert_int_equal(wc.imm, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(error_keeps_its_cause_and_nothing_undefined),
	cmocka_unit_test(each_status_of_verbs_is_ours_by_number_and_name),
	cmocka_unit_test(unknown_status_keeps_its_number_and_vendor_error),
	cmocka_unit_test(each_opcode_has_its_name_and_length),
	cmocka_unit_test(unknown_opcode_is_told),
	cmocka_unit_test(immediate_comes_in_host_order),
	cmocka_unit_test(invalidated_key_comes_as_it_is),
};

PLX_TEST_SUITE(verbs, wc, tests);
