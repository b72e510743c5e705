/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef INTERNAL_H
#define INTERNAL_H

/**
 * @file
 * What the explorer's files tell each other.
 */

#include "explore.h"

/** What an actor is about to do. Steps on the same word of which one writes depend on each other. */
struct step {
	uintptr_t word; /**< address / 8; 0: nobody's */
	bool write;
	bool await; /**< only once the 32 bits at `flag` are not 0 */
	const uint32_t *flag;
	const char *what; /**< for people */
	const void *at;	  /**< code address */
};

/* ---- arena.c ------------------------------------------------------------------------------- */

#define ARENA_SIZE (2u << 20)

bool arena_has(const void *addr);
size_t arena_offset(const void *addr);
/** How large what begins there was allocated; 0: nothing does. */
size_t arena_size(const void *addr);
/** Give everything back: the next scenario begins with none. */
void arena_clear(void);
/** From here on what is written is put back by arena_restore(). */
void arena_snapshot(void);
/** About to write there. */
void arena_touch(const void *addr, size_t size);
void arena_restore(void);
/** Whether all is as it was at the snapshot: slow, to check the hooks themselves. */
bool arena_is_restored(void);

/* ---- race.c -------------------------------------------------------------------------------- */

/** A new schedule: nobody has done anything; what setup() wrote all have seen. */
void race_begin(void);
void race_plain(unsigned int actor, const void *addr, size_t size, bool write, const void *at);
void race_load(unsigned int actor, const void *addr, size_t size, int order, const void *at);
void race_store(unsigned int actor, const void *addr, size_t size, int order, const void *at);
/** Read-modify-write: a store that continues what it found. */
void race_rmw(unsigned int actor, const void *addr, size_t size, int order, const void *at);
void race_fence(unsigned int actor, int order);
/** As if by an atomic word of its own at @p addr. */
void race_acquire(unsigned int actor, const void *addr);
void race_release(unsigned int actor, const void *addr);

/* ---- instead.c ----------------------------------------------------------------------------- */

void instead_begin(void);

/* ---- run.c --------------------------------------------------------------------------------- */

#define NOBODY EXPLORE_ACTORS

/** The actor that runs now, in its run() or a turn of its drain(); NOBODY in setup and check. */
unsigned int run_actor(void);
/** The calling actor is about to do @p step: returns when it is its turn. */
void run_step(const struct step *step);
/** Count an access, so that what does not end is found. */
void run_count(void);
/** A thread that the code under test makes: an actor that may wait for ever. */
void run_add_daemon(const char *name, void *(*main)(void *), void *arg);
/** Let that daemon run until it waits: in setup, where nobody explores. */
void run_daemon(void);
uint64_t run_clock_ns(void);
/** Steps of the calling actor so far. */
uint32_t run_nb_steps(void);
/** The actor on whose stack @p addr is, or NOBODY. */
unsigned int run_stack_of(const void *addr);

/** How the actors of a scenario stand, for the search. */
struct run_state {
	unsigned int nb_actors;
	unsigned int enabled; /**< bit mask */
	struct step pending[EXPLORE_ACTORS];
};

void run_setup(const struct explore_scenario *scenario);
/** Put everything back and start all actors, up to their first step each. */
void run_start(void);
const struct run_state *run_look(void);
/** Let @p actor do its pending step, and go on to the next. False: the schedule has failed. */
bool run_advance(unsigned int actor);
/** Everybody has ended, or waits: drain and check. False: failed. */
bool run_finish(void);
/** Behind run_finish(). */
uint64_t run_outcome(void);
const char *run_failure(void);
const char *run_name(unsigned int actor);

/* ---- pool.c -------------------------------------------------------------------------------- */

/** Let mempools made from here on keep their objects where a put and a get are steps. */
void pool_take_over(void);

/* ---- search.c ------------------------------------------------------------------------------ */

struct search_result {
	unsigned long schedules; /**< that ran to their end */
	unsigned long cut;	 /**< left when all that could come next had been seen */
	unsigned int depth;	 /**< steps of the longest */
	bool failed;
	bool limited; /**< given up behind as many schedules as were allowed */
};

/** What schedules came to, each once. */
struct outcomes {
	unsigned int nb;
	uint64_t value[4096];
};

struct search_conf {
	const char *replay;	    /**< only that schedule, "0x3,1x2": three steps of the first actor, two of the second */
	unsigned long max_schedules; /**< 0: all */
	bool every_order;	    /**< also schedules that differ in the order of independent steps alone */
	struct outcomes *outcomes;  /**< may be NULL */
};

/** All schedules of the scenario that run_setup() was given, up to the first that fails. */
struct search_result search(const struct search_conf *conf);

/** The present schedule, a line per step, and as an argument. */
void search_print(void);

/* ---- describe.c ---------------------------------------------------------------------------- */

/** Function and line of a code address, in a buffer that the next call overwrites. Slow. */
const char *describe_code(const void *at);

#endif
