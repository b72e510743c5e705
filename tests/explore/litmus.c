/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "explore.h"

/**
 * @file
 * The explorer itself, on programs whose interleavings are known: how many there are when what commutes is not told
 * apart, what each order of memory allows, and that it finds what is wrong.
 */

static struct shared {
	uint64_t x, y, z;
	uint64_t data;
	uint32_t flag, never;
	uint64_t own[3][8];
	pthread_mutex_t mutex;
} *s;
static uint64_t saw[3];

static void
setup(void)
{
	s = explore_alloc(sizeof(*s));
	pthread_mutex_init(&s->mutex, NULL);
}

static void
begin(void)
{
	saw[0] = saw[1] = saw[2] = 0;
}

/* As the compiler would for a fence, if it did not warn of it. */
void __tsan_atomic_thread_fence(int order);
#define FENCE(order) __tsan_atomic_thread_fence(__ATOMIC_##order)

#define STORE(word, value, order) __atomic_store_n(&s->word, value, __ATOMIC_##order)
#define LOAD(word, order)	  __atomic_load_n(&s->word, __ATOMIC_##order)
#define ADD(word, value, order)	  __atomic_fetch_add(&s->word, value, __ATOMIC_##order)

/* ---- how many ------------------------------------------------------------------------------ */

static void
own(unsigned int i)
{
	for (unsigned int n = 0; n < 5; n++)
		__atomic_fetch_add(&s->own[i][0], 1, __ATOMIC_RELAXED);
}

static void own_0(void) { own(0); }
static void own_1(void) { own(1); }
static void own_2(void) { own(2); }

static void
write_x_thrice(void)
{
	for (unsigned int n = 0; n < 3; n++)
		STORE(x, n, RELAXED);
}

static void write_x(void) { STORE(x, 1, RELAXED); }
static void read_x(void) { LOAD(x, RELAXED); }

static void
store_x_load_y(void)
{
	STORE(x, 1, SEQ_CST);
	saw[0] = LOAD(y, SEQ_CST);
}

static void
store_y_load_x(void)
{
	STORE(y, 1, SEQ_CST);
	saw[1] = LOAD(x, SEQ_CST);
}

static void
one_saw_the_other(void)
{
	explore_assert(saw[0] + saw[1] != 0);
}

/* ---- what is wrong ------------------------------------------------------------------------- */

static void
add_in_two_steps(void)
{
	STORE(x, LOAD(x, RELAXED) + 1, RELAXED);
}

static void
both_counted(void)
{
	explore_equal(s->x, 2);
}

static void wait_for_never(void) { explore_await(&s->never); }
static void signal_flag(void) { explore_signal(&s->flag); }
static void await_flag(void) { explore_await(&s->flag); }

static void
write_data_behind_flag(void)
{
	explore_await(&s->flag);
	s->data = 2;
}

static void
write_data_and_signal(void)
{
	s->data = 1;
	explore_signal(&s->flag);
}

static void write_data(void) { s->data = 1; STORE(x, 1, RELAXED); }

/* ---- orders -------------------------------------------------------------------------------- */

static void
publish(void)
{
	s->data = 1;
	STORE(x, 1, RELEASE);
}

static void
publish_relaxed(void)
{
	s->data = 1;
	STORE(x, 1, RELAXED);
}

static void
read_behind(void)
{
	if (LOAD(x, ACQUIRE) != 0)
		explore_equal(s->data, 1);
}

static void
read_behind_relaxed(void)
{
	if (LOAD(x, RELAXED) != 0)
		explore_equal(s->data, 1);
}

static void
publish_by_fence(void)
{
	s->data = 1;
	FENCE(RELEASE);
	STORE(x, 1, RELAXED);
}

static void
read_behind_fence(void)
{
	if (LOAD(x, RELAXED) != 0) {
		FENCE(ACQUIRE);
		explore_equal(s->data, 1);
	}
}

static void add_relaxed(void) { ADD(x, 1, RELAXED); }
static void store_relaxed(void) { STORE(x, 2, RELAXED); }

static void
read_behind_two(void)
{
	if (LOAD(x, ACQUIRE) == 2)
		explore_equal(s->data, 1);
}

/* ---- mutexes, and what is freed ------------------------------------------------------------ */

static void
store_twice_locked(void)
{
	pthread_mutex_lock(&s->mutex);
	s->data++;
	STORE(x, 1, RELAXED);
	STORE(x, 2, RELAXED);
	pthread_mutex_unlock(&s->mutex);
}

static void
look_locked(void)
{
	pthread_mutex_lock(&s->mutex);
	s->data++;
	saw[0] = LOAD(x, RELAXED);
	pthread_mutex_unlock(&s->mutex);
}

