/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "farm.h"

#include <errno.h>

#include <rte_common.h>
#include <rte_errno.h>

#include "plx_drivers.h"
#include "plx_loopback.h"

/**
 * @file
 * Receive pools: many connections on one SRQ and one CQ, on the device that is given.
 */

static struct farm farm;

static bool
on_loopback(void)
{
	return farm_loopback("") != NULL;
}

#define needs_loopback() plx_test_needs(on_loopback(), "loopback")

/** Send @p n messages of each of the first @p nb clients, and wait for all of them. */
static void
exchange(unsigned int nb, unsigned int n)
{
	for (unsigned int i = 0; i < nb; i++) {
		struct farm_pair *pair = &farm.pairs[i];
		uint64_t want = pair->arrived + n;

		for (unsigned int k = 0; k < n; k++)
			farm_until(&farm, farm_send(&farm, i) == 0);
		if (i % 32 == 31 || i + 1 == nb)
			farm_until(&farm, pair->arrived == want && pair->sent_ok == pair->sent);
	}
	for (unsigned int i = 0; i < nb; i++)
		farm_until(&farm, farm.pairs[i].sent_ok == farm.pairs[i].sent && farm.pairs[i].arrived == farm.pairs[i].sent);
	assert_int_equal(farm.wrong, 0);
}

/** case 5.6 */
static void
the_connection_of_each_message_is_its_senders(void **state)
{
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 32, .pool = {.nb_recvs = 64}});
	for (unsigned int round = 0; round < 5; round++)
		exchange(32, 3);
	assert_int_equal(farm.arrived, 32 * 3 * 5);
	farm_break(&farm);
}

static void
a_thousand_connections_share_one_queue(void **state)
{
	unsigned int nb = on_loopback() ? 1000 : 200;

	farm_make(&farm, &(struct farm_conf){.nb_pairs = nb, .pool = {.nb_recvs = 256}});
	assert_int_equal(farm_stats(&farm).uses_srq, 1);
	exchange(nb, 2);
	assert_int_equal(farm.arrived, 2 * nb);
	assert_int_equal(farm_stats(&farm).posted + farm_stats(&farm).unposted, 256);
	farm_break(&farm);
}

static void
without_an_srq_each_connection_has_receives_and_all_else_is_the_same(void **state)
{
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 16, .pool = {.nb_recvs = 64, .no_srq = true, .per_conn = 4, .max_conns = 16}});
	assert_int_equal(farm_stats(&farm).uses_srq, 0);
	for (unsigned int round = 0; round < 5; round++)
		exchange(16, 3);
	assert_false(farm_connect(&farm, 16)); /* no receives for one more */
	assert_int_equal(rte_errno, ENOSPC);
	farm_close(&farm, 3);
	farm_until(&farm, farm.pairs[3].server == NULL && farm.pairs[3].client == NULL);
	assert_true(farm_connect(&farm, 3)); /* the receives were flushed, and are the pool's again */
	exchange(4, 3);
	farm_break(&farm);
}

static const struct plx_recv_pool_conf four_of_one = {.nb_recvs = 4, .no_srq = true, .per_conn = 4, .max_conns = 1};

static void
receives_that_come_back_late_go_to_the_connection_that_lacks_them(void **state)
{
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1, .pool = four_of_one});
	farm.hold = true;
	exchange(1, 4);
	farm_close(&farm, 0);
	farm_until(&farm, plx_conn_group_nb_conns(farm.group) == 0);
	assert_true(farm_connect(&farm, 0)); /* and there is none for it */
	farm.hold = false;
	farm_give(&farm);
	exchange(1, 9);
	farm_break(&farm);
}

/** The worker has said so much that the lane to the owner takes no more. */
static void
fill_lane(void)
{
	struct plx_op *op = plx_op_get(farm.d->pool);

	plx_test_as_lcore(FARM_WORKER);
	while (plx_conn_cancel(farm.pairs[0].client, plx_op_id(op)) == 0)
		;
	plx_test_as_lcore(FARM_OWNER);
	plx_op_put(op);
}

