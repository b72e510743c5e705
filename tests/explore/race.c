/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "internal.h"

#include <string.h>

/**
 * @file
 * Happens-before, by vector clocks, as C11 5.1.2.4 has it.
 *
 *      store release  --(load acquire of the same word, or of what read-modify-writes made of it)-->  happens after
 *
 * Each actor has a clock per actor: how far it has seen them. Each byte remembers who read or wrote it last, and when.
 * Two accesses race if one of them writes, one of them is plain, and neither happens after the other.
 */

enum kind { PLAIN_READ, PLAIN_WRITE, ATOMIC_READ, ATOMIC_WRITE, NB_KINDS };

typedef uint16_t vclock[EXPLORE_ACTORS];

/** One byte of the arena. */
struct byte {
	uint32_t schedule; /**< older: as if untouched */
	bool plain_load_ok;
	vclock last[NB_KINDS];
};

/** What a load that acquires there learns: of 4 bytes, of which an access may be a part (an op's state, its custody). */
struct word {
	uint32_t schedule;
	vclock released;
};

static struct byte bytes[ARENA_SIZE];
static struct word words[ARENA_SIZE / 4];
static struct {
	vclock seen;
	vclock fence_release; /**< relaxed stores release that */
	vclock loaded;	      /**< an acquire fence acquires that */
} actors[EXPLORE_ACTORS];
static uint32_t schedule;

void
race_begin(void)
{
	schedule++;
	memset(actors, 0, sizeof(actors));
	for (unsigned int i = 0; i < EXPLORE_ACTORS; i++)
		actors[i].seen[i] = 1;
}

static void
join(vclock into, const vclock from)
{
	for (unsigned int i = 0; i < EXPLORE_ACTORS; i++)
		if (into[i] < from[i])
			into[i] = from[i];
}

static struct byte *
byte_at(size_t offset)
{
	struct byte *b = &bytes[offset];

	if (b->schedule != schedule) {
		memset(b->last, 0, sizeof(b->last));
		b->schedule = schedule;
	}
	return b;
}

static struct word *
word_at(const void *addr)
{
	struct word *w = &words[arena_offset(addr) / 4];

	if (w->schedule != schedule) {
		memset(w->released, 0, sizeof(w->released));
		w->schedule = schedule;
	}
	return w;
}

void
explore_allow_plain_load(const volatile void *addr, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[arena_offset((const void *)(uintptr_t)addr) + i].plain_load_ok = true;
}

static bool
conflict(enum kind a, enum kind b)
{
	bool write = a == PLAIN_WRITE || a == ATOMIC_WRITE || b == PLAIN_WRITE || b == ATOMIC_WRITE;
	bool plain = a == PLAIN_READ || a == PLAIN_WRITE || b == PLAIN_READ || b == PLAIN_WRITE;

	return write && plain;
}

static void
report(unsigned int actor, enum kind kind, unsigned int other, enum kind its, size_t offset, const void *at)
{
	static const char *const names[] = {"plain load", "plain store", "atomic load", "atomic store"};

	explore_fail("data race: %s by %s in %s, and %s by %s before it, on byte %zu of the arena", names[kind],
		run_name(actor), describe_code(at), names[its], run_name(other), offset);
}

static void
touch(unsigned int actor, const void *addr, size_t size, enum kind kind, const void *at)
{
	const uint16_t *seen = actors[actor].seen;
	size_t offset = arena_offset(addr);

	for (size_t i = offset; i < offset + size; i++) {
		struct byte *b = byte_at(i);

		for (unsigned int its = 0; its < NB_KINDS; its++) {
			bool excused = b->plain_load_ok && (kind == PLAIN_READ || its == PLAIN_READ);

			if (!conflict(kind, its) || excused)
				continue;
			for (unsigned int other = 0; other < EXPLORE_ACTORS; other++)
				if (other != actor && b->last[its][other] > seen[other])
					report(actor, kind, other, its, i, at);
		}
		b->last[kind][actor] = seen[actor];
	}
}

static bool
acquires(int order)
{
	return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
	       order == __ATOMIC_SEQ_CST;
}

static bool
releases(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void
learn(unsigned int actor, const void *addr, int order)
{
	const struct word *w = word_at(addr);

	join(acquires(order) ? actors[actor].seen : actors[actor].loaded, w->released);
}

/** What the actor gives away with a store of that order; later accesses are not part of it. */
static void
give(unsigned int actor, const void *addr, int order)
{
	join(word_at(addr)->released, releases(order) ? actors[actor].seen : actors[actor].fence_release);
	actors[actor].seen[actor]++;
}

void
race_plain(unsigned int actor, const void *addr, size_t size, bool write, const void *at)
{
	touch(actor, addr, size, write ? PLAIN_WRITE : PLAIN_READ, at);
}

void
race_load(unsigned int actor, const void *addr, size_t size, int order, const void *at)
{
	touch(actor, addr, size, ATOMIC_READ, at);
	learn(actor, addr, order);
}

void
race_store(unsigned int actor, const void *addr, size_t size, int order, const void *at)
{
	touch(actor, addr, size, ATOMIC_WRITE, at);
	memset(word_at(addr)->released, 0, sizeof(vclock));
	give(actor, addr, order);
}

void
race_rmw(unsigned int actor, const void *addr, size_t size, int order, const void *at)
{
	touch(actor, addr, size, ATOMIC_WRITE, at);
	learn(actor, addr, order);
	give(actor, addr, order);
}

void
race_fence(unsigned int actor, int order)
{
	if (acquires(order))
		join(actors[actor].seen, actors[actor].loaded);
	if (releases(order))
		memcpy(actors[actor].fence_release, actors[actor].seen, sizeof(vclock));
	actors[actor].seen[actor]++;
}

void
race_acquire(unsigned int actor, const void *addr)
{
	learn(actor, addr, __ATOMIC_ACQUIRE);
}

void
race_release(unsigned int actor, const void *addr)
{
	give(actor, addr, __ATOMIC_RELEASE);
}
