/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef ACCESS_CASES_H
#define ACCESS_CASES_H

/**
 * @file
 * Every way in which memory can be out of reach, and how it is told: the specification's statuses
 * and, where they differ, those of rxe in Linux 6.1.
 *
 *      requester A                                   responder B
 *      WHOSE_LOCAL: SGEs of the send, write, read    WHOSE_REMOTE: remote_addr and rkey
 *                                                    WHOSE_RECV: SGEs of the receive
 */

#include <plx_wr.h>

enum access_whose { WHOSE_LOCAL, WHOSE_REMOTE, WHOSE_RECV };

enum access_how {
	HOW_FIRST,	  /**< begins with the region's first byte: allowed */
	HOW_LAST,	  /**< ends with the region's last byte: allowed */
	HOW_BEFORE,	  /**< begins in front of the region */
	HOW_PAST,	  /**< ends behind the region */
	HOW_LAST_SGE,	  /**< of three SGEs the last one ends behind the region */
	HOW_DEREGISTERED, /**< the region is gone */
	HOW_WRONG_PD,	  /**< the region is of another protection domain */
	HOW_BAD_KEY,	  /**< the key never was one */
	HOW_NO_RIGHT,	  /**< the region has every right but the one that is needed */
	HOW_QP_NO_RIGHT,  /**< the responder's QP has every right but that one */
	HOW_SHORT,	  /**< a receive one byte shorter than the message */

	NB_HOW
};

/** No completion there: nothing arrived, or there is nothing to complete. */
#define ACCESS_NONE PLX_NB_STATUS

struct access_status {
	uint8_t requester; /**< of the send, write, read */
	uint8_t receive;   /**< of the receive that waits at the responder */
};

struct access_case {
	const char *name;
	uint8_t opcode;
	uint8_t whose; /**< enum access_whose */
	uint8_t how;   /**< enum access_how */
	struct access_status spec;
	struct access_status rxe;
};

extern const struct access_case access_cases[];
extern const unsigned int nb_access_cases;

#endif
