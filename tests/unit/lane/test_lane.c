/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_lane.h"

#include "plx_test.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <rte_errno.h>

static struct plx_lane *lane;

static int
destroy(void **state)
{
	plx_lane_destroy(lane);
	lane = NULL;
	return 0;
}

/* To lcore 0 from `nb` lcores, 1 on, with pointer-sized elements. */
static void
create(unsigned int nb, bool alien, unsigned int nb_elem)
{
	static const unsigned int producers[] = {1, 2, 3};
	struct plx_lane_conf conf = {
		.name = "test",
		.consumer = 0,
		.producers = producers,
		.nb_producers = nb,
		.alien = alien,
		.nb_elem = nb_elem,
		.elem_size = sizeof(uintptr_t),
		.socket_id = SOCKET_ID_ANY,
	};

	lane = plx_lane_create(&conf);
	assert_non_null(lane);
}

static unsigned int
send_as(unsigned int lcore, const uintptr_t *elems, unsigned int n)
{
	unsigned int was = plx_test_as_lcore(lcore);
	unsigned int taken = plx_lane_send(lane, elems, n);

	plx_test_as_lcore(was);
	return taken;
}

static void
elements_of_one_producer_arrive_in_order(void **state)
{
	uintptr_t out[] = {10, 11, 12, 13, 14}, in[8] = {0};

	create(1, false, 8);
	assert_true(plx_lane_empty(lane));
	assert_int_equal(send_as(1, out, 3), 3);
	assert_int_equal(send_as(1, out + 3, 2), 2);
	assert_false(plx_lane_empty(lane));
	assert_int_equal(plx_lane_recv(lane, in, 8), 5);
	assert_memory_equal(in, out, sizeof(out));
	assert_true(plx_lane_empty(lane));
	assert_int_equal(plx_lane_recv(lane, in, 8), 0);
}

/* Fill the rings of all senders, each with words of its own, and look at what comes out. */
static void
assert_holds(const unsigned int *from, size_t nb_from, unsigned int size)
{
	uintptr_t out[65], in[65];

	for (size_t k = 0; k < nb_from; k++) {
		memset(out, 0xa0 + (int)k, sizeof(out));
		assert_int_equal(send_as(from[k], out, NB_OF(out)), size);
		assert_int_equal(send_as(from[k], out, 1), 0);
	}
	for (size_t k = 0; k < nb_from; k++) {
		memset(out, 0xa0 + (int)k, sizeof(out));
		assert_int_equal(plx_lane_recv(lane, in, size), size);
		assert_memory_equal(in, out, size * sizeof(in[0]));
	}
}

/* A ring of N holds N - 1; a lane of N holds N, and keeps them apart from its neighbours. */
static void
each_ring_holds_exactly_nb_elem(void **state)
{
	static const unsigned int sizes[] = {1, 2, 7, 8, 9, 64};
	static const unsigned int from[] = {1, 2, LCORE_ID_ANY};
	struct plx_lane_stats stats;

	for (size_t i = 0; i < NB_OF(sizes); i++) {
		create(2, true, sizes[i]);
		for (unsigned int round = 0; round < 4; round++) /* through all slots of the ring */
			assert_holds(from, NB_OF(from), sizes[i]);
		plx_lane_stats(lane, &stats);
		assert_int_equal(stats.capacity, sizes[i]);
		assert_int_equal(stats.refused, 0); /* full is no refusal */
		destroy(NULL);
	}
}

static void
full_ring_takes_the_first_elements_and_keeps_order(void **state)
{
	uintptr_t out[] = {0, 1, 2, 3, 4, 5}, in[8];

	create(1, false, 4);
	assert_int_equal(send_as(1, out, 6), 4);
	assert_int_equal(plx_lane_recv(lane, in, 2), 2);
	assert_int_equal(send_as(1, out + 4, 2), 2);
	assert_int_equal(plx_lane_recv(lane, in + 2, 6), 4);
	assert_memory_equal(in, out, sizeof(out));
}

