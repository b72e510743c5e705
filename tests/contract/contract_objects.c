/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "contract_objects.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>

int
objects_setup(void **state)
{
	*state = calloc(1, sizeof(struct objects));
	return *state != NULL ? 0 : -1;
}

int
objects_teardown(void **state)
{
	int err = objects_destroy(*state);

	free(*state);
	return err;
}

static void
first_error(int *err, int next, const char *what)
{
	if (next == 0)
		return;
	fprintf(stderr, "contract: cannot destroy a %s: %s\n", what, rte_strerror(-next));
	if (*err == 0)
		*err = next;
}

int
objects_destroy(struct objects *objs)
{
	int err = 0;

	/* A NULL of each kind is destroyed without complaint. */
	for (int i = 0; i < OBJECTS_MAX; i++)
		first_error(&err, plx_mw_destroy(objs->mws[i]), "MW");
	for (int i = 0; i < OBJECTS_MAX; i++)
		first_error(&err, plx_qp_destroy(objs->qps[i]), "QP");
	for (int i = 0; i < OBJECTS_MAX; i++)
		first_error(&err, plx_srq_destroy(objs->srqs[i]), "SRQ");
	for (int i = 0; i < OBJECTS_MAX; i++)
		first_error(&err, plx_mr_deregister(objs->mrs[i]), "MR");
	for (int i = 0; i < OBJECTS_MAX; i++)
		first_error(&err, plx_cq_destroy(objs->cqs[i]), "CQ");
	for (int i = 0; i < OBJECTS_MAX; i++)
		first_error(&err, plx_pd_destroy(objs->pds[i]), "PD");
	for (int i = 0; i < OBJECTS_MAX; i++)
		free(objs->bufs[i]);
	memset(objs, 0, sizeof(*objs));
	return err;
}

static void *
keep(void *slots, void *object, const char *what)
{
	void **slot = slots;

	if (object == NULL)
		fail_msg("cannot make a %s on %s: %s", what, contract.spec, rte_strerror(rte_errno));
	for (int i = 0; i < OBJECTS_MAX; i++) {
		if (slot[i] == NULL) {
			slot[i] = object;
			return object;
		}
	}
	fail_msg("more than %d objects of one kind", OBJECTS_MAX);
	return NULL;
}

static void
forget(void *slots, const void *object)
{
	void **slot = slots;

	for (int i = 0; i < OBJECTS_MAX; i++) {
		if (slot[i] == object)
			slot[i] = NULL;
	}
}

struct plx_pd *
objects_pd(struct objects *objs, struct plx_device *dev)
{
	return keep(objs->pds, plx_pd_create(dev), "PD");
}

struct plx_cq *
objects_cq(struct objects *objs, struct plx_device *dev, uint32_t nb_cqe)
{
	return keep(objs->cqs, plx_cq_create(dev, nb_cqe), "CQ");
}

struct plx_qp *
objects_qp(struct objects *objs, struct plx_pd *pd, struct plx_cq *cq, const struct plx_qp_cap *cap)
{
	return objects_qp_on(objs, pd, cq, cap, NULL);
}

struct plx_qp *
objects_qp_on(struct objects *objs, struct plx_pd *pd, struct plx_cq *cq, const struct plx_qp_cap *cap,
	struct plx_srq *srq)
{
	const struct plx_qp_conf conf = {.send_cq = cq, .recv_cq = cq, .cap = *cap, .srq = srq};

	return keep(objs->qps, plx_qp_create(pd, &conf), "QP");
}

struct plx_srq *
objects_srq(struct objects *objs, struct plx_pd *pd, uint32_t depth, uint32_t recv_sge)
{
	const struct plx_srq_conf conf = {.depth = depth, .recv_sge = recv_sge};

	return keep(objs->srqs, plx_srq_create(pd, &conf), "SRQ");
}

struct plx_mr *
objects_mr(struct objects *objs, struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights)
{
	return keep(objs->mrs, plx_mr_register(pd, addr, len, rights), "MR");
}

struct plx_mw *
objects_mw(struct objects *objs, struct plx_mr *mr)
{
	return keep(objs->mws, plx_mw_create(mr), "MW");
}

void *
objects_buf(struct objects *objs, size_t len)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = (len + page - 1) / page * page;
	void *buf = keep(objs->bufs, aligned_alloc(page, size), "buffer");

	memset(buf, 0, size);
	return buf;
}

void
objects_drop_pd(struct objects *objs, struct plx_pd *pd)
{
	forget(objs->pds, pd);
	assert_int_equal(plx_pd_destroy(pd), 0);
}

void
objects_drop_cq(struct objects *objs, struct plx_cq *cq)
{
	forget(objs->cqs, cq);
	assert_int_equal(plx_cq_destroy(cq), 0);
}

void
objects_drop_qp(struct objects *objs, struct plx_qp *qp)
{
	forget(objs->qps, qp);
	assert_int_equal(plx_qp_destroy(qp), 0);
}

void
objects_drop_srq(struct objects *objs, struct plx_srq *srq)
{
	forget(objs->srqs, srq);
	assert_int_equal(plx_srq_destroy(srq), 0);
}

void
objects_drop_mr(struct objects *objs, struct plx_mr *mr)
{
	forget(objs->mrs, mr);
	assert_int_equal(plx_mr_deregister(mr), 0);
}

void
objects_drop_mw(struct objects *objs, struct plx_mw *mw)
{
	forget(objs->mws, mw);
	assert_int_equal(plx_mw_destroy(mw), 0);
}

uint32_t
contract_rights(void)
{
	return contract_has_kind(PLX_OPCODE_FETCH_ADD) ? PLX_ACCESS_ALL
						       : PLX_ACCESS_ALL & ~PLX_ACCESS_REMOTE_ATOMIC;
}
