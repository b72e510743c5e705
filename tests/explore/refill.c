/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "refill_world.h"

/**
 * @file
 * A receive pool on an SRQ: the owner fills it while others give back, and the limit fires when it likes. refill_world.h has the
 * picture.
 */

/* ---- set-up -------------------------------------------------------------------------------- */

/** Two more than the SRQ takes, and the mark is its depth. */
static void
setup_by_count(void)
{
	world();
	make_pool(4, 2, 2, 0, false);
	make_conn(0, WORKER);
}

static void
setup_home(void)
{
	world();
	make_pool(4, 2, 2, 0, false);
	make_conn(0, OWNER);
	came_before(0, PLX_ST_SUCCESS);
}

static void
setup_two_homes(void)
{
	world();
	make_pool(3, 3, 2, 0, false);
	make_conn(0, WORKER);
	make_conn(1, OWNER);
	came_before(0, PLX_ST_SUCCESS);
	came_before(1, PLX_ST_SUCCESS);
}

/** Three messages leave one receive: two more are posted, of which the device takes one. */
static void
setup_refusing(void)
{
	world();
	make_pool(6, 4, 2, 0, false);
	make_conn(0, WORKER);
	for (unsigned int i = 0; i < 3; i++)
		came_before(0, PLX_ST_SUCCESS);
	dev->fail_post_at = 2;
	dev->fail_post_errno = -EIO;
}

static void
setup_by_event(void)
{
	world();
	make_pool(4, 2, 2, 0, true);
	make_conn(0, WORKER);
}

/** The one message that fires it is held. */
static void
setup_held(void)
{
	world();
	make_pool(2, 2, 2, 0, true);
	make_conn(0, OWNER);
	came_before(0, PLX_ST_SUCCESS);
}

/** One receive on its way to the owner fills the lane. */
static void
narrow(void)
{
	static const unsigned int worker = WORKER;

	group->lane = plx_lane_create(&(struct plx_lane_conf){.name = "narrow", .consumer = OWNER, .producers = &worker,
		.nb_producers = 1, .nb_elem = 1, .elem_size = sizeof(uintptr_t), .socket_id = SOCKET_ID_ANY});
}

static void
setup_narrow(void)
{
	world();
	narrow();
	make_pool(2, 2, 2, 0, true);
	make_conn(0, WORKER);
	came_before(0, PLX_ST_SUCCESS);
	came_before(0, PLX_ST_SUCCESS);
}

static void
setup_flushed(void)
{
	world();
	narrow();
	make_pool(3, 3, 2, 0, true);
	make_conn(0, WORKER);
	came_before(0, PLX_ST_WR_FLUSH_ERR);
	came_before(0, PLX_ST_WR_FLUSH_ERR);
}

static void
setup_reserve(void)
{
	world();
	make_pool(3, 3, 1, 2, false);
	make_conn(0, WORKER);
	make_conn(1, WORKER);
	came_before(0, PLX_ST_SUCCESS);
	came_before(1, PLX_ST_SUCCESS);
}

static int
nothing(void *arg)
{
	return 0;
}

/** A message is held, and its connection is gone. */
static void
setup_orphaned(void)
{
	world();
	make_pool(2, 2, 1, 0, false);
	make_conn(0, OWNER);
	hands[OF_ALIEN].nb = nb_closed = 0;
	came_before(0, PLX_ST_SUCCESS);
	owner_turn();
	explore_equal(hands[OF_ALIEN].nb, 1);
	hands_before = hands[OF_ALIEN];
	explore_equal(plx_conn_close(conns[0]), 0);
	for (unsigned int i = 0; i < 20 && nb_closed == 0; i++) {
		owner_turn();
		plx_control_sync(control, nothing, NULL);
	}
	explore_equal(plx_conn_destroy(conns[0]), 0);
	explore_equal(pool->nb_dead, 1);
}

/** Without an SRQ: of two connections one has a message. */
static void
setup_own(void)
{
	world();
	make_pool_of_own();
	make_conn(0, WORKER);
	make_conn(1, WORKER);
	came_before(1, PLX_ST_SUCCESS);
}

/* ---- what the actors do -------------------------------------------------------------------- */

static void
owner_two_turns(void)
{
	owner_turn();
	owner_turn();
}

static void
owner_three_turns(void)
{
	owner_two_turns();
	owner_turn();
}

static unsigned int
worker_turn(void)
{
	unsigned int did = turn();

	return did + give(&hands[OF_WORKER]);
}

/** A turn of an owner that has an alien beside it. */
static unsigned int
owner_turn_and_hand_over(void)
{
	unsigned int did = owner_turn();

	explore_signal(flag(1));
	return did;
}

static unsigned int
alien_turn(void)
{
	explore_await(flag(1));
	return give(&hands[OF_ALIEN]);
}

static void
worker_gives(void)
{
	worker_turn();
}

static void
worker_gives_and_says_so(void)
{
	give(&hands[OF_WORKER]);
	explore_signal(flag(0));
}

static void
arrive(void)
{
	nb_sent += arrive_at(0, PLX_ST_SUCCESS);
}

static void
two_arrive(void)
{
	arrive();
	arrive();
}

static void
owner_hands_over(void)
{
	owner_turn();
	explore_signal(flag(0));
	owner_turn();
}

