/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/*
 * Atomics from several threads on one word, and windows taken away while a peer writes through them. Run it under
 * ThreadSanitizer too, as test_threads.c.
 */

#include "pair.h"

#include <endian.h>
#include <pthread.h>
#include <sched.h>

#include "plx_mw.h"

#define THREADS 4

struct adder {
	struct pair pair;
	const void *word;
	unsigned long goal;
	uint64_t add;
	unsigned long wrong;
	uint64_t sum_of_swaps;
};

/* No assertion of cmocka on another thread than main. */
static uint64_t
run_wr(struct adder *adder, struct plx_wr *wr)
{
	struct plx_wc wc;
	uint64_t old;

	if (post_send(adder->pair.a.qp, wr) != 0) {
		adder->wrong++;
		return 0;
	}
	while (plx_cq_poll(adder->pair.a.cq, &wc, 1) == 0)
		sched_yield();
	adder->wrong += wc.status != PLX_ST_SUCCESS || wc.byte_len != 8 || wc.opcode != wr->opcode;
	memcpy(&old, adder->pair.a.mem, sizeof(old));
	return old;
}

/** Half of them add, the others add by compare-and-swap. */
static void *
adder_main(void *arg)
{
	struct adder *adder = arg;
	struct plx_sge sge = at(&adder->pair.a, 0, 8);
	struct plx_wr faa = wr_to(&adder->pair.b, 1, PLX_OPCODE_FETCH_ADD, &sge, 0), cas;
	uint64_t seen = 0, old;

	faa.remote_addr = (uintptr_t)adder->word;
	faa.compare_add = adder->add;
	cas = faa;
	cas.opcode = PLX_OPCODE_CMP_SWAP;
	for (unsigned long i = 0; i < adder->goal && adder->wrong == 0; i++) {
		if (adder->add % 2 == 0) {
			run_wr(adder, &faa);
			continue;
		}
		for (;; seen = old) {
			cas.compare_add = seen;
			cas.swap = seen + adder->add;
			old = run_wr(adder, &cas);
			if (old == seen || adder->wrong != 0)
				break;
		}
		seen = cas.swap;
	}
	return NULL;
}

/** case 9.4 */
static void
atomics_of_four_threads_lose_no_addition(void **state)
{
	static struct adder adders[THREADS];
	pthread_t threads[THREADS];
	uint64_t want = 0, got;

	for (unsigned int i = 0; i < THREADS; i++) {
		pair_open(&adders[i].pair, "loopback0", "loopback0");
		adders[i].pair.path.rights = PLX_ACCESS_REMOTE;
		adders[i].goal = plx_test_scale() / 10;
		adders[i].add = i + 1;
		adders[i].wrong = 0;
		adders[i].word = adders[0].pair.b.mem;
		want += adders[i].goal * (i + 1);
	}
	/* All of them to the first one's memory, which each one's device knows by a key of its own. */
	for (unsigned int i = 1; i < THREADS; i++) {
		struct side *b = &adders[i].pair.b;

		assert_int_equal(plx_mr_deregister(b->mr), 0);
		b->mr = plx_mr_register(b->pd, adders[0].pair.b.mem, SIDE_BYTES, PLX_ACCESS_ALL);
		assert_non_null(b->mr);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pair_connect(&adders[i].pair);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, adder_main, &adders[i]), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	memcpy(&got, adders[0].pair.b.mem, sizeof(got));
	for (unsigned int i = 0; i < THREADS; i++) {
		assert_int_equal(adders[i].wrong, 0);
		pair_close(&adders[i].pair);
	}
	assert_true(got == want);
}

