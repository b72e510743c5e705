/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Deliver against abandon, over owner, home and one alien thread.
 *
 *      OWNER   takes, posts, publishes the id, delivers in any order; old ids again, too
 *      WORKER  home: settles, puts; gives up on some; delivers strays
 *      alien   delivers ids that are in flight, were before, or are nobody's; gives up on some
 *
 * The pool is small, so that a slot is posted again while strays with its old ids are on their way. A round is one
 * post. It ends completed, with the result that carries its own generation, or orphaned; once.
 */

#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_launch.h>

#define NB_SLOTS 16

static unsigned long rounds;
static uint64_t live[NB_SLOTS]; /**< atomic: the last id that was posted, by slot */
static bool quiet;		/**< atomic: no more strays */
static bool over;		/**< atomic */
static unsigned int nb_ended;	/**< atomic: lcores' loops */
static unsigned long posted;	/**< atomic, OWNER's */
static bool all_delivered;	/**< atomic, OWNER's */

/* WORKER's */
static uint8_t *settled; /**< callbacks, by round */
static unsigned long nb_completed, nb_wrong; /* the first atomic */

static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static bool
is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static uint64_t
random_live(uint64_t *seed)
{
	return __atomic_load_n(&live[next_random(seed) % NB_SLOTS], __ATOMIC_ACQUIRE);
}

/* The result carries the generation that the id has. */
static int
deliver(uint64_t id)
{
	uint32_t generation = (uint32_t)(id >> 32);

	return plx_dispatcher_deliver(d, id, PLX_ST_SUCCESS, generation, ~generation, PLX_WC_WITH_IMM);
}

static void
settle(struct plx_op *op, void *arg)
{
	uint32_t generation = plx_op_generation(op);
	struct plx_result res;

	plx_op_result(op, &res);
	nb_wrong += res.status != PLX_ST_SUCCESS || res.byte_len != generation || res.imm != ~generation;
	nb_wrong += rte_lcore_id() != WORKER;
	nb_wrong += settled[(uintptr_t)arg]++ != 0;
	__atomic_store_n(&nb_completed, nb_completed + 1, __ATOMIC_RELAXED);
	nb_wrong += plx_op_put(op) != 0;
}

/* Post one round. Its id is out before the post has returned. */
static uint64_t
post_round(struct plx_op *op)
{
	uint64_t id = plx_op_id(op);

	plx_op_prep_send(op, NULL, 0, 0, settle, (void *)posted);
	plx_op_set_home(op, WORKER);
	if (plx_dispatcher_posting(d, op) != 0)
		abort();
	__atomic_store_n(&live[id & 0xffffff], id, __ATOMIC_RELEASE);
	plx_dispatcher_posted(d, op, true);
	__atomic_store_n(&posted, posted + 1, __ATOMIC_RELAXED);
	return id;
}

static int
owner_loop(void *arg)
{
	uint64_t seed = 0x9e3779b97f4a7c15, flying[NB_SLOTS], old[64] = {0};
	unsigned int nb = 0, nb_old = 0;
	struct plx_op *op;

	while (!is_set(&over)) {
		unsigned int did = plx_dispatcher_once(d);

		while (nb < NB_SLOTS && posted < rounds && (op = plx_op_get(d->pool)) != NULL) {
			flying[nb++] = post_round(op);
			did++;
		}
		if (next_random(&seed) % 4 == 0)
			sched_yield(); /* where there is one CPU, nobody gives up on anything else */
		/* at the end all of them, else some, any of them first */
		for (uint64_t n = next_random(&seed) % (nb + 1); nb != 0 && (n != 0 || posted == rounds); n -= n != 0) {
			unsigned int i = (unsigned int)(next_random(&seed) % nb);

			old[nb_old++ % NB_OF(old)] = flying[i];
			deliver(flying[i]);
			flying[i] = flying[--nb];
			did++;
			if (n % 4 == 1)
				deliver(old[next_random(&seed) % NB_OF(old)]);
		}
		__atomic_store_n(&all_delivered, nb == 0 && posted == rounds, __ATOMIC_RELEASE);
		if (did == 0)
			sched_yield();
	}
	__atomic_fetch_add(&nb_ended, 1, __ATOMIC_RELEASE);
	return 0;
}

static int
home_loop(void *arg)
{
	uint64_t seed = 0xbf58476d1ce4e5b9;

	while (!is_set(&over)) {
		unsigned int did = plx_dispatcher_once(d);

		if (!is_set(&quiet)) {
			for (uint64_t n = next_random(&seed) % 8; n != 0; n--)
				plx_dispatcher_abandon(d, random_live(&seed), WORKER);
			if (seed % 16 == 0)
				deliver(random_live(&seed) - (UINT64_C(1) << 32));
			else if (seed % 16 == 1)
				deliver(random_live(&seed));
		}
		if (did == 0)
			sched_yield();
	}
	__atomic_fetch_add(&nb_ended, 1, __ATOMIC_RELEASE);
	return 0;
}

