/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef RIG_H
#define RIG_H

/**
 * @file
 * Everything that a connection needs, on the fake device, stepped by hand on one thread: the owner is lcore 1, a worker
 * home is lcore 2, and the test is lcore 1 unless it says that it is another.
 */

#include "plx_test.h"

#include "fake_device.h"
#include "plx_conn.h"
#include "plx_prep.h"
#include "plx_clock.h"

#define OWNER  1
#define WORKER 2

/** Messages of a receive pool that the application holds, the first first. */
struct rig_hand {
	struct plx_op *ops[64];
	unsigned int nb;
};

struct rig {
	struct fake_device *dev;
	struct plx_pd *pd;
	struct plx_cq *cq;
	struct plx_control *control;
	struct plx_dispatcher *d;
	struct plx_conn_group *group;
	plx_conn_lost_cb_t lost_cb;
	unsigned int nb_closed; /**< closed callbacks so far */
	struct plx_conn_stats last; /**< of the connection that closed last, in its closed callback */
	struct plx_conn **handles; /**< of a test: one that is gone becomes NULL there */
	unsigned int nb_handles;
	struct plx_recv_pool *recv_pool; /**< of pool_make(); NULL: connections have receives of their own */
	struct rig_hand hand;		 /**< of that */
};

struct rig_conf {
	unsigned int nb_cqe; /**< 0: 1024 */
	unsigned int nb_ops; /**< 0: 512 */
	unsigned int nb_reqs; /**< of the control thread's queue; 0: as many as it likes */
	plx_conn_lost_cb_t lost_cb;
};

void rig_make(struct rig *rig, const struct rig_conf *conf);
/** Everything goes; fails the test if an op, a connection or a verbs object is left. */
void rig_break(struct rig *rig);

/** A connection with @p depth sends and receives whose callbacks run on @p home. READY if @p up. */
struct plx_conn *rig_conn(struct rig *rig, unsigned int depth, unsigned int home, bool up);

/** A turn of the owner: poll up to 32, deliver, group. */
void rig_turn(struct rig *rig);
/** A turn of lcore @p lcore as a home. */
void rig_home_turn(struct rig *rig, unsigned int lcore);
/** Turns of the owner and the worker until @p n connections are closed in all; fails the test if that never comes. */
void rig_turns_until_closed(struct rig *rig, unsigned int n);
/** Close and destroy @p conn. */
void rig_close(struct rig *rig, struct plx_conn *conn);

/** QPs destroyed so far, by the control thread. */
static inline unsigned int
rig_nb_destroyed(const struct rig *rig)
{
	return __atomic_load_n(&rig->dev->nb_destroyed, __ATOMIC_ACQUIRE);
}

/** What the callback of rig_ops() counts. */
struct rig_count {
	unsigned int calls;
	unsigned int by_status[PLX_NB_STATUS];
	unsigned int lcore; /**< of the last */
	uint64_t ids[1024];
	bool keep; /**< leave the ops to the test */
	struct rig *rig;
};

/** An op's callback: count it and put the op. */
void rig_done(struct plx_op *op, void *arg);

/** @p n prepared ops of 8 bytes with rig_done(@p count). */
void rig_ops(struct rig *rig, enum plx_opcode opcode, struct plx_op **ops, unsigned int n, struct rig_count *count);

#endif
