/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Protection domains, registered memory and windows. The keys are inner's.
 */

#include "fault.h"

#include <stdlib.h>

#include <rte_errno.h>

struct plx_pd *
fault_pd_create(struct plx_device *dev)
{
	struct fault_pd *pd = fault_object(fault_device(dev), FAULT_PD_CREATE, sizeof(*pd));

	if (pd == NULL)
		return NULL;
	pd->inner = plx_pd_create(fault_device(dev)->inner);
	if (pd->inner == NULL) {
		free(pd); /* rte_errno is inner's */
		return NULL;
	}
	return &pd->base;
}

int
fault_pd_destroy(struct plx_pd *base)
{
	struct fault_pd *pd = fault_pd(base);
	int err = -fault_verb(fault_device(base->dev), FAULT_PD_DESTROY);

	if (err == 0)
		err = plx_pd_destroy(pd->inner);
	if (err == 0)
		free(pd);
	return err;
}

/** @p mr is the wrapper's around @p inner; NULL with rte_errno if there is none of it. */
static struct plx_mr *
mr_wrap(struct fault_mr *mr, struct plx_mr *inner)
{
	if (inner == NULL) {
		free(mr); /* rte_errno is inner's */
		return NULL;
	}
	mr->inner = inner;
	mr->base.lkey = inner->lkey;
	mr->base.rkey = inner->rkey;
	return &mr->base;
}

struct plx_mr *
fault_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	struct fault_mr *mr = fault_object(fault_device(pd->dev), FAULT_MR_REGISTER, sizeof(*mr));

	return mr == NULL ? NULL : mr_wrap(mr, plx_mr_register(fault_pd(pd)->inner, addr, len, rights));
}

struct plx_mr *
fault_mr_register_dmabuf(struct plx_pd *pd, int fd, uint64_t offset, uint64_t len, uint64_t iova, uint32_t rights)
{
	struct fault_mr *mr = fault_object(fault_device(pd->dev), FAULT_MR_REGISTER, sizeof(*mr));

	if (mr == NULL)
		return NULL;
	return mr_wrap(mr, plx_mr_register_dmabuf(fault_pd(pd)->inner, fd, offset, len, iova, rights));
}

int
fault_mr_deregister(struct plx_mr *base)
{
	struct fault_mr *mr = fault_mr(base);
	int err = -fault_verb(fault_device(base->pd->dev), FAULT_MR_DEREGISTER);

	if (err == 0)
		err = plx_mr_deregister(mr->inner);
	if (err == 0)
		free(mr);
	return err;
}

/** The window is the inner device's own, so that a bind passes as it is. */
struct plx_mw *
fault_mw_create(struct plx_mr *mr)
{
	int err = fault_verb(fault_device(mr->pd->dev), FAULT_MW_CREATE);

	if (err == 0)
		return plx_mw_create(fault_mr(mr)->inner);
	rte_errno = err;
	return NULL;
}

int
fault_mw_destroy(struct plx_mw *mw)
{
	struct plx_mr *outer = mw->mr;
	int err = -fault_verb(fault_device(outer->pd->dev), FAULT_MW_DESTROY);

	if (err != 0)
		return err;
	mw->mr = fault_mr(outer)->inner;
	err = plx_mw_destroy(mw);
	if (err != 0)
		mw->mr = outer;
	return err;
}