static void *
alien_loop(void *arg)
{
	uint64_t seed = 0x94d049bb133111eb;
	unsigned long *in_device = arg;

	pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), plx_test_cpus_before_eal());
	while (!is_set(&quiet)) {
		uint64_t what = next_random(&seed), id = random_live(&seed);

		switch (what % 8) {
		case 0:
		case 1:
			plx_dispatcher_abandon(d, id, WORKER);
			break;
		case 2:
			deliver(id);
			break;
		case 3:
			deliver(id - (UINT64_C(1) << 32));
			break;
		case 4:
			deliver(next_random(&seed) | UINT64_C(1) << 63);
			break;
		case 5:
			*in_device += plx_dispatcher_in_device(d, id);
			break;
		default:
			sched_yield(); /* nobody else gets far otherwise */
		}
	}
	return NULL;
}

/* Wait for what the loops still have to do; false if nothing has moved for ten seconds. */
static bool
wait_until_settled(void)
{
	unsigned long seen = 0, still = 0;

	while (still < 1000) {
		unsigned long now = __atomic_load_n(&posted, __ATOMIC_RELAXED) +
				    __atomic_load_n(&nb_completed, __ATOMIC_RELAXED) + stats().orphans;

		if (is_set(&all_delivered)) {
			__atomic_store_n(&quiet, true, __ATOMIC_RELEASE);
			if (plx_op_pool_in_use(d->pool) == 0)
				return true;
		}
		still = now != seen ? 0 : still + 1;
		seen = now;
		usleep(10000);
	}
	return false;
}

static void
run(void)
{
	unsigned long in_device = 0;
	pthread_t alien;
	bool ok;

	rounds = plx_test_scale();
	posted = nb_completed = nb_wrong = 0;
	quiet = over = all_delivered = false;
	nb_ended = 0;
	memset(live, 0, sizeof(live));
	settled = calloc(rounds, 1);
	assert_non_null(settled);
	assert_int_equal(rte_eal_remote_launch(home_loop, NULL, WORKER), 0);
	assert_int_equal(rte_eal_remote_launch(owner_loop, NULL, OWNER), 0);
	assert_int_equal(pthread_create(&alien, NULL, alien_loop, &in_device), 0);
	ok = wait_until_settled();
	__atomic_store_n(&quiet, true, __ATOMIC_RELEASE);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(alien, NULL);
	rte_eal_wait_lcore(OWNER);
	rte_eal_wait_lcore(WORKER);
	/* EAL's own waiting is not instrumented: told to TSan here, by a pair of ours. */
	assert_int_equal(__atomic_load_n(&nb_ended, __ATOMIC_ACQUIRE), 2);
	/* what the last strays left in lanes finds no op any more */
	while (once_as(OWNER) + once_as(WORKER) != 0)
		;
	assert_true(ok);
}

static void
check(void)
{
	unsigned long nb_once = 0, nb_never = 0;
	struct plx_dispatcher_stats s = stats();

	for (unsigned long i = 0; i < rounds; i++) {
		nb_once += settled[i] == 1;
		nb_never += settled[i] == 0;
	}
	free(settled);
	printf("%lu rounds: %lu completed, %lu orphaned; refused %lu stale, %lu duplicate, %lu foreign\n", rounds,
		nb_completed, (unsigned long)s.orphans, (unsigned long)s.stale, (unsigned long)s.duplicate,
		(unsigned long)s.foreign);
	fflush(stdout);
	assert_int_equal(nb_wrong, 0);
	assert_int_equal(nb_once, nb_completed);
	assert_int_equal(nb_never, s.orphans);
	assert_int_equal(nb_once + nb_never, rounds);
	assert_int_equal(s.delivered, rounds);
	assert_int_equal(s.misrouted, 0);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
	/* or the race was none */
	assert_true(nb_completed >= rounds / 100);
	assert_true(s.orphans >= rounds / 100);
	assert_true(s.stale >= rounds / 1000);
	assert_true(s.duplicate >= rounds / 1000);
	assert_true(s.foreign != 0);
}

static int
create(enum plx_dispatcher_mode mode)
{
	d = make(mode, NB_SLOTS, 64);
	return d == NULL;
}

static int
create_owned(void **state)
{
	return create(PLX_DISPATCHER_OWNED);
}

static int
create_shared(void **state)
{
	return create(PLX_DISPATCHER_SHARED);
}

static void
each_op_is_settled_once_with_its_own_result(void **state)
{
	run();
	check();
}

static const struct CMUnitTest tests[] = {
	{"each_op_of_an_owner_is_settled_once_with_its_own_result",
		each_op_is_settled_once_with_its_own_result, create_owned, destroy, NULL},
	{"each_op_of_many_threads_is_settled_once_with_its_own_result",
		each_op_is_settled_once_with_its_own_result, create_shared, destroy, NULL},
};

PLX_TEST_SUITE(dispatcher, stress, tests, .lcores = 4);