static void
a_connection_that_is_made_elsewhere_gets_its_receives_though_the_lane_is_full(void **state)
{
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1, .nb_cqe = 256,
		.pool = {.nb_recvs = 8, .no_srq = true, .per_conn = 4, .max_conns = 2}});
	fill_lane();
	plx_test_as_lcore(FARM_WORKER);
	assert_true(farm_connect(&farm, 1));
	plx_test_as_lcore(FARM_OWNER);
	exchange(2, 5);
	farm_break(&farm);
}

/** Turns of the owner alone until the QP of server 0, which closes, is gone. */
static void
owner_until_gone(void)
{
	for (uint64_t end = farm_deadline(); farm.pairs[0].server->qp != NULL && !farm_late(end); farm_poll(&farm))
		plx_conn_group_once(farm.group);
	assert_null(farm.pairs[0].server->qp);
}

static void
a_home_does_not_wait_for_the_lane_with_receives_that_were_flushed(void **state)
{
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1, .home = FARM_WORKER, .pool = four_of_one});
	assert_int_equal(plx_conn_close(farm.pairs[0].server), 0);
	owner_until_gone();
	fill_lane();
	plx_test_as_lcore(FARM_WORKER);
	plx_dispatcher_once(farm.d); /* which calls back four times */
	plx_test_as_lcore(FARM_OWNER);
	farm_until(&farm, farm.pairs[0].server == NULL && farm_stats(&farm).unposted == 4);
	farm_close(&farm, 0);
	farm_until(&farm, plx_conn_group_nb_conns(farm.group) == 0);
	assert_true(farm_connect(&farm, 0));
	exchange(1, 5);
	farm_break(&farm);
}

static void
a_message_may_be_given_back_on_another_lcore(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		farm_make(&farm, &(struct farm_conf){.nb_pairs = 4, .home = FARM_WORKER,
			.pool = {.nb_recvs = 16, .no_srq = srq == 0, .per_conn = 4, .max_conns = 4}});
		for (unsigned int round = 0; round < 10; round++)
			exchange(4, 3);
		farm_break(&farm);
	}
}

/** case 6.6 */
static void
the_queue_is_filled_with_and_without_the_limit_event(void **state)
{
	for (int event = 0; event < 2; event++) {
		farm_make(&farm, &(struct farm_conf){.nb_pairs = 2, .pool = {.nb_recvs = 256, .low_water = 64, .no_event = event == 0}});
		for (unsigned int time = 1; time <= 3; time++) {
			farm.hold = true; /* drain below the mark */
			for (unsigned int i = 0; i < 100; i++)
				exchange(2, 1);
			assert_true(farm_stats(&farm).posted < 64);
			if (event != 0)
				farm_until(&farm, farm_stats(&farm).limit_events == time);
			farm.hold = false;
			farm_give(&farm);
			farm_until(&farm, plx_control_nb_under_way(farm.control) == 0);
			farm_turn(&farm);
			assert_int_equal(farm_stats(&farm).posted, 256);
		}
		assert_int_equal(farm_stats(&farm).limit_events, event != 0 ? 3 : 0);
		farm_break(&farm);
	}
}

/** Ops beyond the depth of the SRQ wait for their turn, though nobody gives any back. */
static void
what_was_never_posted_comes_in_when_few_are_left(void **state)
{
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 2, .pool = {.nb_recvs = 64, .depth = 16, .low_water = 4, .no_event = true}});
	farm.hold = true;
	for (unsigned int i = 0; i < 32; i++)
		exchange(2, 1);
	assert_int_equal(farm.nb_held, 64);
	farm.hold = false;
	farm_break(&farm);
}

