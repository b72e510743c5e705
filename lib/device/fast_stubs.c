/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A refusing stub for every slot of a fast table that a backend leaves empty. Apart from device_stubs.c, so that a backend
 * without a device links nothing of one.
 */

#include "plx_driver.h"

#include <errno.h>

#define FILL(slot, stub)                                                                                     \
	do {                                                                                                 \
		if ((slot) == NULL)                                                                          \
			(slot) = (stub);                                                                     \
	} while (0)

static uint16_t
no_post(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	*err = -ENOTSUP;
	return 0;
}

static uint16_t
no_post_srq(struct plx_srq *srq, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	*err = -ENOTSUP;
	return 0;
}

static int
no_poll_cq(struct plx_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	return -ENOTSUP;
}

struct plx_fast_ops
plx_fast_with_stubs(const struct plx_fast_ops *ops)
{
	struct plx_fast_ops filled = *ops;

	FILL(filled.post_send, no_post);
	FILL(filled.post_recv, no_post);
	FILL(filled.poll_cq, no_poll_cq);
	FILL(filled.post_srq_recv, no_post_srq);
	return filled;
}
