/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Wrapping a device, its ports, and what was counted.
 */

#include "fault.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "plx_log.h"

/* ---- device -------------------------------------------------------------------------------- */

static int
fault_close(struct plx_device *base)
{
	struct fault_device *dev = fault_device(base);
	int err = plx_device_close(dev->inner);

	if (err != 0)
		return err;
	fault_event_fini(dev);
	fault_qps_fini(dev);
	free(dev);
	return 0;
}

static int
fault_port_query(struct plx_device *base, unsigned int port, struct plx_port_attr *attr)
{
	struct fault_device *dev = fault_device(base);
	int err = -fault_verb(dev, FAULT_PORT_QUERY);

	if (err == 0)
		err = plx_port_query(dev->inner, port, attr);
	if (err == 0 && fault_link_is_down(dev))
		attr->active = 0;
	return err;
}

static int
fault_gid_query(struct plx_device *base, unsigned int port, unsigned int index, struct plx_gid *gid)
{
	struct fault_device *dev = fault_device(base);
	int err = -fault_verb(dev, FAULT_GID_QUERY);

	return err != 0 ? err : plx_gid_query(dev->inner, port, index, gid);
}

/** Not registered: nothing is opened by this driver's name. */
static const struct plx_driver fault_driver = {
	.name = "fault",
	.ops = {
		.close = fault_close,
		.qp_limits = fault_qp_limits,
		.port_query = fault_port_query,
		.gid_query = fault_gid_query,
		.pd_create = fault_pd_create,
		.pd_destroy = fault_pd_destroy,
		.mr_register = fault_mr_register,
		.mr_register_dmabuf = fault_mr_register_dmabuf,
		.mr_deregister = fault_mr_deregister,
		.mw_create = fault_mw_create,
		.mw_destroy = fault_mw_destroy,
		.cq_create = fault_cq_create,
		.cq_destroy = fault_cq_destroy,
		.qp_create = fault_qp_create,
		.qp_destroy = fault_qp_destroy,
		.srq_create = fault_srq_create,
		.srq_destroy = fault_srq_destroy,
		.srq_arm = fault_srq_arm,
		.srq_query = fault_srq_query,
		.qp_local_addr = fault_qp_local_addr,
		.qp_bring_up = fault_qp_bring_up,
		.qp_to_error = fault_qp_to_error,
		.qp_query_state = fault_qp_query_state,
		.event_fd = fault_event_fd,
		.event_next = fault_event_next,
	},
};

/* ---- wrapping ------------------------------------------------------------------------------ */

static _Thread_local char error_text[FAULT_ERROR_LEN];

const char *
plx_fault_error(void)
{
	return error_text;
}

/** A wrap that failed: @p text for the caller and the log. */
static struct plx_device *
wrap_fail(int err, const char *text)
{
	if (text != error_text)
		snprintf(error_text, sizeof(error_text), "%s", text);
	PLX_LOG(ERR, "fault script: %s", error_text);
	rte_errno = err;
	return NULL;
}

/** What of the script the warm path asks about. */
static void
script_take(struct fault_device *dev, const struct fault_script *script)
{
	dev->script = *script;
	for (unsigned int i = 0; i < script->nb_rules; i++) {
		const struct fault_rule *rule = &script->rules[i];

		dev->holds |= rule->action == FAULT_HOLD;
		dev->raises |= rule->action == FAULT_RAISE;
		if (rule->action >= FAULT_FAIL_POST && rule->action <= FAULT_IN_ERR)
			dev->watches[rule->queue] = true;
	}
}

/** Its own parts of a new wrapper. NULL: no memory, or no files. */
static struct fault_device *
device_new(struct plx_device *inner, const struct fault_script *script)
{
	struct fault_device *dev = calloc(1, sizeof(*dev));

	if (dev == NULL)
		return NULL;
	dev->inner = inner;
	script_take(dev, script);
	if (fault_qps_init(dev) != 0)
		goto fini_qps;
	if (fault_event_init(dev) == 0)
		return dev;
	fault_event_fini(dev);
fini_qps:
	fault_qps_fini(dev);
	free(dev);
	return NULL;
}

struct plx_device *
plx_fault_wrap(struct plx_device *inner, const char *script)
{
	struct fault_script parsed;
	struct fault_device *dev;
	char name[PLX_NAME_LEN + sizeof("fault:")];

	if (inner == NULL || script == NULL)
		return wrap_fail(EINVAL, inner == NULL ? "no device to wrap" : "no script");
	/* This leaves "" in the text of a good one. */
	if (fault_script_parse(script, strlen(script), &parsed, error_text) != 0)
		return wrap_fail(EINVAL, error_text);
	dev = device_new(inner, &parsed);
	if (dev == NULL)
		return wrap_fail(ENOMEM, "out of memory");
	snprintf(name, sizeof(name), "fault:%s", plx_device_name(inner));
	plx_device_init(&dev->base, &fault_driver, name);
	dev->base.caps = *plx_device_caps(inner);
	return &dev->base;
}

static int
not_a_wrapper(const struct plx_device *base)
{
	PLX_LOG(ERR, "device %s: it is of driver %s, and no plx_fault_wrap() made it", base->name, base->driver->name);
	return -EINVAL;
}

/* ---- hook ---------------------------------------------------------------------------------- */

int
plx_fault_set_hook(struct plx_device *base, plx_fault_hook_t hook, void *arg)
{
	struct fault_device *dev = fault_device(base);

	if (base->driver != &fault_driver)
		return not_a_wrapper(base);
	dev->hook = hook;
	dev->hook_arg = arg;
	return 0;
}

/* ---- statistics ---------------------------------------------------------------------------- */

static const char *const stat_names[] = {"cqes", "made", "given", "dropped", "duplicated", "replayed", "held", "swapped",
	"waiting", "discarded", "errors", "garbled", "poisoned", "failed_posts", "denied", "lost", "flushed",
	"swallowed", "failed_verbs", "delayed", "events", "raised", "overrun"};

#define NB_STATS (sizeof(struct plx_fault_stats) / sizeof(uint64_t))

static_assert(sizeof(stat_names) / sizeof(stat_names[0]) == NB_STATS, "a name for each, and all of one type");

const char *
plx_fault_stat_name(unsigned int index)
{
	return index < NB_STATS ? stat_names[index] : NULL;
}

int
plx_fault_stats(const struct plx_device *base, struct plx_fault_stats *stats)
{
	const uint64_t *from = (const uint64_t *)&((const struct fault_device *)base)->stats;
	uint64_t *to = (uint64_t *)stats;

	if (base->driver != &fault_driver)
		return not_a_wrapper(base);
	for (unsigned int i = 0; i < NB_STATS; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	return 0;
}
