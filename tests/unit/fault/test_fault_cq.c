/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What rules do to completions: which ones, how many exactly, and when. The inner device gives CQEs with wr_ids 1,
 * 2, 3, ... so that the wr_id tells the count.
 */

#include "plx_test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "fake_device.h"
#include "plx_fault.h"

#define NB_CQE 1000

static struct fake_device *fake;
static struct plx_device *dev;
static struct plx_cq *cq;
static struct fake_cq *inner;
static struct plx_wc wcs[2 * NB_CQE];

static void
open_cq(const char *script, uint32_t nb_cqe)
{
	fake = fake_open();
	dev = plx_fault_wrap(&fake->base, script);
	assert_non_null(dev);
	cq = plx_cq_create(dev, nb_cqe);
	assert_non_null(cq);
	inner = fake->cqs[0];
}

static void
open_script(const char *script)
{
	open_cq(script, NB_CQE);
}

static struct plx_fault_stats
stats(void)
{
	struct plx_fault_stats now;

	assert_int_equal(plx_fault_stats(dev, &now), 0);
	return now;
}

/* Whatever a test does: nothing is lost but by a rule. */
static int
close_all(void **state)
{
	struct plx_fault_stats now;

	if (dev == NULL)
		return 0;
	assert_int_equal(plx_cq_destroy(cq), 0);
	now = stats();
	assert_int_equal(now.waiting, 0);
	assert_int_equal(now.cqes + now.made + now.duplicated + now.replayed, now.given + now.dropped + now.discarded);
	assert_int_equal(plx_device_close(dev), 0);
	assert_int_equal(fake_nb_objects, 0);
	dev = NULL;
	return 0;
}

/* One poll gives exactly the wr_ids listed; 0 ends the list. */
static void
expect_poll(uint16_t n, const uint64_t *wr_ids)
{
	int got = plx_cq_poll(cq, wcs, n), i = 0;

	for (; wr_ids[i] != 0; i++) {
		assert_true(i < got);
		assert_int_equal(wcs[i].wr_id, wr_ids[i]);
	}
	assert_int_equal(got, i);
}

#define EXPECT_POLL(n, ...) expect_poll(n, (const uint64_t[]){__VA_ARGS__ __VA_OPT__(,) 0})

static void
empty_script_changes_nothing(void **state)
{
	open_script("");
	fake_complete_with(inner, 1, PLX_ST_SUCCESS);
	fake_complete_with(inner, 2, PLX_ST_RETRY_EXC_ERR);
	fake_complete_from(inner, 3, 1);
	assert_int_equal(plx_cq_poll(cq, wcs, 2), 2);
	assert_memory_equal(wcs, inner->wcs, 2 * sizeof(wcs[0]));
	EXPECT_POLL(2, 3);
	EXPECT_POLL(2);
	assert_int_equal(stats().given, 3);
	assert_int_equal(cq->nb_empty, 1);
}

/* ---- drop ---------------------------------------------------------------------------------- */

static void
every_nth_cqe_is_dropped(void **state)
{
	uint64_t next = 1;
	int got;

	open_script("drop cqe 1/10");
	fake_complete_from(inner, 1, 1000);
	while ((got = plx_cq_poll(cq, wcs, 32)) > 0) {
		for (int i = 0; i < got; i++, next++) {
			if (next % 10 == 0)
				next++;
			assert_int_equal(wcs[i].wr_id, next);
		}
	}
	assert_int_equal(stats().dropped, 100);
	assert_int_equal(stats().given, 900);
	assert_int_equal(stats().cqes, 1000);
}

static void
nth_alone_is_dropped_once(void **state)
{
	open_script("drop cqe 2");
	fake_complete_from(inner, 1, 6);
	EXPECT_POLL(32, 1, 3, 4, 5, 6);
	assert_int_equal(stats().dropped, 1);
}

static void
drop_counts_over_all_cqs_of_the_device(void **state)
{
	struct plx_cq *second;

	open_script("drop cqe 1/3");
	second = plx_cq_create(dev, 8);
	fake_complete_from(inner, 1, 4);
	fake_complete_from(fake->cqs[1], 101, 3);
	EXPECT_POLL(2, 1, 2);
	assert_int_equal(plx_cq_poll(second, wcs, 8), 2); /* 101 is the third */
	assert_int_equal(wcs[0].wr_id, 102);
	EXPECT_POLL(8, 4);
	assert_int_equal(plx_cq_destroy(second), 0);
}

