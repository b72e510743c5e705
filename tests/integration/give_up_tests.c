/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "stack.h"

#include <errno.h>
#include <string.h>

#include <rte_launch.h>

#include "plx_clock.h"
#include "plx_drivers.h"

/**
 * @file
 * Deadline, cancel, abandon and completion of the same ops, all at once, on a device that loses, doubles and keeps
 * completions; from an lcore that is neither owner nor home, from an alien, and from the owner.
 *
 *      lcore 3, alien   submit; cancel theirs, at once or later; abandon some
 *      owner            expires, cancels what it hears of, completes
 *      home             is told, once
 */

static struct stack stack;
static uint64_t recent; /**< atomic: an id that was submitted a moment ago */

static uint64_t
rounds(void)
{
	return plx_test_device_is_fast() ? plx_test_scale() : 2000;
}

static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

struct submitter {
	uint64_t nb;
	uint64_t seed;
	uint64_t old[64];
	bool ended; /**< atomic: tells TSan what EAL's own waiting, not instrumented, does not */
};

/** After the submit of @p id, which may be over by now. */
static void
give_up_on_some(struct submitter *share, unsigned int pair, uint64_t id)
{
	uint64_t what = next_random(&share->seed);
	uint64_t *old = &share->old[what >> 32 & 63];

	switch (what % 16) {
	case 0:
	case 1:
		plx_conn_cancel(stack.from[pair].conn, id);
		break;
	case 2:
	case 3:
		plx_dispatcher_abandon(stack.d, id, WORKER);
		break;
	case 4:
		__atomic_store_n(&recent, id, __ATOMIC_RELAXED);
		break;
	case 5:
		if (*old != 0) {
			plx_conn_cancel(stack.from[pair].conn, *old);
			plx_dispatcher_in_device(stack.d, *old);
		}
		break;
	default:
		*old = id;
	}
}

static int
submit_share(void *arg)
{
	struct submitter *share = arg;

	for (uint64_t taken = 0; taken < share->nb;) {
		struct plx_op *op = stack_take(&stack);
		uint64_t r = next_random(&share->seed), id;
		unsigned int pair = (unsigned int)(r >> 40) % stack.conf.nb_pairs;

		if (op == NULL) {
			sched_yield();
			continue;
		}
		id = plx_op_id(op);
		if (r % 4 == 0) /* passed, or about to */
			plx_op_set_deadline(op, plx_clock_monotonic_ns() + (r >> 8) % 200000);
		if (stack_submit(&stack, pair, op) != 0) {
			sched_yield();
			continue;
		}
		taken++;
		give_up_on_some(share, pair, id);
	}
	__atomic_store_n(&share->ended, true, __ATOMIC_RELEASE);
	return 0;
}

static void *
submit_share_alien(void *arg)
{
	submit_share(arg);
	return NULL;
}

/** Of the owner's loop. */
static unsigned int
cancel_recent(void *arg)
{
	uint64_t id = __atomic_exchange_n(&recent, 0, __ATOMIC_RELAXED);

	if (id != 0)
		plx_conn_cancel(stack.from[0].conn, id);
	return 0;
}

static void
submit_from_two_threads(uint64_t nb)
{
	struct submitter lcore = {.nb = nb / 2, .seed = 0x9e3779b97f4a7c15};
	struct submitter alien = {.nb = nb - nb / 2, .seed = 0xbf58476d1ce4e5b9};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, submit_share_alien, &alien), 0);
	assert_int_equal(rte_eal_remote_launch(submit_share, &lcore, 3), 0);
	assert_int_equal(rte_eal_wait_lcore(3), 0);
	assert_true(__atomic_load_n(&lcore.ended, __ATOMIC_ACQUIRE));
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void
each_op_is_over_once_whatever_comes_first(void **state)
{
	uint64_t nb = rounds(), *by = stack.count.by_status;
	struct plx_dispatcher_stats d;

	recent = 0;
	stack_make(&stack, plx_test_device(),
		&(struct stack_conf){
			.fault = "drop cqe 1/997; dup cqe 1/991; hold cqe 3 1/50 seed 7; poison",
			.nb_pairs = 16,
			.depth = 32,
			.nb_ops = 8192 + (unsigned int)(nb / 200),
			.home = WORKER,
		});
	assert_int_equal(plx_poller_add_hook(stack.poller, cancel_recent, NULL), 0);
	stack_launch(&stack);
	submit_from_two_threads(nb);
	stack_stop(&stack);
	plx_dispatcher_stats(stack.d, &d);
	printf("%lu sends: %lu in time, %lu timed out, %lu cancelled, %lu orphaned, %lu lost; %lu completions came late\n",
		(unsigned long)nb, (unsigned long)(by[PLX_ST_SUCCESS]), (unsigned long)by[PLX_ST_TIMED_OUT],
		(unsigned long)by[PLX_ST_CANCELLED], (unsigned long)d.orphans, (unsigned long)by[PLX_ST_CONN_LOST],
		(unsigned long)d.late);
	fflush(stdout);
	/* Or the race was none. In a guest all may time out before anything completes: the wire's pace is not ours to judge. */
	if (plx_test_device_is_fast()) {
		assert_true(by[PLX_ST_TIMED_OUT] >= nb / 1000);
		assert_true(by[PLX_ST_CANCELLED] >= nb / 1000);
		assert_true(d.orphans >= nb / 1000);
		assert_true(d.late >= nb / 1000);
	}
	assert_int_equal(d.foreign + d.misrouted, 0);
	assert_int_equal(stack.d->deadlines.nb, 0);
	stack_check_and_free(&stack);
}

/*
 * cases 11.3, 16.10: retries without end (rnr_retry 7) are the device's, timers of its own run for them, and the QP is destroyed
 * under them. The user is told in time, and the close takes the QP to ERR and the rest with it.
 */
static void
peer_that_never_posts_a_receive_costs_a_deadline_and_no_more(void **state)
{
	const unsigned int rounds = plx_test_is_soak() ? 30 : 3;
	const uint64_t deadline_ns = plx_test_is_soak() ? UINT64_C(2000000000) : 20000000;
	struct plx_dispatcher_stats d;

	for (unsigned int round = 0; round < rounds; round++) {
		stack_make(&stack, plx_test_device(),
			&(struct stack_conf){.nb_pairs = 4, .depth = 8, .nb_ops = 512, .home = WORKER, .own_recvs = true});
		stack_launch(&stack);
		for (unsigned int i = 0; i < 16; i++) {
			struct plx_op *op = stack_take(&stack);

			assert_non_null(op);
			plx_op_set_deadline(op, plx_clock_monotonic_ns() + deadline_ns);
			assert_int_equal(stack_submit(&stack, i % 4, op), 0);
		}
		stack_wait(&stack.count.by_status[PLX_ST_TIMED_OUT], 16, "deadlines");
		stack_stop(&stack);
		plx_dispatcher_stats(stack.d, &d);
		assert_int_equal(stack.count.by_status[PLX_ST_TIMED_OUT], 16);
		assert_true(d.late <= 16); /* what the device flushed; what it did not went with its QP */
		stack_check_and_free(&stack);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_op_is_over_once_whatever_comes_first),
	cmocka_unit_test(peer_that_never_posts_a_receive_costs_a_deadline_and_no_more),
};

static int
drivers(void **state)
{
	return plx_drivers_register();
}

PLX_TEST_SUITE(stack, give_up, tests, .setup = drivers, .lcores = 4, .device = true, .caps = PLX_CAP_ATTR_EXCHANGE);
