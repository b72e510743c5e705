/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef CONTROL_WATCH_H
#define CONTROL_WATCH_H

/**
 * @file
 * What the control thread sleeps on: its semaphore alone, or, as soon as it watches a file, poll(2) of an eventfd and the
 * files.
 *
 *      push:  post the semaphore, then, if files are watched, write the eventfd
 *      wait:  take from the semaphore, or poll; on a file that is readable call its fn, and try again
 *
 * Threads: wake from any; the rest on the control thread.
 */

#include <stdint.h>

#include <semaphore.h>

#include "plx_control.h"

struct control_watches {
	uint32_t on; /**< atomic: files have been watched, so that a push has to write */
	int wake;    /**< the eventfd, once on */
	uint32_t nb;
	struct plx_control_watch *first;
};

int control_watches_add(struct control_watches *watches, struct plx_control_watch *watch);
int control_watches_remove(struct control_watches *watches, struct plx_control_watch *watch);
void control_watches_fini(struct control_watches *watches);

/** Behind a post of the semaphore that control_watches_wait() takes from. */
void control_watches_wake(struct control_watches *watches);

/** Take one from @p sem; meanwhile call the fn of each file that is readable. */
void control_watches_wait(struct control_watches *watches, sem_t *sem);

#endif
