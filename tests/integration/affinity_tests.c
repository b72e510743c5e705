/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "stack.h"

#include <string.h>

#include <rte_eal.h>

#include "plx_drivers.h"

/**
 * @file
 * Which loop runs where: the affinity of each is the one of the --lcores map, read from the loop's own thread.
 */

static struct stack stack;
static cpu_set_t allowed;
static int cpu_of[3]; /**< of lcores 1 and 2 */

/** What a hook finds out about the thread that it runs on. */
struct place {
	pthread_t thread;
	cpu_set_t cpus;
	unsigned int lcore;
	uint64_t seen; /**< atomic */
};

static unsigned int
look(void *arg)
{
	struct place *place = arg;

	if (place->seen != 0)
		return 0;
	place->thread = pthread_self();
	place->lcore = rte_lcore_id();
	pthread_getaffinity_np(pthread_self(), sizeof(place->cpus), &place->cpus);
	__atomic_store_n(&place->seen, 1, __ATOMIC_RELEASE);
	return 0;
}

static void
assert_at(const struct place *place, unsigned int lcore)
{
	cpu_set_t expected;

	CPU_ZERO(&expected);
	CPU_SET(cpu_of[lcore], &expected);
	assert_int_equal(place->lcore, lcore);
	assert_true(CPU_EQUAL(&place->cpus, &expected));
}

static void
each_loop_has_the_affinity_of_the_map_and_callbacks_run_on_the_workers_thread(void **state)
{
	struct place poller = {0}, worker = {0};

	stack_make(&stack, "loopback0", &(struct stack_conf){.nb_pairs = 1, .depth = 16, .nb_ops = 512, .home = WORKER});
	assert_int_equal(plx_poller_add_hook(stack.poller, look, &poller), 0);
	assert_int_equal(plx_poller_add_hook(stack.worker, look, &worker), 0);
	stack_launch(&stack);
	for (unsigned int sent = 0; sent < 10;)
		sent += stack_send(&stack, 0) == 0;
	stack_wait(&stack.count.settled, 20, "completions");
	stack_wait(&poller.seen, 1, "poller");
	stack_wait(&worker.seen, 1, "worker");
	assert_at(&poller, POLLER);
	assert_at(&worker, WORKER);
	assert_true(pthread_equal(stack.home_thread, worker.thread));
	assert_false(pthread_equal(stack.home_thread, poller.thread));
	stack_stop(&stack);
	stack_check_and_free(&stack);
}

/** "0@(a,b),1@a,2@b" of the first two CPUs allowed, or of the one there is. */
static void
lcores_map(char *map, size_t size)
{
	int nb = 0;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && nb < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpu_of[1 + nb++] = cpu;
	if (nb == 1)
		cpu_of[2] = cpu_of[1];
	snprintf(map, size, "0@(%d,%d),1@%d,2@%d", cpu_of[1], cpu_of[2], cpu_of[1], cpu_of[2]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_loop_has_the_affinity_of_the_map_and_callbacks_run_on_the_workers_thread),
	};
	char map[64];
	char *argv[] = {(char[]){"affinity-tests"}, (char[]){"--no-huge"}, (char[]){"--no-shconf"},
		(char[]){"--no-pci"}, (char[]){"--no-telemetry"}, (char[]){"-m"}, (char[]){"128"},
		(char[]){"--lcores"}, map};

	lcores_map(map, sizeof(map));
	if (rte_eal_init((int)NB_OF(argv), argv) < 0 || plx_drivers_register() != 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
