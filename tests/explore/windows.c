/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "explore.h"

#include <rte_lcore.h>

#include "plx_device.h"
#include "soft_mw.h"

/**
 * @file
 * A window of the software devices whose key is looked at through a QP that no bind and no invalidate waits for.
 *
 *      setup     bound with the first key, to HERE, onto the low half
 *      binder    invalidates it, binds it with the second key to THERE, onto the high half, and back again
 *      looker    comes through THERE with a key that it ought not to have
 */

enum { HERE, THERE, NB_SCOPES };
enum { LOW, HIGH };

#define LEN 64

static const char scopes[NB_SCOPES];
static const struct plx_pd pd;
static char memory[2 * LEN];
static struct plx_mr mr;
static struct soft_keys *keys;
static uint32_t first;
static unsigned int nb_bound;

static bool
bind(unsigned int scope, uint32_t rkey, unsigned int half)
{
	return soft_mw_bind(keys, mr.pd, &scopes[scope], rkey, (uintptr_t)memory + half * LEN, LEN, PLX_ACCESS_REMOTE_READ);
}

static bool
opens(unsigned int scope, uint32_t rkey, unsigned int half)
{
	return soft_mw_opens(keys, &scopes[scope], rkey, (uintptr_t)memory + half * LEN, LEN, PLX_ACCESS_REMOTE_READ);
}

static void
setup_unbound(void)
{
	mr = (struct plx_mr){.pd = (struct plx_pd *)(uintptr_t)&pd, .addr = memory, .len = sizeof(memory)};
	keys = explore_alloc(sizeof(*keys));
	explore_equal(soft_keys_init(keys, 1), 0);
	first = soft_mw_add(keys, &mr);
	explore_assert(first != 0);
}

static void
setup(void)
{
	setup_unbound();
	explore_assert(bind(HERE, first, LOW));
}

static void
begin(void)
{
	nb_bound = 0;
}

static void
rebind(void)
{
	explore_assert(soft_mw_invalidate(keys, &scopes[HERE], first));
	explore_assert(bind(THERE, first + 1, HIGH));
}

static void
rebind_and_back(void)
{
	rebind();
	explore_assert(soft_mw_invalidate(keys, &scopes[THERE], first + 1));
	explore_assert(bind(HERE, first, LOW));
}

static void
look_with_the_first_key(void)
{
	explore_assert(!opens(THERE, first, HIGH));
}

/** Each key opens what its own bind said, or nothing. */
static void
look_at_the_wrong_half(void)
{
	explore_assert(!opens(THERE, first + 1, LOW));
	explore_assert(!opens(HERE, first, HIGH));
}

static void bind_low(void) { nb_bound += bind(HERE, first, LOW); }
static void bind_high(void) { nb_bound += bind(THERE, first + 1, HIGH); }

static void
bound_by_one(void)
{
	explore_equal(nb_bound, 1);
	explore_equal(opens(HERE, first, LOW) + opens(THERE, first + 1, HIGH), 1);
}

static void
bound_at_last(void)
{
	explore_assert(opens(THERE, first + 1, HIGH));
}

#define ALIEN(text, fn) {text, LCORE_ID_ANY, fn, NULL}
#define CASE(text, made, end, ...) {.name = text, .setup = made, .begin = begin, .check = end, .actors = {__VA_ARGS__}}

const struct explore_scenario explore_windows[] = {
	CASE("old_key_of_a_window_meets_a_rebind", setup, bound_at_last, ALIEN("binder", rebind),
		ALIEN("looker", look_with_the_first_key)),
	CASE("old_key_of_a_window_meets_a_rebind_and_its_own_again", setup, NULL, ALIEN("binder", rebind_and_back),
		ALIEN("looker", look_with_the_first_key)),
	CASE("window_opens_no_mixture_of_two_binds", setup, NULL, ALIEN("binder", rebind_and_back),
		ALIEN("looker", look_at_the_wrong_half)),
	CASE("window_is_bound_by_one_of_two", setup_unbound, bound_by_one, ALIEN("one", bind_low), ALIEN("other", bind_high)),
	{.name = NULL},
};
