/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What outlives a QP: its struct and its number; and the table of open devices.
 *
 * Structs come from blocks that live as long as any loopback device is open, so that a peer may look at the life word
 * of a QP that is gone. A life word is never seen twice (until 2^29 incarnations of one struct).
 */

#include "loopback.h"

#include <errno.h>
#include <string.h>

#include <pthread.h>

#include <rte_common.h>
#include <rte_errno.h>

#include "plx_log.h"
#include "soft_mem.h"

#define QPS_PER_BLOCK 64
#define INSTANCES     256 /* one byte of the GID */
#define QPN_FIRST     2	  /* 0 and 1 are the management QPs of every wire */
#define QPN_MASK      0xffffffu

struct qp_block {
	struct qp_block *next;
	struct loopback_qp qps[QPS_PER_BLOCK];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loopback_device *devices[INSTANCES]; /* [0] stays empty */
static unsigned int nb_devices;
static struct qp_block *blocks;
static struct loopback_qp *free_qps;

void
loopback_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
loopback_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* ---- devices ------------------------------------------------------------------------------- */

static int
instance_take(struct loopback_device *dev)
{
	for (unsigned int i = 1; i < INSTANCES; i++) {
		if (devices[i] == NULL) {
			devices[i] = dev;
			dev->instance = i;
			nb_devices++;
			return 0;
		}
	}
	PLX_LOG(ERR, "%u loopback devices are open; the GIDs tell no more apart", nb_devices);
	return -ENOSPC;
}

int
loopback_device_enter(struct loopback_device *dev)
{
	uint32_t nb_qpns = rte_align32pow2(dev->base.caps.max_qp + QPN_FIRST);
	int err;

	dev->qps = soft_zalloc(nb_qpns * sizeof(dev->qps[0]));
	if (dev->qps == NULL)
		return -ENOMEM;
	dev->qp_mask = nb_qpns - 1;
	dev->next_qpn = QPN_FIRST;
	loopback_lock();
	err = instance_take(dev);
	loopback_unlock();
	if (err != 0)
		soft_free(dev->qps);
	return err;
}

static void
blocks_free(void)
{
	while (blocks != NULL) {
		struct qp_block *block = blocks;

		blocks = block->next;
		soft_free(block);
	}
	free_qps = NULL;
}

void
loopback_device_leave(struct loopback_device *dev)
{
	loopback_lock();
	devices[dev->instance] = NULL;
	nb_devices--;
	if (nb_devices == 0)
		blocks_free(); /* no device, no QP, nobody who might look */
	loopback_unlock();
	soft_free(dev->qps);
}

struct loopback_device *
loopback_device_find(const uint8_t raw[16])
{
	struct loopback_device *dev = devices[raw[13]];
	struct plx_gid gid;

	if (dev == NULL || loopback_gid_query(&dev->base, raw[14], raw[15], &gid) != 0)
		return NULL;
	return memcmp(gid.raw, raw, sizeof(gid.raw)) == 0 ? dev : NULL;
}

/* ---- QP numbers ---------------------------------------------------------------------------- */

/** The next number that is free, and whose place in the table is; `qpn=reuse`: the lowest. Locked, and not all are
 * taken. */
static uint32_t
qpn_take(struct loopback_device *dev)
{
	uint32_t qpn = dev->reuse_qpn ? QPN_FIRST : dev->next_qpn;

	while (qpn < QPN_FIRST || dev->qps[qpn & dev->qp_mask] != NULL)
		qpn = (qpn + 1) & QPN_MASK;
	dev->next_qpn = (qpn + 1) & QPN_MASK;
	return qpn;
}

struct loopback_qp *
loopback_qp_find(const struct loopback_device *dev, uint32_t qp_num)
{
	struct loopback_qp *qp = dev->qps[qp_num & dev->qp_mask];

	return qp != NULL && qp->base.qp_num == qp_num ? qp : NULL;
}

/* ---- QP structs ---------------------------------------------------------------------------- */

static int
blocks_grow(void)
{
	struct qp_block *block = soft_zalloc(sizeof(*block));

	if (block == NULL)
		return -ENOMEM;
	block->next = blocks;
	blocks = block;
	for (unsigned int i = 0; i < QPS_PER_BLOCK; i++) {
		block->qps[i].life = LOOPBACK_QP_DEAD;
		block->qps[i].next_free = free_qps;
		free_qps = &block->qps[i];
	}
	return 0;
}

static int
qp_take_locked(struct loopback_device *dev, struct loopback_qp **qp)
{
	if (dev->nb_qps >= dev->base.caps.max_qp) {
		PLX_LOG(ERR, "device %s: all of max_qp %u QPs exist", dev->base.name, dev->base.caps.max_qp);
		return ENOSPC;
	}
	if (free_qps == NULL && blocks_grow() != 0)
		return ENOMEM;
	*qp = free_qps;
	free_qps = free_qps->next_free;
	dev->nb_qps++;
	(*qp)->base.qp_num = qpn_take(dev);
	dev->qps[(*qp)->base.qp_num & dev->qp_mask] = *qp;
	return 0;
}

struct loopback_qp *
loopback_qp_take(struct loopback_device *dev)
{
	struct loopback_qp *qp = NULL;
	int err;

	loopback_lock();
	err = qp_take_locked(dev, &qp);
	loopback_unlock();
	if (err != 0)
		rte_errno = err;
	return qp;
}

void
loopback_qp_forget(struct loopback_device *dev, struct loopback_qp *qp)
{
	loopback_lock();
	dev->qps[qp->base.qp_num & dev->qp_mask] = NULL;
	dev->nb_qps--;
	loopback_unlock();
}

void
loopback_qp_give(struct loopback_qp *qp)
{
	loopback_lock();
	qp->next_free = free_qps;
	free_qps = qp;
	loopback_unlock();
}

void
loopback_quiesce(void)
{
	/* The lock keeps the blocks; whoever is inside a gate never takes it. */
	loopback_lock();
	for (struct qp_block *block = blocks; block != NULL; block = block->next) {
		for (unsigned int i = 0; i < QPS_PER_BLOCK; i++)
			soft_gate_wait(&block->qps[i].gate);
	}
	loopback_unlock();
}
