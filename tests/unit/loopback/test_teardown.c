/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/*
 * Teardown by a third thread while two send to each other: every posted WR completes exactly once, and memory is
 * left alone from the moment its region is deregistered.
 */

#include "pair.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#define WINDOW 8
#define TARGET 4096 /* the part of the memory that the peer writes to, through a region of its own */
#define TARGET_LEN 1024

struct runner {
	struct side *me;
	const struct side *peer;
	uint32_t target_rkey;
	unsigned int stop; /* atomic */
	bool out[2 * WINDOW]; /* by wr_id: receives, then sends */
	unsigned int nb_out;
	unsigned long posted, completed, failed, wrong;
};

static void
posted(struct runner *run, unsigned int wr_id)
{
	run->out[wr_id] = true;
	run->nb_out++;
	run->posted++;
}

static void
recv_post(struct runner *run, unsigned int slot)
{
	struct plx_sge sge = at(run->me, slot * 64, 64);

	if (run->out[slot])
		return;
	if (post_recv(run->me->qp, slot, &sge, 1) == 0)
		posted(run, slot);
	else
		run->wrong++;
}

/* Sends and writes by turns. */
static void
send_post(struct runner *run, unsigned int slot)
{
	struct plx_sge sge = at(run->me, 2048 + slot * 64, 64);
	struct plx_wr wr = wr_to(run->peer, WINDOW + slot, PLX_OPCODE_SEND, &sge, TARGET + slot * 64);

	if (run->out[WINDOW + slot])
		return;
	if (slot & 1) {
		wr.opcode = PLX_OPCODE_WRITE;
		wr.rkey = run->target_rkey;
	}
	if (post_send(run->me->qp, &wr) == 0)
		posted(run, WINDOW + slot);
	else
		run->wrong++;
}

static int
poll_once(struct runner *run)
{
	struct plx_wc wcs[WINDOW];
	int got = plx_cq_poll(run->me->cq, wcs, WINDOW);

	for (int i = 0; i < got; i++) {
		uint64_t wr_id = wcs[i].wr_id;

		if (wr_id >= 2 * WINDOW || !run->out[wr_id]) {
			run->wrong++; /* twice, or nobody's */
			continue;
		}
		run->out[wr_id] = false;
		run->nb_out--;
		run->completed++;
		run->failed += wcs[i].status != PLX_ST_SUCCESS;
	}
	return got;
}

static void *
runner_main(void *arg)
{
	struct runner *run = arg;
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(20000000000);

	while (!__atomic_load_n(&run->stop, __ATOMIC_ACQUIRE) || run->nb_out > 0) {
		if (!__atomic_load_n(&run->stop, __ATOMIC_RELAXED)) {
			for (unsigned int slot = 0; slot < WINDOW; slot++) {
				recv_post(run, slot);
				send_post(run, slot);
			}
		}
		if (poll_once(run) == 0) {
			sched_yield();
			if (plx_clock_monotonic_ns() > end)
				break; /* something is lost: the counts will say so */
		}
	}
	return NULL;
}

