/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Why an op was not taken, in words. The numbers are in struct plx_submit_err; doc/errors.md has both as a table.
 */

#include "plx_conn.h"

#include <errno.h>

struct refusal {
	int err;
	const char *text;
};

static const struct refusal refusals[] = {
	{0, "success"},
	{EAGAIN,
		"no room: make progress (the owner's loop turns), then submit again, what is held with "
		"plx_conn_flush() first; if it stays so check that completions are polled, and plx_conn_stats()"},
	{EBUSY,
		"the op is not prepared: check that it is not posted already, and that what is over was "
		"prepared again; got is its state"},
	{ENOTSUP,
		"not on this connection: check the device's kinds (got is the opcode), that the queue is the "
		"op's and its receives are not a pool's, that the op is signaled or PLX_OP_LATE_OK, and that "
		"with a deadline the connection was not attached"},
	{EINVAL,
		"home, deadline or atomic: check that the op's home is one of the dispatcher's (got is the "
		"lcore), that an op with a deadline is of the dispatcher's pool, and that the buffer of an "
		"atomic has 8 bytes (got is how many)"},
	{EOVERFLOW,
		"a buffer's length does not fit 32 bits: check it, or cut the transfer (plx_segment.h)"},
	{EMSGSIZE,
		"the message is longer than the port's max_msg_sz (limit): check its length, or cut the "
		"transfer (plx_segment.h)"},
	{ERANGE,
		"outside the remote memory: check offset and length against what the peer exported"},
	{ENOBUFS,
		"too many inline bytes: check the sum (got) against the inline_len that was granted (limit); "
		"reads and atomics have none"},
	{E2BIG,
		"too many SGEs (got): check the send_sge that was granted and max_sge_rd for reads (limit); a "
		"list that has to travel, held or from another lcore, has PLX_OP_SGES at most"},
	{EFAULT,
		"the remote address of an atomic is no multiple of 8: check it; got is the remainder"},
	{EACCES,
		"the remote memory lacks the right: check what the peer granted its region or window"},
	{ENOTCONN,
		"the connection is not READY: check that it was brought up, and that no close or drain has "
		"begun"},
	{ECONNABORTED,
		"the connection has failed: check plx_conn_first_error() for the cause, then close it"},
	{EPERM,
		"not on this lcore: check that hold and flush, and all submits on what was attached, are on "
		"the owner"},
	{EIO,
		"the post took less than it was given and said no reason: check the backend, the log and the "
		"device's events"},
};

const char *
plx_submit_err_str(int code)
{
	for (unsigned int i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (refusals[i].err == -code)
			return refusals[i].text;
	return "an errno of the device's own post: check the manual of its driver, ibv_post_send(3) on verbs";
}
