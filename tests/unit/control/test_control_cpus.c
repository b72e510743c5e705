/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_control.h"

#include "plx_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>

static struct plx_control *ctl;

static int
destroy(void **state)
{
	int ret = plx_control_destroy(ctl);

	ctl = NULL;
	return ret;
}

static rte_cpuset_t
cpuset(unsigned int nb, const unsigned int *cpus)
{
	rte_cpuset_t set;

	CPU_ZERO(&set);
	for (unsigned int i = 0; i < nb; i++)
		CPU_SET(cpus[i], &set);
	return set;
}

/* CPUs that EAL's lcores may use in this test. */
static rte_cpuset_t
cpus_of_lcores(void)
{
	return *plx_test_cpus_before_eal();
}

/* Whether each of @cpus is some lcore's; not so with a map of the user's own. */
static bool
all_taken(const rte_cpuset_t *cpus)
{
	rte_cpuset_t all, both, one;
	unsigned int lcore;

	CPU_ZERO(&all);
	RTE_LCORE_FOREACH(lcore) {
		one = rte_lcore_cpuset(lcore);
		CPU_OR(&all, &all, &one);
	}
	CPU_AND(&both, &all, cpus);
	return CPU_EQUAL(&both, cpus);
}

static unsigned int
first_of(const rte_cpuset_t *set)
{
	unsigned int cpu = 0;

	while (!CPU_ISSET(cpu, set))
		cpu++;
	return cpu;
}

/* case 14.7 */
static void
cpus_of_polling_lcores_are_left_out(void **state)
{
	rte_cpuset_t allowed = cpus_of_lcores(), cpus;

	/* Two more, on which no lcore is; which CPUs exist does not matter to the choice. */
	CPU_SET(900, &allowed);
	CPU_SET(1001, &allowed);
	assert_false(plx_control_cpus(&allowed, NULL, 0, &cpus));
	assert_true(CPU_ISSET(900, &cpus));
	assert_true(CPU_ISSET(1001, &cpus));
	for (unsigned int lcore = 1; lcore < PLX_TEST_LCORES; lcore++) {
		rte_cpuset_t polled = rte_lcore_cpuset(lcore), both;

		CPU_AND(&both, &polled, &cpus);
		assert_int_equal(CPU_COUNT(&both), 0);
	}
}

/* case 14.7 */
static void
all_allowed_cpus_are_shared_when_none_is_free(void **state)
{
	static const unsigned int lcores[] = {0, 1, 2, 3};
	rte_cpuset_t allowed = cpus_of_lcores(), cpus;
	unsigned int one;

	/* As many as lcores float on: four at most. */
	while (CPU_COUNT(&allowed) > 4)
		for (unsigned int cpu = CPU_SETSIZE; cpu-- > 0 && CPU_COUNT(&allowed) > 4;)
			CPU_CLR(cpu, &allowed);
	plx_test_needs(all_taken(&allowed), "an lcore on every CPU");
	assert_true(plx_control_cpus(&allowed, lcores, NB_OF(lcores), &cpus));
	assert_true(CPU_EQUAL(&cpus, &allowed));

	/* Never beyond what is allowed. */
	one = first_of(&allowed);
	allowed = cpuset(1, &one);
	assert_true(plx_control_cpus(&allowed, NULL, 0, &cpus));
	assert_true(CPU_EQUAL(&cpus, &allowed));
}

/* Touched on both sides of a launch and its wait: EAL orders them, where TSan cannot see it. */
static unsigned int nb_pins;

static int
pin_here(void *arg)
{
	int ret;

	__atomic_fetch_add(&nb_pins, 1, __ATOMIC_ACQ_REL);
	ret = rte_thread_set_affinity(arg);
	__atomic_fetch_add(&nb_pins, 1, __ATOMIC_ACQ_REL);
	return ret;
}

/* As with `--lcores 0@(0,1),(1-3)@0`. */
static void
pin_workers(rte_cpuset_t *cpus)
{
	for (unsigned int lcore = 1; lcore < PLX_TEST_LCORES; lcore++) {
		__atomic_fetch_add(&nb_pins, 1, __ATOMIC_ACQ_REL);
		assert_int_equal(rte_eal_remote_launch(pin_here, cpus, lcore), 0);
		assert_int_equal(rte_eal_wait_lcore(lcore), 0);
		__atomic_fetch_add(&nb_pins, 1, __ATOMIC_ACQ_REL);
	}
}

/* case 14.7: main mostly sleeps, unless it is one of those that ask from their loop */
static void
cpus_of_main_are_left_out_only_when_it_polls(void **state)
{
	static const unsigned int main_too[] = {0, 1};
	rte_cpuset_t before = *plx_test_cpus_before_eal(), pin, rest, with_main, without_main;
	unsigned int one = first_of(&before);
	bool shared, shared_with_main;

	plx_test_needs(CPU_COUNT(&before) > 1, "two CPUs");
	pin = cpuset(1, &one);
	CPU_XOR(&rest, &before, &pin);
	pin_workers(&pin);
	shared = plx_control_cpus(&before, main_too + 1, 1, &without_main);
	rte_thread_set_affinity(&before);
	shared_with_main = plx_control_cpus(&before, main_too, 2, &with_main);
	pin_workers(&before);

	assert_false(shared);
	assert_true(CPU_EQUAL(&without_main, &rest));
	assert_true(shared_with_main);
	assert_true(CPU_EQUAL(&with_main, &before));
}