/** case 6.3 */
static void
who_never_gives_back_does_not_starve_a_newcomer(void **state)
{
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 4, .nb_cqe = 256, .pool = {.nb_recvs = 64, .reserve = 8, .max_conns = 8}});
	farm.hold = true;
	for (unsigned int i = 0; i < 64; i++) /* 16 requests each, which never finish */
		for (unsigned int tries = 0; tries < 100 && farm.pairs[i % 4].client != NULL && farm_send(&farm, i % 4) != 0; tries++)
			farm_turn(&farm);
	farm_until(&farm, farm_stats(&farm).refused != 0);
	assert_true(farm_stats(&farm).posted >= 8 - 1);
	assert_true(farm_connect(&farm, 10));
	assert_int_equal(farm_send(&farm, 10), 0);
	farm_until(&farm, farm.pairs[10].arrived == 1 && farm.pairs[10].sent_ok == 1);
	assert_int_equal(farm.wrong, 0);
	farm.hold = false;
	farm_break(&farm);
}

static void
a_receive_that_was_flushed_is_nobodys_message(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		farm_make(&farm, &(struct farm_conf){.fault = "error WR_FLUSH_ERR recv 2", .nb_pairs = 1,
			.pool = {.nb_recvs = 8, .no_srq = srq == 0, .per_conn = 8, .max_conns = 1}});
		exchange(1, 1);
		assert_int_equal(farm_send(&farm, 0), 0);
		farm_until(&farm, farm.pairs[0].sent_ok == 2);
		for (unsigned int i = 0; i < 100; i++)
			farm_turn(&farm);
		assert_int_equal(farm.arrived, 1);
		if (srq != 0)
			assert_int_equal(farm_stats(&farm).posted + farm_stats(&farm).unposted, 8); /* it serves again */
		for (unsigned int i = 0; i < 6; i++) {
			assert_int_equal(farm_send(&farm, 0), 0);
			farm_until(&farm, farm.arrived == 2 + i);
		}
		farm_break(&farm);
		assert_int_equal(farm.wrong, 0);
	}
}

/** An id of an op may be named by anybody; who has named a pool's leaves a connection without it, and a buffer in two hands. */
static void
receives_of_a_pool_are_not_cancelled(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		struct plx_op *op;

		farm_make(&farm, &(struct farm_conf){.nb_pairs = 1,
			.pool = {.nb_recvs = 1, .no_srq = srq == 0, .per_conn = 1, .max_conns = 1}});
		farm.hold = true;
		exchange(1, 1);
		op = farm.held[0];
		farm.hold = false;
		farm_give(&farm);
		assert_int_equal(plx_conn_cancel(farm.pairs[0].server, plx_op_id(op)), 0);
		exchange(1, 3);
		farm_break(&farm);
		assert_int_equal(farm.wrong, 0);
	}
}

static void
a_pool_in_use_is_not_destroyed(void **state)
{
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1, .pool = {.nb_recvs = 8}});
	assert_int_equal(plx_recv_pool_destroy(farm.pool), -EBUSY);
	assert_int_equal(plx_conn_group_destroy(farm.group), -EBUSY);
	farm.hold = true;
	exchange(1, 1);
	farm_close(&farm, 0);
	farm_until(&farm, plx_conn_group_nb_conns(farm.group) == 0);
	assert_int_equal(plx_conn_group_destroy(farm.group), -EBUSY);
	assert_int_equal(plx_recv_pool_destroy(farm.pool), -EBUSY); /* one is held */
	assert_int_equal(farm_stats(&farm).held, 1);
	assert_int_equal(plx_recv_pool_give(farm.pool, farm.held[0]), 0);
	assert_int_equal(plx_recv_pool_give(farm.pool, farm.held[0]), -EBUSY); /* given back already */
	farm.nb_held = 0;
	farm.hold = false;
	farm_break(&farm);
}

