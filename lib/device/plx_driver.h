/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_DRIVER_H
#define PLX_DRIVER_H

/**
 * @file
 * What a driver implements: the control half of the device contract (plx_fast.h is the other).
 *
 * A driver is one const table. A slot that it leaves empty is filled with a stub that refuses with
 * -ENOTSUP, so that a caller never tests for NULL. Arguments have been checked by lib/device: sizes are
 * within the advertised limits, objects are of this device, counts of dependants are zero.
 *
 * A destroy slot frees the object and returns 0, or leaves it as it was and returns -errno; there is no third. Whether the
 * device is lost the driver knows, and nobody above it: there a destroy frees and returns 0, whatever the provider
 * says, also when nobody has read the device fatal event. A -errno is always tried again, with the same object.
 *
 * A create slot returns its object, which begins with the public struct, or NULL with rte_errno set, and logs
 * the cause. It fills `fast` and the granted sizes; lib/device fills the rest (dev, pd, CQs, addr, ...).
 *
 * Threads: slots are called by one thread at a time per object, not on polling lcores.
 *
 * @since 0.1
 */

#include <rte_kvargs.h>

#include "plx_event.h"
#include "plx_mw.h"
#include "plx_srq.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The control half of a driver. What a slot does is said at the plx_device.h call of the same name. */
struct plx_device_ops {
	int (*close)(struct plx_device *dev);
	int (*qp_limits)(struct plx_device *dev, struct plx_qp_cap *cap);
	int (*port_query)(struct plx_device *dev, unsigned int port, struct plx_port_attr *attr);
	int (*gid_query)(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid);

	struct plx_pd *(*pd_create)(struct plx_device *dev);
	int (*pd_destroy)(struct plx_pd *pd);
	struct plx_mr *(*mr_register)(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights);
	struct plx_mr *(*mr_register_dmabuf)(struct plx_pd *pd, int fd, uint64_t offset, uint64_t len, uint64_t iova,
		uint32_t rights);
	int (*mr_deregister)(struct plx_mr *mr);
	struct plx_mw *(*mw_create)(struct plx_mr *mr);
	int (*mw_destroy)(struct plx_mw *mw);
	struct plx_cq *(*cq_create)(struct plx_device *dev, uint32_t nb_cqe);
	int (*cq_destroy)(struct plx_cq *cq);
	struct plx_qp *(*qp_create)(struct plx_pd *pd, const struct plx_qp_conf *conf);
	int (*qp_destroy)(struct plx_qp *qp);
	struct plx_srq *(*srq_create)(struct plx_pd *pd, const struct plx_srq_conf *conf);
	int (*srq_destroy)(struct plx_srq *srq);
	int (*srq_arm)(struct plx_srq *srq, uint32_t limit);
	/** Fills attr->limit alone. */
	int (*srq_query)(struct plx_srq *srq, struct plx_srq_attr *attr);

	/** @p path has port and gid_index resolved. */
	int (*qp_local_addr)(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr);
	int (*qp_bring_up)(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer);
	int (*qp_to_error)(struct plx_qp *qp);
	int (*qp_query_state)(struct plx_qp *qp);

	int (*event_fd)(struct plx_device *dev);
	/** `object` is the id of the public struct. Copied and acked: nobody that destroys waits for who reads this. */
	int (*event_next)(struct plx_device *dev, struct plx_event *event);
};

/** Fast tables with empty slots that a driver may use for one device. */
#define PLX_DEVICE_FAST_TABLES 4

/** A fast table of a driver that leaves slots empty, and the same with stubs in them. */
struct plx_device_fast {
	const struct plx_fast_ops *of;
	struct plx_fast_ops filled;
};

/** What every driver's device begins with. The driver's open fills caps; the rest is lib/device's. */
struct plx_device {
	const struct plx_driver *driver;
	struct plx_device_ops ops; /**< the driver's, with stubs in the empty slots */
	struct plx_device_caps caps;
	uint32_t nb_pds;
	uint32_t nb_cqs;
	uint32_t nb_fast;
	uint32_t lost; /**< a device fatal event has been read; atomic */
	struct plx_device_fast fast[PLX_DEVICE_FAST_TABLES]; /**< lib/device's own */
	char name[PLX_NAME_LEN];
};

/** A driver, const for as long as the process uses it. */
struct plx_driver {
	const char *name;
	const char *const *keys; /**< devargs it knows, NULL at the end; NULL: none */
	/** Names of the devices there are; opens none. Returns how many, or -errno. */
	int (*list)(struct plx_device_info *infos, unsigned int n);
	/** Whether @p name is a device of this driver (it may accept more than it lists: "loopback7"). */
	int (*match)(const char *name);
	/** NULL with rte_errno. @p args is NULL without devargs. */
	struct plx_device *(*open)(const char *name, struct rte_kvargs *args);
	struct plx_device_ops ops;
};

/** Add a driver; @p driver must outlive the process's use of it. -EEXIST by name. Not thread safe: at start-up. */
int plx_device_register(const struct plx_driver *driver);

/**
 * Make @p dev, zeroed but for what its driver has set, usable though no registered driver opened it (a wrapper such
 * as drivers/fault): names it, fills the empty slots, gives it a guid if it has none. plx_device_open() does this for
 * a driver.
 */
void plx_device_init(struct plx_device *dev, const struct plx_driver *driver, const char *name);

/** Copy @p ops with the refusing stub behind each empty slot (device_stubs.c). */
struct plx_fast_ops plx_fast_with_stubs(const struct plx_fast_ops *ops);

/** An unsigned number from devargs: value of @p key in @p args, or @p def. -EINVAL, logged with key, value and the
 * range. */
int plx_kvargs_u64(struct rte_kvargs *args, const char *key, uint64_t min, uint64_t max, uint64_t def,
	uint64_t *value);

/** One of a few words from devargs: the index of @p key's value in @p choices (NULL at the end), @p def without
 * the key, or -EINVAL, logged. */
int plx_kvargs_choice(struct rte_kvargs *args, const char *key, const char *const *choices, unsigned int def);

#ifdef __cplusplus
}
#endif

#endif
