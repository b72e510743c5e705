/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "stack.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_launch.h>

#include "plx_drivers.h"

/**
 * @file
 * The whole stack under threads, on any device: stack-tests -d loopback0.
 */

static struct stack stack;

static uint64_t
rounds(void)
{
	return plx_test_device_is_fast() ? plx_test_scale() : 2000;
}

/** A thread that submits its share of sends over all pairs, round robin. */
struct submitter {
	struct stack *s;
	uint64_t nb;
	bool ended; /**< atomic: tells TSan what EAL's own waiting, not instrumented, does not */
};

static int
submit_share(void *arg)
{
	struct submitter *share = arg;
	unsigned int i = 0;

	for (uint64_t taken = 0; taken < share->nb; i = (i + 1) % share->s->conf.nb_pairs) {
		int err = stack_send(share->s, i);

		if (err == 0)
			taken++;
		else if (err == -ENOTCONN)
			break;
		else
			sched_yield();
	}
	__atomic_store_n(&share->ended, true, __ATOMIC_RELEASE);
	return 0;
}

static void *
submit_share_alien(void *arg)
{
	if (rte_lcore_id() == LCORE_ID_ANY)
		submit_share(arg);
	return NULL;
}

/** Sends from an lcore that is neither owner nor home, and from a thread that EAL does not know. */
static void
submit_from_two_threads(struct stack *s, uint64_t nb)
{
	struct submitter lcore = {.s = s, .nb = nb / 2}, alien = {.s = s, .nb = nb - nb / 2};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, submit_share_alien, &alien), 0);
	assert_int_equal(rte_eal_remote_launch(submit_share, &lcore, 3), 0);
	assert_int_equal(rte_eal_wait_lcore(3), 0);
	assert_true(__atomic_load_n(&lcore.ended, __ATOMIC_ACQUIRE));
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void
each_op_settles_once_at_its_home(void **state)
{
	stack_start(&stack, plx_test_device(),
		&(struct stack_conf){.nb_pairs = 8, .depth = 16, .nb_ops = 4096, .home = WORKER, .late = true});
	submit_from_two_threads(&stack, rounds());
	stack_wait(&stack.count.by_status[PLX_ST_SUCCESS], 2 * rounds(), "completions");
	stack_stop(&stack);
	assert_int_equal(stack.count.by_status[PLX_ST_SUCCESS], 2 * rounds());
	stack_check_and_free(&stack);
}

static void
each_op_settles_once_while_completions_are_lost_doubled_and_late(void **state)
{
	struct plx_dispatcher_stats d;
	struct plx_fault_stats fault;

	stack_start(&stack, plx_test_device(),
		&(struct stack_conf){
			.fault = "drop cqe 1/1000; dup cqe 1/1000; hold cqe 32; poison",
			.nb_pairs = 16,
			.depth = 32,
			.nb_ops = 8192 + (unsigned int)(rounds() / 400),
			.home = WORKER,
		});
	submit_from_two_threads(&stack, rounds());
	/* One in a thousand never comes; all others do, but for a few that were on their way when these had. */
	stack_wait(&stack.count.by_status[PLX_ST_SUCCESS], 2 * rounds() * 995 / 1000, "completions");
	stack_stop(&stack);
	plx_dispatcher_stats(stack.d, &d);
	assert_int_equal(plx_fault_stats(stack.dev, &fault), 0);
	assert_true(fault.dropped >= 2 * rounds() * 995 / 1000000);
	assert_int_equal(stack.count.by_status[PLX_ST_CONN_LOST], fault.dropped);
	assert_int_equal(d.duplicate + d.stale, fault.duplicated);
	assert_int_equal(d.foreign + d.misrouted, 0);
	stack_check_and_free(&stack);
}

static void
closes_from_everywhere_under_traffic_settle_each_op_once(void **state)
{
	for (unsigned int round = 0; round < (plx_test_device_is_fast() ? 20 : 2); round++) {
		struct submitter share = {.s = &stack, .nb = UINT64_MAX};
		pthread_t thread;

		stack_start(&stack, plx_test_device(),
			&(struct stack_conf){.nb_pairs = 8, .depth = 16, .nb_ops = 4096, .home = WORKER, .late = true});
		assert_int_equal(pthread_create(&thread, NULL, submit_share_alien, &share), 0);
		stack_wait(&stack.count.settled, 200, "completions");
		for (unsigned int i = 8; i-- > 0;)
			stack_close_pair(&stack, i);
		assert_int_equal(pthread_join(thread, NULL), 0);
		stack_stop(&stack);
		stack_check_and_free(&stack);
	}
}

static void
run_to_completion_needs_no_worker(void **state)
{
	stack_start(&stack, plx_test_device(),
		&(struct stack_conf){.nb_pairs = 4, .depth = 16, .nb_ops = 2048, .home = POLLER});
	submit_from_two_threads(&stack, rounds() / 10);
	stack_wait(&stack.count.by_status[PLX_ST_SUCCESS], 2 * (rounds() / 10), "completions");
	stack_stop(&stack);
	stack_check_and_free(&stack);
}

static void
poller_and_worker_loops_run_on_their_lcores(void **state)
{
	stack_start(&stack, plx_test_device(),
		&(struct stack_conf){.nb_pairs = 1, .depth = 16, .nb_ops = 1024, .home = WORKER});
	submit_from_two_threads(&stack, 10);
	stack_wait(&stack.count.settled, 20, "completions");
	assert_int_equal(plx_poller_lcore(stack.poller), POLLER);
	assert_int_equal(plx_poller_lcore(stack.worker), WORKER);
	stack_stop(&stack);
	stack_check_and_free(&stack);
}

/** Count what `rdma resource show cq` says of this process: CQs, and users of the last. */
static unsigned int
kernel_cqs(unsigned int *users)
{
	FILE *p = popen("rdma resource show cq", "r");
	unsigned int nb = 0, pid;
	char line[512];

	assert_non_null(p);
	while (fgets(line, sizeof(line), p) != NULL) {
		const char *at = strstr(line, " pid "), *u = strstr(line, " users ");

		if (at == NULL || u == NULL || sscanf(at, " pid %u", &pid) != 1 || pid != (unsigned int)getpid())
			continue;
		assert_int_equal(sscanf(u, " users %u", users), 1);
		nb++;
	}
	pclose(p);
	return nb;
}

static void
all_connections_share_one_kernel_cq_with_two_users_per_qp(void **state)
{
	unsigned int users = 0;

	plx_test_needs(!plx_test_device_is_fast(), "a kernel RDMA device");
	stack_start(&stack, plx_test_device(),
		&(struct stack_conf){.nb_pairs = 8, .depth = 16, .nb_ops = 1024, .home = WORKER});
	assert_int_equal(kernel_cqs(&users), 1);
	assert_int_equal(users, 2 * 2 * 8);
	stack_stop(&stack);
	stack_check_and_free(&stack);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_op_settles_once_at_its_home),
	cmocka_unit_test(each_op_settles_once_while_completions_are_lost_doubled_and_late),
	cmocka_unit_test(closes_from_everywhere_under_traffic_settle_each_op_once),
	cmocka_unit_test(run_to_completion_needs_no_worker),
	cmocka_unit_test(poller_and_worker_loops_run_on_their_lcores),
	cmocka_unit_test(all_connections_share_one_kernel_cq_with_two_users_per_qp),
};

static int
drivers(void **state)
{
	return plx_drivers_register();
}

PLX_TEST_SUITE(stack, threads, tests, .setup = drivers, .lcores = 4, .device = true, .caps = PLX_CAP_ATTR_EXCHANGE);
