/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What a destroy means on a device that the kernel has taken away, with a libibverbs of the test's own that answers as the
 * real one does then.
 */

#include <plx_test.h>

#include <errno.h>
#include <string.h>

#include "verbs_impl.h"

static struct fake {
	int destroy; /**< what each ibv_destroy_...() returns */
	int port;    /**< what a query of the port returns */
	unsigned int nb_queries;
	struct ibv_async_event event; /**< waits if nb_events */
	unsigned int nb_events;
	struct ibv_context ctx;
	struct ibv_pd pd;
	struct ibv_mr mr;
	struct ibv_mw mw;
	struct ibv_cq cq;
	struct ibv_qp qp;
	struct ibv_srq srq;
} fake;

int ibv_dealloc_pd(struct ibv_pd *pd) { return fake.destroy; }
int ibv_dereg_mr(struct ibv_mr *mr) { return fake.destroy; }
int ibv_destroy_cq(struct ibv_cq *cq) { return fake.destroy; }
int ibv_destroy_qp(struct ibv_qp *qp) { return fake.destroy; }
int ibv_destroy_srq(struct ibv_srq *srq) { return fake.destroy; }
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask) { return 0; }
void ibv_ack_async_event(struct ibv_async_event *event) { }
static int fake_dealloc_mw(struct ibv_mw *mw) { return fake.destroy; }
struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx) { return &fake.pd; }

struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	return &fake.mr;
}

static struct ibv_mw *
fake_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	fake.mw.context = &fake.ctx;
	return &fake.mw;
}

struct ibv_cq *
ibv_create_cq(struct ibv_context *ctx, int cqe, void *context, struct ibv_comp_channel *channel, int vector)
{
	fake.cq.cq_context = context;
	return &fake.cq;
}

struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	fake.qp.qp_context = attr->qp_context;
	return &fake.qp;
}

struct ibv_srq *
ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	fake.srq.srq_context = attr->srq_context;
	return &fake.srq;
}

#undef ibv_query_port
int
ibv_query_port(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	fake.nb_queries++;
	return fake.port;
}

int
ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	errno = EAGAIN;
	if (fake.nb_events == 0)
		return -1;
	fake.nb_events--;
	*event = fake.event;
	return 0;
}

/* ---- one of each kind ---------------------------------------------------------------------- */

static struct verbs_device dev;
static struct plx_pd *pd;
static struct plx_mr *mr;
static struct plx_mw *mw;
static struct plx_cq *cq;
static struct plx_srq *srq;
static struct plx_qp *qp;

static int
make(void **state)
{
	static char buf[64];
	struct plx_qp_conf conf = {.cap = {.send_depth = 1}};

	memset(&fake, 0, sizeof(fake));
	memset(&dev, 0, sizeof(dev));
	fake.ctx.ops.alloc_mw = fake_alloc_mw;
	fake.ctx.ops.dealloc_mw = fake_dealloc_mw;
	fake.pd.context = &fake.ctx;
	plx_device_init(&dev.base, &plx_verbs_driver, "fake0");
	pthread_mutex_init(&dev.reading, NULL);
	dev.ctx = &fake.ctx;
	dev.iwarp = true; /* its QPs need no port */
	dev.base.caps = (struct plx_device_caps){.flags = PLX_CAP_SRQ | PLX_CAP_MW, .transports = 1, .nb_ports = 1,
		.max_qp_wr = 8, .max_cqe = 8, .max_sge = 1, .max_srq_wr = 8, .max_srq_sge = 1, .max_mr_size = UINT64_MAX};
	assert_non_null(pd = plx_pd_create(&dev.base));
	assert_non_null(mr = plx_mr_register(pd, buf, sizeof(buf), 0));
	assert_non_null(mw = plx_mw_create(mr));
	assert_non_null(cq = plx_cq_create(&dev.base, 8));
	assert_non_null(srq = plx_srq_create(pd, &(struct plx_srq_conf){.depth = 8}));
	conf.send_cq = conf.recv_cq = cq;
	conf.srq = srq;
	assert_non_null(qp = plx_qp_create(pd, &conf));
	return 0;
}

