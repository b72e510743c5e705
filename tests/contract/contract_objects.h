/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef CONTRACT_OBJECTS_H
#define CONTRACT_OBJECTS_H

/**
 * @file
 * Objects of a test, remembered so that its tear-down destroys them in order, also when an assertion
 * has ended it half-way: one failure must not make the next test fail.
 */

#include "contract.h"

#include <plx_mw.h>
#include <plx_srq.h>

#define OBJECTS_MAX 64

struct objects {
	struct plx_pd *pds[OBJECTS_MAX];
	struct plx_cq *cqs[OBJECTS_MAX];
	struct plx_qp *qps[OBJECTS_MAX];
	struct plx_srq *srqs[OBJECTS_MAX];
	struct plx_mr *mrs[OBJECTS_MAX];
	struct plx_mw *mws[OBJECTS_MAX];
	void *bufs[OBJECTS_MAX];
};

/** Set-up and tear-down of a test whose state is a struct objects. */
int objects_setup(void **state);
int objects_teardown(void **state);

/** Destroy all. 0, or the first error: something was in use that nobody remembers. */
int objects_destroy(struct objects *objs);

/* Make one on @p dev or fail the test. */
struct plx_pd *objects_pd(struct objects *objs, struct plx_device *dev);
struct plx_cq *objects_cq(struct objects *objs, struct plx_device *dev, uint32_t nb_cqe);
struct plx_qp *objects_qp(struct objects *objs, struct plx_pd *pd, struct plx_cq *cq,
	const struct plx_qp_cap *cap);
/** A QP whose receives come from @p srq. */
struct plx_qp *objects_qp_on(struct objects *objs, struct plx_pd *pd, struct plx_cq *cq,
	const struct plx_qp_cap *cap, struct plx_srq *srq);
struct plx_srq *objects_srq(struct objects *objs, struct plx_pd *pd, uint32_t depth, uint32_t recv_sge);
struct plx_mr *objects_mr(struct objects *objs, struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights);
struct plx_mw *objects_mw(struct objects *objs, struct plx_mr *mr);
/** Zeroed memory on pages of its own. */
void *objects_buf(struct objects *objs, size_t len);

/* Destroy one before its time, or fail the test. */
void objects_drop_pd(struct objects *objs, struct plx_pd *pd);
void objects_drop_cq(struct objects *objs, struct plx_cq *cq);
void objects_drop_qp(struct objects *objs, struct plx_qp *qp);
void objects_drop_srq(struct objects *objs, struct plx_srq *srq);
void objects_drop_mr(struct objects *objs, struct plx_mr *mr);
void objects_drop_mw(struct objects *objs, struct plx_mw *mw);

/** Every right that the device knows: without atomics there is no right to them. */
uint32_t contract_rights(void);

#endif