static void look(void) { saw[0] = LOAD(x, RELAXED); }
static void saw_no_half(void) { explore_assert(saw[0] != 1); }
static void free_it(void) { rte_free(s); }

/* ---- at random ----------------------------------------------------------------------------- */

uint64_t explore_random_seed;

static uint64_t
next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/** Three loads, stores and additions, on three words; what is stored depends on what was seen. */
static void
random_program(unsigned int self)
{
	uint64_t seed = explore_random_seed * 3 + self, *words[] = {&s->x, &s->y, &s->z};

	next_random(&seed);
	for (unsigned int n = 3; n != 0; n--) {
		uint64_t *word = words[next_random(&seed) % 3];

		switch (next_random(&seed) % 3) {
		case 0:
			saw[self] = saw[self] * 31 + __atomic_load_n(word, __ATOMIC_RELAXED);
			break;
		case 1:
			__atomic_store_n(word, saw[self] + self + n * 8, __ATOMIC_RELAXED);
			break;
		default:
			saw[self] = saw[self] * 31 + __atomic_fetch_add(word, self + 1, __ATOMIC_RELAXED);
		}
	}
}

static void random_0(void) { random_program(0); }
static void random_1(void) { random_program(1); }
static void random_2(void) { random_program(2); }

static uint64_t
random_outcome(void)
{
	uint64_t hash = 0, parts[] = {s->x, s->y, s->z, saw[0], saw[1], saw[2]};

	for (unsigned int i = 0; i < 6; i++)
		hash = (hash ^ parts[i]) * 1099511628211u;
	return hash;
}

#define A(fn) {.name = #fn, .lcore = 1, .run = fn}
#define CASE(text, ...) {.name = text, .setup = setup, .begin = begin, .actors = {__VA_ARGS__}

const struct explore_scenario explore_litmus[] = {
	CASE("litmus_independent_steps_are_one_schedule", A(own_0), A(own_1), A(own_2)), .schedules = 1},
	CASE("litmus_three_and_three_stores_are_20", A(write_x_thrice), A(write_x_thrice)), .schedules = 20},
	CASE("litmus_three_stores_are_6", A(write_x), A(write_x), A(write_x)), .schedules = 6},
	CASE("litmus_loads_commute", A(write_x), A(read_x), A(read_x), A(read_x)), .schedules = 8},
	CASE("litmus_one_of_two_sees_the_other", A(store_x_load_y), A(store_y_load_x)),
		.schedules = 3, .check = one_saw_the_other},
	CASE("litmus_await_is_behind_its_signal", A(await_flag), A(signal_flag)), .schedules = 1},
	CASE("litmus_lost_update_is_found", A(add_in_two_steps), A(add_in_two_steps)),
		.expect_failure = true, .check = both_counted},
	CASE("litmus_wait_for_ever_is_found", A(wait_for_never), A(write_x)), .expect_failure = true},
	CASE("litmus_release_and_acquire_order", A(publish), A(read_behind)), .schedules = 2},
	CASE("litmus_missing_release_is_found", A(publish_relaxed), A(read_behind)), .expect_failure = true},
	CASE("litmus_missing_acquire_is_found", A(publish), A(read_behind_relaxed)), .expect_failure = true},
	CASE("litmus_fences_order", A(publish_by_fence), A(read_behind_fence)), .schedules = 2},
	CASE("litmus_missing_fence_is_found", A(publish_by_fence), A(read_behind_relaxed)), .expect_failure = true},
	CASE("litmus_add_continues_a_release", A(publish), A(add_relaxed), A(read_behind_two))},
	CASE("litmus_store_ends_a_release", A(publish), A(store_relaxed), A(read_behind_two)), .expect_failure = true},
	CASE("litmus_two_plain_stores_are_a_race", A(write_data), A(write_data)), .expect_failure = true},
	CASE("litmus_plain_stores_in_order_are_none", A(write_data_and_signal), A(write_data_behind_flag))},
	CASE("litmus_sections_come_one_behind_the_other", A(store_twice_locked), A(look_locked)),
		.schedules = 2, .check = saw_no_half},
	CASE("litmus_three_sections_have_six_orders", A(store_twice_locked), A(store_twice_locked), A(store_twice_locked)),
		.schedules = 6},
	CASE("litmus_who_does_not_lock_comes_in_between", A(store_twice_locked), A(look)),
		.expect_failure = true, .check = saw_no_half},
	CASE("litmus_freed_too_early_is_found", A(free_it), A(read_x)), .expect_failure = true},
	{.name = NULL},
};

const struct explore_scenario explore_random = {
	.name = "random", .setup = setup, .begin = begin, .outcome = random_outcome,
	.actors = {A(random_0), A(random_1), A(random_2)}};
