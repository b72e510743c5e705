/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "fixture.h"

static const unsigned int worker[] = {WORKER};
static const struct plx_dispatcher_conf good = {
	.name = "test",
	.owner = OWNER,
	.homes = worker,
	.nb_homes = 1,
	.pool = {.nb_ops = 8, .socket_id = SOCKET_ID_ANY},
};

static void
assert_refused(const struct plx_dispatcher_conf *conf, int err)
{
	rte_errno = 0;
	assert_null(plx_dispatcher_create(conf));
	assert_int_equal(rte_errno, err);
}

static void
lcores_that_eal_does_not_have_are_refused(void **state)
{
	static const unsigned int none[] = {WORKER, PLX_TEST_LCORES}, beyond[] = {RTE_MAX_LCORE};
	struct plx_dispatcher_conf conf = good;

	conf.owner = PLX_TEST_LCORES;
	assert_refused(&conf, EINVAL);
	conf.owner = LCORE_ID_ANY;
	assert_refused(&conf, EINVAL);
	conf = good;
	conf.homes = none;
	conf.nb_homes = 2;
	assert_refused(&conf, EINVAL);
	conf.homes = beyond;
	conf.nb_homes = 1;
	assert_refused(&conf, EINVAL);
	conf = good;
	conf.mode = 7;
	assert_refused(&conf, EINVAL);
	conf.name = plx_test_long_name();
	plx_test_refusal((intptr_t)plx_dispatcher_create(&conf), 0, "n: mode 7 is neither");
}

static void
bad_pool_is_refused_with_its_reason(void **state)
{
	struct plx_dispatcher_conf conf = good;

	conf.pool.nb_ops = 0;
	assert_refused(&conf, EINVAL);
	conf.pool.nb_ops = 1u << 22;
	conf.pool.priv_size = 4096;
	assert_refused(&conf, ENOMEM);
}

static void
lanes_without_memory_are_refused_and_nothing_stays(void **state)
{
	struct plx_dispatcher_conf conf = good;
	struct plx_dispatcher *other;
	uint32_t tag;

	d = plx_dispatcher_create(&good);
	tag = d->pool->tag;
	plx_dispatcher_destroy(d);
	conf.nb_inbox = 1u << 26;
	assert_refused(&conf, ENOMEM);
	other = plx_dispatcher_create(&good);
	assert_non_null(other);
	assert_int_equal(other->pool->tag, tag);
	assert_int_equal(plx_dispatcher_destroy(other), 0);
}

static void
home_named_twice_and_owner_among_homes_are_one_each(void **state)
{
	static const unsigned int homes[] = {WORKER, OWNER, WORKER, OTHER};
	struct plx_dispatcher_conf conf = good;

	conf.homes = homes;
	conf.nb_homes = NB_OF(homes);
	d = plx_dispatcher_create(&conf);
	assert_non_null(d);
	assert_int_equal(d->nb_homes, 3);
	assert_int_equal(plx_dispatcher_destroy(d), 0);
}

static void
dispatcher_with_ops_out_is_not_destroyed(void **state)
{
	struct plx_op *op;

	d = plx_dispatcher_create(&good);
	op = plx_op_get(d->pool);
	assert_int_equal(plx_dispatcher_destroy(d), -EBUSY);
	plx_op_put(op); /* it still works */
	plx_test_as_lcore(OWNER);
	op = post(WORKER, on_done, NULL);
	assert_int_equal(plx_dispatcher_destroy(d), -EBUSY);
	deliver_as(OWNER, plx_op_id(op));
	once_as(WORKER);
	plx_op_put(op);
	plx_test_as_lcore(0);
	assert_int_equal(plx_dispatcher_destroy(d), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(lcores_that_eal_does_not_have_are_refused),
	cmocka_unit_test(bad_pool_is_refused_with_its_reason),
	cmocka_unit_test(lanes_without_memory_are_refused_and_nothing_stays),
	cmocka_unit_test(home_named_twice_and_owner_among_homes_are_one_each),
	cmocka_unit_test(dispatcher_with_ops_out_is_not_destroyed),
};

PLX_TEST_SUITE(dispatcher, create, tests, .lcores = 4);