static void
dropped_cqes_do_not_make_the_cq_look_empty(void **state)
{
	open_script("drop cqe 1/2");
	fake_complete_from(inner, 1, 6);
	EXPECT_POLL(1, 1);
	EXPECT_POLL(1, 3);
	EXPECT_POLL(1, 5);
	EXPECT_POLL(1);
}

static void
poll_ends_though_every_cqe_is_dropped_and_more_keep_coming(void **state)
{
	open_cq("drop cqe 1/1", 100);
	fake_complete_from(inner, 1, 1);
	inner->endless = 1;
	EXPECT_POLL(32);
	assert_int_equal(stats().dropped, cq->nb_cqe);
}

static void
seeded_drop_loses_the_same_cqes_in_every_run(void **state)
{
	static uint64_t first[NB_CQE];
	int got, again;

	open_script("drop cqe 1/10 seed 7");
	fake_complete_from(inner, 1, NB_CQE);
	got = plx_cq_poll(cq, wcs, NB_CQE);
	for (int i = 0; i < got; i++)
		first[i] = wcs[i].wr_id;
	assert_int_equal(got + stats().dropped, NB_CQE);
	assert_in_range(got, NB_CQE - 150, NB_CQE - 50);
	close_all(state);

	open_script("drop cqe 1/10 seed 7");
	fake_complete_from(inner, 1, NB_CQE);
	again = plx_cq_poll(cq, wcs, NB_CQE);
	assert_int_equal(again, got);
	for (int i = 0; i < got; i++)
		assert_int_equal(wcs[i].wr_id, first[i]);
}

/* ---- dup ----------------------------------------------------------------------------------- */

static void
copy_comes_directly_behind_the_original(void **state)
{
	open_script("dup cqe 1/2");
	fake_complete_from(inner, 1, 5);
	EXPECT_POLL(32, 1, 2, 2, 3, 4, 4, 5);
	assert_memory_equal(&wcs[1], &wcs[2], sizeof(wcs[1]));
	assert_int_equal(stats().duplicated, 2);
	assert_int_equal(stats().given, 7);
}

static void
copy_comes_at_the_next_poll_when_the_burst_has_no_room(void **state)
{
	open_script("dup cqe 1/2");
	fake_complete_from(inner, 1, 4);
	EXPECT_POLL(2, 1, 2);
	assert_int_equal(stats().waiting, 1);
	EXPECT_POLL(2, 2, 3);
	EXPECT_POLL(1, 4);
	EXPECT_POLL(1, 4);
	EXPECT_POLL(1);
}

static void
four_dups_make_sixteen_of_one_in_the_smallest_cq(void **state)
{
	unsigned int total = 0;
	int got;

	open_cq("dup cqe 1/1; dup cqe 1/1; dup cqe 1/1; dup cqe 1/1", 1);
	fake_complete_from(inner, 1, 3);
	while ((got = plx_cq_poll(cq, wcs, 5)) > 0) {
		for (int i = 0; i < got; i++, total++)
			assert_int_equal(wcs[i].wr_id, 1 + total / 16);
	}
	assert_int_equal(total, 48);
	assert_int_equal(stats().duplicated, 45);
}

/* ---- hold ---------------------------------------------------------------------------------- */

static void
held_cqe_is_given_by_the_32nd_further_poll(void **state)
{
	open_script("hold cqe 32");
	fake_complete_from(inner, 1, 1);
	for (int i = 0; i < 32; i++)
		EXPECT_POLL(8); /* the first of them takes it from the device */
	assert_int_equal(stats().waiting, 1);
	EXPECT_POLL(8, 1);
	assert_int_equal(stats().waiting, 0);
	assert_int_equal(stats().held, 1);
}