static void
destroy_all(int expected)
{
	assert_int_equal(plx_qp_destroy(qp), expected);
	assert_int_equal(plx_mw_destroy(mw), expected);
	if (expected != 0) /* the others are in use */
		return;
	assert_int_equal(plx_srq_destroy(srq), 0);
	assert_int_equal(plx_cq_destroy(cq), 0);
	assert_int_equal(plx_mr_deregister(mr), 0);
	assert_int_equal(plx_pd_destroy(pd), 0);
	assert_int_equal(dev.base.nb_pds + dev.base.nb_cqs, 0);
}

static int
unmake(void **state)
{
	pthread_mutex_destroy(&dev.reading);
	return 0;
}

static void
lose(void)
{
	fake.destroy = fake.port = EIO;
}

/* ---- the rule ------------------------------------------------------------------------------ */

/** case 16.2: ours at least: libibverbs keeps its own. That ours are freed is seen by who looks for leaks. */
static void
what_is_destroyed_on_a_lost_device_is_gone_though_no_event_was_read(void **state)
{
	lose();
	destroy_all(0);
}

static void
who_said_that_he_succeeded_is_believed(void **state)
{
	fake.port = EIO; /* newer kernels let a destroy pass */
	destroy_all(0);
	assert_int_equal(fake.nb_queries, 0);
}

static void
eio_of_a_device_that_is_there_leaves_what_was_to_be_destroyed(void **state)
{
	fake.destroy = EIO;
	destroy_all(-EIO);
	assert_ptr_equal(fake.qp.qp_context, qp);
	fake.destroy = -1;
	errno = EIO;
	destroy_all(-EIO);
	fake.destroy = 0;
	destroy_all(0);
}

static void
no_other_errno_means_that_the_device_is_lost(void **state)
{
	lose();
	fake.destroy = EBUSY;
	destroy_all(-EBUSY);
	lose();
	destroy_all(0);
}

static void
fatal_event_that_was_read_is_enough(void **state)
{
	struct plx_event event;

	fake.event.event_type = IBV_EVENT_DEVICE_FATAL;
	fake.nb_events = 1;
	assert_int_equal(plx_device_next_event(&dev.base, &event), 1);
	fake.destroy = EIO;
	destroy_all(0);
}

static uint64_t
object_of(enum ibv_event_type type)
{
	struct plx_event event;

	fake.event.event_type = type;
	if (type == IBV_EVENT_CQ_ERR)
		fake.event.element.cq = &fake.cq;
	else if (type == IBV_EVENT_QP_FATAL)
		fake.event.element.qp = &fake.qp;
	else
		fake.event.element.srq = &fake.srq;
	fake.nb_events = 1;
	assert_int_equal(plx_device_next_event(&dev.base, &event), 1);
	return event.object;
}

/** libibverbs waits for no ack before it says EIO, and its struct may be named by an event behind that. */
static void
event_that_comes_behind_its_object_on_a_lost_device_names_none(void **state)
{
	static const enum ibv_event_type types[] = {IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL, IBV_EVENT_SRQ_LIMIT_REACHED};

	for (unsigned int i = 0; i < NB_OF(types); i++)
		assert_int_not_equal(object_of(types[i]), 0);
	lose();
	destroy_all(0);
	for (unsigned int i = 0; i < NB_OF(types); i++)
		assert_int_equal(object_of(types[i]), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

static const struct CMUnitTest tests[] = {
	TEST(what_is_destroyed_on_a_lost_device_is_gone_though_no_event_was_read),
	TEST(who_said_that_he_succeeded_is_believed),
	TEST(eio_of_a_device_that_is_there_leaves_what_was_to_be_destroyed),
	TEST(no_other_errno_means_that_the_device_is_lost),
	TEST(fatal_event_that_was_read_is_enough),
	TEST(event_that_comes_behind_its_object_on_a_lost_device_names_none),
};

PLX_TEST_SUITE(verbs, lost, tests);
