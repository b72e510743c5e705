/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Everything that a run is made of, in the order in which it depends on each other, and its undoing in
 * reverse.
 */

#include "perf.h"

#include <errno.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_malloc.h>

#include "app_cause.h"

/** A step that set rte_errno has failed; the log knows why. */
static int
failed(struct perf *perf, const char *step)
{
	int err = rte_errno != 0 ? -rte_errno : -ENOMEM;

	return app_fail(&perf->error, err, "%s: %s", step, app_cause(rte_strerror(-err)));
}

static int
make_loop(struct perf *perf)
{
	perf->loop = rte_zmalloc("perf_loop", sizeof(*perf->loop), RTE_CACHE_LINE_SIZE);
	perf->snapshot = rte_zmalloc("perf_snapshot", sizeof(*perf->snapshot), 0);
	perf->pairs = rte_zmalloc(
		"perf_pairs", perf->opts.connections * sizeof(perf->pairs[0]), RTE_CACHE_LINE_SIZE);
	if (perf->loop == NULL || perf->snapshot == NULL || perf->pairs == NULL)
		return failed(perf, "no memory for the connections");
	perf_loop_init(perf->loop, perf);
	return 0;
}

/** On CPUs where it disturbs no polling lcore, of those that the process was started with. */
static int
make_control(struct perf *perf)
{
	unsigned int lcores[] = {perf->poller_lcore};
	rte_cpuset_t cpus;
	struct plx_control_conf conf = {.cpuset = &cpus,
		.lcores = lcores,
		.nb_lcores = 1,
		.nb_reqs = RTE_MAX(4096u, 2 * perf->opts.connections)};

	plx_control_cpus(&perf->machine.cpus, lcores, 1, &cpus);
	perf->control = plx_control_create(&conf);
	return perf->control != NULL ? 0 : failed(perf, "control thread");
}

static int
make_dispatcher(struct perf *perf)
{
	struct plx_dispatcher_conf conf = {
		.name = "perf",
		.mode = PLX_DISPATCHER_OWNED,
		.owner = perf->poller_lcore,
		.homes = &perf->home,
		.nb_homes = 1,
		.pool =
			{
				.nb_ops = (unsigned int)perf_nb_ops(perf),
				.priv_size = sizeof(struct perf_note),
				.socket_id = plx_device_caps(perf->dev)->socket_id,
			},
	};

	perf->dispatcher = plx_dispatcher_create(&conf);
	return perf->dispatcher != NULL ? 0 : failed(perf, "ops");
}

/** Some devices keep an entry of a CQ for themselves: what is missing is asked for on top, once. */
static struct plx_cq *
make_cq(struct perf *perf, uint32_t nb_cqe)
{
	struct plx_cq *cq = plx_cq_create(perf->dev, nb_cqe);
	uint32_t granted = cq == NULL ? nb_cqe : cq->nb_cqe;

	if (granted >= nb_cqe || nb_cqe + (nb_cqe - granted) > plx_device_caps(perf->dev)->max_cqe)
		return cq;
	plx_cq_destroy(cq);
	return plx_cq_create(perf->dev, nb_cqe + (nb_cqe - granted));
}

static int
make_queues(struct perf *perf)
{
	struct plx_conn_group_conf conf = {
		.name = "perf", .dispatcher = perf->dispatcher, .control = perf->control};

	perf->pd = plx_pd_create(perf->dev);
	if (perf->pd == NULL)
		return failed(perf, "PD");
	perf->cq = make_cq(perf, (uint32_t)perf->nb_cqes);
	if (perf->cq == NULL)
		return failed(perf, "CQ");
	conf.cq = perf->cq;
	perf->group = plx_conn_group_create(&conf);
	return perf->group != NULL ? 0 : failed(perf, "connection group");
}

static int
add_hook(struct perf *perf, struct plx_poller *poller, plx_hook_t hook, void *arg)
{
	int err = plx_poller_add_hook(poller, hook, arg);

	return err == 0 ? 0 : app_fail(&perf->error, err, "poller hook: %s", rte_strerror(-err));
}