static void
held_cqes_keep_their_order_and_each_its_own_count(void **state)
{
	open_script("hold cqe 2");
	fake_complete_from(inner, 1, 2);
	EXPECT_POLL(8);
	fake_complete_from(inner, 3, 1);
	EXPECT_POLL(8);
	EXPECT_POLL(8, 1, 2);
	EXPECT_POLL(8, 3);
	fake_complete_from(inner, 4, 3);
	EXPECT_POLL(1);
	EXPECT_POLL(1);
	EXPECT_POLL(1, 4);
	EXPECT_POLL(2, 5, 6);
}

static void
two_holds_add_up(void **state)
{
	open_script("hold cqe 2; hold cqe 1");
	fake_complete_from(inner, 1, 1);
	for (int i = 0; i < 3; i++)
		EXPECT_POLL(8);
	EXPECT_POLL(8, 1);
	assert_int_equal(stats().held, 2);
}

static void
full_holds_pass_on_all_they_have_at_each_poll(void **state)
{
	open_cq("hold cqe 1; hold cqe 1", 15); /* 16 are granted */
	fake_complete_from(inner, 1, 64);
	EXPECT_POLL(16);
	EXPECT_POLL(16);
	for (uint64_t first = 1; first < 64; first += 16) {
		assert_int_equal(plx_cq_poll(cq, wcs, 16), 16);
		assert_int_equal(wcs[0].wr_id, first);
		assert_int_equal(wcs[15].wr_id, first + 15);
	}
}

static void
cqes_overtake_the_ones_that_are_held(void **state)
{
	open_script("hold cqe 1 1/2");
	fake_complete_from(inner, 1, 4);
	EXPECT_POLL(8, 1, 3);
	EXPECT_POLL(8, 2, 4);
}

static void
held_cqes_take_no_more_than_the_cq_and_the_rest_waits_in_the_device(void **state)
{
	unsigned int total = 0;
	int got;

	open_cq("hold cqe 3", 31); /* 32 are granted */
	fake_complete_from(inner, 1, 40);
	EXPECT_POLL(8);
	EXPECT_POLL(8);
	assert_int_equal(stats().waiting, 32);
	EXPECT_POLL(8);
	EXPECT_POLL(8, 1, 2, 3, 4, 5, 6, 7, 8);
	for (int i = 0; i < 12; i++) {
		got = plx_cq_poll(cq, wcs, 8);
		for (int k = 0; k < got; k++, total++)
			assert_int_equal(wcs[k].wr_id, 9 + total);
	}
	assert_int_equal(total, 32);
}

/* More than the rings hold, at the smallest burst: every one must come, as often as the script says. */
static void
expect_each_twice(const char *script)
{
	unsigned int times[64] = {0}, total = 0;

	open_cq(script, 15);
	fake_complete_from(inner, 0, NB_OF(times));
	for (int i = 0; i < 4 * 64; i++) {
		int got = plx_cq_poll(cq, wcs, 1);

		if (got > 0)
			times[wcs[0].wr_id]++;
		total += got;
	}
	assert_int_equal(total, 2 * NB_OF(times));
	for (unsigned int i = 0; i < NB_OF(times); i++)
		assert_int_equal(times[i], 2);
}

static void
full_rings_lose_nothing(void **state)
{
	expect_each_twice("hold cqe 1; dup cqe 1/1");
	close_all(state);
	expect_each_twice("dup cqe 1/1; hold cqe 3; hold cqe 2");
	close_all(state);
	expect_each_twice("hold cqe 1 1/2; dup cqe 1/1; hold cqe 4 1/3");
	close_all(state);
	expect_each_twice("swap cqe 1/3; hold cqe 2 1/2; dup cqe 1/1; swap cqe 1/5; swap cqe 1/2");
}

static void
held_cqe_outlives_its_qp(void **state)
{
	struct plx_pd *pd;
	struct plx_qp *qp;
	struct plx_qp_conf conf = {.cap = {.send_depth = 4}};

	open_script("hold cqe 2");
	conf.send_cq = conf.recv_cq = cq;
	pd = plx_pd_create(dev);
	qp = plx_qp_create(pd, &conf);
	assert_non_null(qp);
	fake_complete_from(inner, 1, 1);
	EXPECT_POLL(8);
	assert_int_equal(plx_qp_destroy(qp), 0);
	EXPECT_POLL(8); /* whoever takes this for "the CQ is empty" meets a stale CQE later */
	EXPECT_POLL(8, 1);
	assert_int_equal(plx_pd_destroy(pd), 0);
}

