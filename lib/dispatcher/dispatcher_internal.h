/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef DISPATCHER_INTERNAL_H
#define DISPATCHER_INTERNAL_H

/**
 * @file
 * The steps of a delivery that its files share.
 */

#include <string.h>

#include "plx_dispatcher.h"

static inline bool
dispatcher_is_shared(const struct plx_dispatcher *d)
{
	return d->owner == LCORE_ID_ANY;
}

/** Add to a counter that has one writer, so that readers on other threads see whole values. */
static inline void
count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline void
count_shared(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static inline uint64_t
counted(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/** The half of result_fill() for what is no plain success (deliver.c). */
void result_fill_rest(struct plx_op *op, const struct plx_wc *wc);

/** Write what @p wc says into the op; on an error nothing but the fields that it defines. */
static inline void
result_fill(struct plx_op *op, const struct plx_wc *wc)
{
	uint32_t what; /* from the lowest byte: status, opcode, flags, no_qp_num */

	memcpy((char *)op + offsetof(struct plx_op, byte_len), (const char *)wc + offsetof(struct plx_wc, byte_len), 16);
	memcpy(&what, &wc->status, sizeof(what)); /* behind the other: tested where it is, in one instruction */
	if (__builtin_expect((what & 0xffff00ff) != 0, 0))
		result_fill_rest(op, wc);
}

/** Take an op that nobody waits for out of custody, and give it back. */
static inline void
home_drop(struct plx_op *op)
{
	plx_op_set_state(op, PLX_OP_FREE);
	plx_op_put(op);
}

/** On the home of an op that somebody waits for. */
static inline void
home_call(struct plx_op *op)
{
	plx_op_complete(op);
	op->cb(op, op->arg);
}

/** On the op's home: tell whoever waits, or give the node back. Returns whether somebody waited. */
static inline bool
home_settle(struct plx_op *op)
{
	if (__builtin_expect(op->state == PLX_OP_ORPHANED, 0)) {
		home_drop(op);
		return false;
	}
	home_call(op);
	return true;
}

/** Count a wr_id that no op in flight has (deliver.c). */
void deliver_refuse(struct plx_dispatcher *d, struct plx_op *op, uint64_t wr_id);

/** SHARED: one completion, on whatever thread (deliver_shared.c). */
void deliver_shared(struct plx_dispatcher *d, const struct plx_wc *wc);

/** What a home owes (home.c, abandon.c). */
unsigned int home_once(struct plx_dispatcher *d, struct plx_home *home);
void home_drop_kept(struct plx_home *home, struct plx_op *op);
unsigned int home_take_abandons(struct plx_dispatcher *d, struct plx_home *home);

#endif