static void
full_ring_of_one_producer_does_not_hinder_another(void **state)
{
	uintptr_t many[8] = {0};

	create(2, true, 4);
	assert_int_equal(send_as(1, many, 8), 4);
	assert_int_equal(send_as(2, many, 3), 3);
	assert_int_equal(send_as(LCORE_ID_ANY, many, 2), 2);
}

static void
no_producer_starves_behind_a_busy_one(void **state)
{
	uintptr_t busy[4] = {1, 1, 1, 1}, quiet = 2, alien = 3, in[4];
	unsigned int turn, quiet_at = 0, alien_at = 0;

	create(3, true, 64);
	send_as(3, &quiet, 1);
	send_as(LCORE_ID_ANY, &alien, 1);
	for (turn = 1; turn <= 8; turn++) {
		/* lcores 1 and 2 always have a full burst ready */
		send_as(1, busy, 4);
		send_as(2, busy, 4);
		assert_int_equal(plx_lane_recv(lane, in, 4), 4);
		for (unsigned int i = 0; i < 4; i++) {
			if (in[i] == quiet)
				quiet_at = turn;
			if (in[i] == alien)
				alien_at = turn;
		}
	}
	assert_in_range(quiet_at, 1, 3);
	assert_in_range(alien_at, 1, 4);
}

static void
one_recv_gathers_from_all_rings(void **state)
{
	uintptr_t one = 1, two = 2, any = 9, in[8] = {0};

	create(2, true, 4);
	send_as(2, &two, 1);
	send_as(LCORE_ID_ANY, &any, 1);
	send_as(1, &one, 1);
	assert_int_equal(plx_lane_recv(lane, in, 8), 3);
	assert_int_equal(in[0] + in[1] + in[2], 12);
	assert_true(plx_lane_empty(lane));
}

static void
alien_ring_alone_makes_the_lane_not_empty(void **state)
{
	uintptr_t out[] = {5, 6, 7}, in[4] = {0};

	create(1, true, 4);
	assert_int_equal(send_as(LCORE_ID_ANY, out, 3), 3);
	assert_false(plx_lane_empty(lane));
	assert_int_equal(plx_lane_recv(lane, in, 2), 2);
	assert_false(plx_lane_empty(lane));
	assert_int_equal(plx_lane_recv(lane, in + 2, 2), 1);
	assert_memory_equal(in, out, sizeof(out));
	assert_true(plx_lane_empty(lane));
}

static void
who_has_no_ring_is_refused_and_counted(void **state)
{
	struct plx_lane_stats stats;
	uintptr_t out[3] = {0};

	create(1, false, 4);
	assert_true(plx_lane_can_send(lane, 1));
	assert_false(plx_lane_can_send(lane, 2));
	assert_false(plx_lane_can_send(lane, LCORE_ID_ANY));
	assert_int_equal(send_as(2, out, 3), 0);
	assert_int_equal(send_as(LCORE_ID_ANY, out, 1), 0);
	plx_lane_stats(lane, &stats);
	assert_int_equal(stats.refused, 4);
	assert_true(plx_lane_empty(lane));
}

static void
lcore_that_was_not_named_goes_with_the_aliens(void **state)
{
	uintptr_t out[] = {1, 2}, in[2] = {0};

	create(1, true, 4);
	assert_true(plx_lane_can_send(lane, 3));
	assert_true(plx_lane_can_send(lane, LCORE_ID_ANY));
	assert_int_equal(send_as(3, out, 2), 2);
	assert_int_equal(plx_lane_recv(lane, in, 2), 2);
	assert_memory_equal(in, out, sizeof(out));
}

