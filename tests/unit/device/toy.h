/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef TOY_H
#define TOY_H

/**
 * @file
 * A driver of a few static objects, to test lib/device with: what reaches a driver is recorded.
 */

#include "plx_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>

#include "plx_driver.h"

struct toy {
	struct plx_device dev;
	struct plx_pd pd;
	struct plx_mr mr;
	struct plx_cq cqs[2];
	struct plx_qp qp;
	unsigned int nb_cqs;
	struct plx_gid gids[4];
	unsigned int nb_gids;
	uint32_t ethernet;
	uint32_t inactive; /* bit per port */
	struct plx_qp_path path; /* as bring-up saw it */
	struct plx_qp_conf conf; /* as create saw it */
	uint64_t value;
	int busy; /* what destroy calls return */
	bool fatal; /* a device fatal event waits */
};

static struct toy toy;

static int toy_close(struct plx_device *dev) { return toy.busy; }
static int toy_pd_destroy(struct plx_pd *pd) { return toy.busy; }
static int toy_mr_deregister(struct plx_mr *mr) { return toy.busy; }
static int toy_cq_destroy(struct plx_cq *cq) { return toy.busy; }
static int toy_qp_destroy(struct plx_qp *qp) { return toy.busy; }
static int toy_qp_to_error(struct plx_qp *qp) { return 0; }
static struct plx_pd *toy_pd_create(struct plx_device *dev) { return &toy.pd; }
static struct plx_cq *toy_cq_create(struct plx_device *dev, uint32_t n) { return &toy.cqs[toy.nb_cqs++ % 2]; }

static int
toy_event_next(struct plx_device *dev, struct plx_event *event)
{
	int got = toy.fatal;

	*event = (struct plx_event){.type = PLX_EVENT_DEVICE_FATAL};
	toy.fatal = false;
	return got;
}

static int
toy_port_query(struct plx_device *dev, unsigned int port, struct plx_port_attr *attr)
{
	*attr = (struct plx_port_attr){.active = !(toy.inactive & 1u << port), .ethernet = toy.ethernet,
		.nb_gids = toy.nb_gids, .mtu = 1024};
	return 0;
}

static int
toy_gid_query(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid)
{
	if (index >= toy.nb_gids || toy.gids[index].type == PLX_GID_NONE)
		return -ENOENT;
	*gid = toy.gids[index];
	gid->index = index;
	return 0;
}

static struct plx_mr *
toy_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	return &toy.mr;
}

static struct plx_qp *
toy_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	toy.conf = *conf;
	return &toy.qp;
}

static int
toy_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	toy.path = *path;
	return 0;
}

static int
toy_list(struct plx_device_info *infos, unsigned int n)
{
	for (unsigned int i = 0; i < n && i < 3; i++)
		snprintf(infos[i].name, sizeof(infos[i].name), "toy%u", i);
	return 3;
}

static int
toy_match(const char *name)
{
	return strncmp(name, "toy", 3) == 0;
}

static struct plx_device *
toy_open(const char *name, struct rte_kvargs *args)
{
	static const char *const words[] = {"red", "blue", NULL};
	int word = plx_kvargs_choice(args, "word", words, 0);

	memset(&toy, 0, sizeof(toy));
	if (word < 0 || plx_kvargs_u64(args, "value", 5, 10, 7, &toy.value) != 0) {
		rte_errno = EINVAL;
		return NULL;
	}
	toy.value += 100 * word;
	toy.ethernet = 1;
	toy.dev.caps = (struct plx_device_caps){.flags = PLX_CAP_ATTR_EXCHANGE, .transports = 1,
		.max_qp_wr = 16, .max_cqe = 64, .max_sge = 4, .max_inline = 32, .max_rd_atomic = 8,
		.max_mr_size = 1 << 20, .nb_ports = 2};
	return &toy.dev;
}

static const char *const toy_keys[] = {"value", "word", NULL};

static const struct plx_driver toy_driver = {
	.name = "toy",
	.keys = toy_keys,
	.list = toy_list,
	.match = toy_match,
	.open = toy_open,
	.ops = {
		.close = toy_close,
		.port_query = toy_port_query,
		.gid_query = toy_gid_query,
		.pd_create = toy_pd_create,
		.pd_destroy = toy_pd_destroy,
		.mr_register = toy_mr_register,
		.mr_deregister = toy_mr_deregister,
		.cq_create = toy_cq_create,
		.cq_destroy = toy_cq_destroy,
		.qp_create = toy_qp_create,
		.qp_destroy = toy_qp_destroy,
		.qp_bring_up = toy_qp_bring_up,
		.qp_to_error = toy_qp_to_error,
		.event_next = toy_event_next,
	},
};

#endif