static void
cqes_that_wait_go_with_their_cq(void **state)
{
	open_script("dup cqe 3; hold cqe 5 2");
	fake_complete_from(inner, 1, 3);
	EXPECT_POLL(2, 1, 3);
	assert_int_equal(stats().waiting, 2); /* 2 is held, the copy of 3 had no room */
	assert_int_equal(plx_cq_destroy(cq), 0);
	assert_int_equal(stats().waiting, 0);
	assert_int_equal(stats().discarded, 2);
	cq = NULL;
}

static void
latency_that_varies_keeps_the_order(void **state)
{
	unsigned int next = 1, turns = 0, polls_with_some = 0;
	int got;

	open_script("hold cqe 1..9 1/1 seed 5");
	fake_complete_from(inner, 1, 40);
	for (; next <= 40 && turns < 20; turns++) {
		got = plx_cq_poll(cq, wcs, 64);
		polls_with_some += got > 0;
		for (int i = 0; i < got; i++, next++)
			assert_int_equal(wcs[i].wr_id, next);
	}
	assert_int_equal(next, 41);
	assert_true(turns <= 10);
	assert_in_range(polls_with_some, 2, 9);
}

/* ---- order and age ------------------------------------------------------------------------- */

static void
swapped_cqe_comes_behind_the_next_one(void **state)
{
	open_script("swap cqe 1/2");
	fake_complete_from(inner, 1, 2);
	EXPECT_POLL(8, 1);
	assert_int_equal(stats().waiting, 1);
	fake_complete_from(inner, 3, 3);
	EXPECT_POLL(8, 3, 2, 5, 4);
	assert_int_equal(stats().swapped, 2);
	assert_int_equal(stats().waiting, 0);
}

static void
cqe_that_nobody_overtakes_comes_alone_after_eight_polls(void **state)
{
	open_script("swap cqe 1");
	fake_complete_from(inner, 1, 1);
	for (int i = 0; i < 8; i++)
		EXPECT_POLL(8);
	EXPECT_POLL(8, 1);
	assert_int_equal(stats().swapped, 0);
}

/* case 1.9 */
static void
old_cqe_is_replayed_behind_a_new_one(void **state)
{
	open_script("replay cqe 3 2; replay cqe 5 1024");
	fake_complete_from(inner, 1, 2);
	EXPECT_POLL(8, 1, 2);
	fake_complete_from(inner, 3, 4);
	EXPECT_POLL(8, 3, 1, 4, 5, 6); /* nothing is 1024 back */
	assert_int_equal(stats().replayed, 1);
}

static void
replayed_cqe_is_the_very_one_of_that_age(void **state)
{
	open_script("replay cqe 1/1 3");
	for (uint64_t first = 1; first < 100; first++) {
		fake_complete_from(inner, first, 1);
		assert_int_equal(plx_cq_poll(cq, wcs, 8), first > 3 ? 2 : 1);
		assert_int_equal(wcs[0].wr_id, first);
		if (first > 3)
			assert_int_equal(wcs[1].wr_id, first - 3);
	}
	assert_int_equal(stats().replayed, 96);
}

/* ---- errors, garbage ----------------------------------------------------------------------- */

static void
poison_fills_what_an_error_leaves_undefined(void **state)
{
	struct plx_wc want;

	open_script("poison");
	fake_complete_with(inner, 1, PLX_ST_SUCCESS);
	fake_complete_with(inner, 2, PLX_ST_REM_ACCESS_ERR);
	assert_int_equal(plx_cq_poll(cq, wcs, 8), 2);
	assert_memory_equal(&wcs[0], &inner->wcs[0], sizeof(wcs[0]));
	memset(&want, 0xa5, sizeof(want));
	want.wr_id = 2;
	want.status = PLX_ST_REM_ACCESS_ERR;
	want.raw_status = PLX_ST_REM_ACCESS_ERR;
	want.qp_num = 17;
	want.vendor_err = 99;
	assert_memory_equal(&wcs[1], &want, sizeof(want));
	assert_int_equal(stats().poisoned, 1);
}