static void
a_pool_whose_queue_cannot_be_destroyed_stays_whole(void **state)
{
	farm_make(&farm, &(struct farm_conf){.fault = "fail srq_destroy 1 EIO", .nb_pairs = 1, .pool = {.nb_recvs = 8}});
	farm_close(&farm, 0);
	farm_until(&farm, plx_conn_group_nb_conns(farm.group) == 0);
	assert_int_equal(plx_recv_pool_destroy(farm.pool), -EIO);
	assert_int_equal(plx_conn_group_destroy(farm.group), -EBUSY); /* it has the pool yet */
	assert_true(farm_connect(&farm, 0));
	exchange(1, 9);
	farm_break(&farm);
}

static void
connections_on_a_shared_queue_post_no_receives(void **state)
{
	struct plx_op *op;

	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1, .pool = {.nb_recvs = 8}});
	op = plx_op_get(farm.d->pool);
	plx_op_prep_recv(op, farm.region->addr, 8, farm.region->lkey, NULL, NULL);
	assert_int_equal(plx_conn_submit(farm.pairs[0].server, op), -ENOTSUP);
	assert_int_equal(plx_op_put(op), 0);
	farm_break(&farm);
}

/* ---- connections die ----------------------------------------------------------------------- */

/** Connect and disconnect, with a message each time. */
static void
come_and_go(const struct farm_conf *conf, unsigned int times)
{
	farm_make(&farm, conf);
	for (unsigned int i = 0; i < times; i++) {
		exchange(1, 1);
		farm_close(&farm, 0);
		farm_until(&farm, plx_conn_group_nb_conns(farm.group) == 2 * (conf->nb_pairs - 1));
		assert_true(farm_connect(&farm, 0));
	}
	exchange(conf->nb_pairs, 1); /* the others never noticed */
	assert_int_equal(farm_stats(&farm).posted + farm_stats(&farm).unposted, conf->pool.nb_recvs);
	farm_break(&farm);
	assert_int_equal(farm.wrong, 0);
}

/** case 6.1 */
static void
connections_come_and_go_whether_or_not_the_last_wqe_is_told(void **state)
{
	static const char *const how[] = {"last_wqe=on", "last_wqe=off", "last_wqe=late", "last_wqe=twice"};
	struct farm_conf conf = {.nb_pairs = 2, .pool = {.nb_recvs = 16}};

	come_and_go(&conf, 20);
	if (!on_loopback())
		return;
	for (unsigned int i = 0; i < NB_OF(how); i++) {
		conf.device = farm_loopback(how[i]);
		conf.pool.last_wqe = true;
		conf.drain_ms = 20; /* for which a close waits where it is not told, or too late */
		come_and_go(&conf, 5);
	}
}

static void
raise_event(enum plx_event_type type, uint64_t object)
{
	uint64_t before = __atomic_load_n(&farm.nb_events, __ATOMIC_ACQUIRE);

	assert_int_equal(plx_loopback_raise(farm.dev, &(struct plx_event){.type = type, .object = object, .port = 2}), 0);
	farm_until(&farm, __atomic_load_n(&farm.nb_events, __ATOMIC_ACQUIRE) > before);
	farm_turn(&farm);
}

/** case 6.2, 5.8 */
static void
a_last_wqe_before_during_and_after_a_close_is_harmless(void **state)
{
	uint64_t id, unclaimed;

	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.device = farm_loopback("last_wqe=off"), .nb_pairs = 2, .drain_ms = 30,
		.pool = {.nb_recvs = 16, .last_wqe = true}});
	id = farm.pairs[0].server->qp->id;
	raise_event(PLX_EVENT_LAST_WQE, id); /* before */
	exchange(2, 2);
	assert_int_equal(plx_conn_close(farm.pairs[0].server), 0);
	raise_event(PLX_EVENT_LAST_WQE, id); /* during, and once more */
	raise_event(PLX_EVENT_LAST_WQE, id);
	farm_until(&farm, farm.pairs[0].server == NULL);
	unclaimed = farm_nb_unclaimed(&farm);
	raise_event(PLX_EVENT_LAST_WQE, id); /* after, twice */
	raise_event(PLX_EVENT_LAST_WQE, id);
	raise_event(PLX_EVENT_SRQ_LIMIT, UINT64_MAX);
	raise_event(PLX_EVENT_CQ_ERROR, id);
	farm_until(&farm, farm_nb_unclaimed(&farm) == unclaimed + 4);
	assert_int_equal(farm_send(&farm, 1), 0); /* all is well */
	farm_until(&farm, farm.pairs[1].arrived == 3);
	farm_break(&farm);
}

