/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Post and poll, with a provider of the test's own below: what libibverbs is given, and what is made of
 * the ways in which providers answer.
 *
 *      plx_verbs_fast  -->  ibv_post_send() -->  ibv_context.ops  -->  provider (here)
 */

#include <plx_test.h>

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "verbs_impl.h"

#define SEEN_MAX 128

/** What the provider was given, and how it shall answer. */
static struct provider {
	struct ibv_send_wr wrs[SEEN_MAX];
	struct ibv_sge *first_list;
	unsigned int nb_wrs;
	unsigned int nb_calls;

	unsigned int room;     /**< WRs that it takes before it fails */
	int ret, set_errno;    /**< how it fails */
	bool names_bad_wr;

	struct ibv_wc wc;      /**< what it completes with, nb_wcs times */
	unsigned int nb_wcs;
	int poll_ret;	       /**< negative: the CQ is dead */
} provider;

static int
provider_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	provider.nb_calls++;
	for (; wr != NULL; wr = wr->next) {
		if (provider.room == 0) {
			if (provider.names_bad_wr)
				*bad = wr;
			errno = provider.set_errno;
			return provider.ret;
		}
		provider.room--;
		if (provider.nb_wrs == 0)
			provider.first_list = wr->sg_list;
		assert_true(provider.nb_wrs < SEEN_MAX);
		provider.wrs[provider.nb_wrs++] = *wr;
	}
	return 0;
}

static int
provider_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	provider.nb_calls++;
	for (; wr != NULL; wr = wr->next, provider.room--) {
		if (provider.room == 0) {
			*bad = provider.names_bad_wr ? wr : *bad;
			errno = provider.set_errno;
			return provider.ret;
		}
		provider.nb_wrs++;
	}
	return 0;
}

static int
provider_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wcs)
{
	int got = 0;

	provider.nb_calls++;
	if (provider.nb_wcs == 0)
		return provider.poll_ret;
	for (; got < n && provider.nb_wcs > 0; got++, provider.nb_wcs--)
		wcs[got] = provider.wc;
	return got;
}

static struct ibv_context context = {
	.ops = {
		.post_send = provider_post_send,
		.post_recv = provider_post_recv,
		.poll_cq = provider_poll_cq,
	},
};
static struct ibv_qp ibv_qp = {.context = &context};
static struct ibv_cq ibv_cq = {.context = &context};
static struct plx_verbs_qp qp = {.base.fast = &plx_verbs_fast, .ibv = &ibv_qp};
static struct plx_verbs_cq cq = {.base.fast = &plx_verbs_fast, .ibv = &ibv_cq};

#define EVERY_KIND (PLX_KIND(PLX_OPCODE_RECV) - 1)

static int
provider_reset(void **state)
{
	provider = (struct provider){.room = SEEN_MAX, .names_bad_wr = true, .ret = ENOMEM};
	ibv_qp.state = IBV_QPS_RTS;
	qp.kinds = EVERY_KIND & ~PLX_KIND(PLX_OPCODE_BIND_MW);
	return 0;
}

static struct plx_sge sge = {0x1000, 8, 0x77};

/** @p n WRs of @p opcode in @p wrs, numbered, and pointers to them. */
static void
wrs_make(struct plx_wr *wrs, const struct plx_wr **ptrs, unsigned int n, unsigned int opcode)
{
	for (unsigned int i = 0; i < n; i++) {
		wrs[i] = (struct plx_wr){
			.wr_id = i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcode,
			.flags = PLX_WR_SIGNALED,
			.imm = 0x01020304,
			.rkey = 0x88,
			.remote_addr = 0x2000,
			.compare_add = 0x3000,
			.swap = 0x4000,
		};
		ptrs[i] = &wrs[i];
	}
}

static uint16_t
post(unsigned int n, unsigned int opcode, int *err)
{
	const struct plx_wr *ptrs[SEEN_MAX] = {NULL};
	struct plx_wr wrs[SEEN_MAX];

	wrs_make(wrs, ptrs, n, opcode);
	return plx_qp_post_send(&qp.base, ptrs, n, err);
}