static int
make_poller(struct perf *perf, struct plx_poller **poller, const char *name)
{
	unsigned int lcores[] = {perf->poller_lcore, perf->worker_lcore};
	struct plx_poller_conf conf = {
		.name = name, .yield = app_lcores_share(lcores, perf->opts.handoff ? 2 : 1)};

	*poller = plx_poller_create(&conf);
	if (*poller == NULL)
		return failed(perf, name);
	return add_hook(perf, *poller, plx_dispatcher_hook, perf->dispatcher);
}

/** Hooks run in this order: callbacks or submits of others first, then our part of the turn. */
static int
make_pollers(struct perf *perf)
{
	int err = make_poller(perf, &perf->poller, "poller");

	if (err == 0)
		err = plx_poller_add_cq(perf->poller, perf->cq, perf->dispatcher);
	if (err == 0)
		err = add_hook(perf, perf->poller, plx_conn_group_hook, perf->group);
	if (err == 0 && perf->opts.handoff)
		err = make_poller(perf, &perf->worker, "worker");
	if (err == 0)
		err = add_hook(
			perf, perf->opts.handoff ? perf->worker : perf->poller, perf_loop_once, perf->loop);
	return err;
}

static int
launch(struct perf *perf)
{
	int err = rte_eal_remote_launch(plx_poller_run, perf->poller, perf->poller_lcore);

	if (err == 0) {
		perf->nb_launched++;
		if (perf->opts.handoff)
			err = rte_eal_remote_launch(plx_poller_run, perf->worker, perf->worker_lcore);
	}
	if (err != 0)
		return app_fail(&perf->error, err, "lcore does not start: %s", rte_strerror(-err));
	perf->nb_launched += perf->opts.handoff;
	return 0;
}

int
perf_setup(struct perf *perf)
{
	static int (*const steps[])(struct perf * perf) = {make_loop, make_control, make_dispatcher,
		make_queues, perf_pairs_create, make_pollers, launch, perf_pairs_bring_up};
	int err = 0;

	for (unsigned int i = 0; i < RTE_DIM(steps) && err == 0; i++) {
		app_cause_clear();
		err = steps[i](perf);
	}
	return err;
}

void
perf_stop_loops(struct perf *perf)
{
	if (perf->nb_launched == 0)
		return;
	plx_poller_stop(perf->poller);
	rte_eal_wait_lcore(perf->poller_lcore);
	if (perf->worker != NULL) {
		plx_poller_stop(perf->worker);
		rte_eal_wait_lcore(perf->worker_lcore);
	}
	perf->nb_launched = 0;
}

/** Note the first thing that was not given back. */
static void
given_back(struct perf *perf, const char *what, int err)
{
	if (err != 0)
		app_fail(&perf->error, err, "%s not given back: %s", what, app_cause(rte_strerror(-err)));
}

static void
destroy_rooms(struct perf *perf)
{
	if (perf->poller != NULL)
		given_back(perf, "poller", plx_poller_destroy(perf->poller));
	if (perf->worker != NULL)
		given_back(perf, "worker", plx_poller_destroy(perf->worker));
	if (perf->group != NULL)
		given_back(perf, "connections", plx_conn_group_destroy(perf->group));
	given_back(perf, "CQ", plx_cq_destroy(perf->cq));
	given_back(perf, "buffers", plx_region_destroy(perf->initiator_region));
	given_back(perf, "buffers", plx_region_destroy(perf->target_region));
	if (perf->pd != NULL)
		given_back(perf, "PD", plx_pd_destroy(perf->pd));
	if (perf->dispatcher != NULL)
		given_back(perf, "ops", plx_dispatcher_destroy(perf->dispatcher));
	given_back(perf, "control thread", plx_control_destroy(perf->control));
	if (perf->dev != NULL)
		given_back(perf, "device", plx_device_close(perf->dev));
}

int
perf_teardown(struct perf *perf)
{
	bool was_fine = perf->error.text[0] == '\0';

	perf_stop_loops(perf);
	app_cause_clear();
	perf_pairs_free(perf);
	destroy_rooms(perf);
	rte_free(perf->pairs);
	rte_free(perf->snapshot);
	rte_free(perf->loop);
	return was_fine && perf->error.text[0] != '\0' ? -EBUSY : 0;
}
