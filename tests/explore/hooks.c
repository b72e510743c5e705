/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "internal.h"

/**
 * @file
 * What gcc calls for each access of code that it compiled with -fsanitize=thread: the interface of libtsan, which is not
 * linked. Accesses outside the arena (stacks, constants) are nobody's business.
 */

#define HOOK __attribute__((visibility("default")))

static inline bool
interesting(const void *addr)
{
	run_count();
	return arena_has(addr);
}

static inline void
plain(const void *addr, size_t size, bool write, const void *at)
{
	if (!interesting(addr))
		return;
	if (write)
		arena_touch(addr, size);
	if (run_actor() != NOBODY)
		race_plain(run_actor(), addr, size, write, at);
}

static inline void
step(const void *addr, bool write, const char *what, const void *at)
{
	struct step step = {.word = (uintptr_t)addr / 8, .write = write, .what = what, .at = at};

	run_step(&step);
	if (write)
		arena_touch(addr, 8);
}

#define AT __builtin_return_address(0)

#define PLAIN(name, size)                                                                                    \
	HOOK void __tsan_read##name(void *addr);                                                             \
	HOOK void __tsan_write##name(void *addr);                                                            \
	HOOK void __tsan_unaligned_read##name(void *addr);                                                   \
	HOOK void __tsan_unaligned_write##name(void *addr);                                                  \
	HOOK void __tsan_volatile_read##name(void *addr);                                                    \
	HOOK void __tsan_volatile_write##name(void *addr);                                                   \
	void __tsan_read##name(void *addr) { plain(addr, size, false, AT); }                                 \
	void __tsan_write##name(void *addr) { plain(addr, size, true, AT); }                                 \
	void __tsan_unaligned_read##name(void *addr) { plain(addr, size, false, AT); }                       \
	void __tsan_unaligned_write##name(void *addr) { plain(addr, size, true, AT); }                       \
	void __tsan_volatile_read##name(void *addr) { plain(addr, size, false, AT); }                        \
	void __tsan_volatile_write##name(void *addr) { plain(addr, size, true, AT); }

PLAIN(1, 1)
PLAIN(2, 2)
PLAIN(4, 4)
PLAIN(8, 8)
PLAIN(16, 16)

HOOK void __tsan_read_range(void *addr, unsigned long size);
HOOK void __tsan_write_range(void *addr, unsigned long size);

void
__tsan_read_range(void *addr, unsigned long size)
{
	plain(addr, size, false, AT);
}

void
__tsan_write_range(void *addr, unsigned long size)
{
	plain(addr, size, true, AT);
}

/* A read-modify-write: its turn, its result, what it orders. */
#define RMW(bits, type, name, call)                                                                          \
	HOOK type __tsan_atomic##bits##_##name(type *addr, type value, int order);                           \
	type __tsan_atomic##bits##_##name(type *addr, type value, int order)                                 \
	{                                                                                                    \
		type was;                                                                                    \
                                                                                                             \
		if (interesting(addr))                                                                       \
			step(addr, true, #name, AT);                                                         \
		was = call(addr, value, __ATOMIC_RELAXED);                                                   \
		if (arena_has(addr) && run_actor() != NOBODY)                                                \
			race_rmw(run_actor(), addr, sizeof(type), order, AT);                                \
		return was;                                                                                  \
	}

/* One that fails has only loaded, and still was a turn that might have written. */
#define CAS(bits, type, name)                                                                                \
	HOOK int __tsan_atomic##bits##_##name(type *addr, type *expected, type value, int order, int failed); \
	int __tsan_atomic##bits##_##name(type *addr, type *expected, type value, int order, int failed)      \
	{                                                                                                    \
		bool done;                                                                                   \
                                                                                                             \
		if (interesting(addr))                                                                       \
			step(addr, true, #name, AT);                                                         \
		done = __atomic_compare_exchange_n(                                                          \
			addr, expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                   \
		if (!arena_has(addr) || run_actor() == NOBODY)                                               \
			return done;                                                                         \
		if (done)                                                                                    \
			race_rmw(run_actor(), addr, sizeof(type), order, AT);                                \
		else                                                                                         \
			race_load(run_actor(), addr, sizeof(type), failed, AT);                              \
		return done;                                                                                 \
	}

#define ATOMIC(bits, type)                                                                                   \
	HOOK type __tsan_atomic##bits##_load(const type *addr, int order);                                   \
	HOOK void __tsan_atomic##bits##_store(type *addr, type value, int order);                            \
	type __tsan_atomic##bits##_load(const type *addr, int order)                                         \
	{                                                                                                    \
		if (interesting(addr))                                                                       \
			step(addr, false, "load", AT);                                                       \
		if (arena_has(addr) && run_actor() != NOBODY)                                                \
			race_load(run_actor(), addr, sizeof(type), order, AT);                               \
		return __atomic_load_n(addr, __ATOMIC_RELAXED);                                              \
	}                                                                                                    \
	void __tsan_atomic##bits##_store(type *addr, type value, int order)                                  \
	{                                                                                                    \
		if (interesting(addr))                                                                       \
			step(addr, true, "store", AT);                                                       \
		if (arena_has(addr) && run_actor() != NOBODY)                                                \
			race_store(run_actor(), addr, sizeof(type), order, AT);                              \
		__atomic_store_n(addr, value, __ATOMIC_RELAXED);                                             \
	}                                                                                                    \
	RMW(bits, type, exchange, __atomic_exchange_n)                                                       \
	RMW(bits, type, fetch_add, __atomic_fetch_add)                                                       \
	RMW(bits, type, fetch_sub, __atomic_fetch_sub)                                                       \
	RMW(bits, type, fetch_and, __atomic_fetch_and)                                                       \
	RMW(bits, type, fetch_or, __atomic_fetch_or)                                                         \
	CAS(bits, type, compare_exchange_strong)                                                             \
	CAS(bits, type, compare_exchange_weak)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

HOOK void __tsan_atomic_thread_fence(int order);
HOOK void __tsan_atomic_signal_fence(int order);
HOOK void __tsan_init(void);
HOOK void __tsan_func_entry(void *caller);
HOOK void __tsan_func_exit(void);
HOOK void __tsan_acquire(void *addr);
HOOK void __tsan_release(void *addr);

void
__tsan_atomic_thread_fence(int order)
{
	if (run_actor() != NOBODY)
		race_fence(run_actor(), order);
}

void
__tsan_atomic_signal_fence(int order)
{
	(void)order;
}

void
__tsan_init(void)
{
}

void
__tsan_func_entry(void *caller)
{
	(void)caller;
	run_count();
}

void
__tsan_func_exit(void)
{
}

/* The op pool tells that its nodes change hands. */
void
__tsan_acquire(void *addr)
{
	if (run_actor() != NOBODY && arena_has(addr))
		race_acquire(run_actor(), addr);
}

void
__tsan_release(void *addr)
{
	if (run_actor() != NOBODY && arena_has(addr))
		race_release(run_actor(), addr);
}