/* case 4.3 */
static void
each_flag_reaches_the_provider_alone(void **state)
{
	const struct {
		uint8_t ours;
		unsigned int ibv;
	} rows[] = {
		{0, 0},
		{PLX_WR_SIGNALED, IBV_SEND_SIGNALED},
		{PLX_WR_FENCE, IBV_SEND_FENCE},
		{PLX_WR_SOLICITED, IBV_SEND_SOLICITED},
		{PLX_WR_INLINE, IBV_SEND_INLINE},
		{0x0f, IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED | IBV_SEND_INLINE},
	};

	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		const struct plx_wr *ptr;
		struct plx_wr wr;
		int err = 0;

		provider_reset(state);
		wrs_make(&wr, &ptr, 1, PLX_OPCODE_READ);
		wr.flags = rows[i].ours;
		assert_int_equal(plx_qp_post_send(&qp.base, &ptr, 1, &err), 1);
		assert_int_equal(provider.wrs[0].send_flags, rows[i].ibv);
	}
}

static void
each_kind_is_translated_with_its_fields(void **state)
{
	const enum ibv_wr_opcode ibv[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_INV,
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD, 0, IBV_WR_LOCAL_INV};

	for (unsigned int opcode = 0; opcode < NB_OF(ibv); opcode++) {
		const struct ibv_send_wr *wr = provider.wrs;
		int err = 0;

		if (opcode == PLX_OPCODE_BIND_MW)
			continue;
		provider_reset(state);
		assert_int_equal(post(1, opcode, &err), 1);
		assert_int_equal(wr->opcode, ibv[opcode]);
		assert_ptr_equal(provider.first_list, &sge); /* as it lies */
		if (opcode == PLX_OPCODE_SEND_IMM || opcode == PLX_OPCODE_WRITE_IMM)
			assert_int_equal(wr->imm_data, htobe32(0x01020304));
		if (opcode == PLX_OPCODE_SEND_INV || opcode == PLX_OPCODE_LOCAL_INV)
			assert_int_equal(wr->invalidate_rkey, 0x88);
		if (opcode >= PLX_OPCODE_WRITE && opcode <= PLX_OPCODE_READ)
			assert_true(wr->wr.rdma.remote_addr == 0x2000 && wr->wr.rdma.rkey == 0x88);
		if (opcode == PLX_OPCODE_CMP_SWAP || opcode == PLX_OPCODE_FETCH_ADD)
			assert_true(wr->wr.atomic.remote_addr == 0x2000 && wr->wr.atomic.rkey == 0x88 &&
				wr->wr.atomic.compare_add == 0x3000 && wr->wr.atomic.swap == 0x4000);
	}
}

static void
burst_is_one_post_a_chain(void **state)
{
	int err = 0;

	assert_int_equal(post(PLX_POST_BURST, PLX_OPCODE_SEND, &err), PLX_POST_BURST);
	assert_int_equal(provider.nb_calls, 1);
	provider_reset(state);
	assert_int_equal(post(PLX_POST_BURST + 1, PLX_OPCODE_SEND, &err), PLX_POST_BURST + 1);
	assert_int_equal(provider.nb_calls, 2);
	for (unsigned int i = 0; i < provider.nb_wrs; i++)
		assert_int_equal(provider.wrs[i].wr_id, i);
	provider_reset(state);
	assert_int_equal(post(0, PLX_OPCODE_SEND, &err), 0);
	assert_int_equal(provider.nb_calls, 0);
}

/* case 2.13 */
static void
what_fits_is_counted_also_across_chains(void **state)
{
	for (unsigned int room = 0; room < 70; room++) {
		int err = 0;

		provider_reset(state);
		provider.room = room;
		assert_int_equal(post(70, PLX_OPCODE_SEND, &err), room);
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(provider.nb_calls, room / PLX_POST_BURST + 1); /* and no try behind it */
	}
}

/* case 1.12 */
static void
each_way_to_fail_is_minus_errno(void **state)
{
	const struct {
		int ret, set_errno, want;
	} rows[] = {{ENOMEM, 0, -ENOMEM}, {-ENOMEM, 0, -ENOMEM}, {-1, ENOMEM, -ENOMEM}, {-1, 0, -EIO},
		{EINVAL, ENOMEM, -EINVAL}};

	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		int err = 0;

		provider_reset(state);
		provider.room = 2;
		provider.ret = rows[i].ret;
		provider.set_errno = rows[i].set_errno;
		assert_int_equal(post(5, PLX_OPCODE_SEND, &err), 2);
		assert_int_equal(err, rows[i].want);
	}
}

