/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "fixture.h"

static int
abandon_as(unsigned int lcore, uint64_t id, unsigned int home)
{
	unsigned int was = plx_test_as_lcore(lcore);
	int err = plx_dispatcher_abandon(d, id, home);

	plx_test_as_lcore(was);
	return err;
}

static void
abandoned_at_home_the_late_completion_gives_the_node_back(void **state)
{
	static const unsigned int homes[] = {PLX_HOME_ANY, OWNER, WORKER};

	for (unsigned int i = 0; i < NB_OF(homes); i++) {
		struct plx_op *op = post(homes[i], on_done, NULL);

		plx_test_as_lcore(homes[i] == WORKER ? WORKER : OWNER);
		assert_int_equal(plx_op_abandon(d, op), 0);
		plx_test_as_lcore(OWNER);
		assert_int_equal(plx_op_pool_in_use(d->pool), 1); /* the device still has it */
		deliver_as(OWNER, plx_op_id(op));
		once_as(WORKER);
		assert_int_equal(plx_op_pool_in_use(d->pool), 0);
		assert_int_equal(stats().orphans, i + 1);
	}
	assert_int_equal(nb_called, 0);
	assert_int_equal(stats().abandoned_late, 0);
}

static void
abandoned_from_elsewhere_home_is_told(void **state)
{
	static const unsigned int from[] = {OWNER, OTHER, 0, ALIEN};

	for (unsigned int i = 0; i < NB_OF(from); i++) {
		struct plx_op *op = post(WORKER, on_done, NULL);

		plx_test_as_lcore(from[i]);
		assert_int_equal(plx_op_abandon(d, op), 0);
		plx_test_as_lcore(OWNER);
		assert_int_equal(op->state, PLX_OP_POSTED);
		assert_int_equal(once_as(WORKER), 1);
		assert_int_equal(op->state, PLX_OP_ORPHANED);
		deliver_as(OWNER, plx_op_id(op));
		once_as(WORKER);
		assert_int_equal(stats().orphans, i + 1);
	}
	assert_int_equal(nb_called, 0);
}

/* contract 1.3: the completion was first */
static void
abandonment_after_the_callback_is_late(void **state)
{
	struct plx_op *op = post(WORKER, on_done, NULL);
	uint64_t id = plx_op_id(op);

	deliver_as(OWNER, id);
	abandon_as(ALIEN, id, WORKER);
	once_as(WORKER); /* both are there: the completion goes first */
	assert_int_equal(nb_called, 1);
	assert_int_equal(stats().abandoned_late, 1);
	assert_int_equal(stats().orphans, 0);
	plx_op_put(op);
	abandon_as(ALIEN, id, WORKER);
	once_as(WORKER);
	assert_int_equal(stats().abandoned_late, 2);
}

/* contract 2.1: by id, a successor in the slot is not touched */
static void
abandonment_by_an_old_id_does_not_touch_the_successor(void **state)
{
	struct plx_op *op = post(WORKER, on_done, NULL);
	uint64_t id = plx_op_id(op);

	deliver_as(OWNER, id);
	once_as(WORKER);
	plx_op_again(op);
	plx_dispatcher_posting(d, op);
	plx_dispatcher_posted(d, op, true);
	abandon_as(WORKER, id, WORKER);
	assert_int_equal(op->state, PLX_OP_POSTED);
	assert_int_equal(stats().abandoned_late, 1);
	deliver_as(OWNER, plx_op_id(op));
	once_as(WORKER);
	assert_int_equal(nb_called, 2);
	plx_op_put(op);
}

static void
completed_polled_op_is_put_by_a_late_abandonment(void **state)
{
	struct plx_op *op = post(WORKER, NULL, NULL);
	uint64_t id = plx_op_id(op);

	deliver_as(OWNER, id);
	abandon_as(ALIEN, id, WORKER);
	once_as(WORKER);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
	assert_int_equal(stats().abandoned_late, 1);
}

static void
op_that_is_not_posted_is_put_at_once(void **state)
{
	struct plx_op *op = prepare(WORKER, on_done, NULL);

	assert_int_equal(plx_op_abandon(d, op), 0);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
	op = post(PLX_HOME_ANY, on_done, NULL);
	deliver_as(OWNER, plx_op_id(op));
	assert_int_equal(plx_op_abandon(d, op), 0);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
	assert_int_equal(stats().abandoned_late, 0);
}

static void
second_abandonment_is_late(void **state)
{
	struct plx_op *op = post(WORKER, on_done, NULL);

	abandon_as(WORKER, plx_op_id(op), WORKER);
	abandon_as(WORKER, plx_op_id(op), WORKER);
	assert_int_equal(stats().abandoned_late, 1);
	deliver_as(OWNER, plx_op_id(op));
	once_as(WORKER);
	assert_int_equal(stats().orphans, 1);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
}

static void
wrong_home_or_none_abandons_nothing(void **state)
{
	struct plx_op *op = post(WORKER, on_done, NULL);

	assert_int_equal(abandon_as(ALIEN, plx_op_id(op), 0), -EINVAL);
	assert_int_equal(abandon_as(ALIEN, plx_op_id(op), RTE_MAX_LCORE), -EINVAL);
	assert_int_equal(abandon_as(OTHER, plx_op_id(op), OTHER), 0);
	assert_int_equal(abandon_as(OWNER, plx_op_id(op), PLX_HOME_ANY), 0);
	assert_int_equal(stats().abandoned_late, 2);
	assert_int_equal(op->state, PLX_OP_POSTED);
	deliver_as(OWNER, plx_op_id(op));
	once_as(WORKER);
	assert_int_equal(nb_called, 1);
	plx_op_put(op);
}

