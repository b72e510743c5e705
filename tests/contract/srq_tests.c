/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Shared receive queues: sizes, who is in use, and one store of receives for several QPs.
 */

#include "contract_pair.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_errno.h>

static const struct plx_qp_cap small = {.send_depth = 4, .recv_depth = 4, .send_sge = 1, .recv_sge = 1};

#define needs_srq() needs_flag(PLX_CAP_SRQ)

/** What is armed; a device that cannot tell says so, and then nothing is checked by it. */
static uint32_t
limit_of(struct plx_srq *srq)
{
	struct plx_srq_attr attr;
	int err = plx_srq_query(srq, &attr);

	plx_test_needs(err != -ENOTSUP, "a provider that tells an SRQ's limit");
	assert_int_equal(err, 0);
	assert_int_equal(attr.depth, srq->depth);
	return attr.limit;
}

/* ---- objects ------------------------------------------------------------------------------- */

static void
srqs_are_there_if_advertised_and_refused_if_not(void **state)
{
	struct plx_pd *pd = objects_pd(*state, contract.dev);
	const struct plx_srq_conf conf = {.depth = 4};

	if (contract_has_flag(PLX_CAP_SRQ)) {
		assert_true(contract_caps()->max_srq > 0 && contract_caps()->max_srq_wr > 0);
		objects_srq(*state, pd, 4, 1);
		return;
	}
	rte_errno = 0;
	assert_null(plx_srq_create(pd, &conf));
	assert_int_equal(rte_errno, ENOTSUP);
	assert_int_equal(contract_caps()->max_srq, 0);
}

static void
granted_srq_is_at_least_what_was_asked(void **state)
{
	struct objects *objs = *state;
	const uint32_t depths[] = {1, 2, 17, 100, 512};
	struct plx_pd *pd;

	needs_srq();
	pd = objects_pd(objs, contract.dev);
	for (unsigned int i = 0; i < NB_OF(depths); i++) {
		uint32_t depth = RTE_MIN(depths[i], contract_caps()->max_srq_wr);
		uint32_t sges = RTE_MIN(i + 1, contract_caps()->max_srq_sge);
		struct plx_srq *srq = objects_srq(objs, pd, depth, sges);

		assert_true(srq->depth >= depth);
		assert_true(srq->recv_sge >= sges);
	}
}

static void
srq_of_no_receives_or_too_many_is_refused(void **state)
{
	const struct plx_srq_conf confs[] = {
		{.depth = 0},
		{.depth = contract_caps()->max_srq_wr + 1},
		{.depth = UINT32_MAX},
		{.depth = 1, .recv_sge = contract_caps()->max_srq_sge + 1},
	};
	struct plx_pd *pd;

	needs_srq();
	pd = objects_pd(*state, contract.dev);
	for (unsigned int i = 0; i < NB_OF(confs); i++) {
		rte_errno = 0;
		assert_null(plx_srq_create(pd, &confs[i]));
		assert_int_equal(rte_errno, EINVAL);
	}
}

/** case 6.5 */
static void
srq_and_its_domain_are_busy(void **state)
{
	struct objects *objs = *state;
	struct plx_qp *one, *two;
	struct plx_srq *srq;
	struct plx_pd *pd;
	struct plx_cq *cq;

	needs_srq();
	pd = objects_pd(objs, contract.dev);
	cq = objects_cq(objs, contract.dev, 16);
	srq = objects_srq(objs, pd, 8, 1);
	one = objects_qp_on(objs, pd, cq, &small, srq);
	two = objects_qp_on(objs, pd, cq, &small, srq);
	assert_int_equal(plx_srq_destroy(srq), -EBUSY);
	objects_drop_qp(objs, one);
	assert_int_equal(plx_srq_destroy(srq), -EBUSY);
	objects_drop_qp(objs, two);
	assert_int_equal(plx_pd_destroy(pd), -EBUSY); /* the SRQ's */
	objects_drop_srq(objs, srq);
	objects_drop_cq(objs, cq);
	objects_drop_pd(objs, pd);
}

