/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "farm.h"

#include <errno.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "plx_drivers.h"
#include "plx_loopback.h"

/**
 * @file
 * Async events and what becomes of connections: a CQ that overflows, a port that goes down, a device that is lost.
 */

static struct farm farm;

#define needs_loopback() plx_test_needs(farm_loopback("") != NULL, "loopback")

static void
raise_event(enum plx_event_type type, uint64_t object, uint32_t port)
{
	uint64_t before = __atomic_load_n(&farm.nb_events, __ATOMIC_ACQUIRE);

	assert_int_equal(plx_loopback_raise(farm.dev, &(struct plx_event){.type = type, .object = object, .port = port}), 0);
	farm_until(&farm, __atomic_load_n(&farm.nb_events, __ATOMIC_ACQUIRE) > before);
	farm_turn(&farm);
}

static struct plx_conn_events_stats
stats(void)
{
	struct plx_conn_events_stats now;

	plx_conn_events_stats(farm.events, &now);
	return now;
}

/** A write of a client to memory of its own, which needs no receive. */
static void
wrote(struct plx_op *op, void *arg)
{
	uint64_t *by_status = arg;

	by_status[op->status]++;
	plx_op_put(op);
}

/** Post @p n writes on pair 0, without a poll. */
static void
write_burst(unsigned int n, uint64_t *by_status)
{
	for (unsigned int i = 0; i < n; i++) {
		struct plx_op *op = plx_op_get(farm.d->pool);

		assert_non_null(op);
		plx_op_prep(op, PLX_OPCODE_WRITE, farm.region->addr, 0, farm.region->lkey, wrote, by_status);
		assert_int_equal(plx_conn_submit(farm.pairs[0].client, op), 0);
	}
}

/** A CQ of 16 that is believed to be larger, and overflows: admission is fooled, as by a provider that lies. */
static void
overflow(const char *device)
{
	uint64_t by_status[PLX_NB_STATUS] = {0}, sum = 0;
	uint32_t granted;

	farm_make(&farm, &(struct farm_conf){.device = device, .nb_cqe = 16, .depth = 64});
	if (farm.cq->nb_cqe >= 64) {
		farm_break(&farm);
		plx_test_needs(false, "a CQ of 16 that is not rounded up to 64");
	}
	granted = farm.cq->nb_cqe;
	farm.cq->nb_cqe = 1024;
	assert_true(farm_connect(&farm, 0));
	farm.cq->nb_cqe = granted;
	write_burst(64, by_status);
	/* Without a poll, until the event is here: closed then, and settled. */
	for (uint64_t end = farm_deadline(); __atomic_load_n(&farm.nb_events, __ATOMIC_ACQUIRE) == 0 && !farm_late(end);)
		plx_conn_group_once(farm.group);
	farm_until(&farm, farm.nb_closed == 2);
	for (unsigned int i = 0; i < PLX_NB_STATUS; i++)
		sum += by_status[i];
	assert_int_equal(sum, 64); /* each once */
	assert_true(by_status[PLX_ST_CONN_LOST] > 0);
	assert_true(stats().by_type[PLX_EVENT_CQ_ERROR] >= 1);
	assert_int_equal(stats().cq_overruns, 1);
	assert_int_equal(stats().unclaimed, 0);
	assert_int_equal(farm.last.object, farm.cq->id);
	assert_false(farm_connect(&farm, 0)); /* not on this CQ any more */
	assert_int_equal(rte_errno, EIO);
	farm_break(&farm);
}

/** case 1.8 */
static void
an_overflow_of_the_cq_fails_each_op_of_it_once(void **state)
{
	overflow(NULL);
}

/** case 1.8 */
static void
an_overflow_that_ends_the_cq_fails_each_op_of_it_once(void **state)
{
	needs_loopback();
	overflow(farm_loopback("cq_overflow=dead"));
	assert_true(farm.cq_dead);
}

