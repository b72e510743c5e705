/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Async events: who has them names the object, and waits for nobody.
 */

#include "contract_pair.h"

#include <errno.h>
#include <poll.h>

#include <plx_clock.h>
#include <plx_event.h>
#include <plx_fault.h>
#include <plx_loopback.h>

#define needs_events() plx_test_needs(plx_device_event_fd(contract.dev) >= 0, "a device with async events")

/** The next event of @p type, others are passed over; fails the test if none comes. */
static struct plx_event
wait_event(unsigned int type)
{
	uint64_t deadline = plx_clock_monotonic_ns() + WAIT_NS;
	struct pollfd fd = {.fd = plx_device_event_fd(contract.dev), .events = POLLIN};
	struct plx_event event;

	while (plx_clock_monotonic_ns() < deadline) {
		int got = plx_device_next_event(contract.dev, &event);

		assert_true(got >= 0);
		if (got == 1 && event.type == type)
			return event;
		if (got == 0)
			poll(&fd, 1, 100);
	}
	fail_msg("no event \"%s\" came", plx_event_name(type));
	return event;
}

/** How many of @p type there are now. */
static unsigned int
events_of(unsigned int type)
{
	struct plx_event event;
	unsigned int nb = 0;

	while (plx_device_next_event(contract.dev, &event) == 1)
		nb += event.type == type;
	return nb;
}

static void
reading_does_not_wait_for_an_event(void **state)
{
	struct plx_event event;
	int got;

	if (plx_device_event_fd(contract.dev) < 0) {
		assert_int_equal(plx_device_event_fd(contract.dev), -ENOTSUP);
		assert_int_equal(plx_device_next_event(contract.dev, &event), -ENOTSUP);
		return;
	}
	while ((got = plx_device_next_event(contract.dev, &event)) == 1)
		;
	assert_int_equal(got, 0);
	assert_false(plx_device_is_lost(contract.dev));
}

/* ---- a device that is lost ----------------------------------------------------------------- */

/** One of each kind is destroyed, once. */
static void
destroy_each(struct objects *objs, struct plx_device *dev, void *buf)
{
	const struct plx_qp_cap cap = {.send_depth = 1, .recv_depth = 1, .send_sge = 1, .recv_sge = 1};
	struct plx_pd *pd = objects_pd(objs, dev);
	struct plx_cq *cq = objects_cq(objs, dev, 16);
	struct plx_srq *srq = objects_srq(objs, pd, 4, 1);
	struct plx_qp *qp = objects_qp_on(objs, pd, cq, &cap, srq);
	struct plx_mr *mr = objects_mr(objs, pd, buf, 64, 0);
	struct plx_mw *mw = objects_mw(objs, mr);

	objects_drop_qp(objs, qp);
	objects_drop_srq(objs, srq);
	objects_drop_cq(objs, cq);
	objects_drop_mw(objs, mw);
	objects_drop_mr(objs, mr);
	objects_drop_pd(objs, pd);
}

/** case 16.2 */
static void
what_is_destroyed_on_a_lost_device_is_gone(void **state)
{
	struct objects *objs = *state;
	void *buf = objects_buf(objs, 64);
	struct plx_device *inner = plx_device_open(contract.spec), *dev;
	struct plx_event event;

	assert_non_null(inner);
	assert_non_null(dev = contract.fault == NULL ? inner : plx_fault_wrap(inner, contract.fault));
	if (plx_loopback_lose(inner) != 0) { /* nobody can lose it by a call */
		assert_int_equal(plx_loopback_lose(inner), -EINVAL);
		assert_false(plx_device_is_lost(dev));
		assert_int_equal(plx_device_close(dev), 0);
		return;
	}
	destroy_each(objs, dev, buf); /* nobody has read of it */
	assert_false(plx_device_is_lost(dev));
	assert_int_equal(plx_device_next_event(dev, &event), 1);
	assert_int_equal(event.type, PLX_EVENT_DEVICE_FATAL);
	assert_true(plx_device_is_lost(dev));
	destroy_each(objs, dev, buf);
	assert_int_equal(plx_device_close(dev), 0);
}