static void
an_srq_in_error_closes_its_connections(void **state)
{
	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 2, .pool = {.nb_recvs = 8}});
	exchange(2, 1);
	raise_event(PLX_EVENT_SRQ_ERROR, farm.pairs[0].server->qp->srq->id);
	farm_until(&farm, farm.pairs[0].server == NULL && farm.pairs[1].server == NULL);
	assert_non_null(farm.pairs[0].client);
	farm_break(&farm);
}

/** case 5.2, 5.3 */
static void
messages_of_a_dead_connection_are_not_credited_to_one_of_the_same_number(void **state)
{
	uint32_t qp_num;

	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.device = farm_loopback("qpn=reuse"), .nb_pairs = 1, .nb_cqe = 256,
		.pool = {.nb_recvs = 16, .max_conns = 8}});
	qp_num = farm.pairs[0].server->sq.qp_num;
	for (int i = 0; i < 4; i++)
		assert_int_equal(farm_send(&farm, 0), 0);
	assert_int_equal(plx_conn_close(farm.pairs[0].server), 0);
	/* Its QP goes, while nobody polls: four messages are still in the CQ. */
	for (uint64_t end = farm_deadline(); farm.pairs[0].server->qp != NULL && !farm_late(end);)
		plx_conn_group_once(farm.group);
	assert_true(farm_connect(&farm, 1));
	assert_int_not_equal(farm.pairs[1].server->sq.qp_num, qp_num); /* it could not have been told apart */
	assert_int_equal(farm_send(&farm, 1), 0);
	farm_until(&farm, farm.pairs[1].arrived == 1 && farm.pairs[0].server == NULL);
	assert_int_equal(farm.wrong, 0);
	assert_int_equal(farm.pairs[0].arrived, 4); /* and they were its own */
	farm_break(&farm);
}

static void
ops_held_of_a_dead_connection_are_not_counted_off_one_of_the_same_number(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		uint32_t qp_num;

		needs_loopback();
		farm_make(&farm, &(struct farm_conf){.device = farm_loopback("qpn=reuse"), .nb_pairs = 1, .nb_cqe = 256,
			.pool = {.nb_recvs = 16, .no_srq = srq == 0, .per_conn = 4, .max_conns = 4}});
		qp_num = farm.pairs[0].server->sq.qp_num;
		farm.hold = true;
		exchange(1, 3);
		farm_close(&farm, 0);
		farm_until(&farm, plx_conn_group_nb_conns(farm.group) == 0);
		for (unsigned int i = 0; i < 3; i++) {
			assert_true(farm_connect(&farm, 1));
			assert_int_not_equal(farm.pairs[1].server->sq.qp_num, qp_num);
			assert_int_equal(plx_recv_pool_give(farm.pool, farm.held[--farm.nb_held]), 0);
			farm_close(&farm, 1);
			farm_until(&farm, plx_conn_group_nb_conns(farm.group) == 0);
		}
		farm.hold = false;
		assert_true(farm_connect(&farm, 1)); /* now there is nothing to mix up */
		assert_int_equal(farm.pairs[1].server->sq.qp_num, qp_num);
		farm_break(&farm);
	}
}