static void
every_nth_success_becomes_the_error(void **state)
{
	open_script("error RETRY_EXC_ERR 1/2");
	fake_complete_with(inner, 1, PLX_ST_SUCCESS);
	fake_complete_with(inner, 2, PLX_ST_WR_FLUSH_ERR); /* no success: neither counted nor changed */
	fake_complete_with(inner, 3, PLX_ST_SUCCESS);
	assert_int_equal(plx_cq_poll(cq, wcs, 8), 3);
	assert_int_equal(wcs[0].status, PLX_ST_SUCCESS);
	assert_int_equal(wcs[1].status, PLX_ST_WR_FLUSH_ERR);
	assert_int_equal(wcs[2].status, PLX_ST_RETRY_EXC_ERR);
	assert_int_equal(wcs[2].raw_status, PLX_ST_RETRY_EXC_ERR);
	assert_int_equal(stats().errors, 1);
}

static void
wr_id_of_every_nth_cqe_is_garbage(void **state)
{
	open_script("wrid 1/2");
	fake_complete_from(inner, 1, 4);
	assert_int_equal(plx_cq_poll(cq, wcs, 8), 4);
	assert_int_equal(wcs[0].wr_id, 1);
	assert_true(wcs[1].wr_id > 4);
	assert_int_equal(wcs[2].wr_id, 3);
	assert_true(wcs[3].wr_id > 4);
	wcs[1].wr_id = 2;
	assert_memory_equal(&wcs[1], &inner->wcs[1], sizeof(wcs[1]));
	assert_int_equal(stats().garbled, 2);
}

static void
each_kind_of_garbage_is_what_it_says(void **state)
{
	open_script("wrid 2 hash; wrid 3 zero; wrid 4 ones; wrid 5 flip 63; wrid 6 last");
	fake_complete_from(inner, 1, 7);
	assert_int_equal(plx_cq_poll(cq, wcs, 8), 7);
	assert_true(wcs[1].wr_id > 7);
	assert_true(wcs[2].wr_id == 0);
	assert_true(wcs[3].wr_id == UINT64_MAX);
	assert_true(wcs[4].wr_id == (UINT64_C(1) << 63 | 5));
	assert_true(wcs[5].wr_id == wcs[4].wr_id); /* as it reached the rule */
	assert_int_equal(wcs[6].wr_id, 7);
	assert_int_equal(stats().garbled, 5);
}

static void
rule_sees_its_objects_alone(void **state)
{
	open_script("drop ok 2; drop err 2; drop send 1; drop recv 3");
	fake_complete_with(inner, 1, PLX_ST_SUCCESS); /* all are receives */
	fake_complete_with(inner, 2, PLX_ST_RETRY_EXC_ERR);
	fake_complete_with(inner, 3, PLX_ST_SUCCESS); /* the second success */
	fake_complete_with(inner, 4, PLX_ST_WR_FLUSH_ERR); /* the second error */
	fake_complete_with(inner, 5, PLX_ST_SUCCESS);
	fake_complete_with(inner, 6, PLX_ST_SUCCESS); /* the third receive that got there */
	fake_complete_with(inner, 7, PLX_ST_SUCCESS);
	inner->wcs[6].opcode = PLX_OPCODE_WRITE;
	EXPECT_POLL(8, 1, 2, 5);
	assert_int_equal(stats().dropped, 4);
}

