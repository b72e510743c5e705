/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <stdlib.h>
#include <string.h>

#include <rte_memory.h>

#include "plx_op_deadlines.h"
#include "plx_test.h"

/**
 * @file
 * The heap of deadlines against a plain list of what is in it.
 */

#define NB 257

static struct plx_op nodes[NB];
static struct plx_op_deadlines heap;

static int
make(void **state)
{
	memset(nodes, 0, sizeof(nodes));
	return plx_op_deadlines_init(&heap, NB, SOCKET_ID_ANY);
}

static int
unmake(void **state)
{
	plx_op_deadlines_fini(&heap);
	return 0;
}

static void
add(struct plx_op *op, uint64_t deadline)
{
	op->deadline = deadline;
	plx_op_deadlines_add(&heap, op);
}

static void
empty_heap_has_nothing_due(void **state)
{
	assert_null(plx_op_deadlines_due(&heap, UINT64_MAX));
	plx_op_deadlines_remove(&heap, &nodes[0]);
	assert_int_equal(heap.nb, 0);
}

static void
earliest_is_due_at_its_deadline_and_not_before(void **state)
{
	add(&nodes[0], 20);
	add(&nodes[1], 10);
	assert_null(plx_op_deadlines_due(&heap, 9));
	assert_ptr_equal(plx_op_deadlines_due(&heap, 10), &nodes[1]);
	plx_op_deadlines_remove(&heap, &nodes[1]);
	plx_op_deadlines_remove(&heap, &nodes[1]); /* is out */
	assert_int_equal(nodes[1].deadline_at, 0);
	assert_null(plx_op_deadlines_due(&heap, 19));
	assert_ptr_equal(plx_op_deadlines_due(&heap, 20), &nodes[0]);
	plx_op_deadlines_remove(&heap, &nodes[0]);
}

/** Each op knows its place, nobody is earlier than whoever is above, and the first is the earliest of all. */
static void
check_heap(void)
{
	uint64_t earliest = UINT64_MAX;
	unsigned int in = 0;

	for (uint32_t i = 0; i < heap.nb; i++) {
		assert_int_equal(heap.ops[i]->deadline_at, i + 1);
		if (i != 0)
			assert_true(heap.ops[(i - 1) / 2]->deadline <= heap.ops[i]->deadline);
	}
	for (unsigned int i = 0; i < NB; i++) {
		in += nodes[i].deadline_at != 0;
		if (nodes[i].deadline_at != 0 && nodes[i].deadline < earliest)
			earliest = nodes[i].deadline;
	}
	assert_int_equal(in, heap.nb);
	if (in != 0)
		assert_int_equal(plx_op_deadlines_due(&heap, UINT64_MAX)->deadline, earliest);
}

static void
any_order_of_adding_and_taking_out_keeps_the_earliest_first(void **state)
{
	srand(1);
	for (unsigned int i = 0; i < 20000; i++) {
		struct plx_op *op = &nodes[(unsigned int)rand() % NB];

		if (op->deadline_at == 0)
			add(op, (unsigned int)rand() % 100); /* many at the same time */
		else
			plx_op_deadlines_remove(&heap, op);
		if (i % 16 == 0)
			check_heap();
	}
	for (unsigned int i = 0; i < NB; i++)
		plx_op_deadlines_remove(&heap, &nodes[i]);
	assert_int_equal(heap.nb, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(empty_heap_has_nothing_due),
	CASE(earliest_is_due_at_its_deadline_and_not_before),
	CASE(any_order_of_adding_and_taking_out_keeps_the_earliest_first),
};

PLX_TEST_SUITE(op, deadlines, tests, .lcores = 1);
