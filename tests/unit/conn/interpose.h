/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef INTERPOSE_H
#define INTERPOSE_H

/**
 * @file
 * Get in between: the linker sends calls of the library here first (meson.build: --wrap). So a race becomes a test
 * case on one thread: what another thread does at the worst moment is done inside the call that it meets.
 */

/** The n-th allocation of the room from now fails; 0: none. Counts down. */
extern unsigned int interpose_fail_alloc_at;

/** Called once, by the next check of an op: a submit is on its way, the state and the reservation are behind it. */
extern void (*interpose_in_check)(void);

/** Called once, by the next plx_control_sync(), before it asks. */
extern void (*interpose_before_sync)(void);

/** Called once, when a lane has taken, or not, what a thread without lcore id sends next. */
extern void (*interpose_after_send)(void);

/** Called once, when this thread unlocks the next mutex. */
extern __thread void (*interpose_after_unlock)(void);

/** Called once, when the next connection has become CLOSED, before the owner goes on. */
extern void (*interpose_when_closed)(void);

#endif
