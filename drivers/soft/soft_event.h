/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SOFT_EVENT_H
#define SOFT_EVENT_H

/**
 * @file
 * Async events of a software device: a small ring, and an eventfd that is readable while something is in it.
 *
 *      any thread --raise--> [ event | event ] --next--> one thread
 *
 * Cold: raising takes a lock for a few instructions, and makes a system call when the ring was empty. A full ring drops
 * the event and counts it, as a device does whose reader is gone.
 */

#include <stdint.h>

#include <pthread.h>

#include "plx_event.h"

#define SOFT_EVENTS 1024 /* a power of two */

struct soft_events {
	pthread_mutex_t lock;
	int fd;
	uint32_t head;
	uint32_t tail;
	uint32_t nb_dropped;
	struct plx_event ring[SOFT_EVENTS];
};

/** 0 or -errno of eventfd(2). */
int soft_events_init(struct soft_events *events);
void soft_events_fini(struct soft_events *events);

/** Any thread. */
void soft_events_raise(struct soft_events *events, const struct plx_event *event);

/** 1 and *event, or 0: none. */
int soft_events_next(struct soft_events *events, struct plx_event *event);

#endif
