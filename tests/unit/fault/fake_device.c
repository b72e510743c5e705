/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "fake_device.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_errno.h>

int fake_nb_objects;

/* ---- data path ----------------------------------------------------------------------------- */

static uint16_t
fake_post(struct plx_qp *base, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct fake_qp *qp = (struct fake_qp *)base;
	uint16_t i;

	qp->nb_posts++;
	for (i = 0; i < n && qp->room > 0; i++, qp->room--)
		qp->wr_ids[qp->nb_wrs++ % FAKE_WRS] = wrs[i]->wr_id;
	if (i < n)
		*err = -ENOMEM;
	return i;
}

static int
fake_poll_cq(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct fake_cq *cq = (struct fake_cq *)base;
	int got = 0;

	cq->nb_polls++;
	while (got < n && (cq->endless || cq->head < cq->tail)) {
		wcs[got++] = cq->wcs[cq->head % FAKE_CQES];
		if (!cq->endless)
			cq->head++;
	}
	return got > 0 ? got : cq->dead;
}

static const struct plx_fast_ops fake_fast = {
	.post_send = fake_post,
	.post_recv = fake_post,
	.poll_cq = fake_poll_cq,
};

void
fake_complete_with(struct fake_cq *cq, uint64_t wr_id, uint8_t status)
{
	cq->wcs[cq->tail++ % FAKE_CQES] = (struct plx_wc){
		.wr_id = wr_id,
		.byte_len = 64,
		.imm = 1,
		.inv_rkey = 2,
		.qp_num = 17,
		.vendor_err = status == PLX_ST_SUCCESS ? 0 : 99,
		.raw_status = status,
		.status = status,
		.opcode = PLX_OPCODE_RECV,
		.flags = PLX_WC_WITH_IMM,
	};
}

void
fake_complete_from(struct fake_cq *cq, uint64_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fake_complete_with(cq, first + i, PLX_ST_SUCCESS);
}

/* ---- control ------------------------------------------------------------------------------- */

static void *
make(struct plx_device *dev, size_t size)
{
	int fail = ((struct fake_device *)dev)->fail;
	void *obj = fail == 0 ? calloc(1, size) : NULL;

	if (obj != NULL)
		fake_nb_objects++;
	else
		rte_errno = fail;
	return obj;
}

static int
unmake(struct plx_device *dev, void *obj)
{
	int fail = ((struct fake_device *)dev)->fail;

	if (fail != 0)
		return -fail;
	fake_nb_objects--;
	free(obj);
	return 0;
}

static int
fake_close(struct plx_device *dev)
{
	int fd = ((struct fake_device *)dev)->event_fd, err = unmake(dev, dev);

	if (err == 0)
		close(fd);
	return err;
}

/* ---- events -------------------------------------------------------------------------------- */

void
fake_raise(struct fake_device *fake, enum plx_event_type type, uint64_t object)
{
	uint64_t one = 1;

	fake->events[fake->nb_events++] = (struct plx_event){.object = object, .type = type, .raw = 77};
	(void)!write(fake->event_fd, &one, sizeof(one));
}

static int
fake_event_fd(struct plx_device *dev)
{
	int fd = ((struct fake_device *)dev)->event_fd;

	return fd >= 0 ? fd : -ENOTSUP;
}

static int
fake_event_next(struct plx_device *dev, struct plx_event *event)
{
	struct fake_device *fake = (struct fake_device *)dev;
	uint64_t n;

	if (fake->nb_events == 0) {
		(void)!read(fake->event_fd, &n, sizeof(n));
		return 0;
	}
	*event = fake->events[0];
	fake->nb_events--;
	for (uint32_t i = 0; i < fake->nb_events; i++)
		fake->events[i] = fake->events[i + 1];
	return 1;
}

static int
fake_qp_limits(struct plx_device *dev, struct plx_qp_cap *cap)
{
	cap->send_depth *= 2;
	return 0;
}

static int
fake_port_query(struct plx_device *dev, unsigned int port, struct plx_port_attr *attr)
{
	*attr = (struct plx_port_attr){.active = port == 1, .ethernet = 1, .mtu = 1024, .nb_gids = 2};
	return 0;
}

static int
fake_gid_query(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid)
{
	if (index != 1)
		return -ENOENT;
	*gid = (struct plx_gid){.raw = {0xfe, 0x80}, .index = index, .type = PLX_GID_ROCE_V2};
	return 0;
}

static struct plx_pd *
fake_pd_create(struct plx_device *dev)
{
	return make(dev, sizeof(struct plx_pd));
}