static void
fatal_error_takes_its_qp_to_err_and_no_other(void **state)
{
	struct plx_pd *pd;
	struct plx_qp *qps[2];
	struct plx_qp_conf conf = {.cap = {.send_depth = 4}};

	open_script("error RETRY_EXC_ERR 2 fatal; error REM_OP_ERR 3");
	conf.send_cq = conf.recv_cq = cq;
	pd = plx_pd_create(dev);
	for (int i = 0; i < 2; i++)
		assert_non_null(qps[i] = plx_qp_create(pd, &conf));
	fake_complete_from(inner, 1, 3);
	for (int i = 0; i < 3; i++)
		inner->wcs[i].qp_num = qps[1]->qp_num;
	EXPECT_POLL(1, 1);
	assert_int_equal(fake->qps[1]->state, PLX_QP_RESET);
	EXPECT_POLL(1, 2);
	assert_int_equal(fake->qps[1]->state, PLX_QP_ERR);
	assert_int_equal(fake->qps[0]->state, PLX_QP_RESET);
	fake->qps[1]->state = PLX_QP_RTS;
	EXPECT_POLL(1, 3);
	assert_int_equal(fake->qps[1]->state, PLX_QP_RTS); /* not fatal */
	for (int i = 0; i < 2; i++)
		assert_int_equal(plx_qp_destroy(qps[i]), 0);
	fake_complete_from(inner, 4, 1);
	EXPECT_POLL(8, 4); /* of a QP that is gone */
	assert_int_equal(plx_pd_destroy(pd), 0);
}

/* ---- together ------------------------------------------------------------------------------ */

static void
rules_act_in_script_order(void **state)
{
	open_script("dup cqe 1/1; drop cqe 1/2"); /* the rule sees copies too: they are every second */
	fake_complete_from(inner, 1, 3);
	EXPECT_POLL(8, 1, 2, 3);
	close_all(state);

	open_script("drop cqe 1/2; dup cqe 1/1");
	fake_complete_from(inner, 1, 3);
	EXPECT_POLL(8, 1, 1, 3, 3);
	close_all(state);

	open_script("poison; error REM_OP_ERR 1/1");
	fake_complete_from(inner, 1, 1);
	assert_int_equal(plx_cq_poll(cq, wcs, 8), 1);
	assert_int_equal(wcs[0].byte_len, 64);
	close_all(state);

	open_script("error REM_OP_ERR 1/1; poison");
	fake_complete_from(inner, 1, 1);
	assert_int_equal(plx_cq_poll(cq, wcs, 8), 1);
	assert_int_equal(wcs[0].byte_len, 0xa5a5a5a5);
	assert_int_equal(wcs[0].status, PLX_ST_REM_OP_ERR);
}

static void
rules_behind_a_hold_act_when_it_lets_go(void **state)
{
	open_script("hold cqe 1; dup cqe 1/1; drop cqe 3");
	fake_complete_from(inner, 1, 2);
	EXPECT_POLL(8);
	assert_int_equal(stats().duplicated, 0);
	EXPECT_POLL(8, 1, 1, 2);
}

static void
dead_cq_says_so_when_nothing_is_ready(void **state)
{
	open_script("dup cqe 1/1");
	fake_complete_from(inner, 1, 1);
	inner->dead = -EIO;
	EXPECT_POLL(8, 1, 1); /* the device has said so by now */
	assert_int_equal(plx_cq_poll(cq, wcs, 8), -EIO);
}

struct hooked {
	unsigned int nb[2];
	unsigned int nb_inner; /* CQEs of the inner CQ that were left at the last call */
};

static void
note_point(struct plx_cq *polled, enum plx_fault_point point, void *arg)
{
	struct hooked *hooked = arg;

	assert_ptr_equal(polled, cq);
	hooked->nb[point]++;
	hooked->nb_inner = inner->tail - inner->head;
	if (point == PLX_FAULT_BEFORE_POLL && hooked->nb[point] == 2)
		fake_complete_from(inner, 9, 1); /* it comes just in time */
}

static void
hook_runs_before_and_after_each_poll(void **state)
{
	struct hooked hooked = {{0}, 0};

	open_script("");
	plx_test_refusal(plx_fault_set_hook(&fake->base, note_point, &hooked), -EINVAL, "fake0: it is of driver fake");
	assert_int_equal(plx_fault_set_hook(dev, note_point, &hooked), 0);
	fake_complete_from(inner, 1, 1);
	EXPECT_POLL(8, 1);
	assert_int_equal(hooked.nb[PLX_FAULT_BEFORE_POLL], 1);
	assert_int_equal(hooked.nb[PLX_FAULT_AFTER_POLL], 1);
	assert_int_equal(hooked.nb_inner, 0);
	EXPECT_POLL(8, 9);
	assert_int_equal(plx_fault_set_hook(dev, NULL, NULL), 0);
	EXPECT_POLL(8);
	assert_int_equal(hooked.nb[PLX_FAULT_AFTER_POLL], 2);
}

