/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_CONN_GROUP_H
#define PLX_CONN_GROUP_H

/**
 * @file
 * The connections that share one owner lcore, one CQ and one dispatcher.
 *
 *      other lcores --ops, close requests--> lane --+
 *                                                   v
 *      plx_conn_group_once():  post what came, give credit to who waits, move closes on
 *
 * A poller calls it as a hook after its CQs, so that nothing is destroyed inside a completion batch.
 *
 * @since 0.1
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct plx_conn_events;
struct plx_conn_group;
struct plx_control;
struct plx_cq;
struct plx_dispatcher;

/** What a group is made of. All but the events are needed; what is named outlives it. */
struct plx_conn_group_conf {
	const char *name;
	struct plx_dispatcher *dispatcher; /**< OWNED; its owner owns the connections */
	struct plx_cq *cq;		   /**< of all its connections, both directions; polled by the owner */
	struct plx_control *control;	   /**< the owner lcore must be one of its lcores */
	/**
	 * Of the CQ's device, on the same control thread. NULL: nobody listens. When the device is lost its connections
	 * are not told: their ops stay in flight until you close or drain, which settles them all, and ends, within
	 * twice drain_ms.
	 */
	struct plx_conn_events *events;
};

/**
 * NULL with rte_errno: EINVAL (logged) a field is NULL, the dispatcher has no owner, or not one of the control
 * thread's, the events are of another device or control thread; ENOMEM.
 */
struct plx_conn_group *plx_conn_group_create(const struct plx_conn_group_conf *conf);

/** -EBUSY while it has connections or receive pools, the log says how many; or in a callback of its own turn. */
int plx_conn_group_destroy(struct plx_conn_group *group);

/**
 * One turn: post what other lcores submitted, give new credit to ops that wait, move closing connections on, take
 * answers of the control thread. Returns how many things it did; 0 in a callback that it runs itself. Owner.
 */
unsigned int plx_conn_group_once(struct plx_conn_group *group);

/** The same as a hook of a poller; @p group is the group. */
unsigned int plx_conn_group_hook(void *group);

/** Connections that are not destroyed yet. Any thread. */
unsigned int plx_conn_group_nb_conns(const struct plx_conn_group *group);

#ifdef __cplusplus
}
#endif

#endif
