/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_poller.h"

#include <errno.h>
#include <sched.h>

#include "poller_internal.h"

int
plx_poller_run(void *arg)
{
	struct plx_poller *poller = arg;

	/* Acquire pairs with the release at the end: the last loop's lcore is done with the poller. */
	if (__atomic_exchange_n(&poller->running, true, __ATOMIC_ACQUIRE))
		return -EBUSY;
	__atomic_store_n(&poller->lcore, rte_lcore_id(), __ATOMIC_RELAXED);
	while (!poller_stopping(poller)) {
		if (poller_turn(poller, true) == 0 && poller->yield)
			sched_yield();
	}
	/* Pairs with the acquire in plx_poller_running(), and above. */
	__atomic_store_n(&poller->running, false, __ATOMIC_RELEASE);
	return 0;
}

void
plx_poller_stop(struct plx_poller *poller)
{
	__atomic_store_n(&poller->stopping, true, __ATOMIC_RELEASE);
}

int
plx_poller_reset(struct plx_poller *poller)
{
	if (plx_poller_running(poller))
		return -EBUSY;
	__atomic_store_n(&poller->stopping, false, __ATOMIC_RELAXED);
	return 0;
}

bool
plx_poller_running(const struct plx_poller *poller)
{
	return __atomic_load_n(&poller->running, __ATOMIC_ACQUIRE);
}

unsigned int
plx_poller_lcore(const struct plx_poller *poller)
{
	return __atomic_load_n(&poller->lcore, __ATOMIC_RELAXED);
}