/* ---- what a device tells ------------------------------------------------------------------- */

/** case 6.6 */
static void
limit_event_comes_once_for_each_time_it_is_armed(void **state)
{
	struct pair_conf conf = pair_conf();
	struct pair *pair = *state;
	uint64_t sent = 0, posted = 0;

	needs_events();
	needs_flag(PLX_CAP_SRQ);
	needs_connection();
	conf.srq_depth = 256;
	conf.cap.send_depth = 64;
	conf.nb_cqe = 1024;
	pair_make(pair, contract.dev, &conf);
	for (int round = 0; round < 3; round++) {
		struct plx_sge sge = side_sge(&pair->b, 0, 64);
		struct plx_wr recv = wr_of(1000, PLX_OPCODE_RECV, &sge, 1);
		const struct plx_wr *wrs[] = {&recv};
		int err;

		for (; posted < sent + 256; posted++)
			assert_int_equal(plx_srq_post_recv(pair->srq, wrs, 1, &err), 1);
		assert_int_equal(plx_srq_arm(pair->srq, 64), 0);
		assert_int_equal(events_of(PLX_EVENT_SRQ_LIMIT), 0);
		for (int i = 0; i < 200; i++, sent++) { /* 56 are left: below the limit since 63 */
			struct plx_sge from = side_sge(&pair->a, 0, 8);
			struct plx_wr wr = wr_of(sent, PLX_OPCODE_SEND, &from, 1);

			post_send(&pair->a, &wr);
			wait_ok(pair->a.cq, sent);
			wait_ok(pair->b.cq, 1000);
		}
		assert_int_equal(wait_event(PLX_EVENT_SRQ_LIMIT).object, pair->srq->id);
		assert_int_equal(events_of(PLX_EVENT_SRQ_LIMIT), 0);
	}
}

static void
overflowing_cq_is_named(void **state)
{
	struct pair_conf conf = pair_conf();
	struct pair *pair = *state;

	needs_events();
	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	conf.nb_cqe = 16;
	pair_make(pair, contract.dev, &conf);
	plx_test_needs(pair->a.cq->nb_cqe < conf.cap.send_depth, "a CQ of 16 that is not rounded up to 64");
	for (uint64_t i = 0; i < conf.cap.send_depth; i++) {
		struct plx_sge sge = side_sge(&pair->a, 0, 8);
		struct plx_wr wr = wr_remote(i, PLX_OPCODE_WRITE, &sge, 1, &pair->b, 0);

		post_send(&pair->a, &wr);
	}
	assert_int_equal(wait_event(PLX_EVENT_CQ_ERROR).object, pair->a.cq->id);
}

/** case 16.8 */
static void
event_that_was_read_keeps_nobody_from_destroying(void **state)
{
	struct pair_conf conf = pair_conf();
	struct pair *pair = *state;
	struct plx_event event;
	uint64_t id;

	needs_events();
	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	conf.nb_cqe = 16;
	pair_make(pair, contract.dev, &conf);
	plx_test_needs(pair->a.cq->nb_cqe < conf.cap.send_depth, "a CQ of 16 that is not rounded up to 64");
	for (uint64_t i = 0; i < conf.cap.send_depth; i++) {
		struct plx_sge sge = side_sge(&pair->a, 0, 8);
		struct plx_wr wr = wr_remote(i, PLX_OPCODE_WRITE, &sge, 1, &pair->b, 0);

		post_send(&pair->a, &wr);
	}
	event = wait_event(PLX_EVENT_CQ_ERROR); /* held, as it were, from here on */
	id = pair->a.cq->id;
	objects_drop_qp(&pair->objs, pair->a.qp);
	objects_drop_cq(&pair->objs, pair->a.cq);
	assert_int_equal(event.object, id);
}

/* ---- what a responder refuses -------------------------------------------------------------- */