/** cases 16.1 16.2 16.5 */
static void
a_lost_device_fails_all_connections_once_and_can_be_opened_again(void **state)
{
	uint64_t settled = 0, posted = 0;

	needs_loopback();
	for (int round = 0; round < 3; round++) {
		farm_make(&farm, &(struct farm_conf){.nb_pairs = 8, .pool = {.nb_recvs = 64}});
		for (unsigned int i = 0; i < 8; i++)
			for (int k = 0; k < 3; k++)
				assert_int_equal(farm_send(&farm, i), 0);
		for (int k = 0; k < round; k++)
			farm_turn(&farm); /* some are over, or none */
		assert_int_equal(plx_loopback_lose(farm.dev), 0);
		farm_until(&farm, farm.nb_closed == 16);
		assert_true(farm.cq_dead); /* its poll says so, and a poller stops there */
		assert_true(plx_device_is_lost(farm.dev));
		settled = posted = 0;
		for (unsigned int i = 0; i < 8; i++) {
			posted += farm.pairs[i].sent;
			settled += farm.pairs[i].sent_ok + farm.pairs[i].sent_failed;
		}
		assert_int_equal(posted, 24);
		assert_int_equal(settled, 24);
		assert_int_equal(farm.by_status[PLX_ST_SUCCESS] + farm.by_status[PLX_ST_CONN_LOST] +
				farm.by_status[PLX_ST_WR_FLUSH_ERR], 24);
		assert_int_equal(stats().by_type[PLX_EVENT_DEVICE_FATAL], 1);
		farm_break(&farm);
	}
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1, .pool = {.nb_recvs = 4}});
	assert_int_equal(farm_send(&farm, 0), 0);
	farm_until(&farm, farm.pairs[0].arrived == 1 && farm.pairs[0].sent_ok == 1);
	farm_break(&farm);
}

static void
expect_settled(unsigned int nb)
{
	uint64_t posted = 0, settled = 0;

	for (unsigned int i = 0; i < farm.conf.nb_pairs; i++) {
		posted += farm.pairs[i].sent;
		settled += farm.pairs[i].sent_ok + farm.pairs[i].sent_failed;
	}
	assert_int_equal(posted, nb);
	assert_int_equal(settled, nb);
}

/** Nobody tells the group, nor the driver; the application closes, for what reason soever. */
static void
a_lost_device_that_nobody_listens_to_closes_when_it_is_asked_to(void **state)
{
	static const struct plx_recv_pool_conf pools[] = {
		{.nb_recvs = 64},
		{.nb_recvs = 64, .no_srq = true, .per_conn = 4},
		{.nb_recvs = 64, .last_wqe = true},
		{.nb_recvs = 0},
	};

	needs_loopback();
	for (unsigned int k = 0; k < NB_OF(pools); k++) {
		farm_make(&farm, &(struct farm_conf){.nb_pairs = 4, .no_events = true, .drain_ms = 10, .pool = pools[k]});
		for (unsigned int i = 0; i < 4; i++)
			assert_int_equal(farm_send(&farm, i), 0);
		assert_int_equal(plx_loopback_lose(farm.dev), 0);
		for (unsigned int i = 0; i < 20; i++)
			farm_turn(&farm);
		assert_int_equal(farm.nb_closed, 0);
		farm_close(&farm, 0);
		assert_int_equal(plx_conn_drain(farm.pairs[1].client), 0);
		farm_until(&farm, farm.nb_closed == 2);
		assert_false(plx_device_is_lost(farm.dev));
		for (unsigned int i = 1; i < 4; i++)
			farm_close(&farm, i);
		farm_until(&farm, farm.nb_closed == 8);
		expect_settled(4);
		farm_break(&farm);
	}
}

/** A request of the control thread that stays there until it is let go. */
struct stopper {
	struct plx_control_req req;
	unsigned int runs; /**< atomic, both */
	unsigned int goes;
};

