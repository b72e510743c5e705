/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Devices of libibverbs: which there are, opening one, and what it can do.
 */

#include "verbs_impl.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_memory.h>

/* ---- finding ------------------------------------------------------------------------------- */

static int
verbs_list(struct plx_device_info *infos, unsigned int n)
{
	int nb;
	struct ibv_device **list = ibv_get_device_list(&nb);

	if (list == NULL)
		return errno == ENOSYS ? 0 : -plx_verbs_errno(); /* ENOSYS: no RDMA in this kernel */
	for (int i = 0; i < nb && i < (int)n; i++)
		snprintf(infos[i].name, sizeof(infos[i].name), "%s", ibv_get_device_name(list[i]));
	ibv_free_device_list(list);
	return nb;
}

static struct ibv_device *
device_in(struct ibv_device **list, int nb, const char *name)
{
	for (int i = 0; i < nb; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			return list[i];
	}
	return NULL;
}

static int
verbs_match(const char *name)
{
	int nb, found;
	struct ibv_device **list = ibv_get_device_list(&nb);

	if (list == NULL)
		return 0;
	found = device_in(list, nb, name) != NULL;
	ibv_free_device_list(list);
	return found;
}

/* ---- capabilities -------------------------------------------------------------------------- */

static bool
has_windows(const struct ibv_device_attr *attr)
{
	return (attr->device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0;
}

/** Either side of a QP; the attributes of a QP have eight bits for it. */
static uint32_t
max_rd_atomic(const struct ibv_device_attr *attr)
{
	int both = RTE_MIN(attr->max_qp_rd_atom, attr->max_qp_init_rd_atom);

	return RTE_MIN(both, UINT8_MAX);
}

/**
 * What may be posted. iWARP has neither immediates nor atomics (RFC 5040), and a memory window
 * type 2 is the only thing that a user's program could invalidate.
 */
static uint32_t
device_kinds(const struct ibv_device_attr *attr, bool iwarp)
{
	uint32_t kinds = PLX_KIND(PLX_OPCODE_SEND) | PLX_KIND(PLX_OPCODE_WRITE) | PLX_KIND(PLX_OPCODE_READ) |
		PLX_KIND(PLX_OPCODE_RECV);

	if (!iwarp)
		kinds |= PLX_KIND(PLX_OPCODE_SEND_IMM) | PLX_KIND(PLX_OPCODE_WRITE_IMM);
	if (!iwarp && attr->atomic_cap != IBV_ATOMIC_NONE)
		kinds |= PLX_KIND(PLX_OPCODE_CMP_SWAP) | PLX_KIND(PLX_OPCODE_FETCH_ADD);
	if (has_windows(attr))
		kinds |= PLX_KIND(PLX_OPCODE_SEND_INV) | PLX_KIND(PLX_OPCODE_LOCAL_INV) | PLX_KIND(PLX_OPCODE_BIND_MW);
	return max_rd_atomic(attr) != 0 ? kinds : kinds & ~PLX_KINDS_RD_ATOMIC;
}

/**
 * FENCE stays unset on iWARP: a fenced read fails in siw's post and leaves the QP stuck.
 */
static uint32_t
device_flags(const struct ibv_device_attr *attr, bool iwarp)
{
	uint32_t has = PLX_CAP_PINS | (has_windows(attr) ? PLX_CAP_MW : 0) |
		(attr->max_srq > 0 && attr->max_srq_wr > 0 ? PLX_CAP_SRQ : 0);

	if (iwarp)
		return has | PLX_CAP_ACTIVE_SENDS_FIRST | PLX_CAP_SOLICITED;
	return has | PLX_CAP_ATTR_EXCHANGE | PLX_CAP_RNR | PLX_CAP_SOLICITED | PLX_CAP_FENCE;
}

/** The NUMA node of the device's bus; software devices have none. */
static int
device_socket(const struct ibv_device *ibdev)
{
	char path[PATH_MAX];
	int socket = SOCKET_ID_ANY;
	FILE *file;

	snprintf(path, sizeof(path), "%s/device/numa_node", ibdev->ibdev_path);
	file = fopen(path, "re");
	if (file == NULL)
		return SOCKET_ID_ANY;
	if (fscanf(file, "%d", &socket) != 1 || socket < 0)
		socket = SOCKET_ID_ANY;
	fclose(file);
	return socket;
}

static void
device_caps_fill(struct plx_device_caps *caps, const struct ibv_device_attr *attr, bool iwarp)
{
	*caps = (struct plx_device_caps){
		.kinds = device_kinds(attr, iwarp),
		.flags = device_flags(attr, iwarp),
		.transports = 1u << PLX_TRANSPORT_RC,
		.max_qp = attr->max_qp,
		.max_qp_wr = attr->max_qp_wr,
		.max_cq = attr->max_cq,
		.max_cqe = attr->max_cqe,
		.max_mr = attr->max_mr,
		.max_mw = attr->max_mw,
		.max_srq = attr->max_srq,
		.max_srq_wr = attr->max_srq_wr,
		.max_srq_sge = attr->max_srq_sge,
		.max_sge = attr->max_sge,
		/* Not every provider fills this one. */
		.max_sge_rd = attr->max_sge_rd > 0 ? RTE_MIN(attr->max_sge_rd, attr->max_sge) : attr->max_sge,
		.max_rd_atomic = max_rd_atomic(attr),
		.max_mr_size = attr->max_mr_size,
		.guid = be64toh(attr->node_guid),
		.nb_ports = attr->phys_port_cnt,
		/* The kernel reports no atomics at all for a device that would reply in big endian
		 * (mlx5: "advertise IB_ATOMIC_HCA" only in host endianness). */
		.atomic_big_endian = 0,
	};
}

/* ---- open and close ------------------------------------------------------------------------ */

static struct ibv_context *
context_open(const char *name)
{
	struct ibv_context *ctx = NULL;
	struct ibv_device *ibdev;
	int nb, err;
	struct ibv_device **list = ibv_get_device_list(&nb);

	if (list == NULL)
		return verbs_fail(plx_verbs_errno());
	ibdev = device_in(list, nb, name);
	errno = 0;
	if (ibdev != NULL)
		ctx = ibv_open_device(ibdev);
	err = ibdev == NULL ? ENODEV : plx_verbs_errno();
	ibv_free_device_list(list);
	if (ctx == NULL) {
		PLX_LOG(ERR, "device %s: cannot open: %s%s", name, strerror(err),
			err == EACCES || err == EPERM ? "; check the rights of /dev/infiniband/uverbs*" : "");
		return verbs_fail(err);
	}
	return ctx;
}

static struct plx_device *
verbs_open(const char *name, struct rte_kvargs *args)
{
	struct ibv_device_attr attr;
	struct verbs_device *dev;
	struct ibv_context *ctx = context_open(name);
	int err;

	if (ctx == NULL)
		return NULL;
	err = -plx_verbs_result(ibv_query_device(ctx, &attr));
	if (err != 0) {
		PLX_LOG(ERR, "device %s: ibv_query_device: %s", name, strerror(err));
		goto close_context;
	}
	dev = calloc(1, sizeof(*dev));
	if (dev == NULL) {
		err = ENOMEM;
		goto close_context;
	}
	dev->ctx = ctx;
	err = verbs_event_init(dev);
	if (err != 0) {
		free(dev);
		goto close_context;
	}
	pthread_mutex_init(&dev->reading, NULL);
	dev->iwarp = ctx->device->transport_type == IBV_TRANSPORT_IWARP;
	device_caps_fill(&dev->base.caps, &attr, dev->iwarp);
	dev->base.caps.socket_id = device_socket(ctx->device);
	dev->base.caps.max_inline = verbs_trial_inline(ctx);
	if (verbs_trial_dmabuf(ctx))
		dev->base.caps.flags |= PLX_CAP_DMABUF;
	return &dev->base;

close_context:
	ibv_close_device(ctx);
	return verbs_fail(err);
}

static int
verbs_close(struct plx_device *base)
{
	struct verbs_device *dev = to_verbs_device(base);
	int err = plx_verbs_result(ibv_close_device(dev->ctx));

	if (err != 0) {
		PLX_LOG(ERR, "device %s: ibv_close_device: %s", base->name, strerror(-err));
		return err;
	}
	pthread_mutex_destroy(&dev->reading);
	free(dev);
	return 0;
}

struct ibv_context *
plx_verbs_context(const struct plx_device *dev)
{
	return verbs_made(dev) ? to_verbs_device(dev)->ctx : NULL;
}

const struct plx_driver plx_verbs_driver = {
	.name = "verbs",
	.list = verbs_list,
	.match = verbs_match,
	.open = verbs_open,
	.ops = {
		.close = verbs_close,
		.qp_limits = verbs_qp_limits,
		.port_query = verbs_port_query,
		.gid_query = verbs_gid_query,
		.pd_create = verbs_pd_create,
		.pd_destroy = verbs_pd_destroy,
		.mr_register = verbs_mr_register,
		.mr_register_dmabuf = verbs_mr_register_dmabuf,
		.mr_deregister = verbs_mr_deregister,
		.mw_create = verbs_mw_create,
		.mw_destroy = verbs_mw_destroy,
		.cq_create = verbs_cq_create,
		.cq_destroy = verbs_cq_destroy,
		.qp_create = verbs_qp_create,
		.qp_destroy = verbs_qp_destroy,
		.srq_create = verbs_srq_create,
		.srq_destroy = verbs_srq_destroy,
		.srq_arm = verbs_srq_arm,
		.srq_query = verbs_srq_query,
		.qp_local_addr = verbs_qp_local_addr,
		.qp_bring_up = verbs_qp_bring_up,
		.qp_to_error = verbs_qp_to_error,
		.qp_query_state = verbs_qp_query_state,
		.event_fd = verbs_event_fd,
		.event_next = verbs_event_next,
	},
};
