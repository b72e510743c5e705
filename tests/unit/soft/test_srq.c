/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>
#include <sched.h>

#include "soft_srq.h"

/** A receive with room for its list. */
union taken {
	struct soft_rqe rqe;
	char room[sizeof(struct soft_rqe) + 2 * sizeof(struct plx_sge)];
};

static struct soft_srq srq;
static unsigned int nb_fired;

static void
fired(struct soft_srq *which)
{
	nb_fired++;
}

static int
setup(void **state)
{
	memset(&srq, 0, sizeof(srq));
	srq.limit_reached = fired;
	nb_fired = 0;
	return soft_srq_init(&srq, 5, 2);
}

static int
teardown(void **state)
{
	soft_srq_fini(&srq);
	return 0;
}

static int
push(uint64_t wr_id)
{
	struct plx_sge sges[2] = {{.addr = wr_id, .length = 2, .lkey = 3}, {.addr = wr_id + 1, .length = 5, .lkey = 6}};
	struct plx_wr wr = {.wr_id = wr_id, .sg_list = sges, .num_sge = 2};

	return soft_srq_push(&srq, &wr);
}

static void
receives_come_out_whole_and_in_order_over_many_laps(void **state)
{
	uint64_t in = 1, out = 1;
	union taken taken;

	for (int lap = 0; lap < 20; lap++) {
		for (int i = 0; i < 5; i++)
			assert_int_equal(push(in++), 0);
		assert_int_equal(push(in), -ENOMEM); /* 5 were granted, though the ring has 8 */
		while (soft_srq_take(&srq, &taken.rqe)) {
			assert_int_equal(taken.rqe.wr_id, out);
			assert_int_equal(taken.rqe.num_sge, 2);
			assert_int_equal(taken.rqe.sges[0].addr, out);
			assert_int_equal(taken.rqe.sges[1].addr, ++out);
			assert_int_equal(taken.rqe.sges[1].length, 5);
			assert_int_equal(taken.rqe.sges[1].lkey, 6);
		}
		assert_int_equal(out, in);
	}
}

static void
more_sges_than_granted_are_refused(void **state)
{
	struct plx_sge sges[3] = {0};
	struct plx_wr wr = {.sg_list = sges, .num_sge = 3};
	union taken taken;

	assert_int_equal(soft_srq_push(&srq, &wr), -EINVAL);
	assert_false(soft_srq_take(&srq, &taken.rqe));
}

static void
limit_fires_once_when_fewer_are_left(void **state)
{
	union taken taken;

	for (int round = 0; round < 3; round++) {
		while (push(1) == 0)
			;
		soft_srq_arm(&srq, 3);
		soft_srq_take(&srq, &taken.rqe);
		soft_srq_take(&srq, &taken.rqe);
		assert_int_equal(nb_fired, round); /* 3 are left: not fewer */
		assert_int_equal(soft_srq_limit(&srq), 3);
		soft_srq_take(&srq, &taken.rqe);
		assert_int_equal(nb_fired, round + 1);
		assert_int_equal(soft_srq_limit(&srq), 0);
		soft_srq_take(&srq, &taken.rqe);
		assert_int_equal(nb_fired, round + 1);
	}
}

/* ---- many take ----------------------------------------------------------------------------- */

#define TAKERS 3

struct taker {
	pthread_t thread;
	uint64_t nb, sum, nb_torn;
};

static bool all_pushed;

static void *
take_main(void *arg)
{
	struct taker *taker = arg;
	union taken taken;

	for (;;) {
		bool last = __atomic_load_n(&all_pushed, __ATOMIC_ACQUIRE);

		if (!soft_srq_take(&srq, &taken.rqe)) {
			if (last)
				break;
			sched_yield();
			continue;
		}
		taker->nb++;
		taker->sum += taken.rqe.wr_id;
		taker->nb_torn += taken.rqe.sges[0].addr != taken.rqe.wr_id ||
			taken.rqe.sges[1].addr != taken.rqe.wr_id + 1;
	}
	return NULL;
}

static void
each_receive_is_taken_once_by_one_of_many(void **state)
{
	struct taker takers[TAKERS] = {0};
	const uint64_t nb_wanted = plx_test_scale() / 50;
	uint64_t nb = 0, sum = 0;

	all_pushed = false;
	for (int i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_create(&takers[i].thread, NULL, take_main, &takers[i]), 0);
	for (uint64_t i = 1; i <= nb_wanted;) {
		if (push(i) == 0)
			i++;
		else
			sched_yield();
	}
	__atomic_store_n(&all_pushed, true, __ATOMIC_RELEASE);
	for (int i = 0; i < TAKERS; i++) {
		pthread_join(takers[i].thread, NULL);
		nb += takers[i].nb;
		sum += takers[i].sum;
		assert_int_equal(takers[i].nb_torn, 0);
	}
	assert_int_equal(nb, nb_wanted);
	assert_int_equal(sum, nb_wanted * (nb_wanted + 1) / 2);
}

#define srq_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static const struct CMUnitTest tests[] = {
	srq_test(receives_come_out_whole_and_in_order_over_many_laps),
	srq_test(more_sges_than_granted_are_refused),
	srq_test(limit_fires_once_when_fewer_are_left),
	srq_test(each_receive_is_taken_once_by_one_of_many),
};

PLX_TEST_SUITE(soft, srq, tests);