/** A's op of @p opcode, signaled, which B refuses: for its rkey, or if that is good for what B's QP lets in. */
static void
be_refused(struct pair *pair, unsigned int opcode, bool bad_rkey)
{
	struct plx_sge sge = side_sge(&pair->a, 0, 8);
	struct plx_wr wr = wr_remote(1, opcode, &sge, 1, &pair->b, 0);

	if (bad_rkey)
		wr.rkey ^= 0x5a5a5a00;
	post_send(&pair->a, &wr);
	wait_wc(pair->a.cq, 1, bad_rkey ? PLX_ST_REM_ACCESS_ERR : PLX_ST_REM_INV_REQ_ERR);
	assert_true(wait_error(pair->b.qp));
}

/** As an affiliated asynchronous error (IBA 11.6.3): no completion tells it there. Linux 6.1's rxe keeps silent. */
static void
expect_fatal(const struct side *side)
{
	if (!contract.rxe)
		assert_int_equal(wait_event(PLX_EVENT_QP_FATAL).object, side->qp->id);
	assert_int_equal(events_of(PLX_EVENT_QP_FATAL), 0);
}

static void
refusal_without_a_receive_is_told_to_the_responder(void **state)
{
	static const unsigned int opcodes[] = {PLX_OPCODE_WRITE, PLX_OPCODE_READ, PLX_OPCODE_FETCH_ADD};
	struct pair_conf conf = pair_conf();
	struct pair *pair = *state;

	needs_events();
	needs_connection();
	for (unsigned int i = 0; i < NB_OF(opcodes); i++) {
		if (!contract_has_kind(opcodes[i]))
			continue;
		pair_make(pair, contract.dev, &conf);
		post_recv_at(&pair->b, 2, 0, 64); /* it is flushed, which says that there is a cause, not which */
		be_refused(pair, opcodes[i], true);
		wait_wc(pair->b.cq, 2, PLX_ST_WR_FLUSH_ERR);
		expect_fatal(&pair->b);
	}
}

static void
refusal_by_the_rights_of_the_qp_is_told_to_it(void **state)
{
	struct pair_conf conf = pair_conf();
	struct pair *pair = *state;

	needs_events();
	needs_connection();
	needs_kind(PLX_OPCODE_WRITE_IMM);
	conf.b_rights &= ~(uint32_t)PLX_ACCESS_REMOTE_WRITE;
	pair_make(pair, contract.dev, &conf);
	be_refused(pair, PLX_OPCODE_WRITE_IMM, false);
	expect_fatal(&pair->b);
}

/** A receive that fails is a completion, and the requester has its own: nobody needs an event. */
static void
refusal_that_a_receive_tells_raises_no_event(void **state)
{
	struct pair *pair = *state;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_events();
	needs_connection();
	sge = side_sge(&pair->a, 0, 65);
	wr = wr_of(1, PLX_OPCODE_SEND, &sge, 1);
	post_recv_at(&pair->b, 2, 0, 64);
	post_send(&pair->a, &wr);
	wait_wc(pair->b.cq, 2, contract.rxe ? PLX_ST_LOC_QP_OP_ERR : PLX_ST_LOC_LEN_ERR);
	assert_true(wait_error(pair->a.qp));
	assert_true(wait_error(pair->b.qp));
	assert_int_equal(events_of(PLX_EVENT_QP_FATAL), 0);
}

const struct CMUnitTest event_tests[] = {
	cmocka_unit_test(reading_does_not_wait_for_an_event),
	cmocka_unit_test_setup_teardown(what_is_destroyed_on_a_lost_device_is_gone, objects_setup, objects_teardown),
	pair_test_empty(limit_event_comes_once_for_each_time_it_is_armed),
	pair_test_empty(overflowing_cq_is_named),
	pair_test_empty(event_that_was_read_keeps_nobody_from_destroying),
	pair_test_empty(refusal_without_a_receive_is_told_to_the_responder),
	pair_test_empty(refusal_by_the_rights_of_the_qp_is_told_to_it),
	pair_test(refusal_that_a_receive_tells_raises_no_event),
};
const size_t nb_event_tests = NB_OF(event_tests);