/** case 16.9 */
static void
the_budget_of_a_dead_connection_is_there_for_the_next(void **state)
{
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1, .pool = {.nb_recvs = 8, .max_conns = 1}});
	for (unsigned int i = 0; i < 20; i++) {
		for (unsigned int k = 0; k < 3; k++)
			assert_int_equal(farm_send(&farm, 0), 0);
		farm_close(&farm, 0); /* under load */
		farm_until(&farm, plx_conn_group_nb_conns(farm.group) == 0);
		assert_true(farm_connect(&farm, 0));
	}
	exchange(1, 3);
	farm_break(&farm);
}

/* ---- two devices --------------------------------------------------------------------------- */

/** case 5.1 */
static void
two_devices_that_give_the_same_numbers_are_told_apart(void **state)
{
	static struct farm other;

	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 4, .pool = {.nb_recvs = 16}});
	farm_make(&other, &(struct farm_conf){.device = "loopback1", .nb_pairs = 4, .pool = {.nb_recvs = 16}});
	assert_int_equal(farm.pairs[2].server->sq.qp_num, other.pairs[2].server->sq.qp_num);
	for (unsigned int i = 0; i < 4; i++) {
		for (unsigned int k = 0; k <= i; k++)
			assert_int_equal(farm_send(&farm, i), 0);
		assert_int_equal(farm_send(&other, i), 0);
	}
	for (unsigned int i = 0; i < 4; i++) {
		farm_until(&farm, farm.pairs[i].arrived == i + 1 && farm.pairs[i].sent_ok == i + 1);
		farm_until(&other, other.pairs[i].arrived == 1 && other.pairs[i].sent_ok == 1);
	}
	assert_int_equal(farm.wrong + other.wrong, 0);
	farm_break(&other);
	plx_test_as_lcore(FARM_OWNER);
	farm_break(&farm);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_connection_of_each_message_is_its_senders),
	cmocka_unit_test(a_thousand_connections_share_one_queue),
	cmocka_unit_test(without_an_srq_each_connection_has_receives_and_all_else_is_the_same),
	cmocka_unit_test(receives_that_come_back_late_go_to_the_connection_that_lacks_them),
	cmocka_unit_test(a_connection_that_is_made_elsewhere_gets_its_receives_though_the_lane_is_full),
	cmocka_unit_test(a_home_does_not_wait_for_the_lane_with_receives_that_were_flushed),
	cmocka_unit_test(a_message_may_be_given_back_on_another_lcore),
	cmocka_unit_test(the_queue_is_filled_with_and_without_the_limit_event),
	cmocka_unit_test(what_was_never_posted_comes_in_when_few_are_left),
	cmocka_unit_test(who_never_gives_back_does_not_starve_a_newcomer),
	cmocka_unit_test(a_receive_that_was_flushed_is_nobodys_message),
	cmocka_unit_test(receives_of_a_pool_are_not_cancelled),
	cmocka_unit_test(a_pool_in_use_is_not_destroyed),
	cmocka_unit_test(a_pool_whose_queue_cannot_be_destroyed_stays_whole),
	cmocka_unit_test(connections_on_a_shared_queue_post_no_receives),
	cmocka_unit_test(connections_come_and_go_whether_or_not_the_last_wqe_is_told),
	cmocka_unit_test(a_last_wqe_before_during_and_after_a_close_is_harmless),
	cmocka_unit_test(an_srq_in_error_closes_its_connections),
	cmocka_unit_test(messages_of_a_dead_connection_are_not_credited_to_one_of_the_same_number),
	cmocka_unit_test(ops_held_of_a_dead_connection_are_not_counted_off_one_of_the_same_number),
	cmocka_unit_test(the_budget_of_a_dead_connection_is_there_for_the_next),
	cmocka_unit_test(two_devices_that_give_the_same_numbers_are_told_apart),
};

static int
drivers(void **state)
{
	return plx_drivers_register();
}

PLX_TEST_SUITE(recv_pool, farm, tests, .setup = drivers, .lcores = 3, .device = true,
	.caps = PLX_CAP_ATTR_EXCHANGE | PLX_CAP_SRQ);
