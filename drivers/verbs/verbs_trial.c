/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What would be granted? Ask for it, look, and give it back.
 *
 * The limits of ibv_query_device() hold one at a time; how deep a queue may be depends on many
 * providers on its SGEs and its inline length, and for inline there is no limit to query at all.
 * Only ibv_create_qp() knows. So a QP is made and destroyed, about half a millisecond on a software
 * device; nothing of it is left.
 */

#include "verbs_impl.h"

/** No provider's work request is longer than that. */
#define INLINE_MAX 4096

struct ibv_qp_init_attr
verbs_qp_init_attr(struct ibv_cq *send_cq, struct ibv_cq *recv_cq, const struct plx_qp_cap *cap)
{
	return (struct ibv_qp_init_attr){
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.cap = {
			.max_send_wr = cap->send_depth,
			.max_recv_wr = cap->recv_depth,
			.max_send_sge = cap->send_sge,
			.max_recv_sge = cap->recv_sge,
			.max_inline_data = cap->inline_len,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 0,
	};
}

struct plx_qp_cap
verbs_qp_cap(const struct ibv_qp_init_attr *attr)
{
	return (struct plx_qp_cap){
		.send_depth = attr->cap.max_send_wr,
		.recv_depth = attr->cap.max_recv_wr,
		.send_sge = attr->cap.max_send_sge,
		.recv_sge = attr->cap.max_recv_sge,
		.inline_len = attr->cap.max_inline_data,
	};
}

struct trial {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

static void
trial_end(struct trial *trial)
{
	if (trial->cq != NULL)
		ibv_destroy_cq(trial->cq);
	if (trial->pd != NULL)
		ibv_dealloc_pd(trial->pd);
}

static int
trial_begin(struct trial *trial, struct ibv_context *ctx)
{
	int err;

	errno = 0;
	trial->pd = ibv_alloc_pd(ctx);
	trial->cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	if (trial->pd != NULL && trial->cq != NULL)
		return 0;
	err = -plx_verbs_errno();
	trial_end(trial);
	return err;
}

static int
trial_qp(const struct trial *trial, struct plx_qp_cap *cap)
{
	struct ibv_qp_init_attr attr = verbs_qp_init_attr(trial->cq, trial->cq, cap);
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(trial->pd, &attr);
	if (qp == NULL)
		return -plx_verbs_errno();
	*cap = verbs_qp_cap(&attr);
	ibv_destroy_qp(qp);
	return 0;
}

/** Create a QP of @p cap and destroy it: *cap is then what was granted. 0 or -errno, not logged. */
static int
granted_by_trial(struct ibv_context *ctx, struct plx_qp_cap *cap)
{
	struct trial trial;
	int err = trial_begin(&trial, ctx);

	if (err != 0)
		return err;
	err = trial_qp(&trial, cap);
	trial_end(&trial);
	return err;
}

static bool
trial_inline(const struct trial *trial, uint32_t *len)
{
	struct plx_qp_cap cap = {1, 1, 1, 1, *len};

	if (trial_qp(trial, &cap) != 0 || cap.inline_len < *len)
		return false;
	*len = cap.inline_len;
	return true;
}

/** Double until it is refused, then halve the gap: some 15 trials. */
uint32_t
verbs_trial_inline(struct ibv_context *ctx)
{
	struct trial trial;
	uint32_t good = 0, bad = INLINE_MAX + 1, try;

	if (trial_begin(&trial, ctx) != 0)
		return 0;
	for (try = 64; try < bad; try = good * 2) {
		if (!trial_inline(&trial, &try)) {
			bad = try;
			break;
		}
		good = try;
	}
	while (good + 1 < bad) {
		try = good + (bad - good) / 2;
		if (trial_inline(&trial, &try))
			good = try;
		else
			bad = try;
	}
	trial_end(&trial);
	return good;
}

/** No device says so. One that can looks at the fd, and there is none; one that cannot does not get so far. */
bool
verbs_trial_dmabuf(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_mr *mr;
	int err;

	if (pd == NULL)
		return false;
	errno = 0;
	mr = ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE);
	err = errno;
	if (mr != NULL)
		ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	return mr != NULL || err == EBADF;
}

int
verbs_qp_limits(struct plx_device *base, struct plx_qp_cap *cap)
{
	struct plx_qp_cap want = *cap;
	int err = granted_by_trial(to_verbs_device(base)->ctx, cap);

	if (err != 0)
		PLX_LOG(ERR,
			"device %s: no QP has %u + %u WRs with %u and %u SGEs and %u inline bytes together: %s",
			base->name, want.send_depth, want.recv_depth, want.send_sge, want.recv_sge,
			want.inline_len, strerror(-err));
	return err;
}
