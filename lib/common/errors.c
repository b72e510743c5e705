/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Version, and the texts of completion statuses and of imports.
 *
 * The text is for whoever reads a log at three in the morning: what happened, then what to look
 * at. It promises no cause: a status tells what the device saw, and the list after the colon is
 * what has led to it in practice.
 */

#include "plx_common.h"

#include <errno.h>

#include "plx_status.h"

#define STR_OF(x) #x
#define STR(x) STR_OF(x)

struct status_text {
	const char *name;
	const char *text;
};

#define TEXT(st, says) [PLX_ST_##st] = {.name = #st, .text = says}

static const struct status_text texts[PLX_NB_STATUS] = {
	TEXT(SUCCESS, "success"),
	TEXT(LOC_LEN_ERR,
		"a message did not fit here: check that the receive buffers are at least as long as "
		"the peer's sends, and that no message exceeds the port's max_msg_sz"),
	TEXT(LOC_QP_OP_ERR,
		"the QP refused a work request of ours as inconsistent: check opcode, SGE list and "
		"inline length against what the QP was granted"),
	TEXT(LOC_EEC_OP_ERR, "local end-to-end context error: RD transport only, not used by this library; "
			     "check the driver"),
	TEXT(LOC_PROT_ERR,
		"an SGE is not covered by its lkey: check lkey, address and length, that the region "
		"is still registered, and that it belongs to the QP's protection domain"),
	TEXT(WR_FLUSH_ERR,
		"flushed, the QP had already failed or was closed: look for the first status of this "
		"QP that is not a flush, that one has the cause; where there is none the QP was taken to ERR from "
		"outside: by an operation of the peer's that was refused here (its own status says why, an async "
		"event that it was so), or by a program that has the QP"),
	TEXT(MW_BIND_ERR,
		"a memory window could not be bound, or what was invalidated was not bound: check that a bound window is "
		"invalidated before it is bound again, that region, window and QP share a protection domain, that the range "
		"is inside the region, and that it has local write (remote write and atomic need it, some kernels always)"),
	TEXT(BAD_RESP_ERR, "the peer answered with an opcode that does not belong here: check that both ends "
			   "agree on QP type and PSN, and the peer's driver"),
	TEXT(LOC_ACCESS_ERR,
		"the peer's immediate or read response met a local buffer without the right: check "
		"that the local region has local write"),
	TEXT(REM_INV_REQ_ERR,
		"the peer refused the request as invalid: check that its receive buffer is long "
		"enough, that its QP allows this operation, and atomic alignment"),
	TEXT(REM_ACCESS_ERR,
		"the peer's memory refused access: check rkey, remote address and length, remote "
		"rights of region and QP there, that the region is still registered, and of a memory window that it is bound on "
		"the QP at that end and not invalidated"),
	TEXT(REM_OP_ERR,
		"the peer could not complete the request: look for an error on its side (its receive "
		"SGEs, its CQ)"),
	TEXT(RETRY_EXC_ERR,
		"the peer did not acknowledge in time: check that it is alive and its QP is up, the "
		"path (cable, GID index, MTU, PFC), ack timeout and retry count"),
	TEXT(RNR_RETRY_EXC_ERR, "the peer had no receive posted for too long: check that it posts enough "
				"receives and is polling, rnr_retry here and min_rnr_timer there"),
	TEXT(LOC_RDD_VIOL_ERR, "local RDD violation: RD transport only, not used by this library; check the "
			       "driver"),
	TEXT(REM_INV_RD_REQ_ERR,
		"the peer refused an RD request: RD transport only, not used by this library; "
		"check the driver"),
	TEXT(REM_ABORT_ERR, "the peer aborted the operation: look for an error on its side"),
	TEXT(INV_EECN_ERR, "invalid end-to-end context number: RD transport only, not used by this library; "
			   "check the driver"),
	TEXT(INV_EEC_STATE_ERR,
		"invalid end-to-end context state: RD transport only, not used by this library; "
		"check the driver"),
	TEXT(FATAL_ERR,
		"the device failed: check the kernel log and the device's async events; its QPs and CQs "
		"must be made anew"),
	TEXT(RESP_TIMEOUT_ERR,
		"no response in time: check that the peer is alive, the path, and the timeout"),
	TEXT(GENERAL_ERR, "an error the device has no other name for: vendor_err has its own code"),
	TEXT(TM_ERR, "tag matching failed: not used by this library; check who else posts on this SRQ"),
	TEXT(TM_RNDV_INCOMPLETE,
		"tag matching left a rendezvous to software: not used by this library; check "
		"who else posts on this SRQ"),
	TEXT(OTHER, "the device failed it with a status that is newer than this library: look the raw status up in the "
		    "device's own headers, and vendor_err in its manual"),
	TEXT(POST_FAILED, "the operation was queued to the connection's owner and its post failed there: the "
			  "result's post errno has the cause"),
	TEXT(TIMED_OUT,
		"the operation's deadline passed before its completion: check the peer, or allow more time; the device may still "
		"execute it, and its buffers are the device's for as long as plx_op_in_device() says so"),
	TEXT(CANCELLED,
		"the operation was cancelled here before its completion: whether the peer saw it is unknown; the device may still "
		"execute it, and its buffers are the device's for as long as plx_op_in_device() says so"),
	TEXT(STOPPED,
		"the connection closed or failed before the queued operation was posted: nothing was sent, it may "
		"be submitted on another connection"),
	TEXT(CONN_LOST,
		"the connection was destroyed and this operation's completion never came: whether the "
		"peer saw it is unknown; check the first error of the connection"),
	TEXT(EVENT,
		"an async event of the device ended the connection, no completion did: check which event it was; a QP-fatal "
		"one most often says that an operation of the peer's was refused here (rkey, range, rights), and the peer's "
		"own status says why"),
};

