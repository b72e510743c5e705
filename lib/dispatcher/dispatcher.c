/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_dispatcher.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "dispatcher_internal.h"
#include "plx_log.h"

static_assert(offsetof(struct plx_dispatcher, detours) == RTE_CACHE_LINE_SIZE &&
	offsetof(struct plx_dispatcher, home_of) % RTE_CACHE_LINE_SIZE == 0,
	"what the owner writes shares no line with what every lcore reads");

#define NOBODY	 (LCORE_ID_ANY - 1) /* what rte_lcore_id() says to none, aliens neither */
#define ABANDONS 1024 /* that each other thread can have on its way to one home */

static int
conf_check(const struct plx_dispatcher_conf *conf)
{
	if (conf->mode != PLX_DISPATCHER_OWNED && conf->mode != PLX_DISPATCHER_SHARED) {
		PLX_LOG(ERR, "dispatcher %.63s: mode %d is neither OWNED nor SHARED", conf->name, (int)conf->mode);
		return -EINVAL;
	}
	if (conf->mode == PLX_DISPATCHER_OWNED && !rte_lcore_is_enabled(conf->owner)) {
		PLX_LOG(ERR, "dispatcher %.63s: owner lcore %u is not among EAL's %u lcores", conf->name,
			conf->owner, rte_lcore_count());
		return -EINVAL;
	}
	for (unsigned int i = 0; i < conf->nb_homes; i++) {
		if (!rte_lcore_is_enabled(conf->homes[i])) {
			PLX_LOG(ERR, "dispatcher %.63s: home lcore %u is not among EAL's %u lcores", conf->name,
				conf->homes[i], rte_lcore_count());
			return -EINVAL;
		}
	}
	return 0;
}

/** A lane to @p consumer from every lcore but itself and from aliens, or from @p only alone. */
static struct plx_lane *
lane_make(const struct plx_dispatcher *d, unsigned int consumer, unsigned int only, unsigned int nb_elem,
	unsigned int elem_size)
{
	unsigned int producers[RTE_MAX_LCORE], nb = 0, lcore;
	struct plx_lane_conf conf = {
		.name = d->name,
		.consumer = consumer,
		.producers = producers,
		.alien = only == LCORE_ID_ANY,
		.nb_elem = nb_elem,
		.elem_size = elem_size,
		.socket_id = SOCKET_ID_ANY,
	};

	if (only != LCORE_ID_ANY) {
		producers[nb++] = only;
	} else {
		RTE_LCORE_FOREACH(lcore)
			if (lcore != consumer)
				producers[nb++] = lcore;
	}
	conf.nb_producers = nb;
	return plx_lane_create(&conf);
}

/** Make @p lcore a home. The owner needs no lane of ops: it calls back inline. */
static int
home_add(struct plx_dispatcher *d, unsigned int lcore)
{
	struct plx_home *home = &d->homes[d->nb_homes];

	if (d->home_of[lcore] != NULL)
		return 0;
	d->nb_homes++;
	d->home_of[lcore] = home;
	home->lcore = lcore;
	home->owns = lcore == d->owner;
	home->abandons = lane_make(d, lcore, LCORE_ID_ANY, ABANDONS, sizeof(uint64_t));
	if (home->abandons == NULL)
		return -rte_errno;
	if (lcore == d->owner) {
		d->own = home;
		return 0;
	}
	/* Room for every op there is: a hand-off cannot find it full. */
	home->ops = lane_make(d, lcore, d->owner, d->pool->nb_slots, sizeof(struct plx_op *));
	return home->ops != NULL ? 0 : -rte_errno;
}

static void
homes_free(struct plx_dispatcher *d)
{
	for (unsigned int i = 0; i < d->nb_homes; i++) {
		plx_lane_destroy(d->homes[i].ops);
		plx_lane_destroy(d->homes[i].abandons);
	}
	rte_free(d->homes);
}

