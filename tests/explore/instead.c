/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "internal.h"

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/**
 * @file
 * What instead.h promises.
 */

void *instead_alloc(size_t size);
void instead_free(void *p);
void *instead_memcpy(void *to, const void *from, size_t size);
void *instead_memset(void *at, int byte, size_t size);
int instead_sem_init(sem_t *sem, unsigned int value);
int instead_sem_wait(sem_t *sem);
int instead_sem_post(sem_t *sem);
int instead_mutex_init(pthread_mutex_t *mutex);
int instead_mutex_lock(pthread_mutex_t *mutex);
int instead_mutex_unlock(pthread_mutex_t *mutex);
int instead_pthread_create(pthread_t *thread, void *(*main)(void *), void *arg);
int instead_clock_gettime(struct timespec *ts);
void instead_panic(const char *where, const char *why, ...) __attribute__((noreturn));

void *
instead_alloc(size_t size)
{
	return explore_alloc(size);
}

static void
note(const void *addr, size_t size, bool write, const void *at)
{
	if (size == 0 || !arena_has(addr))
		return;
	if (write)
		arena_touch(addr, size);
	if (run_actor() != NOBODY)
		race_plain(run_actor(), addr, size, write, at);
}

/** As if all of it were written: who touches it beside that, or later without knowing of it, is in a race. */
void
instead_free(void *p)
{
	if (p != NULL)
		note(p, arena_size(p), true, __builtin_return_address(0));
}

void *
instead_memcpy(void *to, const void *from, size_t size)
{
	note(from, size, false, __builtin_return_address(0));
	note(to, size, true, __builtin_return_address(0));
	return memmove(to, from, size);
}

void *
instead_memset(void *at, int byte, size_t size)
{
	note(at, size, true, __builtin_return_address(0));
	return memset(at, byte, size);
}

/* ---- waiting: a word that is 0 while nobody may go on -------------------------------------- */

static void
word_step(const uint32_t *word, bool await, const char *what, const void *at)
{
	struct step step = {
		.word = (uintptr_t)word / 8, .write = true, .await = await, .flag = word, .what = what, .at = at};

	run_step(&step);
	if (arena_has(word)) {
		arena_touch(word, sizeof(*word));
		if (run_actor() != NOBODY)
			race_rmw(run_actor(), word, sizeof(*word), __ATOMIC_ACQ_REL, at);
	}
}

void
explore_await(const uint32_t *word)
{
	word_step(word, true, "await", __builtin_return_address(0));
}

void
explore_await_unordered(const uint32_t *word)
{
	struct step step = {.word = (uintptr_t)word / 8,
		.write = true,
		.await = true,
		.flag = word,
		.what = "await",
		.at = __builtin_return_address(0)};

	run_step(&step);
}

void
explore_signal(uint32_t *word)
{
	word_step(word, false, "signal", __builtin_return_address(0));
	*word = 1;
}

/* Of plx_control_sync(), one for each actor: theirs are on stacks, and nobody sees what is there. */
static uint32_t *stack_sems;

static uint32_t *
sem_word(sem_t *sem)
{
	unsigned int actor = run_stack_of(sem);

	return actor != NOBODY ? &stack_sems[2 * actor] : (uint32_t *)sem;
}

int
instead_sem_init(sem_t *sem, unsigned int value)
{
	uint32_t *word = sem_word(sem);

	if (arena_has(word))
		arena_touch(word, sizeof(*word));
	*word = value;
	return 0;
}

int
instead_sem_wait(sem_t *sem)
{
	word_step(sem_word(sem), true, "sem_wait", __builtin_return_address(0));
	--*sem_word(sem);
	return 0;
}

int
instead_sem_post(sem_t *sem)
{
	word_step(sem_word(sem), false, "sem_post", __builtin_return_address(0));
	++*sem_word(sem);
	return 0;
}

/*
 * A mutex of the arena is one of its own, all others are one. Who finds it held waits. As long as its holder has made no step
 * nobody can have found it held, and then to unlock it is none either.
 */
struct mutex {
	uint32_t free; /* waited for */
	uint32_t depth; /* they are recursive */
	uint32_t holder;
	uint32_t steps; /* that it had made */
};

static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t), "it lies there");

static struct mutex *other_mutexes;

static struct mutex *
mutex_of(pthread_mutex_t *mutex)
{
	return arena_has(mutex) ? (struct mutex *)mutex : other_mutexes;
}

int
instead_mutex_init(pthread_mutex_t *mutex)
{
	*mutex_of(mutex) = (struct mutex){.free = 1};
	return 0;
}

int
instead_mutex_lock(pthread_mutex_t *mutex)
{
	struct mutex *m = mutex_of(mutex);

	if (m->depth == 0 || m->holder != run_actor()) {
		word_step(&m->free, true, "lock", __builtin_return_address(0));
		arena_touch(m, sizeof(*m));
		*m = (struct mutex){.holder = run_actor(), .steps = run_nb_steps()};
	}
	m->depth++;
	return 0;
}

int
instead_mutex_unlock(pthread_mutex_t *mutex)
{
	struct mutex *m = mutex_of(mutex);

	if (--m->depth != 0)
		return 0;
	if (run_nb_steps() != m->steps)
		word_step(&m->free, false, "unlock", __builtin_return_address(0));
	else if (run_actor() != NOBODY)
		race_release(run_actor(), &m->free);
	m->free = 1;
	return 0;
}

void
instead_begin(void)
{
	stack_sems = explore_alloc(8 * EXPLORE_ACTORS);
	other_mutexes = explore_alloc(sizeof(*other_mutexes));
	other_mutexes->free = 1;
}

/* ---- the rest ------------------------------------------------------------------------------ */

int
instead_pthread_create(pthread_t *thread, void *(*main)(void *), void *arg)
{
	*thread = 0; /* nobody's */
	run_add_daemon("control", main, arg);
	return 0;
}

int
instead_clock_gettime(struct timespec *ts)
{
	uint64_t now = run_clock_ns();

	ts->tv_sec = (time_t)(now / 1000000000);
	ts->tv_nsec = (long)(now % 1000000000);
	return 0;
}

void
instead_panic(const char *where, const char *why, ...)
{
	char text[200];
	va_list args;

	va_start(args, why);
	vsnprintf(text, sizeof(text), why, args);
	va_end(args);
	explore_fail("panic in %s: %s", where, text);
}
