/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "soft_cq.h"

static struct soft_cq cq;
static uint64_t next_local, next_remote, seen_local, seen_remote;

#define REMOTE 1 /* in wc.flags */

static void
open_cq(uint32_t nb_cqe)
{
	memset(&cq, 0, sizeof(cq));
	assert_int_equal(soft_cq_init(&cq, nb_cqe), 0);
	next_local = next_remote = seen_local = seen_remote = 0;
}

static void
push(bool remote)
{
	struct plx_wc wc = {.wr_id = remote ? next_remote++ : next_local++, .flags = remote};

	if (remote)
		soft_cq_push_remote(&cq, &wc);
	else
		soft_cq_push_local(&cq, &wc, NULL, 0);
}

/* Poll up to @p n; each ring's are in order. */
static int
take(uint16_t n)
{
	struct plx_wc wcs[64];
	int got = soft_cq_poll(&cq.base, wcs, n);

	for (int i = 0; i < got; i++)
		assert_int_equal(wcs[i].wr_id, wcs[i].flags == REMOTE ? seen_remote++ : seen_local++);
	return got;
}

static void
what_goes_in_comes_out_in_order_over_many_laps(void **state)
{
	open_cq(8);
	for (int lap = 0; lap < 40; lap++) {
		for (int i = 0; i < 3; i++) {
			push(false);
			push(true);
		}
		assert_int_equal(take(4), 4);
		assert_int_equal(take(4), 2);
		assert_int_equal(take(4), 0);
	}
	assert_int_equal(soft_cq_dropped(&cq), 0);
	soft_cq_fini(&cq);
}

static void
overflow_counts_both_rings_drops_the_newest_and_the_rest_stays(void **state)
{
	for (uint32_t nb_cqe = 1; nb_cqe <= 9; nb_cqe++) {
		for (uint32_t nb_remote = 0; nb_remote <= nb_cqe; nb_remote++) {
			open_cq(nb_cqe);
			for (uint32_t i = 0; i < nb_cqe; i++)
				push(i < nb_remote);
			assert_int_equal(soft_cq_dropped(&cq), 0);
			push(false);
			push(true);
			assert_int_equal(soft_cq_dropped(&cq), 2);
			assert_int_equal(take(64), nb_cqe);
			next_local = seen_local; /* what was dropped is gone */
			next_remote = seen_remote;
			push(true);
			push(nb_cqe > 1 ? false : true);
			assert_int_equal(take(64), nb_cqe > 1 ? 2 : 1);
			soft_cq_fini(&cq);
		}
	}
}

static void
neither_ring_starves_the_other(void **state)
{
	open_cq(16);
	for (int i = 0; i < 8; i++) {
		push(false);
		push(true);
	}
	assert_int_equal(take(1) + take(1), 2);
	assert_int_equal(seen_local, 1);
	assert_int_equal(seen_remote, 1);
	soft_cq_fini(&cq);
}

static void
a_mark_is_taken_when_all_in_front_of_it_is(void **state)
{
	uint64_t mark;

	open_cq(16);
	mark = soft_cq_mark(&cq);
	assert_true(soft_cq_taken(&cq, mark));
	push(true);
	push(true);
	mark = soft_cq_mark(&cq);
	push(true);
	take(1);
	assert_false(soft_cq_taken(&cq, mark));
	take(1);
	assert_true(soft_cq_taken(&cq, mark));
	soft_cq_fini(&cq);
}

/* ---- several producers --------------------------------------------------------------------- */

#define PRODUCERS 3

struct producer {
	uint64_t id;
	uint64_t credits; /* atomic: what may be pushed, so that nothing is dropped */
	unsigned long goal;
};

static void *
produce(void *arg)
{
	struct producer *producer = arg;

	for (unsigned long i = 0; i < producer->goal; i++) {
		struct plx_wc wc = {.wr_id = i, .qp_num = producer->id};

		while (__atomic_load_n(&producer->credits, __ATOMIC_ACQUIRE) == 0)
			sched_yield();
		__atomic_fetch_sub(&producer->credits, 1, __ATOMIC_RELAXED);
		soft_cq_push_remote(&cq, &wc);
	}
	return NULL;
}

static void
each_completion_of_several_threads_comes_out_once_and_in_its_threads_order(void **state)
{
	unsigned long goal = plx_test_scale() / PRODUCERS, total = 0, next[PRODUCERS] = {0};
	struct producer producers[PRODUCERS];
	pthread_t threads[PRODUCERS];

	open_cq(24);
	for (int i = 0; i < PRODUCERS; i++) {
		producers[i] = (struct producer){.id = i, .credits = 24 / PRODUCERS, .goal = goal};
		pthread_create(&threads[i], NULL, produce, &producers[i]);
	}
	while (total < goal * PRODUCERS) {
		struct plx_wc wcs[16];
		int got = soft_cq_poll(&cq.base, wcs, 16);

		for (int i = 0; i < got; i++) {
			assert_int_equal(wcs[i].wr_id, next[wcs[i].qp_num]);
			next[wcs[i].qp_num]++;
			__atomic_fetch_add(&producers[wcs[i].qp_num].credits, 1, __ATOMIC_RELEASE);
		}
		total += got;
		if (got == 0)
			sched_yield();
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(soft_cq_dropped(&cq), 0);
	soft_cq_fini(&cq);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_goes_in_comes_out_in_order_over_many_laps),
	cmocka_unit_test(overflow_counts_both_rings_drops_the_newest_and_the_rest_stays),
	cmocka_unit_test(neither_ring_starves_the_other),
	cmocka_unit_test(a_mark_is_taken_when_all_in_front_of_it_is),
	cmocka_unit_test(each_completion_of_several_threads_comes_out_once_and_in_its_threads_order),
};

PLX_TEST_SUITE(soft, cq, tests);