static void
op_of_another_pool_is_refused(void **state)
{
	struct plx_op_pool *other = plx_op_pool_create(&(struct plx_op_pool_conf){
		.name = "other", .nb_ops = 1, .socket_id = SOCKET_ID_ANY});
	struct plx_op *op;

	assert_non_null(other);
	op = plx_op_get(other);
	assert_non_null(op);
	assert_int_equal(plx_op_abandon(d, op), -EINVAL);
	assert_int_equal(plx_op_pool_in_use(other), 1);
	assert_int_equal(plx_op_put(op), 0);
	assert_int_equal(plx_op_pool_destroy(other), 0);
}

/* Garbage, foreign ids, and the present id of a node that rests in the pool. */
static void
ids_of_nobody_are_late(void **state)
{
	uint64_t base = (uint64_t)d->pool->tag << 24;
	const uint64_t ids[] = {0, UINT64_MAX, base + d->pool->nb_slots, base};

	for (unsigned int i = 0; i < NB_OF(ids); i++) {
		abandon_as(OWNER, ids[i], OWNER);
		assert_int_equal(stats().abandoned_late, i + 1);
		assert_false(plx_dispatcher_in_device(d, ids[i]));
	}
}

static void
full_lane_of_abandonments_says_retry(void **state)
{
	struct plx_op *op = post(WORKER, on_done, NULL);
	unsigned int sent = 0;

	while (abandon_as(OTHER, 0, WORKER) == 0)
		sent++;
	assert_true(sent >= 1000);
	plx_test_as_lcore(OTHER);
	assert_int_equal(plx_op_abandon(d, op), -EAGAIN);
	plx_test_as_lcore(OWNER);
	assert_int_equal(op->state, PLX_OP_POSTED); /* nothing happened */
	while (once_as(WORKER) != 0)
		;
	abandon_as(OTHER, plx_op_id(op), WORKER);
	once_as(WORKER);
	deliver_as(OWNER, plx_op_id(op));
	once_as(WORKER);
	assert_int_equal(nb_called, 0);
	assert_int_equal(stats().orphans, 1);
}

/* contract 1.5: whose the payload buffers are */
static void
buffers_are_the_devices_until_the_late_completion(void **state)
{
	struct plx_op *op = prepare(WORKER, on_done, NULL);
	uint64_t id = plx_op_id(op);

	assert_false(plx_dispatcher_in_device(d, id));
	plx_dispatcher_posting(d, op);
	plx_dispatcher_posted(d, op, true);
	assert_true(plx_dispatcher_in_device(d, id));
	abandon_as(ALIEN, id, WORKER);
	once_as(WORKER);
	assert_true(plx_dispatcher_in_device(d, id));
	deliver_as(OWNER, id);
	once_as(WORKER);
	assert_false(plx_dispatcher_in_device(d, id));

	op = post(PLX_HOME_ANY, on_done, NULL);
	id = plx_op_id(op);
	assert_true(plx_dispatcher_in_device(d, id));
	deliver_as(OWNER, id);
	assert_false(plx_dispatcher_in_device(d, id));
	plx_op_again(op);
	plx_dispatcher_posting(d, op);
	plx_dispatcher_posted(d, op, true);
	assert_false(plx_dispatcher_in_device(d, id)); /* its successor is */
	assert_true(plx_dispatcher_in_device(d, plx_op_id(op)));
	deliver_as(OWNER, plx_op_id(op));
	plx_op_put(op);
}

static void
orphan_that_the_device_never_completes_is_given_back_by_fail(void **state)
{
	struct plx_op *op = post(WORKER, on_done, NULL);

	abandon_as(WORKER, plx_op_id(op), WORKER);
	plx_dispatcher_fail(d, op, PLX_ST_CONN_LOST, 0);
	once_as(WORKER);
	assert_int_equal(nb_called, 0);
	assert_int_equal(plx_op_pool_in_use(d->pool), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, owned, destroy)
static const struct CMUnitTest tests[] = {
	TEST(abandoned_at_home_the_late_completion_gives_the_node_back),
	TEST(abandoned_from_elsewhere_home_is_told),
	TEST(abandonment_after_the_callback_is_late),
	TEST(abandonment_by_an_old_id_does_not_touch_the_successor),
	TEST(completed_polled_op_is_put_by_a_late_abandonment),
	TEST(op_that_is_not_posted_is_put_at_once),
	TEST(second_abandonment_is_late),
	TEST(wrong_home_or_none_abandons_nothing),
	TEST(op_of_another_pool_is_refused),
	TEST(ids_of_nobody_are_late),
	TEST(full_lane_of_abandonments_says_retry),
	TEST(buffers_are_the_devices_until_the_late_completion),
	TEST(orphan_that_the_device_never_completes_is_given_back_by_fail),
};

PLX_TEST_SUITE(dispatcher, abandon, tests, .lcores = 4);
