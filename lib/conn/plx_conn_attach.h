/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_CONN_ATTACH_H
#define PLX_CONN_ATTACH_H

/**
 * @file
 * A connection over a queue pair of the application's own making: no device, no group, no control thread.
 *
 *      application                            Pollux
 *      -----------                            ------
 *      struct my_qp { struct plx_qp base; }   plx_conn_attach() -> READY
 *      post_send, post_recv         <-------- plx_conn_submit_burst(): checks, credit, post
 *      its loop, a WC or a wr_id    --------> plx_dispatcher_deliver(): the op, its callback
 *      stops touching ops, then               plx_conn_detach(): the rest is CONN_LOST
 *
 * The QP needs `fast`, `cap` and `qp_num` (plx_fast.h); a slot of its table that is NULL refuses with -ENOTSUP. The source
 * file stands alone: a program that attaches links no driver and nothing of lib/device but the stubs of that table.
 *
 * Threads: the dispatcher's owner alone, for submit too (-EPERM elsewhere).
 *
 * @since 0.1
 */

#include "plx_conn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What an attached connection is. */
struct plx_conn_attach_conf {
	struct plx_qp *qp;		   /**< the application's; must outlive the connection */
	struct plx_dispatcher *dispatcher; /**< OWNED */
	unsigned int home;		   /**< as in struct plx_conn_conf: zero is lcore 0 */
	uint32_t kinds;			   /**< PLX_KIND() of what its post_send takes, without what its table says it lacks */
	uint32_t max_msg_sz;		   /**< bytes; 0: 2^31 */
	plx_conn_lost_cb_t lost_cb;	   /**< may be NULL */
	void *arg;			   /**< plx_conn_arg() */
};

/**
 * A READY connection over conf->qp. NULL with rte_errno: EINVAL (logged) no or a SHARED dispatcher, a home that is
 * none, no QP or one without table, depth or SGE; ENOMEM.
 */
struct plx_conn *plx_conn_attach(const struct plx_conn_attach_conf *conf);

/**
 * Settle what is in flight with PLX_ST_CONN_LOST, refuse submits from here on, and free @p conn. The application promises
 * that its backend touches none of the ops any more; what it still delivers is stale.
 * 0: it is gone. -EAGAIN: callbacks on other lcores have not returned yet, or this is a callback that it runs itself;
 * call again after progress. The callback of a delivered op may detach; lost_cb and one with PLX_ST_POST_FAILED may
 * not. -EPERM not the owner; -ENOTSUP @p conn was not attached.
 */
int plx_conn_detach(struct plx_conn *conn);

#ifdef __cplusplus
}
#endif

#endif
