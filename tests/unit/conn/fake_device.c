/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "fake_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

/* The control thread flushes while the owner polls. Recursive: on_post may complete. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static struct fake_device *
fake_device(struct plx_device *dev)
{
	return plx_container_of(dev, struct fake_device, base);
}

void
fake_cq_push(struct plx_cq *base, const struct plx_wc *wc)
{
	struct fake_cq *cq = plx_container_of(base, struct fake_cq, base);

	pthread_mutex_lock(&lock);
	if (cq->head - cq->tail == cq->base.nb_cqe)
		cq->overflown = true;
	else
		cq->wcs[cq->head++ % FAKE_DEPTH] = *wc;
	pthread_mutex_unlock(&lock);
}

void
fake_complete(struct plx_qp *qp, bool recv, unsigned int n, enum plx_status status)
{
	struct fake_queue *q = recv ? &fake_qp(qp)->rq : &fake_qp(qp)->sq;

	pthread_mutex_lock(&lock);
	for (; n-- != 0; q->tail++) {
		struct plx_wc wc = {
			.wr_id = q->wr_ids[q->tail % FAKE_DEPTH],
			.status = (uint8_t)status,
			.opcode = recv ? PLX_OPCODE_RECV : PLX_OPCODE_SEND,
			.qp_num = qp->qp_num,
		};

		if (recv || status != PLX_ST_SUCCESS || (q->flags[q->tail % FAKE_DEPTH] & PLX_WR_SIGNALED))
			fake_cq_push(recv ? qp->recv_cq : qp->send_cq, &wc);
	}
	pthread_mutex_unlock(&lock);
}

void
fake_lose(struct plx_qp *qp, bool recv)
{
	struct fake_queue *q = recv ? &fake_qp(qp)->rq : &fake_qp(qp)->sq;

	q->tail++;
}

bool
fake_refuses(struct fake_device *dev, int *err)
{
	if (dev->fail_post_at == 0 || --dev->fail_post_at != 0)
		return false;
	*err = dev->fail_post_errno;
	return true;
}

static void
remember(struct fake_qp *qp, const struct plx_wr *wr)
{
	qp->last = *wr;
	for (uint32_t i = 0; i < wr->num_sge && i < 8; i++)
		qp->last_sges[i] = wr->sg_list[i];
}

static uint16_t
post(struct fake_qp *qp, struct fake_queue *q, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	struct fake_device *dev = fake_device(qp->base.dev);

	for (uint16_t i = 0; i < n; i++) {
		if (fake_refuses(dev, err))
			return i;
		remember(qp, wrs[i]);
		q->wr_ids[q->head % FAKE_DEPTH] = wrs[i]->wr_id;
		q->flags[q->head++ % FAKE_DEPTH] = wrs[i]->flags;
		if (dev->on_post != NULL)
			dev->on_post(qp, wrs[i]->wr_id);
		if (qp->state == PLX_QP_ERR && !dev->keep_flushes)
			fake_complete(&qp->base, q == &qp->rq, 1, PLX_ST_WR_FLUSH_ERR);
	}
	return n;
}

static uint16_t
fake_post_send(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	fake_qp(qp)->nb_posts++;
	if (n > fake_qp(qp)->largest_post)
		fake_qp(qp)->largest_post = n;
	return post(fake_qp(qp), &fake_qp(qp)->sq, wrs, n, err);
}

static uint16_t
fake_post_recv(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	return post(fake_qp(qp), &fake_qp(qp)->rq, wrs, n, err);
}

static int
fake_poll_cq(struct plx_cq *base, struct plx_wc *wcs, uint16_t n)
{
	struct fake_cq *cq = plx_container_of(base, struct fake_cq, base);
	uint16_t i = 0;

	if (cq->dead)
		return -EIO;
	pthread_mutex_lock(&lock);
	while (i < n && cq->tail != cq->head)
		wcs[i++] = cq->wcs[cq->tail++ % FAKE_DEPTH];
	pthread_mutex_unlock(&lock);
	return i;
}

static const struct plx_fast_ops fake_fast = {
	.post_send = fake_post_send,
	.post_recv = fake_post_recv,
	.poll_cq = fake_poll_cq,
};

static int
fake_close(struct plx_device *dev)
{
	free(fake_device(dev));
	return 0;
}

static int
fake_port_query(struct plx_device *dev, unsigned int port, struct plx_port_attr *attr)
{
	*attr = (struct plx_port_attr){
		.active = 1, .ethernet = 1, .mtu = 4096, .max_msg_sz = 1 << 20, .nb_gids = 1};
	return fake_device(dev)->fail_port ? -EIO : 0;
}

static int
fake_gid_query(struct plx_device *dev, unsigned int port, unsigned int index, struct plx_gid *gid)
{
	*gid = (struct plx_gid){.type = PLX_GID_ROCE_V2, .index = index, .raw = {[10] = 0xff, [11] = 0xff}};
	return index == 0 ? 0 : -ENOENT;
}

static int
fake_limits(struct plx_device *dev, struct plx_qp_cap *cap)
{
	return fake_device(dev)->fail_limits ? -EIO : 0;
}

static struct plx_pd *
fake_pd_create(struct plx_device *dev)
{
	return calloc(1, sizeof(struct plx_pd));
}

static int
fake_pd_destroy(struct plx_pd *pd)
{
	free(pd);
	return 0;
}

static struct plx_mr *
fake_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	return calloc(1, sizeof(struct plx_mr));
}

static int
fake_mr_deregister(struct plx_mr *mr)
{
	struct fake_device *dev = fake_device(mr->pd->dev);

	if (dev->fail_mr_deregisters != 0) {
		dev->fail_mr_deregisters--;
		return -EIO;
	}
	free(mr);
	return 0;
}

static struct plx_cq *
fake_cq_create(struct plx_device *dev, uint32_t nb_cqe)
{
	struct fake_cq *cq = calloc(1, sizeof(*cq));

	cq->base.fast = &fake_fast;
	cq->base.nb_cqe = nb_cqe;
	return &cq->base;
}

static int
fake_cq_destroy(struct plx_cq *cq)
{
	free(plx_container_of(cq, struct fake_cq, base));
	return 0;
}

static struct plx_qp *
fake_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf)
{
	struct fake_device *dev = fake_device(pd->dev);
	struct fake_qp *qp;

	if (dev->fail_create) {
		rte_errno = EIO;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	qp->base.fast = &fake_fast;
	qp->base.qp_num = dev->next_qp_num++;
	qp->base.cap = conf->cap;
	qp->base.cap.send_depth += dev->grant_more.send_depth;
	dev->nb_created++;
	dev->verb_thread = pthread_self();
	return &qp->base;
}

static int
fake_qp_destroy(struct plx_qp *qp)
{
	struct fake_device *dev = fake_device(qp->dev);

	__atomic_fetch_add(&dev->nb_destroy_tries, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&dev->fail_destroys, __ATOMIC_RELAXED) != 0) {
		__atomic_fetch_sub(&dev->fail_destroys, 1, __ATOMIC_RELAXED);
		return -EIO;
	}
	__atomic_fetch_add(&dev->nb_destroyed, 1, __ATOMIC_RELEASE);
	dev->verb_thread = pthread_self();
	free(fake_qp(qp));
	return 0;
}

static int
fake_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr)
{
	*addr = (struct plx_qp_addr){.qp_num = qp->qp_num, .mtu = 4096, .rd_atomic = path->rd_atomic, .gid_type = PLX_GID_ROCE_V2};
	return 0;
}

static int
fake_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer)
{
	fake_device(qp->dev)->verb_thread = pthread_self();
	fake_qp(qp)->state = PLX_QP_RTS;
	return 0;
}

static int
fake_to_error(struct plx_qp *qp)
{
	struct fake_device *dev = fake_device(qp->dev);

	__atomic_fetch_add(&dev->nb_to_error, 1, __ATOMIC_RELEASE); /* the control thread's; tests look */
	dev->verb_thread = pthread_self();
	if (dev->fail_to_error)
		return -EIO;
	pthread_mutex_lock(&lock);
	fake_qp(qp)->state = PLX_QP_ERR;
	if (!dev->keep_flushes) {
		fake_complete(qp, false, fake_qp(qp)->sq.head - fake_qp(qp)->sq.tail, PLX_ST_WR_FLUSH_ERR);
		fake_complete(qp, true, fake_qp(qp)->rq.head - fake_qp(qp)->rq.tail, PLX_ST_WR_FLUSH_ERR);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

static int
fake_event_fd(struct plx_device *dev)
{
	return fake_device(dev)->event_fd != 0 ? fake_device(dev)->event_fd : -ENOTSUP;
}

static int
fake_event_next(struct plx_device *dev, struct plx_event *event)
{
	__atomic_fetch_add(&fake_device(dev)->nb_event_reads, 1, __ATOMIC_RELEASE);
	return fake_device(dev)->event_err;
}

static const struct plx_driver fake_driver = {
	.name = "fake",
	.ops = {
		.close = fake_close,
		.port_query = fake_port_query,
		.gid_query = fake_gid_query,
		.qp_limits = fake_limits,
		.pd_create = fake_pd_create,
		.pd_destroy = fake_pd_destroy,
		.mr_register = fake_mr_register,
		.mr_deregister = fake_mr_deregister,
		.cq_create = fake_cq_create,
		.cq_destroy = fake_cq_destroy,
		.qp_create = fake_qp_create,
		.qp_destroy = fake_qp_destroy,
		.srq_create = fake_srq_create,
		.srq_destroy = fake_srq_destroy,
		.srq_arm = fake_srq_arm,
		.qp_local_addr = fake_local_addr,
		.qp_bring_up = fake_bring_up,
		.qp_to_error = fake_to_error,
		.event_fd = fake_event_fd,
		.event_next = fake_event_next,
	},
};

struct fake_device *
fake_device_open(void)
{
	struct fake_device *dev = calloc(1, sizeof(*dev));

	plx_device_init(&dev->base, &fake_driver, "fake0");
	dev->next_qp_num = 100;
	dev->base.caps = (struct plx_device_caps){
		.kinds = PLX_KIND(PLX_OPCODE_SEND) | PLX_KIND(PLX_OPCODE_WRITE) | PLX_KIND(PLX_OPCODE_READ) |
			 PLX_KIND(PLX_OPCODE_FETCH_ADD) | PLX_KIND(PLX_OPCODE_RECV),
		.flags = PLX_CAP_ATTR_EXCHANGE | PLX_CAP_SRQ,
		.transports = 1 << PLX_TRANSPORT_RC,
		.max_qp = 4096,
		.max_qp_wr = FAKE_DEPTH,
		.max_cq = 16,
		.max_cqe = FAKE_DEPTH,
		.max_mr = 16,
		.max_srq = 16,
		.max_srq_wr = FAKE_DEPTH,
		.max_srq_sge = 1,
		.max_sge = 6,
		.max_sge_rd = 2,
		.max_inline = 64,
		.max_rd_atomic = 16,
		.max_mr_size = 1 << 30,
		.nb_ports = 1,
		.socket_id = -1,
	};
	return dev;
}