static int
fake_pd_destroy(struct plx_pd *pd)
{
	return unmake(pd->dev, pd);
}

static struct plx_mr *
fake_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	struct plx_mr *mr = make(pd->dev, sizeof(*mr));

	if (mr != NULL) {
		mr->lkey = 0x11;
		mr->rkey = 0xf0000022;
	}
	return mr;
}

static int
fake_mr_deregister(struct plx_mr *mr)
{
	return unmake(mr->pd->dev, mr);
}

static struct plx_cq *
fake_cq_create(struct plx_device *dev, uint32_t nb_cqe)
{
	struct fake_device *fake = (struct fake_device *)dev;
	struct fake_cq *cq = make(dev, sizeof(*cq));

	if (cq == NULL)
		return NULL;
	cq->base.fast = &fake_fast;
	cq->base.nb_cqe = nb_cqe + 1;
	fake->cqs[fake->nb_cqs_made++ % RTE_DIM(fake->cqs)] = cq;
	return &cq->base;
}

static int
fake_cq_destroy(struct plx_cq *cq)
{
	return unmake(cq->dev, cq);
}

static struct plx_qp *
fake_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	struct fake_device *fake = (struct fake_device *)pd->dev;
	struct fake_qp *qp = make(pd->dev, sizeof(*qp));

	if (qp == NULL)
		return NULL;
	qp->base.fast = &fake_fast;
	qp->base.cap = conf->cap;
	qp->base.cap.send_depth *= 2;
	qp->base.cap.inline_len = 0;
	qp->base.qp_num = 17 + fake->nb_qps_made;
	qp->room = UINT32_MAX;
	fake->qps[fake->nb_qps_made++ % RTE_DIM(fake->qps)] = qp;
	return &qp->base;
}

static int
fake_qp_destroy(struct plx_qp *qp)
{
	return unmake(qp->dev, qp);
}

static int
fake_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr)
{
	*addr = (struct plx_qp_addr){
		.qp_num = qp->qp_num,
		.gid_index = (uint32_t)path->gid_index,
		.mtu = 1024,
		.rd_atomic = 4,
	};
	return 0;
}

static int
qp_move(struct plx_qp *qp, int state)
{
	int fail = ((struct fake_device *)qp->dev)->fail;

	if (fail == 0)
		((struct fake_qp *)qp)->state = state;
	return -fail;
}

static int
fake_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	return qp_move(qp, PLX_QP_RTS);
}

static int
fake_qp_to_error(struct plx_qp *qp)
{
	return qp_move(qp, PLX_QP_ERR);
}

static int
fake_qp_query_state(struct plx_qp *qp)
{
	return ((struct fake_qp *)qp)->state;
}

static const struct plx_driver fake_driver = {
	.name = "fake",
	.ops = {
		.close = fake_close,
		.qp_limits = fake_qp_limits,
		.port_query = fake_port_query,
		.gid_query = fake_gid_query,
		.pd_create = fake_pd_create,
		.pd_destroy = fake_pd_destroy,
		.mr_register = fake_mr_register,
		.mr_deregister = fake_mr_deregister,
		.cq_create = fake_cq_create,
		.cq_destroy = fake_cq_destroy,
		.qp_create = fake_qp_create,
		.qp_destroy = fake_qp_destroy,
		.qp_local_addr = fake_qp_local_addr,
		.qp_bring_up = fake_qp_bring_up,
		.qp_to_error = fake_qp_to_error,
		.qp_query_state = fake_qp_query_state,
		.event_fd = fake_event_fd,
		.event_next = fake_event_next,
	},
};

struct fake_device *
fake_open(void)
{
	struct fake_device *fake = calloc(1, sizeof(*fake));

	if (fake == NULL)
		abort();
	fake_nb_objects++;
	fake->event_fd = eventfd(0, EFD_NONBLOCK);
	plx_device_init(&fake->base, &fake_driver, "fake0");
	fake->base.caps = (struct plx_device_caps){
		.kinds = PLX_KIND(PLX_OPCODE_SEND) | PLX_KIND(PLX_OPCODE_RECV),
		.flags = PLX_CAP_ATTR_EXCHANGE,
		.transports = 1u << PLX_TRANSPORT_RC,
		.max_qp = 4,
		.max_qp_wr = 128,
		.max_cq = 4,
		.max_cqe = FAKE_CQES - 1,
		.max_mr = 8,
		.max_sge = 2,
		.max_sge_rd = 1,
		.max_inline = 64,
		.max_rd_atomic = 4,
		.max_mr_size = 1u << 20,
		.nb_ports = 1,
		.socket_id = 0,
	};
	return fake;
}
