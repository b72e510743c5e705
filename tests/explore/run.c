/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_lcore.h>

/**
 * @file
 * One schedule.
 *
 *      run_start()     put all back; each actor runs to its first step, and stops before it
 *      run_advance(a)  a does that step, and goes on to its next
 *      run_finish()    turns of drain(), check()
 *
 * Contexts are Boost.Context's, by its C entry points: some ten nanoseconds for a switch.
 */

typedef struct {
	void *context;
	void *data;
} transfer_t;

transfer_t jump_fcontext(void *to, void *data);
void *make_fcontext(void *stack_top, size_t size, void (*fn)(transfer_t));

#define STACK_SIZE  (64u << 10)
#define MAX_COUNT   50000u /* accesses of one schedule; 16-bit clocks hang on it */
#define IDLE_CLOCK  UINT64_C(10000000000)

struct actor {
	const char *name;
	unsigned int lcore;
	void (*run)(void);
	unsigned int (*drain)(void);
	void *(*daemon)(void *);
	void *arg;
	void *context;
	bool ended;
	uint32_t nb_steps;
	struct step pending;
};

static struct actor actors[EXPLORE_ACTORS];
static unsigned int nb_actors;
static char stacks[EXPLORE_ACTORS][STACK_SIZE] __attribute__((aligned(4096)));
static const struct explore_scenario *scenario;
static void *scheduler; /* its context while an actor runs */
static enum { SETUP, EXPLORE, FINISH } mode;
static unsigned int current = NOBODY;
static bool on_stack_of_actor;
static unsigned int count;
static uint64_t clock_ns;
static char failure[512];
static jmp_buf finish_jump;

unsigned int
run_actor(void)
{
	return mode == SETUP ? NOBODY : current;
}

const char *
run_name(unsigned int actor)
{
	return actors[actor].name;
}

const char *
run_failure(void)
{
	return failure[0] != '\0' ? failure : NULL;
}

uint64_t
run_clock_ns(void)
{
	return clock_ns;
}

uint32_t
run_nb_steps(void)
{
	return mode == EXPLORE ? actors[current].nb_steps : 0;
}

unsigned int
run_stack_of(const void *addr)
{
	size_t offset = (uintptr_t)addr - (uintptr_t)stacks;

	return offset < sizeof(stacks) ? (unsigned int)(offset / STACK_SIZE) : NOBODY;
}

static void
pass_for(unsigned int actor)
{
	current = actor;
	RTE_PER_LCORE(_lcore_id) = actor != NOBODY ? actors[actor].lcore : actors[0].lcore;
}

/* ---- switching ----------------------------------------------------------------------------- */

static void
yield(void)
{
	transfer_t t = jump_fcontext(scheduler, NULL);

	scheduler = t.context;
}

static void
actor_main(transfer_t t)
{
	struct actor *a = &actors[current];

	scheduler = t.context;
	if (a->daemon != NULL)
		a->daemon(a->arg);
	else
		a->run();
	a->ended = true;
	yield();
	abort();
}

static void
actor_start(unsigned int actor)
{
	struct actor *a = &actors[actor];

	a->pending = (struct step){0};
	a->nb_steps = 0;
	a->ended = a->run == NULL && a->daemon == NULL;
	a->context = make_fcontext(stacks[actor] + STACK_SIZE, STACK_SIZE, actor_main);
}

static void
resume(unsigned int actor)
{
	transfer_t t;
	unsigned int was = current;

	pass_for(actor);
	on_stack_of_actor = true;
	t = jump_fcontext(actors[actor].context, NULL);
	on_stack_of_actor = false;
	actors[actor].context = t.context;
	pass_for(was);
}

static bool
may_go_on(const struct actor *a)
{
	return !a->ended && (!a->pending.await || *a->pending.flag != 0);
}

void
explore_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(failure, sizeof(failure), format, args);
	va_end(args);
	if (mode == SETUP) {
		fprintf(stderr, "explore: %s: set-up: %s\n", scenario->name, failure);
		exit(1);
	}
	if (on_stack_of_actor) {
		yield();
		abort();
	}
	longjmp(finish_jump, 1);
}

