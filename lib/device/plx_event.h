/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_EVENT_H
#define PLX_EVENT_H

/**
 * @file
 * Async events: what a device has to say that is no completion.
 *
 *      device --> fd readable --> plx_device_next_event() --> struct plx_event, a copy, acked already
 *                                   one thread at a time       { type, object: which CQ, QP, SRQ; or port }
 *
 * The object is named by its number (`id` in plx_cq, plx_qp and plx_srq), which is given once in a process and never again:
 * an event that comes late, or for something that is gone, names nothing that lives. An event is copied and acked before
 * anybody hears of it, so that destroying the object waits for nobody.
 *
 * Reading never blocks. It is for the control thread: plx_conn_events.h does it, and tells connections; a program that
 * has no connections polls the fd itself.
 *
 * What is on a lost device is destroyed as ever, whether or not its event was read (plx_device.h).
 *
 * @since 0.1
 */

#include "plx_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What has happened. */
enum plx_event_type {
	PLX_EVENT_CQ_ERROR,	/**< the CQ overflowed: completions are lost */
	PLX_EVENT_QP_FATAL,	/**< the QP is in ERR for a reason that no completion tells */
	PLX_EVENT_LAST_WQE,	/**< a QP in ERR takes no more receives from its SRQ (IBA 11.6.3.4) */
	PLX_EVENT_SRQ_LIMIT,	/**< fewer receives than the limit are left; it is disarmed now */
	PLX_EVENT_SRQ_ERROR,	/**< the SRQ is in error: no QP gets a receive from it any more */
	PLX_EVENT_PORT_DOWN,
	PLX_EVENT_PORT_UP,
	PLX_EVENT_DEVICE_FATAL, /**< the device is lost, and everything on it */
	PLX_EVENT_OTHER,	/**< something else, see raw */

	PLX_NB_EVENTS
};

/** One event. */
struct plx_event {
	uint64_t object; /**< id of the CQ, QP or SRQ; 0 for a port, the device, or an object that is none of ours */
	uint32_t type;	 /**< enum plx_event_type */
	uint32_t port;	 /**< of a port's event, else 0 */
	int32_t raw;	 /**< the provider's own number, -1 on a software device */
	int32_t reserved;
};

/** "CQ error", "last WQE reached", ...; "unknown" outside the enum. */
const char *plx_event_name(unsigned int type);

/** A file that is readable while there may be an event; it is the device's, nobody closes it. -ENOTSUP: it has none. */
int plx_device_event_fd(struct plx_device *dev);

/**
 * Take the next event, without waiting for one. 1: *event is it; 0: there is none; -ENOTSUP the device tells of none; or
 * the provider's errno. One thread at a time per device.
 */
int plx_device_next_event(struct plx_device *dev, struct plx_event *event);

/** Whether a device fatal event of @p dev has been read. Any thread. */
bool plx_device_is_lost(const struct plx_device *dev);

#ifdef __cplusplus
}
#endif

#endif
