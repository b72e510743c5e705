/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_RECV_POOL_H
#define PLX_RECV_POOL_H

/**
 * @file
 * A receive pool: ops with a buffer each, kept posted for many connections.
 *
 *                     posted                             held
 *      pool --post--> [ SRQ ] --message, any conn--> cb(op): op's buffer, plx_op_conn(op): who sent
 *        ^                                                |
 *        '----------- plx_recv_pool_give(pool, op) <------'	from any thread
 *
 * The SRQ is filled up whenever fewer than low_water are posted, when an op is given back, and when the device's limit
 * event comes, which is then armed again. The event is a help: count alone keeps the SRQ filled, on a device without
 * events too. A receive that the device refuses is counted, and offered again in the group's next turn. Where a device
 * has no SRQ each connection gets `per_conn` receives of its own, at once or as soon as others have come back, and all
 * else is the same.
 *
 * No connection can starve the others: `reserve` receives are there for those that hold little. A message that would leave
 * fewer than that posted, on a connection that holds `share` or more, is one too many: it is not delivered, and its
 * connection is closed, which is all that stops one sender of an SRQ. Who gives back, or copies out, in time never
 * meets it.
 *
 * When a connection dies its receives on the SRQ are not flushed: they serve the others. What of them it had taken and not
 * completed is the pool's again when that is destroyed.
 *
 * Threads: create and destroy while nobody polls; give from any; the callback runs on the home of the connection.
 *
 * @since 0.1
 */

#include "plx_conn_group.h"
#include "plx_device.h"
#include "plx_op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plx_recv_pool;

/** What a pool is made of. */
struct plx_recv_pool_conf {
	const char *name; /**< copied, up to 31 characters */
	struct plx_conn_group *group; /**< of all its connections; its dispatcher's pool gives the ops */
	struct plx_pd *pd;
	uint32_t nb_recvs;  /**< ops with buffers in all; held or posted */
	uint32_t buf_len;   /**< bytes of each */
	uint32_t depth;	    /**< of the SRQ; 0: nb_recvs */
	uint32_t low_water; /**< 0: half of the depth */
	uint32_t reserve;   /**< 0: nothing is kept back, and an empty SRQ is RNR for all */
	uint32_t share;	    /**< messages that a connection may hold while fewer than reserve are posted; 0: 1 */
	uint32_t max_conns; /**< 0: 1024 */
	uint32_t per_conn;  /**< receives of each connection where there is no SRQ; 0: nb_recvs / max_conns, at least 1 */
	bool no_srq;	    /**< do without one though the device has it */
	bool no_event;	    /**< arm no limit */
	/**
	 * Wait for the last-WQE event, or drain_ms, before the QP of a connection is destroyed. For devices that raise
	 * it: who does not is waited for in vain each time. Needs the group's events.
	 */
	bool last_wqe;
	/**
	 * A message, or one that the device says went wrong; not for receives that are flushed. The op is held until
	 * given back.
	 */
	plx_op_cb_t cb;
	void *arg;
};

/** Counted by the owner; as they were a moment ago for others. */
struct plx_recv_pool_stats {
	uint64_t refills;      /**< posts to the SRQ, each of up to PLX_POST_BURST */
	uint64_t limit_events; /**< that came */
	uint64_t post_errors;  /**< receives that the device refused; the first is logged */
	uint64_t refused;      /**< messages that were not delivered: their connection was over its share, or gone */
	uint32_t posted;
	uint32_t unposted; /**< neither posted nor held */
	uint32_t held;	   /**< of the SRQ's: not given back yet, on the way included */
	uint32_t uses_srq;
};

/**
 * Make a pool, fill its SRQ, reserve its CQEs (the depth). NULL with rte_errno: EINVAL (logged) a field is missing, of
 * another device or too large; ENOSPC its CQEs do not fit; EAGAIN the dispatcher's pool has not as many ops; ENOMEM;
 * EDEADLK on the control thread; or what registering memory, plx_srq_create(), the first posts to the SRQ or
 * plx_srq_arm() say. If then its SRQ cannot be destroyed, or its buffers not deregistered (logged), its ops and buffers
 * stay until plx_conn_group_destroy() can. Not on a polling lcore.
 */
struct plx_recv_pool *plx_recv_pool_create(const struct plx_recv_pool_conf *conf);

/**
 * Free the pool, what is posted too. -EBUSY: connections use it, or ops are held; the log says how many; -EDEADLK on
 * the control thread; or what plx_srq_destroy() says. Then it is as it was. Or what plx_region_destroy() says of its
 * buffers: then it is there without its SRQ, takes no connections (EIO) if it had one, and another call goes on. Not on
 * a polling lcore, nor while one polls.
 */
int plx_recv_pool_destroy(struct plx_recv_pool *pool);

/**
 * Give back an op that the callback was given: it is posted again. Do not prepare it for something else in between.
 * While it is posted plx_conn_cancel() changes nothing.
 * 0, or -EAGAIN: from another lcore than the owner, and the lane to it is full: try again; -EBUSY: it is
 * not held. Any thread.
 */
int plx_recv_pool_give(struct plx_recv_pool *pool, struct plx_op *op);

/** Counters. Owner. */
void plx_recv_pool_stats(const struct plx_recv_pool *pool, struct plx_recv_pool_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
