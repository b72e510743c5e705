/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_log.h"

#include <pthread.h>

static int log_type;

static void
log_register(void)
{
	/* Picks the level of an --log-level=pollux:... that EAL has already parsed. */
	log_type = rte_log_register_type_and_pick_level("pollux", RTE_LOG_NOTICE);
	if (log_type < 0)
		log_type = RTE_LOGTYPE_USER1; /* out of memory: the lines still come out */
}

int
plx_log_type(void)
{
	/* No constructor (they would need whole-archive linking), and rte_log_register() is not
	 * thread-safe. */
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, log_register);
	return log_type;
}
