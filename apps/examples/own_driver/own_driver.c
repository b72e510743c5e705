/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * How to write a driver, by example: a device whose sends complete at once with the status it was told.
 *
 *      plx_device_open("own0,status=10") --> own_open()      status of every completion
 *      submit --> own_post_send() --> ring of the CQ --> own_poll_cq() --> the op's callback
 *
 * A driver has two tables: plx_driver (plx_driver.h), here, how devices are found and objects are made; and plx_fast_ops
 * (plx_fast.h), in own_fast.c, post and poll. What it cannot do it leaves out: receives (no post_recv, no
 * PLX_OPCODE_RECV among the kinds), registered memory. Whoever asks is refused with -ENOTSUP.
 *
 * Arguments have been checked before a slot is called; drivers/loopback is a driver of a whole device.
 *
 * Threads: one at a time per object, never a polling lcore, so that a slot may allocate and block.
 */

#include "own_driver.h"
#include "own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_memory.h>

#include <pollux/plx_log.h>

/* ---- objects -------------------------------------------------------------------------------- */

/** A create slot returns its object zeroed, or NULL with rte_errno; lib/device fills dev, pd and the CQs. */
static void *
own_make(size_t size)
{
	void *object = calloc(1, size);

	if (object == NULL)
		rte_errno = ENOMEM;
	return object;
}

static struct plx_pd *
own_pd_create(struct plx_device *dev)
{
	return own_make(sizeof(struct plx_pd));
}

static struct plx_cq *
own_cq_create(struct plx_device *dev, uint32_t nb_cqe)
{
	struct own_cq *cq = own_make(sizeof(*cq) + nb_cqe * sizeof(cq->ring[0]));

	if (cq == NULL)
		return NULL;
	cq->base.fast = &own_fast;
	cq->base.nb_cqe = nb_cqe; /* granted: may be more than was asked for */
	return &cq->base;
}

static struct plx_qp *
own_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	struct own_device *dev = (struct own_device *)pd->dev;
	struct own_qp *qp = own_make(sizeof(*qp));

	if (qp == NULL)
		return NULL;
	qp->base.fast = &own_fast;
	qp->base.cap = conf->cap; /* granted as wanted */
	qp->base.qp_num = __atomic_add_fetch(&dev->last_qpn, 1, __ATOMIC_RELAXED);
	qp->state = PLX_QP_INIT;
	return &qp->base;
}

static int
own_qp_limits(struct plx_device *dev, struct plx_qp_cap *cap)
{
	return 0; /* as wanted, within the limits of caps */
}

static int
own_port_query(struct plx_device *dev, unsigned int port, struct plx_port_attr *attr)
{
	*attr = (struct plx_port_attr){.active = 1, .ethernet = 1, .mtu = 4096, .max_msg_sz = 1u << 31, .nb_gids = 1};
	return 0;
}

static int
own_gid_query(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid)
{
	if (index != 0)
		return -ENOENT;
	*gid = (struct plx_gid){.raw = {[10] = 0xff, 0xff, 127, 0, 0, 1}, .type = PLX_GID_ROCE_V2};
	return 0;
}

static int
own_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr)
{
	*addr = (struct plx_qp_addr){.qp_num = qp->qp_num, .gid_type = PLX_GID_ROCE_V2, .mtu = 4096, .port = path->port};
	return 0;
}

static int
own_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	__atomic_store_n(&((struct own_qp *)qp)->state, PLX_QP_RTS, __ATOMIC_RELAXED);
	return 0;
}

/** Everything that was posted has completed already; a device that holds WRs flushes them here or in its next poll. */
static int
own_qp_to_error(struct plx_qp *qp)
{
	__atomic_store_n(&((struct own_qp *)qp)->state, PLX_QP_ERR, __ATOMIC_RELAXED);
	return 0;
}

static int own_pd_destroy(struct plx_pd *pd) { free(pd); return 0; }
static int own_cq_destroy(struct plx_cq *cq) { free(cq); return 0; }
static int own_qp_destroy(struct plx_qp *qp) { free(qp); return 0; }
static int own_close(struct plx_device *dev) { free(dev); return 0; }

/* ---- how a name becomes a device ---------------------------------------------------------------- */

static int
own_list(struct plx_device_info *infos, unsigned int n)
{
	if (n > 0)
		snprintf(infos[0].name, sizeof(infos[0].name), "own0");
	return 1; /* how many there are, however many were asked for */
}

static int
own_match(const char *name)
{
	return strncmp(name, "own", 3) == 0 && name[3] != '\0' && strspn(&name[3], "0123456789") == strlen(&name[3]);
}

static struct plx_device *
own_open(const char *name, struct rte_kvargs *args)
{
	struct own_device *dev = own_make(sizeof(*dev));

	if (dev == NULL)
		return NULL;
	if (plx_kvargs_u64(args, "status", 0, PLX_NB_STATUS - 1, PLX_ST_SUCCESS, &dev->status) != 0) {
		free(dev);
		rte_errno = EINVAL; /* the log has key, value and range already */
		return NULL;
	}
	own_fast = plx_fast_with_stubs(&own_fast);
	dev->base.caps = (struct plx_device_caps){
		.kinds = PLX_KIND(PLX_OPCODE_SEND) | PLX_KIND(PLX_OPCODE_WRITE),
		.flags = PLX_CAP_ATTR_EXCHANGE,
		.transports = 1u << PLX_TRANSPORT_RC,
		.max_qp = 1 << 10, .max_qp_wr = 1 << 10, .max_cq = 1 << 10, .max_cqe = 1 << 16,
		.max_mr = 1 << 10, .max_sge = 1, .max_sge_rd = 1, .max_mr_size = UINT64_C(1) << 40,
		.nb_ports = 1, .socket_id = SOCKET_ID_ANY,
	};
	PLX_LOG(DEBUG, "device %s: sends end as %s", name, plx_status_name((unsigned int)dev->status));
	return &dev->base;
}

const struct plx_driver own_driver = {
	.name = "own",
	.keys = (const char *const[]){"status", NULL},
	.list = own_list,
	.match = own_match,
	.open = own_open,
	.ops = {
		.close = own_close,
		.port_query = own_port_query, .gid_query = own_gid_query,
		.pd_create = own_pd_create, .pd_destroy = own_pd_destroy,
		.cq_create = own_cq_create, .cq_destroy = own_cq_destroy,
		.qp_limits = own_qp_limits, .qp_create = own_qp_create, .qp_destroy = own_qp_destroy,
		.qp_local_addr = own_qp_local_addr, .qp_bring_up = own_qp_bring_up,
		.qp_to_error = own_qp_to_error,
	},
};
