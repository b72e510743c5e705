/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_TURN_H
#define PLX_TURN_H

/**
 * @file
 * Who waits inside a turn waits for ever, or keeps everybody else waiting: what it waits for comes in a later turn.
 *
 *      poller turn:  begin | callback ---> a call that waits ---> panic, with the stack		PLX_DEBUG
 *                          | hook                                                  (a release build waits)
 *
 * A debug build (meson: -Dbuildtype=debug) counts the turns that run on a thread, and each call of the library that waits
 * asks for them. Any other build has nothing of it.
 *
 * Threads: any, each for itself.
 *
 * @since 0.1
 */

#include "plx_common.h"

#ifdef __cplusplus
extern "C" {
#endif

#if PLX_DEBUG
/** A turn of a loop begins on this thread; turns may stand in one another. */
void plx_turn_begin(void);
/** It is over. */
void plx_turn_end(void);
/** The call named @p what is about to wait: ends the process, with the stack, inside a turn. */
void plx_turn_waits(const char *what);
#else
/** Nothing in this build. */
PLX_INLINE void
plx_turn_begin(void)
{
}

/** Nothing in this build. */
PLX_INLINE void
plx_turn_end(void)
{
}

/** Nothing in this build. */
PLX_INLINE void
plx_turn_waits(const char *what)
{
	(void)what;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
