/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_fault.h"

struct statuses {
	uint8_t requester;
	uint8_t receiver;
};

#define ROW(requester, receiver)                                                                             \
	{                                                                                                    \
		PLX_ST_##requester, PLX_ST_##receiver                                                        \
	}

/* IBA 10.10.3 and 11.6.2. A cell that nothing reads says SUCCESS. */
static const struct statuses tables[SOFT_NB_STATUS_MODES][SOFT_NB_FAULTS] = {
	[SOFT_STATUS_IBA] = {
		[SOFT_OK]                = ROW(SUCCESS, SUCCESS),
		[SOFT_FAULT_TOO_LONG]    = ROW(LOC_LEN_ERR, SUCCESS),
		[SOFT_FAULT_SOURCE_KEY]  = ROW(LOC_PROT_ERR, SUCCESS),
		[SOFT_FAULT_TARGET_KEY]  = ROW(LOC_PROT_ERR, SUCCESS),
		[SOFT_FAULT_LOCAL_RANGE] = ROW(LOC_PROT_ERR, SUCCESS),
		[SOFT_FAULT_BIND]        = ROW(MW_BIND_ERR, SUCCESS),
		[SOFT_FAULT_LOCAL_INV]   = ROW(MW_BIND_ERR, SUCCESS),
		[SOFT_FAULT_RNR]         = ROW(RNR_RETRY_EXC_ERR, SUCCESS),
		[SOFT_FAULT_SILENCE]     = ROW(RETRY_EXC_ERR, SUCCESS),
		[SOFT_FAULT_QP_RIGHT]    = ROW(REM_INV_REQ_ERR, SUCCESS),
		[SOFT_FAULT_REMOTE]      = ROW(REM_ACCESS_ERR, LOC_ACCESS_ERR),
		[SOFT_FAULT_RECV_SHORT]  = ROW(REM_INV_REQ_ERR, LOC_LEN_ERR),
		[SOFT_FAULT_RECV_ACCESS] = ROW(REM_OP_ERR, LOC_PROT_ERR),
		[SOFT_FAULT_REMOTE_INV]  = ROW(SUCCESS, MW_BIND_ERR),
	},
	/* As observed on rxe of kernel 6.1: it calls every trouble with a receive a malformed WQE, and
	 * finds a bad lkey of a send or write while it makes the packet. */
	[SOFT_STATUS_RXE] = {
		[SOFT_OK]                = ROW(SUCCESS, SUCCESS),
		[SOFT_FAULT_TOO_LONG]    = ROW(LOC_LEN_ERR, SUCCESS),
		[SOFT_FAULT_SOURCE_KEY]  = ROW(LOC_QP_OP_ERR, SUCCESS),
		[SOFT_FAULT_TARGET_KEY]  = ROW(LOC_PROT_ERR, SUCCESS),
		[SOFT_FAULT_LOCAL_RANGE] = ROW(LOC_PROT_ERR, SUCCESS),
		[SOFT_FAULT_BIND]        = ROW(MW_BIND_ERR, SUCCESS),
		[SOFT_FAULT_LOCAL_INV]   = ROW(LOC_QP_OP_ERR, SUCCESS),
		[SOFT_FAULT_RNR]         = ROW(RNR_RETRY_EXC_ERR, SUCCESS),
		[SOFT_FAULT_SILENCE]     = ROW(RETRY_EXC_ERR, SUCCESS),
		[SOFT_FAULT_QP_RIGHT]    = ROW(REM_INV_REQ_ERR, SUCCESS),
		[SOFT_FAULT_REMOTE]      = ROW(REM_ACCESS_ERR, REM_ACCESS_ERR),
		[SOFT_FAULT_RECV_SHORT]  = ROW(REM_OP_ERR, LOC_QP_OP_ERR),
		[SOFT_FAULT_RECV_ACCESS] = ROW(REM_OP_ERR, LOC_QP_OP_ERR),
		[SOFT_FAULT_REMOTE_INV]  = ROW(SUCCESS, REM_INV_REQ_ERR),
	},
};

enum plx_status
soft_fault_status(enum soft_status_mode mode, enum soft_fault fault)
{
	return tables[mode][fault].requester;
}

enum plx_status
soft_fault_recv_status(enum soft_status_mode mode, enum soft_fault fault)
{
	return tables[mode][fault].receiver;
}
