/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_poller.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "plx_log.h"
#include "poller_internal.h"

/**
 * @file
 * Making a poller, and what it polls and calls.
 */

#define MAX_BUDGET 512

struct plx_poller *
plx_poller_create(const struct plx_poller_conf *conf)
{
	const char *name = conf->name != NULL ? conf->name : "poller";
	struct plx_poller *poller;

	if (conf->budget > MAX_BUDGET) {
		PLX_LOG(ERR, "poller %.63s: a budget of %u completions, the maximum is %u", name, conf->budget,
			MAX_BUDGET);
		rte_errno = EINVAL;
		return NULL;
	}
	poller = rte_zmalloc_socket("plx_poller", sizeof(*poller), RTE_CACHE_LINE_SIZE, (int)rte_socket_id());
	if (poller == NULL) {
		PLX_LOG(ERR, "poller %.63s: no memory for %zu bytes", name, sizeof(*poller));
		rte_errno = ENOMEM;
		return NULL;
	}
	snprintf(poller->name, sizeof(poller->name), "%s", name);
	poller->budget = conf->budget != 0 ? conf->budget : PLX_POLL_BURST;
	poller->yield = conf->yield;
	poller->lcore = LCORE_ID_ANY;
	return poller;
}

int
plx_poller_destroy(struct plx_poller *poller)
{
	if (poller == NULL)
		return 0;
	if (plx_poller_running(poller) || poller->turning)
		return -EBUSY;
	for (unsigned int i = 0; i < poller->nb_cqs; i++)
		if (poller->cqs[i]->nb_kept != 0)
			return -EBUSY;
	rte_free(poller);
	return 0;
}

/** The place of @p cq in the order of polling; nb_cqs if it has none. */
static unsigned int
cq_index(const struct plx_poller *poller, const struct plx_cq *cq)
{
	unsigned int i = 0;

	while (i < poller->nb_cqs && poller->cqs[i]->cq != cq)
		i++;
	return i;
}

int
plx_poller_add_cq(struct plx_poller *poller, struct plx_cq *cq, struct plx_dispatcher *d)
{
	struct poller_cq *slot = poller->slots;

	if (cq == NULL || d == NULL) {
		PLX_LOG(ERR, "poller %s: no %s to poll", poller->name, cq == NULL ? "CQ" : "dispatcher of a CQ");
		return -EINVAL;
	}
	if (cq->fast == NULL || cq->fast->poll_cq == NULL) { /* a backend's own: no plx_cq_create() has filled its table */
		PLX_LOG(ERR, "poller %s: a CQ whose table has no poll_cq", poller->name);
		return -ENOTSUP;
	}
	if (cq_index(poller, cq) < poller->nb_cqs) {
		PLX_LOG(ERR, "poller %s: it has this CQ already", poller->name);
		return -EEXIST;
	}
	if (poller->nb_cqs == PLX_POLLER_MAX_CQS) {
		PLX_LOG(ERR, "poller %s: it has %u CQs, and no more fit", poller->name, poller->nb_cqs);
		return -ENOSPC;
	}
	while (slot->cq != NULL)
		slot++;
	slot->cq = cq;
	slot->d = d;
	slot->dead = false;
	slot->budget = poller->budget;
	poller->cqs[poller->nb_cqs++] = slot;
	return 0;
}

int
plx_poller_remove_cq(struct plx_poller *poller, struct plx_cq *cq)
{
	unsigned int i = cq_index(poller, cq);

	if (i == poller->nb_cqs)
		return -ENOENT;
	if (poller->cqs[i]->nb_kept != 0)
		return -EAGAIN;
	poller->cqs[i]->cq = NULL;
	poller->nb_cqs--;
	memmove(&poller->cqs[i], &poller->cqs[i + 1], (poller->nb_cqs - i) * sizeof(poller->cqs[0]));
	if (i < poller->cq_at)
		poller->cq_at--;
	return 0;
}

int
plx_poller_set_budget(struct plx_poller *poller, struct plx_cq *cq, uint16_t budget)
{
	unsigned int i = cq_index(poller, cq);

	if (i == poller->nb_cqs) {
		PLX_LOG(ERR, "poller %s: a budget of %u for a CQ that is none of its %u", poller->name, budget, poller->nb_cqs);
		return -ENOENT;
	}
	if (budget > MAX_BUDGET) {
		PLX_LOG(ERR, "poller %s: a budget of %u completions for a CQ, the maximum is %u", poller->name, budget, MAX_BUDGET);
		return -EINVAL;
	}
	poller->cqs[i]->budget = budget != 0 ? budget : poller->budget;
	return 0;
}

static unsigned int
hook_index(const struct plx_poller *poller, plx_hook_t hook, const void *arg)
{
	unsigned int i = 0;

	while (i < poller->nb_hooks && (poller->hooks[i].call != hook || poller->hooks[i].arg != arg))
		i++;
	return i;
}

int
plx_poller_add_hook(struct plx_poller *poller, plx_hook_t hook, void *arg)
{
	if (hook == NULL) {
		PLX_LOG(ERR, "poller %s: a hook that is NULL", poller->name);
		return -EINVAL;
	}
	if (hook_index(poller, hook, arg) < poller->nb_hooks) {
		PLX_LOG(ERR, "poller %s: it has this hook, with this argument, already", poller->name);
		return -EEXIST;
	}
	if (poller->nb_hooks == PLX_POLLER_MAX_HOOKS) {
		PLX_LOG(ERR, "poller %s: it has %u hooks, and no more fit", poller->name, poller->nb_hooks);
		return -ENOSPC;
	}
	poller->hooks[poller->nb_hooks++] = (struct poller_hook){.call = hook, .arg = arg};
	return 0;
}

int
plx_poller_remove_hook(struct plx_poller *poller, plx_hook_t hook, void *arg)
{
	unsigned int i = hook_index(poller, hook, arg);

	if (i == poller->nb_hooks)
		return -ENOENT;
	poller->nb_hooks--;
	memmove(&poller->hooks[i], &poller->hooks[i + 1], (poller->nb_hooks - i) * sizeof(poller->hooks[0]));
	if (i < poller->hook_at)
		poller->hook_at--;
	return 0;
}
