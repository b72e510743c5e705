/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_FAULT_H
#define SOFT_FAULT_H

/**
 * @file
 * What can be wrong with a WR, and which completion status says so.
 *
 * The device finds a fault; a table turns it into two statuses, the requester's and the one of the receive that
 * was consumed. There are two tables, since the specification and rxe (kernel 6.1) differ: soft_fault.c.
 */

#include <stdbool.h>
#include <stdint.h>

#include "plx_status.h"

enum soft_fault {
	SOFT_OK,
	/* The requester's own: its peer never hears of the WR. */
	SOFT_FAULT_TOO_LONG,   /**< longer than the port's max_msg_sz */
	SOFT_FAULT_SOURCE_KEY, /**< send, write: lkey unknown, deregistered or of another PD */
	SOFT_FAULT_TARGET_KEY, /**< read: the same, or the region lacks local write */
	SOFT_FAULT_LOCAL_RANGE, /**< an SGE leaves its region */
	SOFT_FAULT_BIND,	/**< no such window, of another PD, bound, or not inside its region */
	SOFT_FAULT_LOCAL_INV,	/**< the rkey is of no window that is bound here */
	SOFT_FAULT_RNR,	       /**< no receive, rnr_retry times over */
	SOFT_FAULT_SILENCE,    /**< no answer, retry_cnt times over */
	/* The responder's: it refuses, and takes its QP to ERR (IBA 9.9.3, class C). */
	SOFT_FAULT_QP_RIGHT,	/**< the QP does not let its peer do this */
	SOFT_FAULT_REMOTE,	/**< rkey unknown, deregistered, of another PD, out of range, without the right */
	SOFT_FAULT_RECV_SHORT,	/**< the message is longer than the receive */
	SOFT_FAULT_RECV_ACCESS, /**< a receive SGE's key, range or local write */
	SOFT_FAULT_REMOTE_INV,	/**< a send-inv's rkey is of no window that is bound there */

	SOFT_NB_FAULTS
};

enum soft_status_mode { SOFT_STATUS_IBA, SOFT_STATUS_RXE, SOFT_NB_STATUS_MODES };

static inline bool
soft_fault_is_responders(enum soft_fault fault)
{
	return fault >= SOFT_FAULT_QP_RIGHT;
}

/** The requester's completion status. */
enum plx_status soft_fault_status(enum soft_status_mode mode, enum soft_fault fault);
/** The status of the receive that the failed send consumed. */
enum plx_status soft_fault_recv_status(enum soft_status_mode mode, enum soft_fault fault);

#endif
