/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <errno.h>

#include "soft_rq.h"

static void
receives_come_out_in_order_over_many_laps(void **state)
{
	struct plx_sge sges[2] = {{.addr = 1, .length = 2, .lkey = 3}, {.addr = 4, .length = 5, .lkey = 6}};
	struct plx_wr wr = {.sg_list = sges, .num_sge = 2};
	const struct soft_rqe *rqe;
	struct soft_rq rq;
	uint64_t next = 0;

	assert_int_equal(soft_rq_init(&rq, 5, 2), 0);
	rq.head = rq.tail = rq.tail_seen = UINT32_MAX - 7; /* the positions wrap on the way */
	for (int lap = 0; lap < 10; lap++) {
		for (int i = 0; i < 5; i++, wr.wr_id++)
			assert_int_equal(soft_rq_push(&rq, &wr), 0);
		assert_int_equal(soft_rq_push(&rq, &wr), -ENOMEM); /* 5 were granted, though the ring has 8 */
		while ((rqe = soft_rq_peek(&rq)) != NULL) {
			assert_int_equal(rqe->wr_id, next++);
			assert_int_equal(rqe->num_sge, 2);
			assert_memory_equal(rqe->sges, sges, sizeof(sges));
			soft_rq_pop(&rq);
		}
	}
	assert_int_equal(next, 50);
	soft_rq_fini(&rq);
}

static void
more_sges_than_granted_are_refused(void **state)
{
	struct plx_sge sges[3] = {0};
	struct plx_wr wr = {.sg_list = sges, .num_sge = 3};
	struct soft_rq rq;

	assert_int_equal(soft_rq_init(&rq, 1, 2), 0);
	assert_int_equal(soft_rq_push(&rq, &wr), -EINVAL);
	assert_null(soft_rq_peek(&rq));
	soft_rq_fini(&rq);
}

static void
a_queue_of_no_receives_takes_none(void **state)
{
	struct plx_wr wr = {0};
	struct soft_rq rq;

	assert_int_equal(soft_rq_init(&rq, 0, 1), 0);
	assert_int_equal(soft_rq_push(&rq, &wr), -ENOMEM);
	soft_rq_fini(&rq);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(receives_come_out_in_order_over_many_laps),
	cmocka_unit_test(more_sges_than_granted_are_refused),
	cmocka_unit_test(a_queue_of_no_receives_takes_none),
};

PLX_TEST_SUITE(soft, rq, tests);