/* Every number that a byte can be, so that a name needs no buffer. */
#define OTHER(n)  "other (" #n ")"
#define TEN(tens) OTHER(tens##0), OTHER(tens##1), OTHER(tens##2), OTHER(tens##3), OTHER(tens##4), OTHER(tens##5),      \
	OTHER(tens##6), OTHER(tens##7), OTHER(tens##8), OTHER(tens##9)

static const char *const others[] = {
	TEN(), TEN(1), TEN(2), TEN(3), TEN(4), TEN(5), TEN(6), TEN(7), TEN(8), TEN(9), TEN(10), TEN(11), TEN(12),
	TEN(13), TEN(14), TEN(15), TEN(16), TEN(17), TEN(18), TEN(19), TEN(20), TEN(21), TEN(22), TEN(23), TEN(24),
	OTHER(250), OTHER(251), OTHER(252), OTHER(253), OTHER(254), OTHER(255),
};

const char *
plx_version(void)
{
	return STR(PLX_VERSION_MAJOR) "." STR(PLX_VERSION_MINOR) "." STR(PLX_VERSION_PATCH);
}

/* The enum has a gap between the device's statuses and ours. */
static const struct status_text *
text_of(unsigned int status)
{
	if (status >= PLX_NB_STATUS || texts[status].name == NULL)
		return NULL;
	return &texts[status];
}

const char *
plx_status_name(unsigned int status)
{
	const struct status_text *t = text_of(status);

	if (t != NULL)
		return t->name;
	return status < sizeof(others) / sizeof(others[0]) ? others[status] : "other";
}

const char *
plx_status_str(unsigned int status)
{
	const struct status_text *t = text_of(status);

	return t != NULL ? t->text
			 : "a status this library does not know: the raw status has the device's own number";
}

const char *
plx_import_err_str(int err)
{
	switch (-err) {
	case 0:
		return "success";
	case ENODATA:
		return "the bytes end before the descriptor does: check that the channel has delivered all of them";
	case EBADMSG:
		return "the bytes are no descriptor of this kind: check that both ends send and expect the same thing in the same "
		       "order, memory or address, and that nothing stands in front of it";
	case EPROTONOSUPPORT:
		return "a descriptor of another version: check that both ends use releases of this library that understand each other";
	case E2BIG:
		return "there are bytes behind the descriptor: check that its own length is given, and not that of a buffer or of "
		       "several messages";
	case EOVERFLOW:
		return "the memory would end behind the last address: the descriptor was damaged, or made by hand; check the channel";
	case EINVAL:
		return "a number that none can have (rights; QP number, PSN, LID, MTU or GID type): the descriptor was damaged, or made "
		       "by hand; check the channel";
	default:
		return "no error of an import: check which call returned it";
	}
}