static void
alien_gives(void)
{
	explore_await(flag(0));
	give_one(&hands[OF_ALIEN]);
}

/** The one that has no message goes: two receives are flushed to the worker, which gives them back. */
static void
owner_closes_the_other(void)
{
	explore_equal(plx_conn_close(conns[0]), 0);
	for (unsigned int i = 0; i < 4; i++)
		owner_turn();
}

/** Behind the loop that polled: at once, and if that was too early when the last has been given. */
static void
owner_destroys(void)
{
	owner_turn();
	destroyed = plx_recv_pool_destroy(pool);
	if (destroyed == 0)
		return;
	explore_equal(destroyed, -EBUSY);
	explore_await(flag(0));
	owner_turn();
	explore_equal(pool->nb_dead, 0);
	destroyed = plx_recv_pool_destroy(pool);
}

/* ---- the end ------------------------------------------------------------------------------- */

static void
all_came(void)
{
	each_in_one_place();
	explore_equal(nb_arrived, nb_sent);
}

static void
all_came_and_armed(void)
{
	all_came();
	explore_assert(pool->stats.limit_events != 0);
	explore_assert(!pool->arming && !pool->to_arm);
	explore_equal(fake_srq(pool->srq)->limit, pool->limit);
}

/** While it is held there is nothing to arm for; behind that there is. */
static void
armed_when_it_is_back(void)
{
	explore_equal(pool->stats.limit_events, 1);
	explore_assert(!pool->arming && pool->to_arm);
	explore_equal(fake_srq(pool->srq)->limit, 0);
	give(&hands[OF_ALIEN]);
	plx_control_sync(control, nothing, NULL);
	owner_turn();
	all_came_and_armed();
}

static void
each_has_its_own(void)
{
	explore_equal(nb_arrived, nb_sent);
	explore_equal(nb_closed, 1);
	own_in_one_place(1);
}

static void
all_were_flushed(void)
{
	each_in_one_place();
	explore_equal(nb_arrived, 0);
}

/** The third message found its connection's share given back, or was one too many. */
static void
third_came_or_was_refused(void)
{
	unsigned int refused = (unsigned int)pool->stats.refused;

	each_in_one_place();
	explore_equal(nb_arrived + refused, nb_sent);
	explore_assert(refused <= 1);
	explore_equal(nb_closed, refused);
}

static void
all_is_gone(void)
{
	no_completion_was_wrong();
	explore_equal(destroyed, 0);
	explore_equal(plx_op_pool_in_use(d->pool), 0);
	explore_equal(cq->reserved, 0);
	explore_assert(LIST_EMPTY(&group->pools));
}

#define OWNS(fn)   {"owner", OWNER, fn, owner_turn}
#define HANDS(fn)  {"owner", OWNER, fn, owner_turn_and_hand_over}
#define WORKS(fn)  {"worker", WORKER, fn, worker_turn}
#define DEVICE(fn) {"device", ALIEN, fn, NULL}
#define GIVES(fn)  {"alien", ALIEN, fn, alien_turn}
#define CASE(text, set, end, ...)                                                                            \
	{.name = text, .setup = set, .begin = begin, .check = end, .idle_rounds = 5, .actors = {__VA_ARGS__}}

const struct explore_scenario explore_refill[] = {
	CASE("refill_meets_a_workers_give_back", setup_by_count, all_came, OWNS(owner_two_turns), WORKS(worker_gives),
		DEVICE(two_arrive)),
	CASE("refill_meets_an_aliens_give_back", setup_home, all_came, HANDS(owner_hands_over), GIVES(alien_gives),
		DEVICE(arrive)),
	CASE("refill_meets_two_give_backs", setup_two_homes, all_came, HANDS(owner_hands_over), WORKS(worker_gives),
		GIVES(alien_gives)),
	CASE("refill_is_refused_half_way", setup_refusing, all_came, OWNS(owner_two_turns), WORKS(worker_gives),
		DEVICE(arrive)),
	CASE("refill_limit_fires_while_it_is_armed", setup_by_event, all_came_and_armed, OWNS(owner_three_turns),
		WORKS(worker_gives), DEVICE(two_arrive)),
	CASE("refill_limit_waits_until_there_are_enough", setup_held, armed_when_it_is_back, OWNS(owner_two_turns)),
	CASE("refill_lane_is_full", setup_narrow, all_came_and_armed, OWNS(owner_two_turns), WORKS(worker_gives)),
	CASE("refill_parked_meets_the_owners_turn", setup_flushed, all_were_flushed, OWNS(owner_two_turns),
		WORKS(worker_gives)),
	CASE("refill_reserve_is_taken_by_two", setup_reserve, third_came_or_was_refused, OWNS(owner_three_turns),
		WORKS(worker_gives), DEVICE(arrive)),
	CASE("refill_give_back_meets_destroy", setup_orphaned, all_is_gone, OWNS(owner_destroys),
		{"worker", WORKER, worker_gives_and_says_so, turn}),
	CASE("refill_aliens_give_back_meets_destroy", setup_orphaned, all_is_gone, OWNS(owner_destroys),
		{"alien", ALIEN, worker_gives_and_says_so, NULL}),
	CASE("refill_own_receive_comes_back_while_another_closes", setup_own, each_has_its_own,
		OWNS(owner_closes_the_other), WORKS(worker_gives)),
	{.name = NULL},
};
