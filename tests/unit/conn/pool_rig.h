/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef POOL_RIG_H
#define POOL_RIG_H

/**
 * @file
 * A receive pool on a rig, from which rig_conn() takes its receives then, and what the application holds of it.
 */

#include "plx_recv_pool.h"
#include "rig.h"

/** Make rig->recv_pool of @p conf, with the rig's group and PD, and a callback that holds. NULL if that fails. */
struct plx_recv_pool *pool_try(struct rig *rig, const struct plx_recv_pool_conf *conf);
/** The same; fails the test if it does. */
void pool_make(struct rig *rig, const struct plx_recv_pool_conf *conf);
/** All is given back, no connection is left: it goes. */
void pool_break(struct rig *rig);

/** @p n messages for @p conn, on an SRQ; all come. */
void pool_messages(struct rig *rig, struct plx_conn *conn, unsigned int n);
/** Receives on @p conn's own queue. */
uint32_t pool_posted_on(const struct plx_conn *conn);
/** Give the first @p n back, on the owner. */
void pool_give(struct rig *rig, unsigned int n);
struct plx_recv_pool_stats pool_stats(const struct rig *rig);

#endif