#define NB_ROUNDS 200

struct poller {
	struct plx_cq *cq;
	struct fake_cq *inner;
	pthread_barrier_t *start;
	uint64_t given;
};

static void *
poller_run(void *arg)
{
	struct poller *poller = arg;
	struct plx_wc burst[8];
	int got;

	pthread_barrier_wait(poller->start);
	for (int i = 0; i < NB_ROUNDS; i++) {
		fake_complete_from(poller->inner, 1, 1000);
		while ((got = plx_cq_poll(poller->cq, burst, 8)) > 0)
			poller->given += (uint64_t)got;
	}
	return NULL;
}

static void
counts_are_exact_when_two_owners_poll(void **state)
{
	struct poller pollers[2];
	struct plx_cq *second;
	pthread_t threads[2];
	pthread_barrier_t start;
	const uint64_t cqes = 2 * NB_ROUNDS * 1000, dropped = cqes / 7, copies = (cqes - dropped) / 5;

	open_script("drop cqe 1/7; dup cqe 1/5");
	second = plx_cq_create(dev, 8);
	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++) {
		pollers[i] = (struct poller){.cq = i == 0 ? cq : second, .inner = fake->cqs[i], .start = &start};
		assert_int_equal(pthread_create(&threads[i], NULL, poller_run, &pollers[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
	assert_int_equal(stats().cqes, cqes);
	assert_int_equal(stats().dropped, dropped);
	assert_int_equal(stats().duplicated, copies);
	assert_int_equal(pollers[0].given + pollers[1].given, cqes - dropped + copies);
	assert_int_equal(plx_cq_destroy(second), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, close_all)

static const struct CMUnitTest tests[] = {
	TEST(empty_script_changes_nothing),
	TEST(every_nth_cqe_is_dropped),
	TEST(nth_alone_is_dropped_once),
	TEST(drop_counts_over_all_cqs_of_the_device),
	TEST(dropped_cqes_do_not_make_the_cq_look_empty),
	TEST(poll_ends_though_every_cqe_is_dropped_and_more_keep_coming),
	TEST(seeded_drop_loses_the_same_cqes_in_every_run),
	TEST(copy_comes_directly_behind_the_original),
	TEST(copy_comes_at_the_next_poll_when_the_burst_has_no_room),
	TEST(four_dups_make_sixteen_of_one_in_the_smallest_cq),
	TEST(held_cqe_is_given_by_the_32nd_further_poll),
	TEST(held_cqes_keep_their_order_and_each_its_own_count),
	TEST(two_holds_add_up),
	TEST(full_holds_pass_on_all_they_have_at_each_poll),
	TEST(cqes_overtake_the_ones_that_are_held),
	TEST(held_cqes_take_no_more_than_the_cq_and_the_rest_waits_in_the_device),
	TEST(full_rings_lose_nothing),
	TEST(held_cqe_outlives_its_qp),
	TEST(cqes_that_wait_go_with_their_cq),
	TEST(latency_that_varies_keeps_the_order),
	TEST(swapped_cqe_comes_behind_the_next_one),
	TEST(cqe_that_nobody_overtakes_comes_alone_after_eight_polls),
	TEST(old_cqe_is_replayed_behind_a_new_one),
	TEST(replayed_cqe_is_the_very_one_of_that_age),
	TEST(poison_fills_what_an_error_leaves_undefined),
	TEST(every_nth_success_becomes_the_error),
	TEST(wr_id_of_every_nth_cqe_is_garbage),
	TEST(each_kind_of_garbage_is_what_it_says),
	TEST(rule_sees_its_objects_alone),
	TEST(fatal_error_takes_its_qp_to_err_and_no_other),
	TEST(rules_act_in_script_order),
	TEST(rules_behind_a_hold_act_when_it_lets_go),
	TEST(dead_cq_says_so_when_nothing_is_ready),
	TEST(hook_runs_before_and_after_each_poll),
	TEST(counts_are_exact_when_two_owners_poll),
};

PLX_TEST_SUITE(fault, fault_cq, tests);
