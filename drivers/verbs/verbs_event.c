/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Async events: read without waiting, copied, acked.
 *
 * An object that has an event which was read and not acked is not destroyed: ibv_destroy_...() waits for the ack. So what
 * the event points to lives until the ack here, and our struct, which is its context, is freed behind that. On a lost
 * device ibv_destroy_...() does not wait: verbs_lost.c does.
 */

#include "verbs_impl.h"

#include <fcntl.h>

int
verbs_event_init(struct verbs_device *dev)
{
	int fd = dev->ctx->async_fd, flags = fcntl(fd, F_GETFL), err;

	if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)
		return 0;
	err = errno;
	PLX_LOG(ERR, "device %s: its file of async events stays blocking: %s", ibv_get_device_name(dev->ctx->device),
		strerror(err));
	return err;
}

int
verbs_event_fd(struct plx_device *dev)
{
	return to_verbs_device(dev)->ctx->async_fd;
}

static uint64_t
cq_id(const struct ibv_cq *cq)
{
	return cq->cq_context == NULL ? 0 : ((const struct plx_verbs_cq *)cq->cq_context)->base.id;
}

static uint64_t
qp_id(const struct ibv_qp *qp)
{
	return qp->qp_context == NULL ? 0 : ((const struct plx_verbs_qp *)qp->qp_context)->base.id;
}

static uint64_t
srq_id(const struct ibv_srq *srq)
{
	return srq->srq_context == NULL ? 0 : ((const struct plx_verbs_srq *)srq->srq_context)->base.id;
}

static void
event_fill(struct plx_event *to, const struct ibv_async_event *from)
{
	*to = (struct plx_event){.raw = from->event_type, .type = PLX_EVENT_OTHER};
	switch (from->event_type) {
	case IBV_EVENT_CQ_ERR:
		to->type = PLX_EVENT_CQ_ERROR;
		to->object = cq_id(from->element.cq);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_PATH_MIG_ERR:
		to->type = PLX_EVENT_QP_FATAL;
		to->object = qp_id(from->element.qp);
		break;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		to->type = PLX_EVENT_LAST_WQE;
		to->object = qp_id(from->element.qp);
		break;
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
		to->object = qp_id(from->element.qp);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		to->type = PLX_EVENT_SRQ_LIMIT;
		to->object = srq_id(from->element.srq);
		break;
	case IBV_EVENT_SRQ_ERR:
		to->type = PLX_EVENT_SRQ_ERROR;
		to->object = srq_id(from->element.srq);
		break;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
		to->type = from->event_type == IBV_EVENT_PORT_ERR ? PLX_EVENT_PORT_DOWN : PLX_EVENT_PORT_UP;
		to->port = from->element.port_num;
		break;
	case IBV_EVENT_DEVICE_FATAL:
		to->type = PLX_EVENT_DEVICE_FATAL;
		break;
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		to->port = from->element.port_num;
		break;
	default: /* what its element is nobody knows */
		break;
	}
}

static int
event_read(struct verbs_device *dev, struct plx_event *event)
{
	struct ibv_async_event ibv;

	errno = 0;
	if (ibv_get_async_event(dev->ctx, &ibv) != 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -plx_verbs_errno();
	event_fill(event, &ibv);
	ibv_ack_async_event(&ibv);
	return 1;
}

int
verbs_event_next(struct plx_device *base, struct plx_event *event)
{
	struct verbs_device *dev = to_verbs_device(base);
	int got;

	pthread_mutex_lock(&dev->reading);
	got = event_read(dev, event);
	pthread_mutex_unlock(&dev->reading);
	return got;
}
