/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The device, and whether what was asked fits it: each refusal names the option, the number and the limit.
 */

#include "perf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_errno.h>

#include "app_cause.h"
#include "plx_fault.h"

#define SPARE                                                                                                \
	16 /* slots beside the depth under a fault script: completions in a row that may be lost at depth 1  \
	    */

int
perf_choose_lcores(struct perf *perf)
{
	unsigned int need = perf->opts.handoff ? 3 : 2;

	if (rte_lcore_count() < need)
		return app_fail(&perf->error, -EINVAL,
			"--handoff %s needs %u lcores (main, poller%s), EAL has %u: "
			"see -l and --lcores%s",
			perf->opts.handoff ? "on" : "off", need, perf->opts.handoff ? ", worker" : "",
			rte_lcore_count(), perf->opts.handoff && rte_lcore_count() == 2 ? ", or --handoff off" : "");
	perf->main_lcore = rte_get_main_lcore();
	perf->poller_lcore = rte_get_next_lcore(-1, 1, 0);
	perf->worker_lcore = perf->opts.handoff ? rte_get_next_lcore(perf->poller_lcore, 1, 0) : LCORE_ID_ANY;
	perf->home = perf->opts.handoff ? perf->worker_lcore : perf->poller_lcore;
	return 0;
}

static int
wrap(struct perf *perf)
{
	struct plx_device *wrapped = plx_fault_wrap(perf->dev, perf->opts.fault);

	if (wrapped == NULL)
		return app_fail(
			&perf->error, -rte_errno, "--fault '%s': %s", perf->opts.fault, plx_fault_error());
	perf->dev = wrapped;
	perf->fault = wrapped;
	return 0;
}

static int
check_kinds(struct perf *perf, const struct plx_device_caps *caps)
{
	const struct perf_options *opts = &perf->opts;

	if (!(caps->kinds & PLX_KIND(opts->opcode)))
		return app_fail(&perf->error, -ENOTSUP, "-t %s: device %s does not have it%s", plx_opcode_name(opts->opcode),
			opts->device, caps->max_rd_atomic == 0 ? " (its max_rd_atomic is 0)" : "");
	if (!(caps->flags & PLX_CAP_ATTR_EXCHANGE))
		return app_fail(&perf->error, -ENOTSUP,
			"-d %s: its QPs cannot be brought up by attribute exchange (iWARP), "
			"which plx-perf needs",
			opts->device);
	return 0;
}

static int
check_size(struct perf *perf)
{
	struct plx_port_attr attr;
	int port = plx_port_default(perf->dev);

	if (port < 0)
		return app_fail(&perf->error, port, "-d %s: no active port", perf->opts.device);
	perf->port = (uint32_t)port;
	if (plx_port_query(perf->dev, perf->port, &attr) != 0)
		return app_fail(
			&perf->error, -EIO, "-d %s: port %d cannot be queried", perf->opts.device, port);
	if (perf->opts.size > attr.max_msg_sz)
		return app_fail(&perf->error, -EMSGSIZE, "-s %u: above max_msg_sz %u of port %d of %s",
			perf->opts.size, attr.max_msg_sz, port, perf->opts.device);
	return 0;
}

/** Queue sizes: what is wanted, then what would be granted. */
static int
check_depth(struct perf *perf, const struct plx_device_caps *caps)
{
	const struct perf_options *opts = &perf->opts;
	uint32_t room = caps->max_qp_wr - RTE_MIN(opts->depth, caps->max_qp_wr);

	if (opts->depth > caps->max_qp_wr)
		return app_fail(&perf->error, -EINVAL, "--depth %u: above max_qp_wr %u of %s", opts->depth,
			caps->max_qp_wr, opts->device);
	/* Twice the depth in receives: a completion may be handled before the receive that went before it. */
	perf->spare = opts->fault != NULL ? RTE_MIN((uint32_t)SPARE, room) : 0;
	perf->nb_recvs =
		opts->opcode == PLX_OPCODE_SEND ? opts->depth + RTE_MIN(opts->depth + perf->spare, room) : 0;
	perf->initiator_cap = (struct plx_qp_cap){.send_depth = opts->depth + perf->spare, .recv_depth = 1};
	perf->target_cap = (struct plx_qp_cap){.send_depth = 1, .recv_depth = RTE_MAX(perf->nb_recvs, 1u)};
	app_cause_clear();
	if (plx_qp_limits(perf->dev, &perf->initiator_cap) != 0 ||
		plx_qp_limits(perf->dev, &perf->target_cap) != 0)
		return app_fail(&perf->error, -EINVAL, "--depth %u: %s", opts->depth,
			app_cause("refused by the device"));
	return 0;
}

static int
check_connections(struct perf *perf, const struct plx_device_caps *caps)
{
	const struct perf_options *opts = &perf->opts;
	uint32_t each = plx_conn_cqes(&perf->initiator_cap) + plx_conn_cqes(&perf->target_cap);

	perf->nb_cqes = (uint64_t)each * opts->connections;
	if (2 * (uint64_t)opts->connections > caps->max_qp)
		return app_fail(&perf->error, -ENOSPC, "-q %u: needs %u QPs, %s has at most %u",
			opts->connections, 2 * opts->connections, opts->device, caps->max_qp);
	if (perf->nb_cqes > caps->max_cqe)
		return app_fail(&perf->error, -ENOSPC,
			"-q %u --depth %u: needs %" PRIu64 " CQEs in one CQ (%u for each "
			"connection), max_cqe of %s is %u",
			opts->connections, opts->depth, perf->nb_cqes, each, opts->device, caps->max_cqe);
	return 0;
}

int
perf_device_open(struct perf *perf)
{
	const struct plx_device_caps *caps;
	int err;

	app_cause_clear();
	perf->dev = plx_device_open(perf->opts.device);
	if (perf->dev == NULL)
		return app_fail(&perf->error, -rte_errno, "-d %s: %s", perf->opts.device,
			app_cause(rte_strerror(rte_errno)));
	caps = plx_device_caps(perf->dev);
	err = check_kinds(perf, caps);
	if (err == 0)
		err = check_size(perf);
	if (err == 0)
		err = check_depth(perf, caps);
	if (err == 0)
		err = check_connections(perf, caps);
	return err != 0 || perf->opts.fault == NULL ? err : wrap(perf);
}
