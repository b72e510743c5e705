/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Async events on their way from the inner device, and those that a script makes up:
 *
 *      inner's events --> `event` rules: drop, twice, late --.
 *                                                            +--> waiting --> plx_device_next_event()
 *      `raise` rules, where their object is at work ---------'       [eventfd: readable while some wait]
 *
 *      fd of the wrapper: epoll { inner's fd, the eventfd }
 *
 * An event of the inner device names an inner object, and is told of the wrapper's.
 *
 * Threads: raised in the thread that posts, polls or calls a verb, under the device's lock; read by one.
 */

#include "fault.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- made and unmade ----------------------------------------------------------------------- */

static int
watch(int epoll_fd, int fd)
{
	struct epoll_event readable = {.events = EPOLLIN};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &readable) == 0 ? 0 : -errno;
}

int
fault_event_init(struct fault_device *dev)
{
	int inner = plx_device_event_fd(dev->inner), err;

	dev->event_fd = dev->wake_fd = -1;
	if (inner < 0)
		return 0; /* it tells of none, and then neither do we */
	dev->event_fd = epoll_create1(EPOLL_CLOEXEC);
	dev->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = dev->event_fd < 0 || dev->wake_fd < 0 ? -errno : watch(dev->event_fd, inner);
	return err != 0 ? err : watch(dev->event_fd, dev->wake_fd);
}

void
fault_event_fini(struct fault_device *dev)
{
	if (dev->wake_fd >= 0)
		close(dev->wake_fd);
	if (dev->event_fd >= 0)
		close(dev->event_fd);
}

/* ---- waiting ------------------------------------------------------------------------------- */

/** Readable while something waits: whoever sleeps on the fd looks again and again, which is how late ones come due. */
static void
wake_update(struct fault_device *dev)
{
	uint64_t n = 1;

	if (dev->nb_events != 0)
		(void)!write(dev->wake_fd, &n, sizeof(n));
	else
		(void)!read(dev->wake_fd, &n, sizeof(n));
}

/** Locked. Whether there was room. */
static bool
event_put(struct fault_device *dev, const struct plx_event *event, uint64_t due)
{
	if (dev->nb_events == FAULT_EVENTS_MAX)
		return false;
	dev->events[dev->nb_events++] = (struct fault_event){.event = *event, .due = due};
	wake_update(dev);
	return true;
}

/** Locked. The first that is due. */
static int
event_take(struct fault_device *dev, struct plx_event *event)
{
	for (unsigned int i = 0; i < dev->nb_events; i++) {
		if (dev->events[i].due > dev->looks)
			continue;
		*event = dev->events[i].event;
		dev->nb_events--;
		for (; i < dev->nb_events; i++)
			dev->events[i] = dev->events[i + 1];
		wake_update(dev);
		return 1;
	}
	return 0;
}

/* ---- whose they are ------------------------------------------------------------------------ */

void
fault_link(struct fault_device *dev, struct fault_link *link, const uint64_t *inner, const uint64_t *id)
{
	pthread_mutex_lock(&dev->lock);
	*link = (struct fault_link){.inner_id = inner, .id = id, .next = dev->links};
	dev->links = link;
	pthread_mutex_unlock(&dev->lock);
}

void
fault_unlink(struct fault_device *dev, struct fault_link *link)
{
	struct fault_link **at = &dev->links;

	pthread_mutex_lock(&dev->lock);
	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	pthread_mutex_unlock(&dev->lock);
}

/* ---- inner's ------------------------------------------------------------------------------- */

/** Our number of the object that has inner's number @p id; 0: it is gone, or none of ours. Locked. */
static uint64_t
our_id(const struct fault_device *dev, uint64_t id)
{
	const struct fault_link *link = dev->links;

	while (link != NULL && *link->inner_id != id)
		link = link->next;
	return link == NULL ? 0 : *link->id;
}

/** Through the rules. Locked, and there is room for two. */
static void
event_pass(struct fault_device *dev, struct plx_event *event)
{
	uint64_t due = 0;
	bool twice = false;

	if (event->object != 0)
		event->object = our_id(dev, event->object);
	for (unsigned int i = 0; i < dev->script.nb_rules; i++) {
		const struct fault_rule *rule = &dev->script.rules[i];

		if (rule->action != FAULT_EVENT || rule->event != event->type || fault_rule_hits(dev, i) == 0)
			continue;
		fault_count(&dev->stats.events, 1);
		if (rule->how == FAULT_EVENT_DROP)
			return;
		twice |= rule->how == FAULT_EVENT_TWICE;
		if (rule->how == FAULT_EVENT_LATE)
			due = dev->looks + rule->arg;
	}
	for (int i = 0; i <= twice; i++)
		event_put(dev, event, due);
}

int
fault_event_next(struct plx_device *base, struct plx_event *event)
{
	struct fault_device *dev = fault_device(base);
	struct plx_event inner;
	int got = 0;

	if (dev->event_fd < 0)
		return -ENOTSUP;
	pthread_mutex_lock(&dev->lock);
	dev->looks++;
	/* The others wait where they are: no event of the device is lost here. */
	while (dev->nb_events + 2 <= FAULT_EVENTS_MAX && (got = plx_device_next_event(dev->inner, &inner)) > 0)
		event_pass(dev, &inner);
	got = got < 0 ? got : event_take(dev, event);
	pthread_mutex_unlock(&dev->lock);
	return got;
}

int
fault_event_fd(struct plx_device *base)
{
	struct fault_device *dev = fault_device(base);

	return dev->event_fd >= 0 ? dev->event_fd : -ENOTSUP;
}

/* ---- raised -------------------------------------------------------------------------------- */

void
fault_event_raise(struct fault_device *dev, uint32_t types, uint64_t object)
{
	for (unsigned int i = 0; i < dev->script.nb_rules; i++) {
		const struct fault_rule *rule = &dev->script.rules[i];
		struct plx_event event = {.type = rule->event, .raw = -1};

		if (rule->action != FAULT_RAISE || !(1u << rule->event & types) || fault_rule_hits(dev, i) == 0)
			continue;
		if (!(1u << rule->event & FAULT_EVENTS_OF_NONE))
			event.object = object;
		event.port = rule->event == PLX_EVENT_PORT_DOWN || rule->event == PLX_EVENT_PORT_UP;
		pthread_mutex_lock(&dev->lock);
		fault_count(event_put(dev, &event, 0) ? &dev->stats.raised : &dev->stats.overrun, 1);
		pthread_mutex_unlock(&dev->lock);
	}
}
