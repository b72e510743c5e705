/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_POLL_H
#define PLX_POLL_H

/**
 * @file
 * One burst from a CQ to the callbacks, for loops of the application's own: what a poller's turn does for one CQ.
 *
 *      plx_poll_with(&plx_null_fast, cq, d):   the device's poll, inlined -> deliver
 *
 * Besides it such a loop owes what a poller's hooks do: plx_dispatcher_once(), and plx_conn_group_once() for each group.
 *
 * Threads: the dispatcher's owner, or with a SHARED dispatcher whoever owns the CQ.
 *
 * @since 0.1
 */

#include "plx_dispatcher.h"
#include "plx_fast.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Poll up to PLX_POLL_BURST completions and deliver them. Returns how many; the device's -errno: the CQ is dead; -EPERM:
 * not the owner, whose inbox could be full (plx_dispatcher_deliver_burst() is for that).
 * With a constant @p fast, the table of the driver that made @p cq, no indirect call leads to the device.
 */
PLX_ALWAYS_INLINE int
plx_poll_with(const struct plx_fast_ops *fast, struct plx_cq *cq, struct plx_dispatcher *d)
{
	struct plx_wc wcs[PLX_POLL_BURST];
	int got;

	if (__builtin_expect(rte_lcore_id() != d->deliverer && d->owner != LCORE_ID_ANY, 0))
		return -1; /* -EPERM */
	got = plx_cq_poll_with(fast, cq, wcs, PLX_POLL_BURST);
	if (got > 0)
		plx_dispatcher_deliver_burst(d, wcs, (uint16_t)got);
	return got;
}

/** plx_poll_with() the CQ's own table. */
PLX_INLINE int
plx_poll(struct plx_cq *cq, struct plx_dispatcher *d)
{
	return plx_poll_with(cq->fast, cq, d);
}

#ifdef __cplusplus
}
#endif

#endif