static int
lanes_make(struct plx_dispatcher *d, const struct plx_dispatcher_conf *conf)
{
	int err = 0;

	d->homes = rte_calloc("plx_home", conf->nb_homes + 1, sizeof(*d->homes), RTE_CACHE_LINE_SIZE);
	if (d->homes == NULL)
		return -ENOMEM;
	if (conf->mode == PLX_DISPATCHER_OWNED) {
		d->inbox = lane_make(d, d->owner, LCORE_ID_ANY, conf->nb_inbox != 0 ? conf->nb_inbox : 1024,
			sizeof(struct plx_wc));
		if (d->inbox == NULL)
			return -rte_errno;
		err = home_add(d, d->owner);
	}
	for (unsigned int i = 0; err == 0 && i < conf->nb_homes; i++)
		err = home_add(d, conf->homes[i]);
	return err;
}

struct plx_dispatcher *
plx_dispatcher_create(const struct plx_dispatcher_conf *conf)
{
	struct plx_op_pool_conf pool = conf->pool;
	struct plx_dispatcher *d;
	int err = conf_check(conf);

	if (err != 0)
		goto fail;
	err = -ENOMEM;
	d = rte_zmalloc_socket("plx_dispatcher", sizeof(*d), RTE_CACHE_LINE_SIZE, pool.socket_id);
	if (d == NULL)
		goto fail;
	snprintf(d->name, sizeof(d->name), "%s", conf->name);
	d->owner = conf->mode == PLX_DISPATCHER_OWNED ? conf->owner : LCORE_ID_ANY;
	d->deliverer = dispatcher_is_shared(d) ? NOBODY : d->owner;
	d->here = PLX_OP_CUSTODY((uint16_t)d->owner, PLX_OP_POSTED, 0);
	pool.name = d->name;
	d->pool = plx_op_pool_create(&pool);
	if (d->pool == NULL) {
		err = -rte_errno;
		goto free_dispatcher;
	}
	err = lanes_make(d, conf);
	if (err == 0)
		err = plx_op_deadlines_init(&d->deadlines, d->pool->nb_slots, pool.socket_id);
	if (err == 0)
		return d;
	PLX_LOG(ERR, "dispatcher %s: no lanes or no room for deadlines, %u homes of %u ops: %s", d->name, conf->nb_homes,
		d->pool->nb_slots, rte_strerror(-err));
	homes_free(d);
	plx_lane_destroy(d->inbox);
	plx_op_pool_destroy(d->pool);
free_dispatcher:
	rte_free(d);
fail:
	rte_errno = -err;
	return NULL;
}

int
plx_dispatcher_destroy(struct plx_dispatcher *d)
{
	int err = d != NULL ? plx_op_pool_destroy(d->pool) : 0;

	if (err != 0 || d == NULL)
		return err;
	homes_free(d);
	plx_op_deadlines_fini(&d->deadlines);
	plx_lane_destroy(d->inbox);
	rte_free(d);
	return 0;
}

bool
plx_dispatcher_has_home(const struct plx_dispatcher *d, unsigned int lcore)
{
	return lcore == PLX_HOME_ANY || (lcore < RTE_MAX_LCORE && d->home_of[lcore] != NULL);
}

void
plx_dispatcher_stats(const struct plx_dispatcher *d, struct plx_dispatcher_stats *stats)
{
	const struct plx_dispatcher_stats *s = &d->stats;

	*stats = (struct plx_dispatcher_stats){
		.delivered = counted(&s->delivered),
		.stale = counted(&s->stale),
		.duplicate = counted(&s->duplicate),
		.foreign = counted(&s->foreign),
		.misrouted = counted(&s->misrouted),
		.timed_out = counted(&s->timed_out),
		.cancelled = counted(&s->cancelled),
		.late = counted(&s->late),
		.forwarded = counted(&s->forwarded),
		.inbox_full = counted(&s->inbox_full),
		.pool_empty = counted(&d->pool->nb_refused),
	};
	for (unsigned int i = 0; i < d->nb_homes; i++) {
		stats->orphans += counted(&d->homes[i].nb_orphans);
		stats->handed += counted(&d->homes[i].nb_handed);
		stats->abandoned_late += counted(&d->homes[i].nb_abandoned_late);
	}
}
