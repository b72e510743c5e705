/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_DISPATCHER_H
#define PLX_DISPATCHER_H

/**
 * @file
 * deliver: from a wr_id to the op, and from there to the lcore that wants it.
 *
 *        owner lcore P                                              home lcore W
 *      +---------------------------------------+                  +---------------------+
 *      | deliver(wr_id, ...)                   |   lane of ops    | once(): callback,   |
 *      |   slot, generation, in flight? once   |----------------->|   or orphan: put    |
 *      |   result filled in                    |   (cannot fill)  |                     |
 *      |   home is P, or nobody: callback here |                  |                     |
 *      +---------------------------------------+                  +---------------------+
 *                 ^ inbox of WCs                                        ^ lane of ids
 *                 | deliver() on another thread                         | abandon() on another thread
 *
 * The lane of ops holds every op of the dispatcher's pool. Ops of other pools, which connections take too, may find it
 * full: then they wait on the owner, in order, and so does all that is to go home behind them, until their home has
 * made a turn.
 *
 * OWNED: one lcore, the owner, posts and delivers; its path has no locked instruction. Whoever else
 * calls deliver() leaves the completion in the owner's inbox, which plx_dispatcher_once() empties.
 * SHARED: there is no owner loop; any thread delivers, and claims the op by compare-and-swap.
 *
 * A wr_id that is not in flight is counted by kind and refused, whatever it is:
 *      foreign    no slot of this pool: another pool's, 0, garbage
 *      stale      the slot has been reused: another generation
 *      duplicate  this generation, but not in flight: its completion came already
 *      misrouted  in flight, but on another QP than the completion says
 *
 * The callback runs on the op's home lcore and may do anything: submit, abandon, close the connection, stop
 * the loop. It never runs inside the call that posts its op: an early completion waits until that returned.
 *
 * Threads: said at each call. What has no word about it is for start-up and shut-down.
 *
 * @since 0.1
 */

#include <rte_lcore.h>

#include "plx_lane.h"
#include "plx_op.h"
#include "plx_op_deadlines.h"
#include "plx_op_pool.h"
#include "plx_op_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Who delivers: one lcore, or any thread. */
enum plx_dispatcher_mode { PLX_DISPATCHER_OWNED, PLX_DISPATCHER_SHARED };

/** What a dispatcher is made of. */
struct plx_dispatcher_conf {
	const char *name;
	enum plx_dispatcher_mode mode; /**< zero: OWNED */
	unsigned int owner;	   /**< OWNED: lcore id that posts and delivers */
	const unsigned int *homes; /**< lcore ids that ops may complete on; the owner need not be named */
	unsigned int nb_homes;
	unsigned int nb_inbox;	   /**< completions that each other thread can have in the inbox; 0: 1024 */
	struct plx_op_pool_conf pool; /**< its name is the dispatcher's */
};

/**
 * One lcore on which ops complete. Who hands over reads the first line only, which stands still: each other has one
 * writer.
 */
struct plx_home {
	unsigned int lcore;
	bool owns;		   /**< it is the owner, and empties the inbox too */
	struct plx_lane *ops;	   /**< completed ops; NULL on an owner that only calls back inline */
	struct plx_lane *abandons; /**< ids that other threads gave up on */

	bool turning __rte_cache_aligned; /**< plx_dispatcher_once() is running here */
	struct plx_op_list done;   /**< kept for plx_dispatcher_take_burst() */
	uint64_t nb_settled;	   /**< ops of the lane that are over; read by the owner */
	uint64_t nb_orphans;	   /**< completions that nobody waited for */
	uint64_t nb_abandoned_late; /**< abandons of an op that was over already */

	uint64_t nb_handed __rte_cache_aligned; /**< ops put on the lane; OWNED: the owner's word, else atomic */
};

/** Counted by the owner (atomically on a SHARED dispatcher); read from anywhere. */
struct plx_dispatcher_stats {
	uint64_t delivered;  /**< completions that settled an op; those of a burst when its last one is through */
	uint64_t stale;	     /**< refused, as above; these four. A second completion of an op that was put or used again meanwhile is stale */
	uint64_t duplicate;  /**< a second completion of an op that is over, and was not used again yet */
	uint64_t foreign;
	uint64_t misrouted;
	uint64_t orphans;    /**< of the delivered: nobody waited any more */
	uint64_t handed;     /**< ops that went to another lcore, delivered or failed */
	uint64_t forwarded;  /**< completions that came through the inbox */
	uint64_t inbox_full; /**< deliver() calls that were told -EAGAIN */
	uint64_t pool_empty; /**< gets that found the pool empty */
	uint64_t abandoned_late; /**< abandons of an op that was over already */
	uint64_t timed_out;	 /**< ops whose deadline passed */
	uint64_t cancelled;	 /**< ops that were cancelled before they were over */
	uint64_t late;		 /**< completions, of the device, of ops that had ended so; they settle nothing, and are no `delivered` */
};

