/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_CONN_EVENTS_H
#define PLX_CONN_EVENTS_H

/**
 * @file
 * The async events of one device, on their way to the connections.
 *
 *      device fd --> control thread: read, copied, acked --+--> your callback, every event
 *                                                          |
 *                     found by number, told by a flag      +--> group of the object --> its owner's next turn
 *
 *      CQ error       every connection of the CQ is closed: its QP goes to ERR and is destroyed, then every op that has
 *                     not completed does, once, with PLX_ST_CONN_LOST. No connection can be made on the CQ any more
 *      device fatal   the same for every group of the device; the device may be closed and opened again
 *      QP fatal       that connection is closed: its peer's op was refused, say, and no completion here tells it
 *      last WQE       a close of it need not wait any longer (plx_recv_pool.h)
 *      SRQ limit      that receive pool is filled, and its limit armed again
 *      SRQ error      the connections of that receive pool are closed; no more can be made with it
 *      port ...       logged, and for your callback: traffic of other ports goes on
 *
 * A connection that an event closes hears of it first: failed_cb is told PLX_ST_EVENT and which event, unless it has
 * been told a cause, or of flushes, before. Those often come sooner; plx_conn_first_error() has the event all the same.
 *
 * What is told is a flag of a living object, found by number: so an event that comes twice is one, and one that comes late
 * or for something that is gone is counted and does nothing. A device whose events cannot be read, which is logged, is not
 * asked again.
 *
 * Threads: the callback runs on the control thread, all else as it says.
 *
 * @since 0.1
 */

#include "plx_control.h"
#include "plx_event.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plx_conn_events;

/** Any event, before it is acted on. On the control thread: it may not block, nor call plx_control_sync(). */
typedef void (*plx_event_cb_t)(struct plx_device *dev, const struct plx_event *event, void *arg);

/** What it is made of; both outlive it. */
struct plx_conn_events_conf {
	struct plx_device *dev;
	struct plx_control *control;
	plx_event_cb_t cb; /**< may be NULL */
	void *arg;
};

/** Counted on the control thread. */
struct plx_conn_events_stats {
	uint64_t by_type[PLX_NB_EVENTS]; /**< by enum plx_event_type; rxe raises a CQ error for each completion that is lost */
	uint64_t cq_overruns;		 /**< CQs of groups that have lost completions */
	uint64_t unclaimed;		 /**< for an object that nobody here has, or has any more */
};

/**
 * Begin to read the events of a device. Groups name it in their conf. NULL with rte_errno: EINVAL (logged) no device or
 * control thread, ENOTSUP the device has no events, ENOMEM, ENOSPC the control thread watches too many files, EDEADLK
 * on it. Not on a polling lcore.
 */
struct plx_conn_events *plx_conn_events_create(const struct plx_conn_events_conf *conf);

/** End it, once no group names it: -EBUSY, the log says how many do. NULL is fine. Not on a polling lcore. */
int plx_conn_events_destroy(struct plx_conn_events *events);

/** Counters. Any thread. */
void plx_conn_events_stats(const struct plx_conn_events *events, struct plx_conn_events_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
