/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Memory windows of type 2: made, destroyed, and the WR that binds one.
 */

#include "verbs_impl.h"

#include <stdlib.h>

struct plx_mw *
verbs_mw_create(struct plx_mr *mr)
{
	const struct plx_device *dev = mr->pd->dev;
	struct verbs_mw *mw = calloc(1, sizeof(*mw));
	int err;

	if (mw == NULL)
		return verbs_fail(ENOMEM);
	errno = 0;
	mw->ibv = ibv_alloc_mw(to_verbs_pd(mr->pd)->ibv, IBV_MW_TYPE_2);
	if (mw->ibv == NULL) {
		err = plx_verbs_errno();
		PLX_LOG(ERR, "device %s: no window (max_mw %u): %s", dev->name, dev->caps.max_mw, strerror(err));
		free(mw);
		return verbs_fail(err);
	}
	mw->base.rkey = mw->ibv->rkey;
	mw->onto = plx_verbs_mr(mr);
	return &mw->base;
}

int
verbs_mw_destroy(struct plx_mw *base)
{
	struct verbs_mw *mw = plx_container_of(base, struct verbs_mw, base);
	int err = verbs_destroyed(base->mr->pd->dev, plx_verbs_result(ibv_dealloc_mw(mw->ibv)), NULL);

	if (err != 0) {
		PLX_LOG(ERR, "device %s: ibv_dealloc_mw of rkey 0x%x: %s", base->mr->pd->dev->name, base->rkey,
			strerror(-err));
		return err;
	}
	free(mw);
	return 0;
}

uint16_t
plx_verbs_post_bind(struct plx_verbs_qp *qp, const struct plx_wr *wr, int *err)
{
	struct ibv_send_wr ibv = {.wr_id = wr->wr_id, .opcode = IBV_WR_BIND_MW}, *bad;
	struct verbs_mw *mw;
	int ret;

	if (wr->opcode != PLX_OPCODE_BIND_MW || !qp->binds) {
		*err = -ENOTSUP;
		return 0;
	}
	if (wr->num_sge != 0 || (wr->flags & PLX_WR_INLINE)) {
		*err = -EINVAL;
		return 0;
	}
	mw = plx_container_of((struct plx_mw *)(uintptr_t)wr->swap, struct verbs_mw, base);
	ibv.send_flags = plx_verbs_send_flags(wr->flags);
	ibv.bind_mw.mw = mw->ibv;
	ibv.bind_mw.rkey = wr->rkey;
	ibv.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mw->onto,
		.addr = wr->remote_addr,
		.length = wr->compare_add,
		.mw_access_flags = verbs_access(wr->imm),
	};
	errno = 0;
	ret = ibv_post_send(qp->ibv, &ibv, &bad);
	if (ret != 0) {
		*err = plx_verbs_result(ret);
		return 0;
	}
	mw->ibv->rkey = wr->rkey; /* of a type 2 window that is its consumer's to do; the next bind starts from it */
	return 1;
}
