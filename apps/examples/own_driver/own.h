/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef OWN_H
#define OWN_H

/**
 * @file
 * The objects of the driver. Each begins with the public struct, so that a pointer to one is a pointer to the other.
 */

#include <pollux/plx_driver.h>

struct own_device {
	struct plx_device base;
	uint64_t status; /* enum plx_status of each send */
	uint32_t last_qpn;
};

struct own_cq {
	struct plx_cq base;
	uint64_t head, tail; /* completions written, and taken */
	struct plx_wc ring[]; /* base.nb_cqe of them */
};

struct own_qp {
	struct plx_qp base;
	uint32_t state; /* enum plx_qp_state; atomic */
};

/** Post and poll, with the refusing stub in the slot that is empty; filled by own_open(). */
extern struct plx_fast_ops own_fast;

#endif