/** case 1.13 */
static void
receive_sizes_of_a_qp_with_an_srq_do_not_count(void **state)
{
	const struct plx_device_caps *caps = contract_caps();
	struct plx_qp_cap cap = small;
	struct objects *objs = *state;
	struct plx_pd *pd;
	struct plx_qp *qp;

	needs_srq();
	pd = objects_pd(objs, contract.dev);
	cap.recv_depth = caps->max_qp_wr + 1;
	cap.recv_sge = caps->max_sge + 1;
	qp = objects_qp_on(objs, pd, objects_cq(objs, contract.dev, 8), &cap, objects_srq(objs, pd, 8, 1));
	assert_int_equal(qp->cap.recv_depth, 0);
	assert_int_equal(qp->cap.recv_sge, 0);
	assert_true(qp->cap.send_depth >= cap.send_depth);
}

static void
srq_of_another_domain_is_refused(void **state)
{
	struct objects *objs = *state;
	struct plx_qp_conf conf = {.cap = small};
	struct plx_pd *pd;

	needs_srq();
	pd = objects_pd(objs, contract.dev);
	conf.send_cq = conf.recv_cq = objects_cq(objs, contract.dev, 8);
	conf.srq = objects_srq(objs, objects_pd(objs, contract.dev), 8, 1);
	rte_errno = 0;
	assert_null(plx_qp_create(pd, &conf));
	assert_int_equal(rte_errno, EINVAL);
}

/* ---- posting ------------------------------------------------------------------------------- */

/** Post a receive of 64 bytes of @p side's buffer, the @p wr_id'th. Returns 0 or what the device says. */
static int
srq_try_post(struct plx_srq *srq, const struct side *side, uint64_t wr_id)
{
	struct plx_sge sge = side_sge(side, wr_id % 1000 * 64, 64);
	struct plx_wr wr = wr_of(wr_id, PLX_OPCODE_RECV, &sge, 1);
	const struct plx_wr *wrs[] = {&wr};
	int err = 0;

	return plx_srq_post_recv(srq, wrs, 1, &err) == 1 ? 0 : err;
}

static void
srq_post(struct pair *pair, uint64_t wr_id)
{
	assert_int_equal(srq_try_post(pair->srq, &pair->b, wr_id), 0);
}

/** A device may round the ring up, and then takes more. */
static void
full_srq_takes_no_more(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf = pair_conf();
	uint32_t nb = 0;
	int err = 0;

	needs_srq();
	conf.srq_depth = 20;
	conf.connect = false;
	pair_make(pair, contract.dev, &conf);
	while (nb < 8 * pair->srq->depth && err == 0) {
		err = srq_try_post(pair->srq, &pair->b, nb);
		nb += err == 0;
	}
	assert_int_equal(err, -ENOMEM);
	assert_true(nb >= pair->srq->depth);
	expect_empty(pair->b.cq);
}

static void
burst_is_posted_up_to_the_first_that_is_refused(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf = pair_conf();
	struct plx_sge sges[64];
	struct plx_wr good, bad;
	const struct plx_wr *wrs[] = {&good, &good, &bad, &good};
	int err = 0;

	needs_srq();
	conf.srq_depth = 20;
	conf.connect = false;
	pair_make(pair, contract.dev, &conf);
	plx_test_needs(pair->srq->recv_sge < NB_OF(sges), "fewer than 64 SGEs granted");
	for (unsigned int i = 0; i < NB_OF(sges); i++)
		sges[i] = side_sge(&pair->b, i * 8, 8);
	good = wr_of(1, PLX_OPCODE_RECV, sges, 1);
	bad = wr_of(2, PLX_OPCODE_RECV, sges, pair->srq->recv_sge + 1);
	assert_int_equal(plx_srq_post_recv(pair->srq, wrs, NB_OF(wrs), &err), 2);
	assert_int_equal(err, -EINVAL);
	assert_int_equal(plx_srq_post_recv(pair->srq, wrs, 0, &err), 0);
}