static void
high_water_is_the_most_that_lay_in_one_ring(void **state)
{
	uintptr_t out[7] = {0}, in[16];
	struct plx_lane_stats stats;

	create(2, true, 8);
	send_as(1, out, 3);
	send_as(2, out, 5);
	plx_lane_recv(lane, in, 2);
	plx_lane_recv(lane, in, 16);
	plx_lane_stats(lane, &stats);
	assert_int_equal(stats.high_water, 5);
	send_as(LCORE_ID_ANY, out, 7);
	plx_lane_recv(lane, in, 1);
	plx_lane_stats(lane, &stats);
	assert_int_equal(stats.high_water, 7);
}

struct wide {
	uint32_t word[11];
};

static void
create_wide(bool alien)
{
	static const unsigned int producer = 1;
	struct plx_lane_conf conf = {
		.consumer = 0,
		.producers = &producer,
		.nb_producers = 1,
		.alien = alien,
		.nb_elem = 3,
		.elem_size = sizeof(struct wide),
		.socket_id = SOCKET_ID_ANY,
	};

	lane = plx_lane_create(&conf);
	assert_non_null(lane);
}

static void
elements_of_other_sizes_are_copied_whole(void **state)
{
	struct wide out[6], in[7];
	unsigned int was;

	for (unsigned int i = 0; i < sizeof(out); i++)
		((uint8_t *)out)[i] = (uint8_t)(i * 7);

	create_wide(false);
	for (unsigned int round = 0; round < 9; round++) { /* across the ring's end */
		was = plx_test_as_lcore(1);
		assert_int_equal(plx_lane_send(lane, out, 6), 3);
		plx_test_as_lcore(was);
		assert_int_equal(plx_lane_recv(lane, in, 1), 1);
		assert_int_equal(plx_lane_recv(lane, in + 1, 6), 2);
		assert_memory_equal(in, out, 3 * sizeof(out[0]));
	}
	destroy(NULL);

	create_wide(true);
	for (unsigned int round = 0; round < 9; round++) {
		was = plx_test_as_lcore(1);
		assert_int_equal(plx_lane_send(lane, out, 3), 3);
		plx_test_as_lcore(LCORE_ID_ANY);
		assert_int_equal(plx_lane_send(lane, out + 3, 3), 3);
		plx_test_as_lcore(was);
		assert_int_equal(plx_lane_recv(lane, in, 7), 6);
		assert_memory_equal(in, out, sizeof(out));
	}
}

/*
 * An alien preempted in the middle of a send of two, as the ring shows it: the head has moved, the tail
 * has not. Others do not wait for it (this test would hang), what they send comes after it.
 */
static void
preempted_alien_hides_what_follows_and_stalls_nobody(void **state)
{
	uintptr_t out[] = {1, 2, 3, 4, 5, 6, 7, 8}, in[8];
	struct rte_ring *ring;

	create(1, true, 8);
	ring = lane->alien;
	ring->rts_prod.head.val.pos += 2;
	ring->rts_prod.head.val.cnt += 1;

	assert_int_equal(send_as(LCORE_ID_ANY, out, 5), 5);
	assert_int_equal(send_as(LCORE_ID_ANY, out + 5, 3), 1);
	assert_int_equal(send_as(LCORE_ID_ANY, out + 6, 1), 0);
	assert_true(plx_lane_empty(lane));
	assert_int_equal(plx_lane_recv(lane, in, 8), 0);
	assert_int_equal(send_as(1, out, 8), 8); /* an lcore with a ring of its own */
	assert_int_equal(plx_lane_recv(lane, in, 8), 8);

	ring->rts_prod.tail.raw = ring->rts_prod.head.raw; /* it has run again */
	assert_int_equal(plx_lane_recv(lane, in, 8), 8);
	assert_memory_equal(in + 2, out, 6 * sizeof(in[0]));
}

/* case 14.5: two objects of one name in one process */
static void
lanes_of_one_name_do_not_clash(void **state)
{
	struct plx_lane *first;
	uintptr_t out = 4, in = 0;

	create(3, true, 4);
	first = lane;
	create(3, true, 4);
	assert_int_equal(send_as(1, &out, 1), 1);
	assert_true(plx_lane_empty(first));
	assert_int_equal(plx_lane_recv(lane, &in, 1), 1);
	plx_lane_destroy(first);
}

