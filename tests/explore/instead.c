/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "internal.h"

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
void *instead_memcpy(void *to, const void *from, size_t size);
void *instead_memset(void *at, int byte, size_t size);
int instead_sem_init(sem_t *sem, unsigned int value);
int instead_sem_wait(sem_t *sem);
int instead_sem_post(sem_t *sem);
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

static uint32_t *
sem_word(sem_t *sem)
{
	return (uint32_t *)sem;
}

int
instead_sem_init(sem_t *sem, unsigned int value)
{
	*sem_word(sem) = value;
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
 * All mutexes are one. Nobody makes a step while it holds one, so that nobody ever waits for it: what is left is the order
 * of the sections, and what they see of each other.
 */
static uint32_t *mutex_word;
static unsigned int mutex_depth; /* they are recursive */

int
instead_mutex_lock(pthread_mutex_t *mutex)
{
	(void)mutex;
	if (mutex_depth == 0)
		word_step(mutex_word, false, "lock", __builtin_return_address(0));
	mutex_depth++;
	return 0;
}

int
instead_mutex_unlock(pthread_mutex_t *mutex)
{
	(void)mutex;
	if (--mutex_depth == 0 && run_actor() != NOBODY)
		race_release(run_actor(), mutex_word);
	return 0;
}

void
instead_begin(void)
{
	mutex_depth = 0;
	mutex_word = explore_alloc(sizeof(*mutex_word));
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
