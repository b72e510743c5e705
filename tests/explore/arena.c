/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * @file
 * Where the code under test has its objects: whatever it allocates, and what a scenario shares between actors.
 *
 * A line is copied away when it is first written in a schedule, and copied back behind the schedule's end.
 */

#define LINE	 64
#define NB_LINES (ARENA_SIZE / LINE)

static char arena[ARENA_SIZE] __attribute__((aligned(4096)));
static char before[ARENA_SIZE]; /* as of the snapshot; complete, so that restoring can be checked */
static size_t used;
static uint32_t sizes[NB_LINES]; /* of what begins there */
static bool dirty[NB_LINES];
static uint32_t dirty_lines[NB_LINES];
static uint32_t nb_dirty;
static bool logging;

bool
arena_has(const void *addr)
{
	return (uintptr_t)addr - (uintptr_t)arena < ARENA_SIZE;
}

size_t
arena_offset(const void *addr)
{
	return (size_t)((const char *)addr - arena);
}

void *
explore_alloc(size_t size)
{
	char *at = arena + used;

	size = (size + LINE - 1) / LINE * LINE;
	if (logging || size > ARENA_SIZE - used) {
		fprintf(stderr, "explore: no %zu bytes %s\n", size, logging ? "inside a schedule" : "in the arena");
		abort();
	}
	sizes[used / LINE] = (uint32_t)size;
	used += size;
	return at;
}

size_t
arena_size(const void *addr)
{
	return arena_has(addr) && arena_offset(addr) % LINE == 0 ? sizes[arena_offset(addr) / LINE] : 0;
}

void
arena_clear(void)
{
	arena_restore();
	memset(arena, 0, used);
	memset(sizes, 0, sizeof(sizes));
	used = LINE; /* address 0 of the arena is nobody's */
	logging = false;
}

void
arena_snapshot(void)
{
	memcpy(before, arena, used);
	logging = true;
}

void
arena_touch(const void *addr, size_t size)
{
	uint32_t first = (uint32_t)(arena_offset(addr) / LINE);
	uint32_t last = (uint32_t)((arena_offset(addr) + size - 1) / LINE);

	if (!logging)
		return;
	for (uint32_t line = first; line <= last; line++) {
		if (dirty[line])
			continue;
		dirty[line] = true;
		dirty_lines[nb_dirty++] = line;
	}
}

void
arena_restore(void)
{
	while (nb_dirty != 0) {
		uint32_t line = dirty_lines[--nb_dirty];

		memcpy(arena + line * LINE, before + line * LINE, LINE);
		dirty[line] = false;
	}
}

bool
arena_is_restored(void)
{
	return memcmp(arena, before, used) == 0;
}