/* case 14.5: and not limited by the 2560 memzones of a process */
static void
three_thousand_rings_can_be_made(void **state)
{
	static struct plx_lane *lanes[750];

	for (size_t i = 0; i < NB_OF(lanes); i++) {
		create(3, true, 4);
		lanes[i] = lane;
	}
	for (size_t i = 0; i < NB_OF(lanes); i++)
		plx_lane_destroy(lanes[i]);
	lane = NULL;
}

static void
assert_refused(const struct plx_lane_conf *conf, int err)
{
	rte_errno = 0;
	lane = plx_lane_create(conf);
	assert_null(lane);
	assert_int_equal(rte_errno, err);
}

static void
bad_conf_is_refused(void **state)
{
	static const unsigned int twice[] = {1, 2, 1}, none[] = {RTE_MAX_LCORE}, any[] = {LCORE_ID_ANY};
	const struct plx_lane_conf good = {.alien = true, .nb_elem = 8, .elem_size = 8};
	struct plx_lane_conf conf;

#define REFUSED(...) (conf = good, __VA_ARGS__, assert_refused(&conf, EINVAL))
	REFUSED(conf.nb_elem = 0);
	REFUSED(conf.nb_elem = 1u << 30);
	REFUSED(conf.elem_size = 0);
	REFUSED(conf.elem_size = 6);
	REFUSED(conf.alien = false);
	REFUSED(conf.consumer = RTE_MAX_LCORE);
	REFUSED(conf.producers = twice, conf.nb_producers = 3);
	REFUSED(conf.producers = none, conf.nb_producers = 1);
	REFUSED(conf.producers = any, conf.nb_producers = 1);
	conf = good;
	conf.name = plx_test_long_name();
	conf.elem_size = 6;
	plx_test_refusal((intptr_t)plx_lane_create(&conf), 0, "n: elem_size is 6, must be a multiple of 4");
}

static void
lane_too_large_for_memory_is_refused(void **state)
{
	struct plx_lane_conf conf = {.alien = true, .nb_elem = 1u << 29, .elem_size = 8, .socket_id = -1};

	assert_refused(&conf, ENOMEM);
}

static void
destroy_of_null_is_fine(void **state)
{
	plx_lane_destroy(NULL);
}

/* case 14.17: an lcore whose CPUs lie on two sockets has socket "any", and so may the conf */
static void
consumer_without_lcore_id_or_socket_is_fine(void **state)
{
	struct plx_lane_conf conf = {
		.consumer = LCORE_ID_ANY,
		.alien = true,
		.nb_elem = 8,
		.elem_size = 8,
		.socket_id = SOCKET_ID_ANY,
	};

	lane = plx_lane_create(&conf);
	assert_non_null(lane);
}

/* A producer thread: values count up from a base, their payload must be seen with them. */
struct producer {
	unsigned int lcore;
	uintptr_t *values; /* what the elements point to; written just before the send */
	unsigned long rounds, nb_values;
	bool *stop;
	pthread_t thread;
};

static void *
produce(void *arg)
{
	struct producer *p = arg;
	unsigned long sent = 0, made = 0;
	uintptr_t *burst[5];

	plx_test_as_lcore(p->lcore);
	while (sent < p->rounds && !__atomic_load_n(p->stop, __ATOMIC_RELAXED)) {
		unsigned int n = 1 + sent % NB_OF(burst), taken;

		for (unsigned int i = 0; i < n; i++) {
			burst[i] = &p->values[(sent + i) % p->nb_values];
			if (sent + i >= made && sent + i < p->rounds)
				*burst[i] = made = sent + i + 1;
		}
		if (sent + n > p->rounds)
			n = (unsigned int)(p->rounds - sent);
		taken = plx_lane_send(lane, burst, n);
		sent += taken;
		if (taken < n)
			sched_yield(); /* the consumer may need this CPU */
	}
	return NULL;
}

