/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PAIR_H
#define PAIR_H

/**
 * @file
 * Two lcores, each with all of its own (dispatcher, CQ, group, poller), and a connection between them on loopback, over
 * which messages go there and back. Run to completion: the callback of a receive sends.
 *
 *      lcore 1: side 0                              lcore 2: side 1
 *      send n  --------------------------------->   receive, callback: compare, post the receive again, send n
 *      receive, callback: compare,      <--------
 *      the receive again, t, send n + 1
 *
 * B6 measures it beside a bare cache line, B7 with longer messages beside a copy and a cache line. In B12 a neighbour on
 * side 0's CQ writes as fast as it can.
 */

#include "bench_rig.h"
#include "plx_hist.h"

#define PAIR_LEN   8 /* of a number: a message begins and ends with its own */
#define PAIR_RECVS 4

struct pair;

struct pair_side {
	struct pair *pair;
	unsigned int lcore;
	struct plx_cq *cq;
	struct plx_dispatcher *d;
	struct plx_conn_group *group;
	struct plx_poller *poller;
	struct plx_conn *conn;
	struct plx_op *recvs[PAIR_RECVS];
	char *memory;	  /**< PAIR_RECVS places to receive in, as many to send from */
	uint64_t nb_sent;
	uint64_t nb_got;
	unsigned int nb_closed;
	uint64_t begun;	  /**< side 0: when the ping that is under way was sent */
};

struct pair {
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_region *region;
	struct plx_control *control;
	struct pair_side side[2];
	uint32_t len;	       /**< of a message */
	size_t place;	       /**< bytes from one place to the next */
	uint64_t until;	       /**< pongs that end the round */
	struct plx_hist *hist; /**< round trips in ticks; NULL: warm-up */
};

/** On the main lcore: messages of @p len bytes, PAIR_LEN at least; CQs have room for @p more CQEs. */
void pair_make(struct pair *pair, uint32_t len, unsigned int more);
/** Where message @p n of a side is received, and sent from. */
char *pair_into(const struct pair_side *side, uint64_t n);
char *pair_from(const struct pair_side *side, uint64_t n);
/** Post the receives of a side: on its lcore, once. */
void pair_begin(struct pair_side *side);
/** Side 0: @p n pings, each answered before the next; the other lcore turns side 1's poller meanwhile. */
void pair_play(struct pair *pair, uint64_t n);
/** Close a side's connection, on its lcore; the other's may be open. */
void pair_close(struct pair_side *side);
/** On the main lcore, when both are closed. */
void pair_break(struct pair *pair);

#endif
