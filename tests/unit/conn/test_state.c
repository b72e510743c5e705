/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_test.h"

#include "conn_internal.h"

/** Every pair of states, and whether the one may become the other. */
static void
exactly_these_transitions_are_allowed(void **state)
{
	static const bool allowed[4][4] = {
		[PLX_CONN_IDLE] = {[PLX_CONN_READY] = true, [PLX_CONN_DRAINING] = true},
		[PLX_CONN_READY] = {[PLX_CONN_DRAINING] = true},
		[PLX_CONN_DRAINING] = {[PLX_CONN_CLOSED] = true},
	};

	for (unsigned int from = 0; from < 4; from++) {
		for (unsigned int to = 0; to < 4; to++) {
			struct plx_conn conn = {.state = (uint16_t)from};

			assert_int_equal(conn_state_change(&conn, (enum plx_conn_state)to), allowed[from][to]);
			assert_int_equal(conn.state, allowed[from][to] ? to : from);
		}
	}
}

static void
receives_may_be_posted_before_ready_and_nothing_after(void **state)
{
	static const bool sends[] = {false, true, false, false}, recvs[] = {true, true, false, false};

	for (unsigned int i = 0; i < 4; i++) {
		struct plx_conn conn = {.state = (uint16_t)i};

		assert_int_equal(conn_state_admits(&conn, &conn.sq), sends[i]);
		assert_int_equal(conn_state_admits(&conn, &conn.rq), recvs[i]);
	}
}

static void
each_state_has_a_name_and_others_do_not(void **state)
{
	assert_string_equal(plx_conn_state_name(PLX_CONN_DRAINING), "draining");
	assert_string_equal(plx_conn_state_name(4), "unknown");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_these_transitions_are_allowed),
		cmocka_unit_test(receives_may_be_posted_before_ready_and_nothing_after),
		cmocka_unit_test(each_state_has_a_name_and_others_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