static void
qp_with_an_srq_has_no_receive_queue(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf = pair_conf();
	const struct plx_wr *wrs[1];
	struct plx_sge sge;
	struct plx_wr wr;
	int err = 0;

	needs_srq();
	conf.srq_depth = 4;
	pair_make(pair, contract.dev, &conf);
	sge = side_sge(&pair->b, 0, 8);
	wr = wr_of(1, PLX_OPCODE_RECV, &sge, 1);
	wrs[0] = &wr;
	assert_int_equal(plx_qp_post_recv(pair->b.qp, wrs, 1, &err), 0);
	assert_int_equal(err, -EINVAL);
	assert_int_equal(plx_qp_to_error(pair->b.qp), 0);
	expect_empty(pair->b.cq);
	assert_int_equal(plx_qp_post_recv(pair->b.qp, wrs, 1, &err), 0);
	assert_int_equal(err, -EINVAL);
}

/* ---- messages ------------------------------------------------------------------------------ */

/** Two senders, and two receivers on one SRQ: a -> b and c -> d. */
struct four {
	struct pair pair;
	struct side c, d;
};

static int
four_setup(void **state)
{
	*state = calloc(1, sizeof(struct four));
	return *state != NULL ? 0 : -1;
}

static void
four_make(struct four *four, uint32_t depth)
{
	struct pair_conf conf = pair_conf();

	conf.srq_depth = depth;
	pair_make(&four->pair, contract.dev, &conf);
	side_make(&four->pair, &four->c, contract.dev, &conf, NULL);
	side_make(&four->pair, &four->d, contract.dev, &conf, four->pair.srq);
	sides_connect(&four->c, &four->d, &conf);
}

static void
send_64(struct side *from, uint64_t wr_id, unsigned int seed)
{
	struct plx_sge sge = side_sge(from, wr_id % 1000 * 64, 64);
	struct plx_wr wr = wr_of(wr_id, PLX_OPCODE_SEND, &sge, 1);

	fill(from->buf + wr_id % 1000 * 64, 64, seed);
	post_send(from, &wr);
}

/** The message of @p seed has come to @p to, into whichever receive. */
static void
expect_message(struct four *four, struct side *to, unsigned int seed)
{
	struct plx_wc wc;

	wait_wcs(to->cq, &wc, 1);
	assert_int_equal(wc.status, PLX_ST_SUCCESS);
	assert_int_equal(wc.opcode, PLX_OPCODE_RECV);
	assert_int_equal(wc.byte_len, 64);
	assert_int_equal(wc.qp_num, to->qp->qp_num);
	expect_filled(four->pair.b.buf + wc.wr_id % 1000 * 64, 64, seed);
}

static void
receives_go_to_whoever_sends_and_the_completion_says_who(void **state)
{
	struct four *four = *state;
	struct pair *pair = &four->pair;

	needs_srq();
	needs_connection();
	four_make(four, 16);
	for (unsigned int i = 0; i < 60; i++) {
		bool first = i % 3 != 0; /* not in turns */

		srq_post(pair, 100 + i);
		send_64(first ? &pair->a : &four->c, i, i);
		expect_message(four, first ? &pair->b : &four->d, i);
		wait_ok(first ? pair->a.cq : four->c.cq, i);
	}
	expect_empty(pair->b.cq);
	expect_empty(four->d.cq);
}

static void
empty_srq_is_receiver_not_ready_for_all(void **state)
{
	struct four *four = *state;
	struct pair *pair = &four->pair;

	needs_srq();
	needs_connection();
	needs_flag(PLX_CAP_RNR);
	four_make(four, 16);
	send_64(&pair->a, 1, 1);
	send_64(&four->c, 2, 2);
	expect_empty(pair->a.cq);
	expect_empty(four->c.cq);
	srq_post(pair, 100);
	srq_post(pair, 101);
	wait_ok(pair->a.cq, 1); /* who tries again does so while it polls */
	wait_ok(four->c.cq, 2);
	expect_message(four, &pair->b, 1);
	expect_message(four, &four->d, 2);
}

