/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Async events: told of the wrapper's objects, and dropped, doubled, late or made up as a script says.
 */

#include "plx_test.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "fake_device.h"
#include "plx_fault.h"

static struct fake_device *fake;
static struct plx_device *dev;
static struct plx_pd *pd;
static struct plx_cq *cq;
static struct plx_qp *qp;

static void
open_script(const char *script)
{
	struct plx_qp_conf conf = {.cap = {.send_depth = 64}};

	fake = fake_open();
	dev = plx_fault_wrap(&fake->base, script);
	assert_non_null(dev);
	pd = plx_pd_create(dev);
	conf.send_cq = conf.recv_cq = cq = plx_cq_create(dev, 8);
	qp = plx_qp_create(pd, &conf);
	assert_non_null(qp);
}

static int
close_all(void **state)
{
	assert_int_equal(plx_qp_destroy(qp), 0);
	assert_int_equal(plx_cq_destroy(cq), 0);
	assert_int_equal(plx_pd_destroy(pd), 0);
	assert_int_equal(plx_device_close(dev), 0);
	assert_int_equal(fake_nb_objects, 0);
	return 0;
}

static void
expect_event(enum plx_event_type type, uint64_t object)
{
	struct plx_event event;

	assert_int_equal(plx_device_next_event(dev, &event), 1);
	assert_int_equal(event.type, type);
	assert_int_equal(event.object, object);
}

static void
expect_no_event(void)
{
	struct plx_event event;

	assert_int_equal(plx_device_next_event(dev, &event), 0);
}

