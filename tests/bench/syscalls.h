/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef SYSCALLS_H
#define SYSCALLS_H

/**
 * @file
 * Does a thread make system calls? With Linux's syscall user dispatch (5.11) the kernel asks a byte of ours before each
 * call of the thread, and sends SIGSYS if it says so; the handler counts and lets the call pass.
 *
 * Threads: each arms itself; the count is of all.
 */

#include <stdbool.h>
#include <stdint.h>

/** From now on this thread's next system call is counted; call it again after each turn. False: the kernel cannot. */
bool syscalls_watch(void);
/** This thread's are not counted any more. */
void syscalls_forget(void);
/** How many watched turns made one. */
uint64_t syscalls_seen(void);

#endif
