/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Async events, with a libibverbs of the test's own: whom each names, for a driver that real devices rarely tell anything.
 */

#include <plx_test.h>

#include <errno.h>
#include <string.h>

#include "verbs_impl.h"

static struct ibv_async_event next;
static unsigned int nb_acked;

int
ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	*event = next;
	return 0;
}

void
ibv_ack_async_event(struct ibv_async_event *event)
{
	nb_acked++;
}

/** A log that does what some do. */
int
rte_log(uint32_t level, uint32_t type, const char *format, ...)
{
	errno = 0;
	return 0;
}

static struct plx_event
event_of(enum ibv_event_type type, uintptr_t element)
{
	struct verbs_device dev = {.ctx = NULL};
	struct plx_event event;

	memset(&next, 0, sizeof(next));
	next.event_type = type;
	memcpy(&next.element, &element, sizeof(element));
	nb_acked = 0;
	assert_int_equal(verbs_event_next(&dev.base, &event), 1);
	assert_int_equal(nb_acked, 1);
	assert_int_equal(event.raw, type);
	return event;
}

static void
event_of_an_srq_names_it(void **state)
{
	struct plx_verbs_srq srq = {.base.id = 77};
	struct ibv_srq ibv = {.srq_context = &srq}, foreign = {.srq_context = NULL};
	static const struct {
		enum ibv_event_type raw;
		enum plx_event_type type;
	} events[] = {{IBV_EVENT_SRQ_ERR, PLX_EVENT_SRQ_ERROR}, {IBV_EVENT_SRQ_LIMIT_REACHED, PLX_EVENT_SRQ_LIMIT}};

	for (unsigned int i = 0; i < NB_OF(events); i++) {
		struct plx_event event = event_of(events[i].raw, (uintptr_t)&ibv);

		assert_int_equal(event.type, events[i].type);
		assert_int_equal(event.object, 77);
		assert_int_equal(event.port, 0);
		assert_int_equal(event_of(events[i].raw, (uintptr_t)&foreign).object, 0);
	}
}

static void
event_of_a_port_names_it_and_one_that_nobody_knows_names_nothing(void **state)
{
	/* IBV_EVENT_WQ_FATAL, and one that is not invented yet: there it is a pointer. */
	static const int unknown[] = {IBV_EVENT_WQ_FATAL, 1000};
	static const enum ibv_event_type of_port[] = {IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR, IBV_EVENT_LID_CHANGE,
		IBV_EVENT_PKEY_CHANGE, IBV_EVENT_SM_CHANGE, IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_GID_CHANGE};

	for (unsigned int i = 0; i < NB_OF(of_port); i++)
		assert_int_equal(event_of(of_port[i], 2).port, 2);
	for (unsigned int i = 0; i < NB_OF(unknown); i++) {
		struct plx_event event = event_of((enum ibv_event_type)unknown[i], (uintptr_t)&next);

		assert_int_equal(event.type, PLX_EVENT_OTHER);
		assert_int_equal(event.port, 0);
		assert_int_equal(event.object, 0);
	}
}

static void
file_that_stays_blocking_says_why_whatever_the_log_does(void **state)
{
	struct ibv_device ibv = {.name = "gone"};
	struct ibv_context ctx = {.device = &ibv, .async_fd = -1};
	struct verbs_device dev = {.ctx = &ctx};

	assert_int_equal(verbs_event_init(&dev), EBADF);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(event_of_an_srq_names_it),
	cmocka_unit_test(event_of_a_port_names_it_and_one_that_nobody_knows_names_nothing),
	cmocka_unit_test(file_that_stays_blocking_says_why_whatever_the_log_does),
};

PLX_TEST_SUITE(verbs, event, tests);
