/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef EXPLORE_H
#define EXPLORE_H

/**
 * @file
 * Every interleaving of a small scenario, on one thread.
 *
 *      search.c    which schedules are left          depth first, no two that differ only in the
 *         |                                          order of steps that do not touch each other
 *      run.c       one schedule: actors are coroutines, one step each in the order that is asked for
 *         |
 *      hooks.c     what the compiler calls before each access of the code under test
 *         |
 *      arena.c     memory that can be put back       race.c    who may see what, by the orders given
 *
 * The rooms' own sources are compiled once more with -fsanitize=thread, and linked without libtsan: hooks.c has the
 * functions that the compiler then calls for every plain and atomic access. An atomic access is a step, before which any
 * other actor may come first. A plain one is none: where no two plain accesses race, their order against others makes
 * no difference (and race.c reports those that do race, by the memory orders that the code names).
 *
 * What is explored is sequential: a relaxed load returns the last value stored. That an order is too weak is found where
 * plain data hangs on it, which is the rule here, and not where only other atomics do (two flags that look at each other).
 *
 * A scenario is some actors. Each runs to its end, in every interleaving; then all take turns of drain() until nobody
 * finds anything to do, one after the other, and check() says whether the end is right.
 *
 * Threads: one. Nothing here is for any other use than plx-explore.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_ACTORS 6

struct explore_actor {
	const char *name;
	unsigned int lcore;	 /**< that it passes for; LCORE_ID_ANY: a thread without lcore id */
	void (*run)(void);	 /**< explored; NULL: only drains */
	unsigned int (*drain)(void); /**< one turn behind the end: how many things it did; may be NULL */
};

struct explore_scenario {
	const char *name;
	void (*setup)(void); /**< once, before the first schedule: objects, in memory that is put back */
	void (*begin)(void); /**< before each schedule: what the scenario keeps in variables of its own; may be NULL */
	void (*check)(void); /**< after each; may be NULL */
	uint64_t (*outcome)(void); /**< for tests of the explorer: after each, what came of it */
	struct explore_actor actors[EXPLORE_ACTORS];
	unsigned int idle_rounds; /**< that end a schedule, time passing before each; 0: one, no time passes */
	bool expect_failure; /**< for tests of the explorer: it must find one */
	unsigned long schedules; /**< for tests of the explorer: exactly so many are left; 0: any number */
};

/** Every table of scenarios, each ended by one without a name. */
extern const struct explore_scenario explore_litmus[], explore_dispatcher[], explore_shared[], explore_conn[],
	explore_conn_early[], explore_windows[], explore_refill[];

/** Three actors that do something at random, another thing for each seed. */
extern uint64_t explore_random_seed;
extern const struct explore_scenario explore_random;

/** The present schedule fails, for this reason. Does not return. */
void explore_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#define explore_assert(what)                                                                                 \
	do {                                                                                                 \
		if (!(what))                                                                                 \
			explore_fail("%s:%d: %s", __FILE__, __LINE__, #what);                                \
	} while (0)

/** The same for numbers, which are shown. */
#define explore_equal(a, b)                                                                                  \
	do {                                                                                                 \
		unsigned long a_ = (unsigned long)(a), b_ = (unsigned long)(b);                              \
		if (a_ != b_)                                                                                \
			explore_fail("%s:%d: %s is %lu, not %s (%lu)", __FILE__, __LINE__, #a, a_, #b, b_);  \
	} while (0)

/** Memory that each schedule finds as setup() left it; zeroed. Fails the run when there is no more. */
void *explore_alloc(size_t size);

/** Nobody of the actors goes on until the word is not 0: a step, an acquire. */
void explore_await(const uint32_t *word);
/** The same, and no acquire: what the signaller did before is not seen by it. */
void explore_await_unordered(const uint32_t *word);
/** Set such a word: a step, a release. */
void explore_signal(uint32_t *word);

/** A plain load of these bytes may meet atomic stores (DPDK's RTS mode does that). */
void explore_allow_plain_load(const volatile void *addr, size_t size);

#endif