void
run_count(void)
{
	if (mode != SETUP && ++count == MAX_COUNT)
		explore_fail("more than %u accesses: something waits that should not", MAX_COUNT);
}

static bool
run_daemons(void)
{
	bool did = false;

	for (unsigned int i = 0; i < nb_actors && failure[0] == '\0'; i++)
		if (actors[i].daemon != NULL && may_go_on(&actors[i])) {
			resume(i);
			did = true;
		}
	return did;
}

void
run_step(const struct step *step)
{
	run_count();
	if (mode == EXPLORE) {
		if (!arena_has((const void *)(step->word * 8)))
			return;
		actors[current].pending = *step;
		actors[current].nb_steps++;
		yield();
		return;
	}
	if (!step->await)
		return;
	if (on_stack_of_actor) {
		actors[current].pending = *step;
		while (*step->flag == 0)
			yield();
		return;
	}
	while (*step->flag == 0)
		if (!run_daemons())
			explore_fail("%s waits for ever", scenario->name);
}

/* ---- a schedule ---------------------------------------------------------------------------- */

void
run_add_daemon(const char *name, void *(*main)(void *), void *arg)
{
	if (nb_actors == EXPLORE_ACTORS)
		explore_fail("more than %u actors", EXPLORE_ACTORS);
	actors[nb_actors] = (struct actor){.name = name, .lcore = LCORE_ID_ANY, .daemon = main, .arg = arg};
	actor_start(nb_actors++);
}

void
run_setup(const struct explore_scenario *s)
{
	scenario = s;
	mode = SETUP;
	clock_ns = 1;
	failure[0] = '\0';
	arena_clear();
	instead_begin();
	for (nb_actors = 0; nb_actors < EXPLORE_ACTORS && s->actors[nb_actors].name != NULL; nb_actors++) {
		const struct explore_actor *from = &s->actors[nb_actors];

		actors[nb_actors] = (struct actor){
			.name = from->name, .lcore = from->lcore, .run = from->run, .drain = from->drain};
	}
	pass_for(NOBODY);
	s->setup();
	arena_snapshot();
}

void
run_start(void)
{
	arena_restore();
	race_begin();
	failure[0] = '\0';
	count = 0;
	clock_ns = 1;
	if (scenario->begin != NULL)
		scenario->begin();
	mode = EXPLORE;
	for (unsigned int i = 0; i < nb_actors && failure[0] == '\0'; i++) {
		actor_start(i);
		if (!actors[i].ended)
			resume(i);
	}
}

const struct run_state *
run_look(void)
{
	static struct run_state state;

	state.nb_actors = nb_actors;
	state.enabled = 0;
	for (unsigned int i = 0; i < nb_actors; i++) {
		state.pending[i] = actors[i].pending;
		if (actors[i].ended)
			state.pending[i].word = 0;
		else if (may_go_on(&actors[i]))
			state.enabled |= 1u << i;
	}
	return &state;
}

bool
run_advance(unsigned int actor)
{
	resume(actor);
	return failure[0] == '\0';
}

/** One turn of everybody. */
static unsigned int
turns(void)
{
	unsigned int did = 0;

	for (unsigned int i = 0; i < nb_actors; i++) {
		if (actors[i].drain == NULL)
			continue;
		pass_for(i);
		did += actors[i].drain();
	}
	pass_for(NOBODY);
	return did + run_daemons();
}

/** Turns until nobody did anything in as many rounds as the scenario says, and then its check. */
static void
drain(void)
{
	for (unsigned int idle = 0; idle <= scenario->idle_rounds && failure[0] == '\0';) {
		if (idle != 0)
			clock_ns += IDLE_CLOCK;
		idle = turns() == 0 ? idle + 1 : 0;
	}
	pass_for(NOBODY);
	if (failure[0] == '\0' && scenario->check != NULL)
		scenario->check();
}

bool
run_finish(void)
{
	mode = FINISH;
	if (setjmp(finish_jump) == 0) {
		for (unsigned int i = 0; i < nb_actors; i++)
			if (!actors[i].ended && actors[i].daemon == NULL)
				explore_fail("%s waits for ever", actors[i].name);
		drain();
	}
	return failure[0] == '\0';
}

uint64_t
run_outcome(void)
{
	return scenario->outcome();
}
