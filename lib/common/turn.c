/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_turn.h"

#if PLX_DEBUG

#include <rte_debug.h>
#include <rte_lcore.h>

static __thread unsigned int turns;

void
plx_turn_begin(void)
{
	turns++;
}

void
plx_turn_end(void)
{
	turns--;
}

void
plx_turn_waits(const char *what)
{
	if (turns != 0)
		rte_panic("%s on lcore %d waits inside a turn of its poller, in a callback or hook: what it waits for "
			  "comes after that has returned\n",
			what, (int)rte_lcore_id());
}

#endif