static int
stopper_run(struct plx_control_req *req)
{
	struct stopper *stopper = plx_container_of(req, struct stopper, req);

	__atomic_store_n(&stopper->runs, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stopper->goes, __ATOMIC_ACQUIRE))
		rte_delay_us_sleep(100);
	return 0;
}

static void
stopper_done(struct plx_control_req *req)
{
}

/** The control thread serves requests before it looks at events: it destroys on a device that it does not know to be lost. */
static void
a_destroy_that_waits_while_the_device_is_lost_is_done_once(void **state)
{
	struct stopper stopper = {.req = {.fn = stopper_run, .done = stopper_done}};
	struct plx_conn *client;

	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 2, .pool = {.nb_recvs = 16}});
	client = farm.pairs[0].client;
	assert_int_equal(farm_send(&farm, 0), 0);
	farm_until(&farm, farm.pairs[0].sent_ok == 1);
	assert_int_equal(plx_conn_drain(client), 0);
	farm_until(&farm, plx_conn_drain(client) == -EALREADY && client->drain_told);
	assert_int_equal(plx_control_submit(farm.control, &stopper.req), 0);
	farm_until(&farm, __atomic_load_n(&stopper.runs, __ATOMIC_ACQUIRE));
	assert_int_equal(plx_conn_close(client), 0);
	for (unsigned int i = 0; i < 5; i++)
		farm_turn(&farm);
	assert_int_equal(plx_control_nb_under_way(farm.control), 2); /* that, and the destroy of the QP */
	assert_int_equal(plx_loopback_lose(farm.dev), 0);
	__atomic_store_n(&stopper.goes, 1, __ATOMIC_RELEASE);
	farm_until(&farm, farm.pairs[0].client == NULL || client->destroy_failed);
	assert_null(farm.pairs[0].client);
	farm_until(&farm, farm.nb_closed == 4);
	expect_settled(1);
	farm_break(&farm);
}

/** case 16.3 */
static void
a_port_that_is_not_ours_changes_nothing(void **state)
{
	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.device = farm_loopback("nb_ports=2"), .nb_pairs = 1, .pool = {.nb_recvs = 8}});
	raise_event(PLX_EVENT_PORT_DOWN, 0, 2);
	assert_int_equal(farm.last.port, 2);
	for (int i = 0; i < 3; i++)
		assert_int_equal(farm_send(&farm, 0), 0);
	farm_until(&farm, farm.pairs[0].arrived == 3 && farm.pairs[0].sent_ok == 3);
	assert_int_equal(farm.nb_closed, 0);
	assert_int_equal(stats().unclaimed, 0);
	farm_break(&farm);
}

/** case 2.3 */
static void
a_port_that_goes_down_while_all_is_flushed_settles_each_op_once(void **state)
{
	needs_loopback();
	for (int round = 0; round < 10; round++) {
		farm_make(&farm, &(struct farm_conf){.nb_pairs = 2, .pool = {.nb_recvs = 8}});
		for (int k = 0; k < 3; k++)
			assert_int_equal(farm_send(&farm, k % 2), 0);
		assert_int_equal(plx_qp_to_error(farm.pairs[0].client->qp), 0);
		raise_event(PLX_EVENT_PORT_DOWN, 0, 1);
		farm_close(&farm, 0);
		raise_event(PLX_EVENT_PORT_UP, 0, 1);
		farm_until(&farm, plx_conn_group_nb_conns(farm.group) == 2);
		assert_int_equal(farm.pairs[0].sent_ok + farm.pairs[0].sent_failed, 2);
		farm_until(&farm, farm.pairs[1].sent_ok == 1);
		farm_break(&farm);
	}
}

/** What failed_cb was told. */
static struct told {
	unsigned int nb;
	const struct plx_conn *conn; /**< of the last */
	struct plx_conn_error error;
} told;