#define CAPACITY 61

/*
 * Run producers with the given lcore ids, at once, and count what arrives here: each producer's
 * payloads are 1, 2, 3 ... without a gap, whatever the rings wrap around. A slot of `values` is
 * written again only when it has long been read: there are more than ring, burst and reader hold.
 */
static void
assert_all_arrive_in_order(const unsigned int *lcores, unsigned int nb, unsigned long rounds)
{
	static uintptr_t values[3][CAPACITY + 64];
	unsigned long expect[3] = {0}, total = 0, bad = 0;
	struct producer producers[3];
	bool stop = false;

	for (unsigned int i = 0; i < nb; i++) {
		producers[i] = (struct producer){lcores[i], values[i], rounds, NB_OF(values[i]), &stop, 0};
		assert_int_equal(pthread_create(&producers[i].thread, NULL, produce, &producers[i]), 0);
	}
	while (total < nb * rounds && bad == 0) {
		uintptr_t *in[7];
		unsigned int n = plx_lane_recv(lane, in, NB_OF(in));

		for (unsigned int i = 0; i < n; i++) {
			size_t from = (size_t)(in[i] - values[0]) / NB_OF(values[0]);

			if (from >= nb || *in[i] != ++expect[from])
				bad++;
		}
		total += n;
		if (n == 0)
			sched_yield();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < nb; i++)
		pthread_join(producers[i].thread, NULL);
	assert_int_equal(bad, 0);
	assert_int_equal(total, nb * rounds);
	assert_true(plx_lane_empty(lane));
}

static void
nothing_is_lost_or_reordered_while_a_ring_wraps(void **state)
{
	static const unsigned int lcores[] = {1};

	create(1, false, CAPACITY);
	assert_all_arrive_in_order(lcores, 1, plx_test_scale());
}

static void
two_lcores_and_an_alien_send_at_once(void **state)
{
	static const unsigned int lcores[] = {1, 2, LCORE_ID_ANY};

	create(2, true, CAPACITY);
	assert_all_arrive_in_order(lcores, 3, plx_test_scale() / 10);
}

static void
aliens_share_their_ring(void **state)
{
	static const unsigned int lcores[] = {LCORE_ID_ANY, LCORE_ID_ANY, 3};

	create(1, true, CAPACITY);
	assert_all_arrive_in_order(lcores, 3, plx_test_scale() / 10);
}

#define TEST(name) cmocka_unit_test_teardown(name, destroy)
static const struct CMUnitTest tests[] = {
	TEST(elements_of_one_producer_arrive_in_order),
	TEST(each_ring_holds_exactly_nb_elem),
	TEST(full_ring_takes_the_first_elements_and_keeps_order),
	TEST(full_ring_of_one_producer_does_not_hinder_another),
	TEST(no_producer_starves_behind_a_busy_one),
	TEST(one_recv_gathers_from_all_rings),
	TEST(alien_ring_alone_makes_the_lane_not_empty),
	TEST(who_has_no_ring_is_refused_and_counted),
	TEST(lcore_that_was_not_named_goes_with_the_aliens),
	TEST(high_water_is_the_most_that_lay_in_one_ring),
	TEST(elements_of_other_sizes_are_copied_whole),
	TEST(preempted_alien_hides_what_follows_and_stalls_nobody),
	TEST(lanes_of_one_name_do_not_clash),
	TEST(three_thousand_rings_can_be_made),
	TEST(bad_conf_is_refused),
	TEST(lane_too_large_for_memory_is_refused),
	TEST(destroy_of_null_is_fine),
	TEST(consumer_without_lcore_id_or_socket_is_fine),
	TEST(nothing_is_lost_or_reordered_while_a_ring_wraps),
	TEST(two_lcores_and_an_alien_send_at_once),
	TEST(aliens_share_their_ring),
};

PLX_TEST_SUITE(lane, lane, tests, .lcores = 1);
