/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "control_watch.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include "plx_log.h"

int
control_watches_add(struct control_watches *watches, struct plx_control_watch *watch)
{
	if (watches->nb == PLX_CONTROL_WATCHES) {
		PLX_LOG(ERR, "control: %u files are watched, and no more fit (file %d)", watches->nb, watch->fd);
		return -ENOSPC;
	}
	if (!watches->on) {
		watches->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (watches->wake < 0)
			return -errno;
		/* SEQ_CST: who posted before and did not see this is found by the sem_trywait() that comes before the
		 * next poll; who posts later sees it. Release too, for the file. Partner: control_watches_wake(). */
		__atomic_store_n(&watches->on, 1, __ATOMIC_SEQ_CST);
	}
	watch->next = watches->first;
	watches->first = watch;
	watches->nb++;
	return 0;
}

int
control_watches_remove(struct control_watches *watches, struct plx_control_watch *watch)
{
	for (struct plx_control_watch **at = &watches->first; *at != NULL; at = &(*at)->next) {
		if (*at != watch)
			continue;
		*at = watch->next;
		watches->nb--;
		return 0;
	}
	return -ENOENT;
}

void
control_watches_fini(struct control_watches *watches)
{
	if (watches->on)
		close(watches->wake);
}

void
control_watches_wake(struct control_watches *watches)
{
	/* Acquire and more: partner is the store in control_watches_add(). */
	if (__atomic_load_n(&watches->on, __ATOMIC_SEQ_CST))
		eventfd_write(watches->wake, 1);
}

/**
 * Call @p watch's fn. A file of which there is nothing to read but an error or its end would be found by each poll from
 * now on: it is dropped, by a number that poll(2) passes over.
 */
static void
watch_call(struct plx_control_watch *watch, short revents)
{
	int fd = watch->fd;

	watch->fn(watch);
	if ((revents & POLLIN) || watch->fd < 0)
		return;
	PLX_LOG(WARNING, "control: file %d has failed or is at its end (poll events %#x): it is watched no longer", fd,
		(unsigned int)revents);
	watch->fd = -1;
}

/** One poll of all files; calls the fn of those that are readable. A fn watches and unwatches nothing. */
static void
watches_poll(struct control_watches *watches)
{
	struct pollfd fds[PLX_CONTROL_WATCHES + 1] = {{.fd = watches->wake, .events = POLLIN}};
	struct plx_control_watch *watch = watches->first;
	eventfd_t value;

	for (uint32_t i = 0; i < watches->nb; i++, watch = watch->next)
		fds[1 + i] = (struct pollfd){.fd = watch->fd, .events = POLLIN};
	if (poll(fds, watches->nb + 1, -1) <= 0)
		return; /* a debugger's EINTR */
	if (fds[0].revents != 0)
		eventfd_read(watches->wake, &value);
	watch = watches->first;
	for (uint32_t i = 0; i < watches->nb; i++, watch = watch->next)
		if (fds[1 + i].revents != 0)
			watch_call(watch, fds[1 + i].revents);
}

void
control_watches_wait(struct control_watches *watches, sem_t *sem)
{
	if (!watches->on) {
		while (sem_wait(sem) != 0)
			; /* a debugger's EINTR */
		return;
	}
	while (sem_trywait(sem) != 0)
		watches_poll(watches);
}