static void
tell(struct plx_conn *conn, const struct plx_conn_error *error, void *arg)
{
	assert_int_equal(plx_conn_state(conn), PLX_CONN_FAILED);
	assert_ptr_equal(arg, &farm);
	told.nb++;
	told.conn = conn;
	told.error = *error;
}

static void
tell_all(void)
{
	told = (struct told){0};
	for (unsigned int i = 0; i < farm.conf.nb_pairs; i++)
		farm.pairs[i].client->failed_cb = farm.pairs[i].server->failed_cb = tell;
}

static void
expect_told(const struct plx_conn *conn, unsigned int type)
{
	assert_int_equal(told.nb, 1);
	assert_ptr_equal(told.conn, conn);
	assert_int_equal(told.error.status, PLX_ST_EVENT);
	assert_int_equal(told.error.event, type);
}

static void
a_qp_that_fails_fatally_is_told_and_closed_and_no_other(void **state)
{
	struct plx_conn *conn;
	uint32_t qp_num;
	uint64_t id;

	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 3, .pool = {.nb_recvs = 8}});
	tell_all();
	conn = farm.pairs[1].client;
	id = conn->qp->id;
	qp_num = conn->qp->qp_num;
	raise_event(PLX_EVENT_QP_FATAL, id, 0);
	assert_int_equal(farm.last.object, id);
	farm_until(&farm, farm.pairs[1].client == NULL);
	expect_told(conn, PLX_EVENT_QP_FATAL);
	assert_int_equal(told.error.qp_num, qp_num);
	assert_int_equal(told.error.event_raw, farm.last.raw);
	raise_event(PLX_EVENT_QP_FATAL, id, 0); /* late */
	farm_until(&farm, stats().unclaimed == 1); /* counted behind the callback */
	assert_int_equal(farm.nb_closed, 1);
	farm_break(&farm);
}

/** It has posted nothing, and its peer's op was at fault: nothing but the event says so. */
static void
a_responder_hears_that_it_has_refused_and_is_closed(void **state)
{
	uint64_t by_status[PLX_NB_STATUS] = {0};
	struct plx_conn *server;
	struct plx_op *op;

	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1});
	tell_all();
	server = farm.pairs[0].server;
	farm.pairs[0].client->failed_cb = NULL;
	assert_non_null(op = plx_op_get(farm.d->pool));
	plx_op_prep_write(op, farm.region->addr, 8, farm.region->lkey, (uintptr_t)farm.region->addr, 1, wrote, by_status);
	assert_int_equal(plx_conn_submit(farm.pairs[0].client, op), 0);
	farm_until(&farm, farm.pairs[0].server == NULL);
	expect_told(server, PLX_EVENT_QP_FATAL);
	assert_true(by_status[PLX_ST_REM_INV_REQ_ERR] + by_status[PLX_ST_REM_ACCESS_ERR] == 1);
	assert_int_equal(farm.nb_closed, 1);
	farm_break(&farm);
}

/** Told of the flush it has been; the cause is kept all the same, and ends it. */
static void
an_event_behind_the_flushes_has_the_cause(void **state)
{
	struct plx_conn_error error;
	struct plx_conn *server;

	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1, .pool = {.nb_recvs = 8, .no_srq = true, .per_conn = 4}});
	tell_all();
	server = farm.pairs[0].server;
	assert_int_equal(plx_qp_to_error(server->qp), 0);
	farm_until(&farm, told.nb == 1);
	assert_int_equal(told.error.status, PLX_ST_WR_FLUSH_ERR);
	assert_int_equal(plx_loopback_raise(farm.dev, &(struct plx_event){.type = PLX_EVENT_QP_FATAL, .object = server->qp->id}), 0);
	farm_until(&farm, server->closing);
	plx_conn_first_error(server, &error);
	assert_int_equal(error.status, PLX_ST_EVENT);
	farm_until(&farm, farm.pairs[0].server == NULL);
	assert_int_equal(told.nb, 1);
	farm_break(&farm);
}