static void
nap(unsigned int us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void
stop_and_join(struct runner *run, pthread_t thread)
{
	__atomic_store_n(&run->stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(run->wrong, 0);
	assert_int_equal(run->nb_out, 0);
	assert_int_equal(run->posted, run->completed);
}

/* What happens in the middle of the traffic. */
enum act { ERR_A, ERR_BOTH, DEREGISTER, NB_ACTS };

static void
act_on(struct pair *pair, enum act act, struct plx_mr **target)
{
	uint8_t *memory = &pair->b.mem[TARGET];

	switch (act) {
	case ERR_BOTH:
		plx_qp_to_error(pair->b.qp);
		break;
	case DEREGISTER:
		assert_int_equal(plx_mr_deregister(*target), 0);
		*target = NULL;
		memset(memory, 0xee, TARGET_LEN); /* as if somebody else had it now */
		break;
	default:
		break;
	}
	plx_qp_to_error(pair->a.qp);
}

static void
target_check(const struct pair *pair, const struct plx_mr *target)
{
	for (unsigned int i = 0; target == NULL && i < TARGET_LEN; i++)
		assert_int_equal(pair->b.mem[TARGET + i], 0xee);
}

static void
round_run(unsigned int round)
{
	enum act act = round % NB_ACTS;
	struct pair pair;
	struct runner a = {.me = &pair.a, .peer = &pair.b}, b = {.me = &pair.b, .peer = &pair.a};
	struct plx_mr *target;
	pthread_t thread_a, thread_b;

	pair_open(&pair, "loopback0", round & 1 ? "loopback0" : "loopback1");
	pair.path.retry_cnt = round % 3;
	pair_connect(&pair);
	target = plx_mr_register(pair.b.pd, &pair.b.mem[TARGET], TARGET_LEN, PLX_ACCESS_ALL);
	a.target_rkey = target->rkey;
	b.target_rkey = pair.a.mr->rkey;
	pthread_create(&thread_a, NULL, runner_main, &a);
	pthread_create(&thread_b, NULL, runner_main, &b);
	nap(round % 7 * 50);
	act_on(&pair, act, &target);
	stop_and_join(&a, thread_a);
	/* b still sends to what is now destroyed. */
	assert_int_equal(plx_qp_destroy(pair.a.qp), 0);
	nap(50);
	plx_qp_to_error(pair.b.qp);
	stop_and_join(&b, thread_b);
	target_check(&pair, target);
	pair.a.qp = NULL;
	assert_int_equal(plx_mr_deregister(target), 0);
	pair_close(&pair);
}

static void
every_wr_completes_once_whatever_a_third_thread_tears_down(void **state)
{
	for (unsigned int round = 0; round < plx_test_scale() / 5000; round++)
		round_run(round);
}

/* ---- one long copy ------------------------------------------------------------------------- */

#define LONG_LEN (16u << 20)

struct copier {
	struct pair *pair;
	struct plx_wr wr;
	unsigned int begun; /* atomic */
};

static void *
copier_main(void *arg)
{
	struct copier *copier = arg;

	__atomic_store_n(&copier->begun, 1, __ATOMIC_RELEASE);
	post_send(copier->pair->a.qp, &copier->wr);
	return NULL;
}

static int
take_to_error(struct pair *pair, struct plx_mr *mr)
{
	plx_qp_to_error(pair->b.qp);
	next_wc(&pair->b); /* the message or a flush, whichever won, and no other */
	return plx_mr_deregister(mr);
}

/* @p take_away while a message is being copied into it; from then on nobody else writes there. */
static void
long_copy_run(uint8_t opcode, int (*take_away)(struct pair *pair, struct plx_mr *mr), unsigned int wait_us)
{
	static uint8_t from[LONG_LEN], to[LONG_LEN];
	struct plx_mr *from_mr, *to_mr;
	struct plx_sge from_sge, to_sge;
	struct copier copier;
	struct pair pair;
	pthread_t thread;

	memset(from, 0x11, LONG_LEN);
	memset(to, 0x22, LONG_LEN);
	pair_open(&pair, "loopback0", "loopback1");
	pair_connect(&pair);
	from_mr = plx_mr_register(pair.a.pd, from, LONG_LEN, 0);
	to_mr = plx_mr_register(pair.b.pd, to, LONG_LEN, PLX_ACCESS_ALL);
	from_sge = (struct plx_sge){(uintptr_t)from, LONG_LEN, from_mr->lkey};
	to_sge = (struct plx_sge){(uintptr_t)to, LONG_LEN, to_mr->lkey};
	post_recv(pair.b.qp, 1, &to_sge, 1);
	copier = (struct copier){.pair = &pair, .wr = {.sg_list = &from_sge, .num_sge = 1, .opcode = opcode,
		.rkey = to_mr->rkey, .remote_addr = (uintptr_t)to}};
	pthread_create(&thread, NULL, copier_main, &copier);
	while (!__atomic_load_n(&copier.begun, __ATOMIC_ACQUIRE))
		sched_yield();
	nap(wait_us);
	assert_int_equal(take_away(&pair, to_mr), 0);
	memset(to, 0xee, LONG_LEN);
	pthread_join(thread, NULL);
	for (unsigned int i = 0; i < LONG_LEN; i++)
		if (to[i] != 0xee)
			fail_msg("byte %u was written after its region or QP was gone", i);

	if (take_away == take_to_error)
		expect_no_wc(&pair.b);
	if (pair.b.qp != NULL)
		assert_int_equal(plx_mr_deregister(from_mr), 0);
	else
		assert_int_equal(plx_mr_deregister(to_mr) | plx_mr_deregister(from_mr), 0);
	pair_close(&pair);
}

static int
take_region(struct pair *pair, struct plx_mr *mr)
{
	return plx_mr_deregister(mr);
}

static int
take_qp(struct pair *pair, struct plx_mr *mr)
{
	struct plx_qp *qp = pair->b.qp;

	pair->b.qp = NULL;
	return plx_qp_destroy(qp);
}

static void
a_receive_in_use_is_not_flushed_under_the_copy(void **state)
{
	for (unsigned int i = 0; i < 6; i++)
		long_copy_run(PLX_OPCODE_SEND, take_to_error, i * 100);
}

static void
a_region_is_deregistered_when_the_copy_into_it_is_over(void **state)
{
	for (unsigned int i = 0; i < 6; i++)
		long_copy_run(PLX_OPCODE_WRITE, take_region, i * 100);
}

static void
a_qp_is_destroyed_when_the_copy_into_its_receive_is_over(void **state)
{
	for (unsigned int i = 0; i < 6; i++)
		long_copy_run(PLX_OPCODE_SEND, take_qp, i * 100);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_wr_completes_once_whatever_a_third_thread_tears_down),
	cmocka_unit_test(a_receive_in_use_is_not_flushed_under_the_copy),
	cmocka_unit_test(a_region_is_deregistered_when_the_copy_into_it_is_over),
	cmocka_unit_test(a_qp_is_destroyed_when_the_copy_into_its_receive_is_over),
};

PLX_TEST_SUITE(loopback, teardown, tests);
