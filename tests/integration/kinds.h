/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef KINDS_H
#define KINDS_H

/**
 * @file
 * Two connections, each the other's peer, with everything that they need, stepped by hand on one thread as lcore 1:
 *
 *      A: mem [ out | in | old values | word ]  ---- conn ---->  B: the same memory
 */

#include "plx_test.h"

#include <errno.h>
#include <string.h>

#include "plx_clock.h"
#include "plx_conn.h"
#include "plx_poll.h"
#include "plx_prep.h"

#define OWNER 1
#define LEN   64u   /* bytes of each */
#define IN    4096u /* where they go to in the region */
#define OLD   8192u /* where old values go to */
#define WORD  8448u /* the word that atomics are for */
#define BYTES 16384u

struct kinds {
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_region *mem;
	struct plx_cq *cq;
	struct plx_control *control;
	struct plx_dispatcher *d;
	struct plx_conn_group *group;
	struct plx_conn *a, *b;
	unsigned int nb_closed, was;
	struct plx_remote remote; /**< all of mem, as the peer sees it */
};

extern struct kinds kinds; /* open between kinds_open() and kinds_close() */

/** How the connections are made; kinds_conf() gives the usual. */
struct kinds_conf {
	struct plx_qp_cap cap;
	struct plx_qp_path path;
	uint32_t nb_cqe; /**< 0: just enough for what is granted */
};

struct kinds_conf kinds_conf(void);
/** Fails the test on any error. */
void kinds_open(const char *spec, const struct kinds_conf *conf);
void kinds_close(void);

/** Set-up on the device of the command line, and tear-down. */
int kinds_make(void **state);
int kinds_unmake(void **state);
/** Of a suite. */
int kinds_drivers(void **state);

bool kinds_has(unsigned int opcode);
uint8_t *kinds_at(size_t off);
struct plx_view kinds_view(size_t off, size_t len);
struct plx_op *kinds_op(void);
/** One turn of the owner. */
void kinds_turn(void);
/** Turn until @p op is done, and expect that. */
struct plx_result kinds_wait(const struct plx_op *op, enum plx_status status);
/** Submit, wait, give back. */
struct plx_result kinds_run(struct plx_conn *conn, struct plx_op *op);

#endif
