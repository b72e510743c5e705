/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef INSTEAD_H
#define INSTEAD_H

/**
 * @file
 * What the code under test gets instead of libc and EAL: included before all else when it is compiled for the explorer.
 *
 * Memory comes from the arena, threads are actors that wait where semaphores and mutexes make them, time stands still
 * until all have ended. Function-like macros, so that members and pointers of the same name stay what they are.
 */

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_debug.h>
#include <rte_malloc.h>
#include <rte_memcpy.h>

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

#define rte_zmalloc(type, size, align)		      instead_alloc(size)
#define rte_zmalloc_socket(type, size, align, socket) ((void)(socket), instead_alloc(size))
#define rte_calloc(type, n, size, align)	      instead_alloc((size_t)(n) * (size))
#define rte_free(p)				      instead_free(p)
#define calloc(n, size)				      instead_alloc((size_t)(n) * (size))
#define free(p)					      ((void)(p))
#define memcpy(to, from, size)			      instead_memcpy(to, from, size)
#define memmove(to, from, size)			      instead_memcpy(to, from, size)
#define memset(at, byte, size)			      instead_memset(at, byte, size)
#define sem_init(sem, shared, value)		      instead_sem_init(sem, value)
#define sem_wait(sem)				      instead_sem_wait(sem)
#define sem_post(sem)				      instead_sem_post(sem)
#define sem_destroy(sem)			      ((void)(sem))
#define pthread_mutex_init(mutex, attr)		      instead_mutex_init(mutex)
#define pthread_mutex_lock(mutex)		      instead_mutex_lock(mutex)
#define pthread_mutex_unlock(mutex)		      instead_mutex_unlock(mutex)
#define pthread_create(thread, attr, main, arg)	      instead_pthread_create(thread, main, arg)
#define pthread_setname_np(thread, name)	      ((void)(thread))
#define clock_gettime(clock, ts)		      instead_clock_gettime(ts)
#undef rte_panic
#define rte_panic(...) instead_panic(__func__, __VA_ARGS__, "")

#endif
