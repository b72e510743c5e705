/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_event.h"

#include <errno.h>
#include <unistd.h>

#include <sys/eventfd.h>

int
soft_events_init(struct soft_events *events)
{
	events->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (events->fd < 0)
		return -errno;
	pthread_mutex_init(&events->lock, NULL);
	return 0;
}

void
soft_events_fini(struct soft_events *events)
{
	pthread_mutex_destroy(&events->lock);
	close(events->fd);
}

void
soft_events_raise(struct soft_events *events, const struct plx_event *event)
{
	pthread_mutex_lock(&events->lock);
	if (events->head - events->tail == SOFT_EVENTS) {
		events->nb_dropped++;
	} else {
		events->ring[events->head++ % SOFT_EVENTS] = *event;
		if (events->head - events->tail == 1)
			eventfd_write(events->fd, 1);
	}
	pthread_mutex_unlock(&events->lock);
}

int
soft_events_next(struct soft_events *events, struct plx_event *event)
{
	eventfd_t value;
	int got;

	pthread_mutex_lock(&events->lock);
	got = events->head != events->tail;
	if (got)
		*event = events->ring[events->tail++ % SOFT_EVENTS];
	/* Readable as long as there is one; under the lock, so that no raise comes between. */
	if (events->head == events->tail)
		eventfd_read(events->fd, &value);
	pthread_mutex_unlock(&events->lock);
	return got;
}