/** In detours: ops wait on the early list. */
#define PLX_DISPATCHER_EARLY 0x10000

/** Read `pool`, leave the rest alone (lib/conn has early, deadlines and nb_marked too); here because deliver is inline. */
struct plx_dispatcher {
	/* Stands still: every lcore reads it. */
	struct plx_op_pool *pool;
	unsigned int owner; /**< LCORE_ID_ANY: SHARED */
	unsigned int deliverer; /**< the owner; nobody: SHARED */
	uint32_t here;		/**< plx_op.custody of an op that is posted, waited for, and at home on the owner */
	unsigned int nb_homes;
	struct plx_home *homes;
	struct plx_home *own;	 /**< the owner as a home; NULL: SHARED */
	struct plx_lane *inbox;

	/* Written by the owner for each post and burst. */
	uint32_t detours __rte_cache_aligned; /**< post calls that run on the owner, and PLX_DISPATCHER_EARLY: no callback now */
	bool running_early;
	struct plx_op_list early; /**< completed during a post; or later, but these come first */
	struct plx_dispatcher_stats stats;
	struct plx_op_deadlines deadlines; /**< of the ops that connections have taken */
	uint32_t nb_marked; /**< ops that connections are to cancel when they come from elsewhere */

	/* Stands still. */
	struct plx_home *home_of[RTE_MAX_LCORE] __rte_cache_aligned;
	char name[32];
};

/**
 * NULL with rte_errno: EINVAL (logged: no owner, an lcore that EAL does not have, ...), ENOMEM, and
 * what plx_op_pool_create() says.
 */
struct plx_dispatcher *plx_dispatcher_create(const struct plx_dispatcher_conf *conf);

/** -EBUSY while ops are out of the pool; the log says how many. NULL is fine. */
int plx_dispatcher_destroy(struct plx_dispatcher *d);

/** Whether ops can complete on @p lcore (PLX_HOME_ANY always can). Any thread. */
bool plx_dispatcher_has_home(const struct plx_dispatcher *d, unsigned int lcore);

/**
 * Deliver one completion. @p status is ours, @p imm in host order. On an error only @p wr_id and @p status are read.
 * Any thread. 0 (a refused wr_id is counted, not an error), or -EAGAIN: the inbox is full; keep the CQE and call again.
 */
int plx_dispatcher_deliver(struct plx_dispatcher *d, uint64_t wr_id, enum plx_status status,
	uint32_t byte_len, uint32_t imm, uint32_t wc_flags);

/** Hot half of plx_dispatcher_deliver_burst(): OWNED, on the owner, @p n > 0. */
void plx_dispatcher_deliver_here(struct plx_dispatcher *d, const struct plx_wc *wcs, unsigned int n);
/** Cold half of plx_dispatcher_deliver_burst(): not on the owner. Returns how many were taken. */
uint16_t plx_dispatcher_deliver_elsewhere(struct plx_dispatcher *d, const struct plx_wc *wcs, uint16_t n);

/** Deliver @p n completions in order. Any thread. Returns how many were taken: fewer when the inbox is full. */
PLX_INLINE uint16_t
plx_dispatcher_deliver_burst(struct plx_dispatcher *d, const struct plx_wc *wcs, uint16_t n)
{
	if (n == 0)
		return 0;
	if (__builtin_expect(rte_lcore_id() != d->deliverer, 0))
		return plx_dispatcher_deliver_elsewhere(d, wcs, n);
	plx_dispatcher_deliver_here(d, wcs, n);
	return n;
}

/**
 * One turn of what this lcore owes the dispatcher: as the owner empty the inbox, as a home run the callbacks of
 * ops that were handed over and settle what others abandoned. Owner and homes. Returns how many things it did;
 * 0 in a callback that it runs itself.
 */
unsigned int plx_dispatcher_once(struct plx_dispatcher *d);