/* case 14.7: by default, of all that the kernel allows, from a thread that EAL has pinned to one CPU */
static void
default_is_wider_than_the_pin_of_the_caller(void **state)
{
	rte_cpuset_t before = *plx_test_cpus_before_eal(), pinned, after, cpus, both;
	unsigned int one = first_of(&before);

	plx_test_needs(CPU_COUNT(&before) > 1, "two CPUs");
	pinned = cpuset(1, &one);
	assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(pinned), &pinned), 0);
	plx_control_cpus(NULL, NULL, 0, &cpus);
	pthread_getaffinity_np(pthread_self(), sizeof(after), &after);
	pthread_setaffinity_np(pthread_self(), sizeof(before), &before);

	assert_true(CPU_EQUAL(&after, &pinned)); /* the caller stays where it was */
	/* All CPUs are polled here, so all come back; or, on a large machine, those beside. */
	CPU_AND(&both, &cpus, &before);
	assert_true(CPU_COUNT(&cpus) > 0);
	assert_true(CPU_COUNT(&both) > 1 || !CPU_ISSET(one, &cpus));
}

/* What a thread is, seen from itself. */
struct self {
	rte_cpuset_t cpus;
	sigset_t blocked;
	char name[16];
	unsigned int lcore;
};

static int
look(void *arg)
{
	struct self *self = arg;

	pthread_getaffinity_np(pthread_self(), sizeof(self->cpus), &self->cpus);
	pthread_getname_np(pthread_self(), self->name, sizeof(self->name));
	pthread_sigmask(SIG_BLOCK, NULL, &self->blocked);
	self->lcore = rte_lcore_id();
	return 0;
}

/* case 14.7: record the affinity, init, make a thread, read its mask */
static void
thread_does_not_inherit_the_pin_of_its_maker(void **state)
{
	rte_cpuset_t before = *plx_test_cpus_before_eal(), pinned, expected;
	unsigned int one = first_of(&before);
	struct plx_control_conf conf = {0};
	struct self self;

	plx_test_needs(CPU_COUNT(&before) > 1, "two CPUs");
	plx_control_cpus(NULL, NULL, 0, &expected);

	/* As EAL does to the main thread of `--lcores 0@0`. */
	pinned = cpuset(1, &one);
	assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(pinned), &pinned), 0);
	ctl = plx_control_create(&conf);
	pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
	assert_non_null(ctl);

	assert_int_equal(plx_control_sync(ctl, look, &self), 0);
	assert_true(CPU_EQUAL(&self.cpus, &expected));
	assert_false(CPU_EQUAL(&self.cpus, &pinned));
}

static void
thread_runs_on_the_cpus_given(void **state)
{
	rte_cpuset_t before = *plx_test_cpus_before_eal(), given;
	unsigned int one = first_of(&before);
	struct plx_control_conf conf = {.cpuset = &given};
	struct self self;

	given = cpuset(1, &one);
	ctl = plx_control_create(&conf);
	assert_non_null(ctl);
	assert_int_equal(plx_control_sync(ctl, look, &self), 0);
	assert_true(CPU_EQUAL(&self.cpus, &given));
}

static void
cpus_that_do_not_exist_are_refused(void **state)
{
	static const unsigned int none[] = {1023};
	rte_cpuset_t given = cpuset(1, none);
	struct plx_control_conf conf = {.cpuset = &given};

	rte_errno = 0;
	plx_test_needs(sysconf(_SC_NPROCESSORS_CONF) < 1023, "less than 1023 CPUs");
	ctl = plx_control_create(&conf);
	assert_null(ctl);
	assert_int_equal(rte_errno, EINVAL);
}

static void
thread_has_a_name_no_lcore_id_and_no_signals(void **state)
{
	struct plx_control_conf conf = {0};
	struct self self;
	sigset_t mine;

	ctl = plx_control_create(&conf);
	assert_non_null(ctl);
	assert_int_equal(plx_control_sync(ctl, look, &self), 0);
	assert_string_equal(self.name, "plx-control");
	assert_int_equal(self.lcore, LCORE_ID_ANY);
	assert_true(sigismember(&self.blocked, SIGTERM));
	assert_true(sigismember(&self.blocked, SIGINT));

	pthread_sigmask(SIG_BLOCK, NULL, &mine);
	assert_false(sigismember(&mine, SIGTERM));
}

#define TEST(name) cmocka_unit_test_teardown(name, destroy)
static const struct CMUnitTest tests[] = {
	TEST(cpus_of_polling_lcores_are_left_out),
	TEST(all_allowed_cpus_are_shared_when_none_is_free),
	TEST(cpus_of_main_are_left_out_only_when_it_polls),
	TEST(default_is_wider_than_the_pin_of_the_caller),
	TEST(thread_does_not_inherit_the_pin_of_its_maker),
	TEST(thread_runs_on_the_cpus_given),
	TEST(cpus_that_do_not_exist_are_refused),
	TEST(thread_has_a_name_no_lcore_id_and_no_signals),
};

PLX_TEST_SUITE(control, control_cpus, tests, .lcores = 4);