static void
each_connection_hears_that_its_cq_or_its_device_is_lost(void **state)
{
	for (int lost = 0; lost < 2; lost++) {
		unsigned int type = lost ? PLX_EVENT_DEVICE_FATAL : PLX_EVENT_CQ_ERROR;

		needs_loopback();
		farm_make(&farm, &(struct farm_conf){.nb_pairs = 2, .pool = {.nb_recvs = 8}});
		tell_all();
		raise_event(type, lost ? 0 : farm.cq->id, 0);
		farm_until(&farm, farm.nb_closed == 4);
		assert_int_equal(told.nb, 4);
		assert_int_equal(told.error.status, PLX_ST_EVENT);
		assert_int_equal(told.error.event, type);
		farm_break(&farm);
	}
}

/** case 5.7 */
static void
an_event_at_each_step_of_a_close_is_only_told(void **state)
{
	needs_loopback();
	for (int step = 0; step < 12; step++) {
		uint64_t id;

		farm_make(&farm, &(struct farm_conf){.device = farm_loopback("last_wqe=off"), .nb_pairs = 2, .drain_ms = 5,
			.pool = {.nb_recvs = 8, .last_wqe = true}});
		id = farm.pairs[0].server->qp->id;
		assert_int_equal(farm_send(&farm, 0), 0);
		assert_int_equal(plx_conn_close(farm.pairs[0].server), 0);
		for (int i = 0; i < step; i++)
			farm_turn(&farm);
		raise_event(PLX_EVENT_QP_FATAL, id, 0);
		raise_event(PLX_EVENT_LAST_WQE, id, 0);
		farm_until(&farm, farm.pairs[0].server == NULL);
		assert_int_equal(farm.nb_closed, 1);
		farm_break(&farm);
	}
}

/** case 5.4 */
static void
many_that_fail_and_are_closed_at_once_are_closed_once(void **state)
{
	const unsigned int nb = 50;

	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.nb_pairs = nb, .pool = {.nb_recvs = 64}});
	for (unsigned int i = 0; i < nb; i++) {
		const struct plx_event event = {.type = PLX_EVENT_QP_FATAL, .object = farm.pairs[i].server->qp->id};

		assert_int_equal(plx_loopback_raise(farm.dev, &event), 0);
		assert_int_equal(plx_loopback_raise(farm.dev, &event), 0);
		if (i % 2 != 0)
			farm_close(&farm, i);
		if (i % 5 == 0)
			farm_turn(&farm);
	}
	farm_until(&farm, farm.nb_closed == nb + nb / 2);
	for (int i = 0; i < 100; i++)
		farm_turn(&farm);
	assert_int_equal(farm.nb_closed, nb + nb / 2);
	assert_int_equal(plx_conn_group_nb_conns(farm.group), nb / 2);
	farm_break(&farm);
	assert_int_equal(farm.nb_closed, 2 * nb);
}

/** case 5.8: an event of a CQ that is gone, when another may have its place in memory. */
static void
an_event_of_a_dead_cq_is_not_its_successors(void **state)
{
	uint64_t id;

	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 0, .nb_cqe = 64});
	id = farm.cq->id;
	farm_break(&farm);
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1, .nb_cqe = 64});
	raise_event(PLX_EVENT_CQ_ERROR, id, 0);
	farm_until(&farm, stats().unclaimed == 1);
	assert_int_equal(farm.nb_closed, 0);
	farm_break(&farm);
}

/** case 16.6 */
static void
opening_and_closing_many_times_hangs_nowhere(void **state)
{
	const unsigned int rounds = plx_test_scale() >= 10000000 ? 1000 : 20;

	for (unsigned int i = 0; i < rounds; i++) {
		farm_make(&farm, &(struct farm_conf){.nb_pairs = 0, .nb_cqe = 8});
		farm_break(&farm);
	}
}

