/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>

#include <rte_errno.h>

#include "interpose.h"
#include "pool_rig.h"

/**
 * @file
 * Receive pools on the fake device: what is made and what goes, when all is well and when verbs fail.
 */

static struct rig rig;

static int
make(void **state)
{
	rig_make(&rig, &(struct rig_conf){0});
	return 0;
}

static int
unmake(void **state)
{
	interpose_fail_alloc_at = 0;
	rig_break(&rig);
	return 0;
}

/* ---- connections come and go ----------------------------------------------------------------- */

static void
no_connection(int code)
{
	uint32_t reserved = rig.cq->reserved;

	assert_null(rig_conn(&rig, 4, OWNER, false));
	assert_int_equal(rte_errno, code);
	assert_int_equal(rig.cq->reserved, reserved);
	assert_int_equal(plx_conn_group_nb_conns(rig.group), 0);
}

static void
a_connection_of_a_pool_whose_making_fails_leaves_nothing(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		struct plx_conn *conn;

		pool_make(&rig, &(struct plx_recv_pool_conf){.nb_recvs = 4, .no_srq = srq == 0, .per_conn = 4, .max_conns = 1});
		rig.dev->fail_port = true;
		no_connection(ENOENT);
		rig.dev->fail_port = false;
		for (unsigned int k = 1; k <= 3; k++) { /* the connection, its send and its receive queue */
			interpose_fail_alloc_at = k;
			no_connection(ENOMEM);
		}
		interpose_fail_alloc_at = 0;
		assert_non_null(conn = rig_conn(&rig, 4, OWNER, true)); /* the place of the only one is free */
		rig_close(&rig, conn);
		pool_break(&rig);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(a_connection_of_a_pool_whose_making_fails_leaves_nothing),
};

PLX_TEST_SUITE(conn, recv_pool, tests, .lcores = 3);
