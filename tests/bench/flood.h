/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FLOOD_H
#define FLOOD_H

/**
 * @file
 * The neighbour of B12: a connection on side 0's CQ that writes 8 bytes to itself as fast as it can, 64 in flight. Each turn
 * of the poller posts as many as the last one has completed.
 */

#include "pair.h"

#define FLOOD_DEPTH 64
#define FLOOD_CQES  (FLOOD_DEPTH + 1)

struct flood {
	uint16_t budget; /**< completions a turn that the CQ may give; 0: the poller's own. The caller's, before flood_make() */
	struct pair_side *side;
	struct plx_conn *conn;
	bool on;
	unsigned int nb_free;
	struct plx_op *free[FLOOD_DEPTH];
	uint64_t nb_done;
	unsigned int nb_closed;
};

void flood_make(struct flood *flood, struct pair *pair);
/** These on side 0's lcore. */
void flood_begin(struct flood *flood);
void flood_end(struct flood *flood);
void flood_close(struct flood *flood);
void flood_break(struct flood *flood);

#endif
