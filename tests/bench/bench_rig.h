/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef BENCH_RIG_H
#define BENCH_RIG_H

/**
 * @file
 * What product and twin run on.
 *
 *      bench_rig       the product's: dispatcher, CQ, group, poller, connections
 *      bench_raw_qp    the twin's: a CQ and a QP of the same device, set up by plx_device.h and then driven through
 *                      the table alone
 *
 * Every connection and QP is its own peer. All that fails ends the program.
 */

#include "plx_conn.h"
#include "plx_memory.h"
#include "plx_poller.h"

struct bench_rig_conf {
	const char *device;
	unsigned int owner;
	unsigned int home; /**< owner, or an lcore that has the dispatcher's hook */
	unsigned int nb_conns;
	unsigned int depth; /**< of the send queue; the receive queue has 1 */
	unsigned int nb_ops;
};

struct bench_rig {
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_region *region; /**< BENCH_REGION bytes */
	struct plx_control *control;
	struct plx_dispatcher *d;
	struct plx_cq *cq;
	struct plx_conn_group *group;
	struct plx_poller *poller; /**< cq, and both hooks */
	struct plx_conn **conns;
	unsigned int nb_conns;
	unsigned int nb_closed;
	uint64_t conn_bytes; /**< that the connections took of DPDK's heap: the framework's part */
	uint64_t qp_bytes;   /**< and of libc's: the software device's */
};

#define BENCH_REGION 65536

void bench_rig_make(struct bench_rig *rig, const struct bench_rig_conf *conf);
/** As the owner: closes are turned here. */
void bench_rig_break(struct bench_rig *rig);

struct bench_raw_qp {
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_region *region; /**< BENCH_REGION bytes */
	struct plx_cq *cq;
	struct plx_qp *qp;
};

void bench_raw_qp_make(struct bench_raw_qp *raw, const char *device, unsigned int depth);
void bench_raw_qp_break(struct bench_raw_qp *raw);

#endif