static void
events_that_a_group_uses_are_not_ended(void **state)
{
	struct plx_conn_group_conf conf = {.name = "other"};
	struct plx_device *other;

	farm_make(&farm, &(struct farm_conf){.nb_pairs = 0, .nb_cqe = 8});
	assert_int_equal(plx_conn_events_destroy(farm.events), -EBUSY);
	other = plx_device_open(plx_test_device());
	assert_non_null(other);
	conf.cq = plx_cq_create(other, 8);
	conf.dispatcher = farm.d;
	conf.control = farm.control;
	conf.events = farm.events; /* of another device */
	rte_errno = 0;
	assert_null(plx_conn_group_create(&conf));
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(plx_cq_destroy(conf.cq), 0);
	assert_int_equal(plx_device_close(other), 0);
	farm_break(&farm);
}

static void
two_cqs_that_fail_in_turn_are_counted_once_each(void **state)
{
	struct plx_conn_group_conf conf = {.name = "other"};
	struct plx_conn_group *other, *same;

	needs_loopback();
	farm_make(&farm, &(struct farm_conf){.nb_pairs = 1, .pool = {.nb_recvs = 8}});
	conf.cq = plx_cq_create(farm.dev, 8);
	conf.dispatcher = farm.d;
	conf.control = farm.control;
	conf.events = farm.events;
	other = plx_conn_group_create(&conf);
	same = plx_conn_group_create(&conf);
	assert_non_null(other);
	assert_non_null(same);
	for (int i = 0; i < 3; i++) {
		raise_event(PLX_EVENT_CQ_ERROR, farm.cq->id, 0);
		raise_event(PLX_EVENT_CQ_ERROR, conf.cq->id, 0);
	}
	farm_until(&farm, stats().by_type[PLX_EVENT_CQ_ERROR] == 6);
	assert_int_equal(stats().cq_overruns, 2);
	assert_int_equal(plx_conn_group_destroy(same), 0);
	assert_int_equal(plx_conn_group_destroy(other), 0);
	assert_int_equal(plx_cq_destroy(conf.cq), 0);
	farm_break(&farm);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_overflow_of_the_cq_fails_each_op_of_it_once),
	cmocka_unit_test(an_overflow_that_ends_the_cq_fails_each_op_of_it_once),
	cmocka_unit_test(a_lost_device_fails_all_connections_once_and_can_be_opened_again),
	cmocka_unit_test(a_lost_device_that_nobody_listens_to_closes_when_it_is_asked_to),
	cmocka_unit_test(a_destroy_that_waits_while_the_device_is_lost_is_done_once),
	cmocka_unit_test(a_port_that_is_not_ours_changes_nothing),
	cmocka_unit_test(a_port_that_goes_down_while_all_is_flushed_settles_each_op_once),
	cmocka_unit_test(a_qp_that_fails_fatally_is_told_and_closed_and_no_other),
	cmocka_unit_test(a_responder_hears_that_it_has_refused_and_is_closed),
	cmocka_unit_test(an_event_behind_the_flushes_has_the_cause),
	cmocka_unit_test(each_connection_hears_that_its_cq_or_its_device_is_lost),
	cmocka_unit_test(an_event_at_each_step_of_a_close_is_only_told),
	cmocka_unit_test(many_that_fail_and_are_closed_at_once_are_closed_once),
	cmocka_unit_test(an_event_of_a_dead_cq_is_not_its_successors),
	cmocka_unit_test(opening_and_closing_many_times_hangs_nowhere),
	cmocka_unit_test(two_cqs_that_fail_in_turn_are_counted_once_each),
	cmocka_unit_test(events_that_a_group_uses_are_not_ended),
};

static int
drivers(void **state)
{
	return plx_drivers_register();
}

PLX_TEST_SUITE(events, farm, tests, .setup = drivers, .lcores = 3, .device = true, .caps = PLX_CAP_ATTR_EXCHANGE);
