/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The end of the connections, from the main lcore: ask for all closes, wait for all closed_cb. What never
 * completed is settled on the way.
 */

#include "perf.h"

#include <errno.h>
#include <time.h>

#define CLOSE_NS UINT64_C(60000000000)

static void
sleep_ms(unsigned int ms)
{
	struct timespec ts = {.tv_sec = 0, .tv_nsec = (long)ms * 1000000};

	nanosleep(&ts, NULL);
}

void
perf_command(struct perf *perf, enum perf_command command)
{
	/* Release pairs with the acquire in perf_loop_once(). */
	__atomic_store_n(&perf->loop->command, command, __ATOMIC_RELEASE);
	while (__atomic_load_n(&perf->loop->reached, __ATOMIC_ACQUIRE) != (uint32_t)command)
		sleep_ms(1);
}

/** 1 if the end has a connection to close. The lane to the owner may be full: again. */
static uint32_t
close_end(struct perf_end *end)
{
	if (end->conn == NULL)
		return 0;
	while (plx_conn_close(end->conn) == -EAGAIN)
		sleep_ms(1);
	return 1;
}

int
perf_close(struct perf *perf)
{
	uint64_t deadline = plx_clock_monotonic_ns() + CLOSE_NS;
	uint32_t nb = 0, done;

	if (perf->nb_launched == 0)
		return 0;
	perf_command(perf, PERF_CLOSE);
	for (uint32_t i = 0; i < perf->opts.connections; i++)
		nb += close_end(&perf->pairs[i].initiator) + close_end(&perf->pairs[i].target);
	do {
		sleep_ms(1);
		done = __atomic_load_n(&perf->nb_closed, __ATOMIC_ACQUIRE);
	} while ((done < nb || perf_held_back(perf)) && plx_clock_monotonic_ns() < deadline);
	if (done < nb)
		return app_fail(&perf->error, -ETIMEDOUT, "%u of %u QPs do not close within %u s", nb - done,
			nb, (unsigned int)(CLOSE_NS / 1000000000));
	perf_stop_loops(perf); /* counts stand still from here on */
	return 0;
}