/** The same as a hook of a poller or worker (plx_poller.h); @p d is the dispatcher. */
unsigned int plx_dispatcher_hook(void *d);

/**
 * As an op's callback: keep the op for plx_dispatcher_take_burst(); arg is the dispatcher. Until it is taken the op is in
 * custody: it can be abandoned, not put. On a SHARED dispatcher the op must have a home.
 */
void plx_dispatcher_keep(struct plx_op *op, void *d);

/** Take up to @p n kept ops, in the order in which they completed. Home. */
uint16_t plx_dispatcher_take_burst(struct plx_dispatcher *d, struct plx_op **ops, uint16_t n);

/**
 * Give up on a posted op: its callback will not run, the node goes back to the pool when the CQE comes. The payload
 * buffers are the device's until then: plx_dispatcher_in_device() tells. A COMPLETED or PREPARED op is put at once.
 * The handle is dead after the call. From the op's home lcore; elsewhere it is forwarded there.
 * 0; -EAGAIN: forwarding lane full, nothing happened; -EINVAL: the op has no home lcore that could be told, or is of
 * another dispatcher's pool.
 */
int plx_op_abandon(struct plx_dispatcher *d, struct plx_op *op);

/**
 * The same by id, for threads that cannot know whether the op is over: an id that is no longer the op's
 * is counted and nothing else happens; nor if @p home is not the op's.
 */
int plx_dispatcher_abandon(struct plx_dispatcher *d, uint64_t id, unsigned int home);

/** Whether the device may still touch the buffers of the op that had @p id, or the op is on its way to it. Any thread. */
bool plx_dispatcher_in_device(const struct plx_dispatcher *d, uint64_t id);

/** Counters. Any thread. */
void plx_dispatcher_stats(const struct plx_dispatcher *d, struct plx_dispatcher_stats *stats);

/* ---- for those who post: lib/conn, or an application's own post loop ------------------------- */

/**
 * The op is about to be posted: it is in custody from here on. With plx_dispatcher_posted() around
 * each post call; OWNED: on the owner. @p op must be PREPARED (-EBUSY otherwise), its home known, and have no
 * deadline (-ENOTSUP: connections have those).
 */
int plx_dispatcher_posting(struct plx_dispatcher *d, struct plx_op *op);

/**
 * The post call returned: it took the op, or not, and then the op is PREPARED again, with a new id. If the op is
 * complete by now its callback runs in the next deliver or once; SHARED: here, so that a device that completes inside
 * post and a callback that posts again call each other without end.
 */
void plx_dispatcher_posted(struct plx_dispatcher *d, struct plx_op *op, bool taken);

/** OWNED, owner: run what completed during a post call that has returned. plx_dispatcher_once() does it too. */
void plx_dispatcher_run_early(struct plx_dispatcher *d);

/**
 * OWNED, owner: one post call begins / has returned; once per call, not per op. What completed meanwhile waits
 * for the next deliver or once, so that no callback runs inside the submit that posted its op.
 */
PLX_INLINE void
plx_dispatcher_post_begin(struct plx_dispatcher *d)
{
	d->detours++;
}

/** The post call that plx_dispatcher_post_begin() announced has returned. */
PLX_INLINE void
plx_dispatcher_post_end(struct plx_dispatcher *d)
{
	d->detours--;
}

/** OWNED, owner: settle a taken op for which no CQE will come, with @p status and @p err (0 or -errno). */
void plx_dispatcher_fail(struct plx_dispatcher *d, struct plx_op *op, enum plx_status status, int err);

/**
 * OWNED, owner: settle a posted op with @p status though its CQE may come. That one, or plx_op_device_done() when none can
 * come any more, gives the node back together with the put of whoever waited.
 */
void plx_dispatcher_settle_early(struct plx_dispatcher *d, struct plx_op *op, enum plx_status status);

/**
 * OWNED, owner: note in @p marks (nb_homes words) what has been handed over so far. A connection waits until that
 * is over, plx_dispatcher_passed(), before it is gone.
 */
void plx_dispatcher_mark(const struct plx_dispatcher *d, uint64_t *marks);
/** OWNED, owner: whether all that plx_dispatcher_mark() noted in @p marks is over, its callbacks returned. */
bool plx_dispatcher_passed(const struct plx_dispatcher *d, const uint64_t *marks);

#ifdef __cplusplus
}
#endif

#endif
