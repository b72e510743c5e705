/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "conn_internal.h"

#define NB_CONN_STATES (PLX_CONN_CLOSED + 1)
#define BIT(state)     (1u << (state))

/** What can happen to a connection. */
static const uint8_t may_become[NB_CONN_STATES] = {
	[PLX_CONN_IDLE] = BIT(PLX_CONN_READY) | BIT(PLX_CONN_FAILED) | BIT(PLX_CONN_DRAINING),
	[PLX_CONN_READY] = BIT(PLX_CONN_FAILED) | BIT(PLX_CONN_DRAINING),
	[PLX_CONN_FAILED] = BIT(PLX_CONN_DRAINING),
	[PLX_CONN_DRAINING] = BIT(PLX_CONN_CLOSED),
};

/** Which queues may be posted to. */
static const struct {
	bool send;
	bool recv;
} admits[NB_CONN_STATES] = {
	[PLX_CONN_IDLE] = {.recv = true},
	[PLX_CONN_READY] = {.send = true, .recv = true},
};

bool
conn_state_change(struct plx_conn *conn, enum plx_conn_state to)
{
	uint16_t from = __atomic_load_n(&conn->state, __ATOMIC_RELAXED);

	/*
	 * By compare-and-swap, because a bring-up on the control thread may meet a close on the owner. Releases to
	 * plx_conn_state(): a READY connection has its QP in RTS. Sequential, for who looks after DRAINING whether
	 * submitters are still on their way (submitters_gone()).
	 */
	do {
		if (!(may_become[from] & BIT(to)))
			return false;
	} while (!__atomic_compare_exchange_n(
		&conn->state, &from, (uint16_t)to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return true;
}

bool
conn_state_admits(const struct plx_conn *conn, const struct plx_op_queue *q)
{
	enum plx_conn_state state = plx_conn_state(conn);

	return q == &conn->rq ? admits[state].recv : admits[state].send;
}

const char *
plx_conn_state_name(unsigned int state)
{
	static const char *const names[] = {"idle", "ready", "failed", "draining", "closed"};

	return state < NB_CONN_STATES ? names[state] : "unknown";
}