static bool
readable(void)
{
	struct pollfd fd = {.fd = plx_device_event_fd(dev), .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

static void
send(unsigned int n)
{
	const struct plx_wr wr = {.wr_id = 1}, *wrs[] = {&wr};
	int err;

	while (n-- > 0)
		assert_int_equal(plx_qp_post_send(qp, wrs, 1, &err), 1);
}

static void
event_of_an_inner_object_names_ours(void **state)
{
	open_script("");
	assert_true(qp->id != fake->qps[0]->base.id);
	assert_false(readable());
	fake_raise(fake, PLX_EVENT_QP_FATAL, fake->qps[0]->base.id);
	fake_raise(fake, PLX_EVENT_CQ_ERROR, fake->cqs[0]->base.id);
	fake_raise(fake, PLX_EVENT_QP_FATAL, UINT64_MAX); /* nobody's */
	fake_raise(fake, PLX_EVENT_PORT_DOWN, 0);
	assert_true(readable());
	expect_event(PLX_EVENT_QP_FATAL, qp->id);
	assert_true(readable());
	expect_event(PLX_EVENT_CQ_ERROR, cq->id);
	expect_event(PLX_EVENT_QP_FATAL, 0);
	expect_event(PLX_EVENT_PORT_DOWN, 0);
	expect_no_event();
	assert_false(readable());
}

static void
event_of_an_object_that_is_gone_names_nothing(void **state)
{
	uint64_t inner;
	struct plx_qp_conf conf;

	open_script("");
	conf = (struct plx_qp_conf){.send_cq = cq, .recv_cq = cq, .cap = {.send_depth = 4}};
	inner = fake->qps[0]->base.id;
	assert_int_equal(plx_qp_destroy(qp), 0);
	qp = plx_qp_create(pd, &conf);
	fake_raise(fake, PLX_EVENT_LAST_WQE, inner);
	expect_event(PLX_EVENT_LAST_WQE, 0);
}

/* The knob for SRQs whose last-WQE event comes, does not, comes late, or twice. */
static void
events_are_dropped_doubled_and_late(void **state)
{
	struct plx_fault_stats stats;

	open_script("event last_wqe 1 drop; event last_wqe 2 twice; event last_wqe 3 late 2; event srq_limit 1 drop");
	for (int i = 0; i < 4; i++)
		fake_raise(fake, PLX_EVENT_LAST_WQE, i == 0 ? 0 : fake->qps[0]->base.id);
	expect_event(PLX_EVENT_LAST_WQE, qp->id); /* the second, */
	expect_event(PLX_EVENT_LAST_WQE, qp->id); /* and again; */
	assert_true(readable());		  /* who sleeps must look */
	expect_event(PLX_EVENT_LAST_WQE, qp->id); /* the third, two looks late; the fourth */
	expect_event(PLX_EVENT_LAST_WQE, qp->id);
	expect_no_event();
	assert_false(readable());
	assert_int_equal(plx_fault_stats(dev, &stats), 0);
	assert_int_equal(stats.events, 3);
	assert_int_equal(stats.raised, 0);
}

static void
late_event_comes_at_its_look_and_no_earlier(void **state)
{
	open_script("event port_down 1 late 3");
	fake_raise(fake, PLX_EVENT_PORT_DOWN, 0);
	for (int i = 0; i < 3; i++) {
		expect_no_event();
		assert_true(readable());
	}
	expect_event(PLX_EVENT_PORT_DOWN, 0);
	assert_false(readable());
}

static void
raised_event_names_what_was_at_work(void **state)
{
	struct plx_wc wc;
	struct plx_fault_stats stats;

	open_script("raise qp_fatal 3; raise cq_error 2; raise port_down 4; raise last_wqe 1/2; raise srq_limit 1");
	send(2);
	expect_event(PLX_EVENT_LAST_WQE, qp->id);
	expect_no_event();
	assert_false(readable());
	send(1);
	assert_true(readable());
	expect_event(PLX_EVENT_QP_FATAL, qp->id);
	assert_int_equal(plx_cq_poll(cq, &wc, 1), 0);
	expect_no_event();
	assert_int_equal(plx_cq_poll(cq, &wc, 1), 0);
	expect_event(PLX_EVENT_CQ_ERROR, cq->id);
	send(1);
	expect_event(PLX_EVENT_PORT_DOWN, 0);
	expect_event(PLX_EVENT_LAST_WQE, qp->id);
	expect_no_event();
	assert_int_equal(plx_fault_stats(dev, &stats), 0);
	assert_int_equal(stats.raised, 5);
}

static void
raised_device_fatal_loses_the_device(void **state)
{
	open_script("raise device_fatal 1");
	send(1);
	assert_false(plx_device_is_lost(dev));
	expect_event(PLX_EVENT_DEVICE_FATAL, 0);
	assert_true(plx_device_is_lost(dev));
}

#define ROOM 64 /* for events that wait to be read, plx_fault.h says */

static void
raised_events_without_room_are_counted_as_lost(void **state)
{
	struct plx_fault_stats stats;

	open_script("raise qp_fatal 1/1");
	send(ROOM + 6);
	assert_int_equal(plx_fault_stats(dev, &stats), 0);
	assert_int_equal(stats.raised, ROOM);
	assert_int_equal(stats.overrun, 6);
	for (unsigned int i = 0; i < ROOM; i++)
		expect_event(PLX_EVENT_QP_FATAL, qp->id);
	expect_no_event();
	send(1);
	expect_event(PLX_EVENT_QP_FATAL, qp->id);
}

static void
events_of_the_device_wait_for_room(void **state)
{
	open_script("event last_wqe 1/2 twice");
	for (unsigned int i = 0; i < ROOM + 6; i++)
		fake_raise(fake, PLX_EVENT_LAST_WQE, fake->qps[0]->base.id);
	for (unsigned int i = 0; i < (ROOM + 6) / 2 * 3; i++) {
		assert_true(readable());
		expect_event(PLX_EVENT_LAST_WQE, qp->id);
	}
	expect_no_event();
	assert_false(readable());
}

/** The rule's errno means what it always does: nothing has reached inner, and the object is there. */
static void
destroy_that_fails_on_a_lost_device_is_tried_again(void **state)
{
	open_script("raise device_fatal 1; fail qp_destroy 1 EIO; fail cq_destroy 1 EIO");
	send(1);
	expect_event(PLX_EVENT_DEVICE_FATAL, 0);
	assert_int_equal(plx_qp_destroy(qp), -EIO);
	assert_int_equal(plx_qp_destroy(qp), 0);
	assert_int_equal(plx_cq_destroy(cq), -EIO);
	qp = NULL;
}

static void
device_without_events_stays_without(void **state)
{
	struct plx_event event;

	fake = fake_open();
	close(fake->event_fd);
	fake->event_fd = -1;
	dev = plx_fault_wrap(&fake->base, "raise qp_fatal 1");
	assert_int_equal(plx_device_event_fd(dev), -ENOTSUP);
	assert_int_equal(plx_device_next_event(dev, &event), -ENOTSUP);
	assert_int_equal(plx_device_close(dev), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, close_all)

static const struct CMUnitTest tests[] = {
	TEST(event_of_an_inner_object_names_ours),
	TEST(event_of_an_object_that_is_gone_names_nothing),
	TEST(events_are_dropped_doubled_and_late),
	TEST(late_event_comes_at_its_look_and_no_earlier),
	TEST(raised_event_names_what_was_at_work),
	TEST(raised_device_fatal_loses_the_device),
	TEST(raised_events_without_room_are_counted_as_lost),
	TEST(events_of_the_device_wait_for_room),
	TEST(destroy_that_fails_on_a_lost_device_is_tried_again),
	cmocka_unit_test(device_without_events_stays_without),
};

PLX_TEST_SUITE(fault, fault_event, tests);
