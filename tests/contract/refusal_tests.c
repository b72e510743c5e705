/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What a device does not advertise it refuses, and lives on.
 */

#include "contract_pair.h"

#include <errno.h>

static void
expect_send_refused(struct pair *pair, unsigned int opcode)
{
	struct plx_sge sge = side_sge(&pair->a, 0, 8);
	struct plx_wr wr = wr_remote(1, opcode, &sge, 1, &pair->b, 0);
	const struct plx_wr *wrs[] = {&wr};
	int err = 0;

	if (plx_qp_post_send(pair->a.qp, wrs, 1, &err) != 0)
		fail_msg("opcode %u (%s) is not advertised, and was posted", opcode, plx_opcode_name(opcode));
	assert_int_equal(err, -ENOTSUP);
}

/** case 9.5. On a QP that is not up as well: where the device cannot be connected here, that is all there is. */
static void
opcodes_not_advertised_are_refused(void **state)
{
	struct pair *pair = *state;

	for (unsigned int opcode = PLX_OPCODE_SEND; opcode <= PLX_OPCODE_LOCAL_INV; opcode++) {
		if (!contract_has_kind(opcode))
			expect_send_refused(pair, opcode);
	}
	expect_empty(pair->a.cq);
}

static void
opcodes_of_no_send_are_refused(void **state)
{
	struct pair *pair = *state;
	const unsigned int opcodes[] = {PLX_OPCODE_RECV, PLX_OPCODE_RECV_WRITE_IMM, PLX_NB_OPCODES, 32, 200, 255};

	for (unsigned int i = 0; i < NB_OF(opcodes); i++)
		expect_send_refused(pair, opcodes[i]);
	expect_empty(pair->a.cq);
}

static void
qp_works_after_refusals(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	expect_send_refused(pair, PLX_OPCODE_RECV);
	sge = side_sge(&pair->a, 0, 8);
	wr = wr_of(2, PLX_OPCODE_SEND, &sge, 1);
	post_recv_at(&pair->b, 3, 0, 8);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 2);
	wait_ok(pair->b.cq, 3);
}

const struct CMUnitTest refusal_tests[] = {
	pair_test(opcodes_not_advertised_are_refused),
	pair_test(opcodes_of_no_send_are_refused),
	pair_test(qp_works_after_refusals),
};
const size_t nb_refusal_tests = NB_OF(refusal_tests);
