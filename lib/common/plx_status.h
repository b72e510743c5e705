/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_STATUS_H
#define PLX_STATUS_H

/**
 * @file
 * How an op ended. One enum: each `ibv_wc_status` at its own number, then ours.
 *
 * @since 0.1
 */

#ifdef __cplusplus
extern "C" {
#endif

/** Numbers 0 to 23 are those of `enum ibv_wc_status` (IBA 11.6.2); drivers/verbs asserts it. */
enum plx_status {
	PLX_ST_SUCCESS,
	PLX_ST_LOC_LEN_ERR,
	PLX_ST_LOC_QP_OP_ERR,
	PLX_ST_LOC_EEC_OP_ERR,
	PLX_ST_LOC_PROT_ERR,
	PLX_ST_WR_FLUSH_ERR,
	PLX_ST_MW_BIND_ERR,
	PLX_ST_BAD_RESP_ERR,
	PLX_ST_LOC_ACCESS_ERR,
	PLX_ST_REM_INV_REQ_ERR,
	PLX_ST_REM_ACCESS_ERR,
	PLX_ST_REM_OP_ERR,
	PLX_ST_RETRY_EXC_ERR,
	PLX_ST_RNR_RETRY_EXC_ERR,
	PLX_ST_LOC_RDD_VIOL_ERR,
	PLX_ST_REM_INV_RD_REQ_ERR,
	PLX_ST_REM_ABORT_ERR,
	PLX_ST_INV_EECN_ERR,
	PLX_ST_INV_EEC_STATE_ERR,
	PLX_ST_FATAL_ERR,
	PLX_ST_RESP_TIMEOUT_ERR,
	PLX_ST_GENERAL_ERR,
	PLX_ST_TM_ERR,
	PLX_ST_TM_RNDV_INCOMPLETE,

	/** The device failed it for a reason that this library has no number for: the raw status is the device's own. */
	PLX_ST_OTHER = 63,
	/** The op had been taken and queued, then its post failed; the result has the errno. */
	PLX_ST_POST_FAILED = 64,
	/** The op's deadline passed first. */
	PLX_ST_TIMED_OUT,
	/** The op was cancelled. */
	PLX_ST_CANCELLED,
	/** The op had been taken and queued, and its connection closed before it was posted. */
	PLX_ST_STOPPED,
	/** The op was posted, its QP is destroyed, its CQ is empty: no completion will come. */
	PLX_ST_CONN_LOST,
	/** Of a connection's first error (plx_conn.h), never of an op: the device said it with an async event. */
	PLX_ST_EVENT,

	PLX_NB_STATUS
};

/**
 * The name of @p status without its prefix, "RNR_RETRY_EXC_ERR"; of a number that is no status of ours, a raw one say,
 * "other (200)", and "other" from 256 on. The names stay.
 */
const char *plx_status_name(unsigned int status);

/** One sentence that says what happened and what to check; never NULL. */
const char *plx_status_str(unsigned int status);

#ifdef __cplusplus
}
#endif

#endif