/** case 9.1: what the device's devarg says, and what its capability says of it */
static void
old_value_comes_in_the_order_that_the_device_says(void **state)
{
	const char *const specs[] = {"loopback0", "loopback0,atomics=host", "loopback0,atomics=big"};
	const uint64_t value = 0x0102030405060708;

	for (unsigned int i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		static struct adder adder;
		struct plx_sge sge;
		struct plx_wr wr;
		uint64_t raw;

		pair_open(&adder.pair, specs[i], specs[i]);
		adder.pair.path.rights = PLX_ACCESS_REMOTE;
		pair_connect(&adder.pair);
		memcpy(adder.pair.b.mem, &value, sizeof(value));
		sge = at(&adder.pair.a, 0, 8);
		wr = wr_to(&adder.pair.b, 1, PLX_OPCODE_FETCH_ADD, &sge, 0);
		raw = run_wr(&adder, &wr);
		assert_int_equal(adder.wrong, 0);
		assert_int_equal(plx_device_caps(adder.pair.a.dev)->atomic_big_endian, i == 2);
		assert_true(raw == (i == 2 ? htobe64(value) : value));
		pair_close(&adder.pair);
	}
}

/* ---- windows, taken away in use -------------------------------------------------------------- */

struct writer {
	struct pair *pair;
	const uint32_t *rkey;  /* atomic: what to write through; 0: stop */
	unsigned long written;
};

/** Write until the window is gone, whatever that makes of the QP. */
static void *
writer_main(void *arg)
{
	struct writer *writer = arg;
	struct plx_sge sge = at(&writer->pair->a, 0, 4096);
	struct plx_wr wr = wr_to(&writer->pair->b, 1, PLX_OPCODE_WRITE, &sge, 0);
	struct plx_wc wc = {.status = PLX_ST_SUCCESS};

	wr.rkey = *writer->rkey;
	while (wc.status == PLX_ST_SUCCESS && post_send(writer->pair->a.qp, &wr) == 0) {
		while (plx_cq_poll(writer->pair->a.cq, &wc, 1) == 0)
			sched_yield();
		__atomic_fetch_add(&writer->written, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/** The memory is its own again when the invalidate completes: a late byte would be seen here, and by ThreadSanitizer. */
static void
nothing_is_written_once_the_invalidate_is_done(void **state)
{
	static struct pair pair;

	for (unsigned int round = 0; round < 20; round++) {
		struct writer writer = {.pair = &pair};
		struct plx_wr bind = {.wr_id = 1}, inv = {.wr_id = 2, .opcode = PLX_OPCODE_LOCAL_INV, .flags = PLX_WR_SIGNALED};
		struct plx_mw *mw;
		pthread_t thread;

		pair_open(&pair, "loopback0", "loopback0");
		pair_connect(&pair);
		mw = plx_mw_create(pair.b.mr);
		assert_non_null(mw);
		assert_int_equal(plx_mw_bind_wr(mw, (uintptr_t)pair.b.mem, 4096, PLX_ACCESS_REMOTE_WRITE, &bind), 0);
		assert_int_equal(post_send(pair.b.qp, &bind), 0);
		expect_wc(&pair.b, 1, PLX_ST_SUCCESS);
		writer.rkey = &mw->rkey;
		memset(pair.a.mem, 0x55, sizeof(pair.a.mem));
		assert_int_equal(pthread_create(&thread, NULL, writer_main, &writer), 0);
		while (__atomic_load_n(&writer.written, __ATOMIC_RELAXED) < 3)
			sched_yield();
		inv.rkey = mw->rkey;
		assert_int_equal(post_send(pair.b.qp, &inv), 0);
		expect_wc(&pair.b, 2, PLX_ST_SUCCESS);
		memset(pair.b.mem, 0xaa, 4096);
		pthread_join(thread, NULL);
		for (unsigned int i = 0; i < 4096; i++)
			assert_int_equal(pair.b.mem[i], 0xaa);
		assert_int_equal(plx_mw_destroy(mw), 0);
		pair_close(&pair);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(atomics_of_four_threads_lose_no_addition),
	cmocka_unit_test(old_value_comes_in_the_order_that_the_device_says),
	cmocka_unit_test(nothing_is_written_once_the_invalidate_is_done),
};

PLX_TEST_SUITE(loopback, atomics, tests);