static void
receives_outlive_a_qp_that_fails_and_one_that_is_destroyed(void **state)
{
	struct four *four = *state;
	struct pair *pair = &four->pair;

	needs_srq();
	needs_connection();
	four_make(four, 16);
	srq_post(pair, 100);
	srq_post(pair, 101);
	assert_int_equal(plx_qp_to_error(pair->b.qp), 0);
	expect_empty(pair->b.cq);
	send_64(&four->c, 1, 1);
	expect_message(four, &four->d, 1);
	objects_drop_qp(&pair->objs, pair->b.qp);
	send_64(&four->c, 2, 2);
	expect_message(four, &four->d, 2);
	expect_empty(pair->b.cq);
}

static void
receive_of_an_srq_that_is_too_short_fails_its_connection_alone(void **state)
{
	struct four *four = *state;
	struct pair *pair = &four->pair;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_srq();
	needs_connection();
	four_make(four, 16);
	srq_post(pair, 100);
	sge = side_sge(&pair->a, 0, 65);
	wr = wr_of(1, PLX_OPCODE_SEND, &sge, 1);
	post_send(&pair->a, &wr);
	wait_wc(pair->a.cq, 1, contract.rxe ? PLX_ST_REM_OP_ERR : PLX_ST_REM_INV_REQ_ERR);
	wait_wc(pair->b.cq, 100, contract.rxe ? PLX_ST_LOC_QP_OP_ERR : PLX_ST_LOC_LEN_ERR);
	srq_post(pair, 101);
	send_64(&four->c, 2, 2);
	expect_message(four, &four->d, 2);
}

/* ---- limit --------------------------------------------------------------------------------- */

static void
limit_is_armed_and_disarmed(void **state)
{
	struct objects *objs = *state;
	struct plx_srq *srq;

	needs_srq();
	srq = objects_srq(objs, objects_pd(objs, contract.dev), 16, 1);
	assert_int_equal(plx_srq_arm(srq, 8), 0);
	assert_int_equal(limit_of(srq), 8);
	assert_int_equal(plx_srq_arm(srq, 0), 0);
	assert_int_equal(limit_of(srq), 0);
	assert_int_equal(plx_srq_arm(srq, srq->depth + 1), -EINVAL);
	assert_int_equal(limit_of(srq), 0);
}

static void
limit_that_fires_is_disarmed(void **state)
{
	struct four *four = *state;
	struct pair *pair = &four->pair;

	needs_srq();
	needs_connection();
	four_make(four, 16);
	for (unsigned int i = 0; i < 4; i++)
		srq_post(pair, 100 + i);
	assert_int_equal(plx_srq_arm(pair->srq, 3), 0);
	send_64(&pair->a, 1, 1);
	expect_message(four, &pair->b, 1);
	assert_int_equal(limit_of(pair->srq), 3); /* 3 are left: not fewer */
	send_64(&pair->a, 2, 2);
	expect_message(four, &pair->b, 2);
	assert_int_equal(limit_of(pair->srq), 0);
}

#define objects_test(f) cmocka_unit_test_setup_teardown(f, objects_setup, objects_teardown)
#define four_test(f)	cmocka_unit_test_setup_teardown(f, four_setup, pair_teardown)

const struct CMUnitTest srq_tests[] = {
	objects_test(srqs_are_there_if_advertised_and_refused_if_not),
	objects_test(granted_srq_is_at_least_what_was_asked),
	objects_test(srq_of_no_receives_or_too_many_is_refused),
	objects_test(srq_and_its_domain_are_busy),
	objects_test(receive_sizes_of_a_qp_with_an_srq_do_not_count),
	objects_test(srq_of_another_domain_is_refused),
	pair_test_empty(full_srq_takes_no_more),
	pair_test_empty(burst_is_posted_up_to_the_first_that_is_refused),
	pair_test_empty(qp_with_an_srq_has_no_receive_queue),
	four_test(receives_go_to_whoever_sends_and_the_completion_says_who),
	four_test(empty_srq_is_receiver_not_ready_for_all),
	four_test(receives_outlive_a_qp_that_fails_and_one_that_is_destroyed),
	four_test(receive_of_an_srq_that_is_too_short_fails_its_connection_alone),
	objects_test(limit_is_armed_and_disarmed),
	four_test(limit_that_fires_is_disarmed),
};
const size_t nb_srq_tests = NB_OF(srq_tests);
