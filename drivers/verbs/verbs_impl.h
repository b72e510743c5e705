/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef VERBS_IMPL_H
#define VERBS_IMPL_H

/**
 * @file
 * What the files of this driver share: one struct per object, each the public one and libibverbs' own.
 *
 *      plx_device   plx_pd     plx_mr     plx_cq     plx_qp
 *          |           |          |          |          |
 *      ibv_context  ibv_pd     ibv_mr     ibv_cq     ibv_qp
 *
 *      verbs_device.c   list, open, capabilities        verbs_trial.c   what would be granted?
 *      verbs_port.c     ports and GIDs                  verbs_memory.c  PD and MR
 *      verbs_queue.c    CQ and QP                       verbs_bring_up.c  INIT, RTR, RTS, ERR
 *      verbs_srq.c      SRQ                             verbs_wc.c      completions translated
 *      plx_verbs_fast.h post and poll                   verbs_mw.c      windows
 *      verbs_event.c    async events                    verbs_lost.c    what a destroy means when the device is gone
 */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_errno.h>

#include "plx_driver.h"
#include "plx_log.h"
#include "plx_verbs_fast.h"

extern const struct plx_driver plx_verbs_driver;

/**
 * What QPs, CQs and SRQs have at run time: plx_verbs_fast, of which each file that names it has a copy, in the one of
 * verbs_queue.c.
 */
extern const struct plx_fast_ops *const verbs_fast;

struct verbs_device {
	struct plx_device base;
	struct ibv_context *ctx;
	bool iwarp;
	pthread_mutex_t reading; /**< an event, from its read to its ack (verbs_event.c) */
};

struct verbs_pd {
	struct plx_pd base;
	struct ibv_pd *ibv;
};

struct verbs_mr {
	struct plx_mr base;
	struct ibv_mr *ibv;
};

struct verbs_mw {
	struct plx_mw base;
	struct ibv_mw *ibv;
	struct ibv_mr *onto; /**< base.mr may be a wrapper's */
};

static inline struct verbs_device *
to_verbs_device(const struct plx_device *dev)
{
	return plx_container_of(dev, struct verbs_device, base);
}

static inline struct verbs_pd *
to_verbs_pd(const struct plx_pd *pd)
{
	return plx_container_of(pd, struct verbs_pd, base);
}

static inline struct verbs_mr *
to_verbs_mr(const struct plx_mr *mr)
{
	return plx_container_of(mr, struct verbs_mr, base);
}

/** Whether what belongs to @p dev (NULL: to none) is this driver's. */
static inline bool
verbs_made(const struct plx_device *dev)
{
	return dev != NULL && dev->driver == &plx_verbs_driver;
}

/** The end of a constructor that failed with errno @p err. */
static inline void *
verbs_fail(int err)
{
	rte_errno = err;
	return NULL;
}

/* verbs_trial.c */

/** The longest inline that a QP of one WR and one SGE is granted. */
uint32_t verbs_trial_inline(struct ibv_context *ctx);

/** Whether memory of a dma-buf can be registered. */
bool verbs_trial_dmabuf(struct ibv_context *ctx);

/** For ibv_create_qp(): an RC QP of @p cap. */
struct ibv_qp_init_attr verbs_qp_init_attr(struct ibv_cq *send_cq, struct ibv_cq *recv_cq,
	const struct plx_qp_cap *cap);
/** The sizes in @p attr, which ibv_create_qp() has turned into the granted ones. */
struct plx_qp_cap verbs_qp_cap(const struct ibv_qp_init_attr *attr);

/* slots of the driver's table */
int verbs_qp_limits(struct plx_device *dev, struct plx_qp_cap *cap);
int verbs_port_query(struct plx_device *dev, unsigned int port, struct plx_port_attr *attr);
int verbs_gid_query(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid);
struct plx_pd *verbs_pd_create(struct plx_device *dev);
int verbs_pd_destroy(struct plx_pd *pd);
struct plx_mr *verbs_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights);
struct plx_mr *verbs_mr_register_dmabuf(struct plx_pd *pd, int fd, uint64_t offset, uint64_t len, uint64_t iova,
	uint32_t rights);
int verbs_mr_deregister(struct plx_mr *mr);
struct plx_mw *verbs_mw_create(struct plx_mr *mr);
int verbs_mw_destroy(struct plx_mw *mw);
struct plx_cq *verbs_cq_create(struct plx_device *dev, uint32_t nb_cqe);
int verbs_cq_destroy(struct plx_cq *cq);
struct plx_qp *verbs_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf);
int verbs_qp_destroy(struct plx_qp *qp);
struct plx_srq *verbs_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf);
int verbs_srq_destroy(struct plx_srq *srq);
int verbs_srq_arm(struct plx_srq *srq, uint32_t limit);
int verbs_srq_query(struct plx_srq *srq, struct plx_srq_attr *attr);
int verbs_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr);
int verbs_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer);
int verbs_qp_to_error(struct plx_qp *qp);
int verbs_qp_query_state(struct plx_qp *qp);

int verbs_event_fd(struct plx_device *dev);
int verbs_event_next(struct plx_device *dev, struct plx_event *event);

/** Make reading events return instead of wait. 0 or an errno, logged. */
int verbs_event_init(struct verbs_device *dev);
/**
 * What a destroy of ours returns when libibverbs' said @p err, 0 or -errno: 0 also if the device is lost. Then
 * libibverbs has kept its own struct; events that name it find NULL in *@p context, which points to ours (NULL: it has
 * none).
 */
int verbs_destroyed(struct plx_device *dev, int err, void **context);
/** Take a new QP from RESET to INIT on @p port, the peer without rights. 0 or -errno. */
int verbs_qp_init(struct ibv_qp *qp, unsigned int port);
/** PLX_ACCESS_* as IBV_ACCESS_*. */
unsigned int verbs_access(uint32_t rights);
/** Bytes of an IBV_MTU_*. */
uint32_t verbs_mtu_bytes(enum ibv_mtu mtu);

#endif
