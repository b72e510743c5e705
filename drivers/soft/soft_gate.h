/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_GATE_H
#define SOFT_GATE_H

/**
 * @file
 * A gate that one thread goes through, and that others can wait to be empty: a grace period for one.
 *
 *      the thread          enter --- looks at shared things, uses what it found --- leave
 *      who takes away      makes the thing unfindable ... wait: a visit that may have found it is over
 *
 * The visitor pays one full fence per visit and never waits. Both sides of the argument: the visitor stores "inside"
 * and then looks for the thing, the other hides the thing and then looks for "inside"; all four accesses are
 * sequentially consistent, so one of the two sees the other.
 *
 * Threads: one visitor, any number that wait.
 */

#include <stdbool.h>
#include <stdint.h>

#include <sched.h>

#include <rte_pause.h>

/** Counts steps through the gate: odd while somebody is inside. */
struct soft_gate {
	uint32_t steps;
};

static inline void
soft_gate_enter(struct soft_gate *gate)
{
	/* Partner: soft_gate_visit(). The visitor's look-ups that follow are SEQ_CST loads. */
	__atomic_store_n(&gate->steps, gate->steps + 1, __ATOMIC_SEQ_CST);
}

static inline void
soft_gate_leave(struct soft_gate *gate)
{
	/* Release: whoever sees the visit over sees all that it did. */
	__atomic_store_n(&gate->steps, gate->steps + 1, __ATOMIC_RELEASE);
}

/** What to hand to soft_gate_over() later; call it after hiding the thing. */
static inline uint32_t
soft_gate_visit(const struct soft_gate *gate)
{
	return __atomic_load_n(&gate->steps, __ATOMIC_SEQ_CST);
}

/** Whether the visit that soft_gate_visit() saw, if it saw one, has ended. */
static inline bool
soft_gate_over(const struct soft_gate *gate, uint32_t visit)
{
	return (visit & 1) == 0 || __atomic_load_n(&gate->steps, __ATOMIC_ACQUIRE) != visit;
}

/** Wait until no visit that began before this call is going on. Not for a visitor of any gate: two would wait for each
 * other. */
static inline void
soft_gate_wait(const struct soft_gate *gate)
{
	uint32_t visit = soft_gate_visit(gate);

	for (unsigned int spins = 0; !soft_gate_over(gate, visit); spins++) {
		if (spins < 1000)
			rte_pause();
		else
			sched_yield(); /* the visitor may want this very CPU */
	}
}

#endif
