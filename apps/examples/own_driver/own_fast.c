/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The fast half: post and poll, on the owner's lcore. No allocation, lock, system call or log.
 *
 * A QP and its CQ have one owner, so the ring needs no lock. Only the state of a QP is set from another thread.
 */

#include "own.h"

#include <errno.h>

static uint16_t
own_post_send(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct own_qp *qp = (struct own_qp *)base;
	struct own_cq *cq = (struct own_cq *)base->send_cq;
	const struct own_device *dev = (const struct own_device *)base->dev;
	uint32_t state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);

	if (state == PLX_QP_INIT) { /* nothing before the QP is up */
		*err = -EINVAL;
		return 0;
	}
	for (uint16_t i = 0; i < n; i++) {
		if (cq->head - cq->tail == base->send_cq->nb_cqe) { /* *err is of the first that was not taken */
			*err = -ENOMEM;
			return i;
		}
		cq->ring[cq->head++ % cq->base.nb_cqe] = (struct plx_wc){
			.wr_id = wrs[i]->wr_id,
			.qp_num = base->qp_num,
			.status = state == PLX_QP_ERR ? PLX_ST_WR_FLUSH_ERR : (uint8_t)dev->status,
			.opcode = wrs[i]->opcode,
		};
	}
	return n;
}

static int
own_poll_cq(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct own_cq *cq = (struct own_cq *)base;
	int got = 0;

	while (got < n && cq->tail != cq->head)
		wcs[got++] = cq->ring[cq->tail++ % base->nb_cqe];
	return got;
}

struct plx_fast_ops own_fast = {.post_send = own_post_send, .poll_cq = own_poll_cq};
