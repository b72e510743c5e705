/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "syscalls.h"

#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define ALLOW 0
#define BLOCK 1

static __thread volatile char selector;
static __thread bool armed;
static uint64_t nb_seen;

#ifdef __x86_64__
/** Once: the byte then allows, until the next syscalls_watch(). */
static void
on_call(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)number;
	(void)info;
	selector = ALLOW;
	__atomic_fetch_add(&nb_seen, 1, __ATOMIC_RELAXED);
	uc->uc_mcontext.gregs[REG_RIP] -= 2; /* the syscall instruction again; its registers are as they were */
}

static bool
arm(void)
{
	struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};

	sigaction(SIGSYS, &action, NULL);
	return prctl(PR_SET_SYSCALL_USER_DISPATCH, 1 /* on */, 0, 0, &selector) == 0;
}
#else
static bool
arm(void)
{
	return false;
}
#endif

bool
syscalls_watch(void)
{
	if (!armed && !arm())
		return false;
	armed = true;
	selector = BLOCK;
	return true;
}

void
syscalls_forget(void)
{
	selector = ALLOW;
}

uint64_t
syscalls_seen(void)
{
	return __atomic_load_n(&nb_seen, __ATOMIC_RELAXED);
}