/* case 2.13: bad_wr left NULL is "the first one failed" */
static void
unnamed_bad_wr_means_nothing_was_posted(void **state)
{
	int err = 0;

	provider.room = 3;
	provider.names_bad_wr = false;
	assert_int_equal(post(5, PLX_OPCODE_SEND, &err), 0);
	assert_int_equal(err, -ENOMEM);
}

static void
missing_kind_breaks_the_chain_off(void **state)
{
	const struct plx_wr *ptrs[6];
	struct plx_wr wrs[6];
	int err = 0;

	wrs_make(wrs, ptrs, 6, PLX_OPCODE_WRITE);
	wrs[4].opcode = PLX_OPCODE_BIND_MW;
	assert_int_equal(plx_qp_post_send(&qp.base, ptrs, 6, &err), 4);
	assert_int_equal(err, -ENOTSUP);
	assert_int_equal(provider.nb_wrs, 4);
	assert_int_equal(provider.nb_calls, 1);

	/* An earlier failure of the provider is the one that counts. */
	provider_reset(state);
	provider.room = 2;
	assert_int_equal(plx_qp_post_send(&qp.base, ptrs, 6, &err), 2);
	assert_int_equal(err, -ENOMEM);
}

/* case 2.12 */
static void
qp_that_is_not_up_posts_nothing(void **state)
{
	const enum ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR};

	for (unsigned int i = 0; i < NB_OF(states); i++) {
		int err = 0;

		ibv_qp.state = states[i];
		assert_int_equal(post(1, PLX_OPCODE_SEND, &err), 0);
		assert_int_equal(err, -EINVAL);
	}
	assert_int_equal(provider.nb_calls, 0);
}

static void
receives_are_counted_the_same_way(void **state)
{
	const struct plx_wr *ptrs[40];
	struct plx_wr wrs[40];
	int err = 0;

	wrs_make(wrs, ptrs, 40, PLX_OPCODE_RECV);
	assert_int_equal(plx_qp_post_recv(&qp.base, ptrs, 40, &err), 40);
	assert_int_equal(provider.nb_calls, 2);
	provider_reset(state);
	provider.room = 35;
	assert_int_equal(plx_qp_post_recv(&qp.base, ptrs, 40, &err), 35);
	assert_int_equal(err, -ENOMEM);
}

static void
poll_asks_once_unless_there_is_more(void **state)
{
	struct plx_wc wcs[SEEN_MAX];

	provider.wc = (struct ibv_wc){.wr_id = 9, .qp_num = 3, .opcode = IBV_WC_SEND};
	provider.nb_wcs = 5;
	assert_int_equal(plx_cq_poll(&cq.base, wcs, PLX_POLL_BURST), 5);
	assert_int_equal(provider.nb_calls, 1);
	assert_true(wcs[4].wr_id == 9 && wcs[4].qp_num == 3);
	provider_reset(state);
	provider.nb_wcs = 70;
	assert_int_equal(plx_cq_poll(&cq.base, wcs, 100), 70);
	assert_int_equal(provider.nb_calls, 3);
}

/** What was taken before the CQ died is not lost. */
static void
dead_cq_is_told_after_what_it_had(void **state)
{
	struct plx_wc wcs[SEEN_MAX];

	provider.nb_wcs = PLX_POLL_BURST;
	provider.poll_ret = -1;
	assert_int_equal(plx_cq_poll(&cq.base, wcs, 100), PLX_POLL_BURST);
	assert_int_equal(plx_cq_poll(&cq.base, wcs, 100), -EIO);
}

#define fast_test(f) cmocka_unit_test_setup(f, provider_reset)

static const struct CMUnitTest tests[] = {
	fast_test(each_flag_reaches_the_provider_alone),
	fast_test(each_kind_is_translated_with_its_fields),
	fast_test(burst_is_one_post_a_chain),
	fast_test(what_fits_is_counted_also_across_chains),
	fast_test(each_way_to_fail_is_minus_errno),
	fast_test(unnamed_bad_wr_means_nothing_was_posted),
	fast_test(missing_kind_breaks_the_chain_off),
	fast_test(qp_that_is_not_up_posts_nothing),
	fast_test(receives_are_counted_the_same_way),
	fast_test(poll_asks_once_unless_there_is_more),
	fast_test(dead_cq_is_told_after_what_it_had),
};

PLX_TEST_SUITE(verbs, fast, tests);
