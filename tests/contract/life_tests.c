/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A QP's life: made, brought up by attribute exchange, taken to error.
 */

#include "contract_pair.h"
#include "plx_addr.h"

#include <errno.h>
#include <string.h>

static void
state_is_told_through_life(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;
	int fresh;

	needs_connection();
	conf = pair_conf();
	conf.connect = false;
	pair_make(pair, contract.dev, &conf);
	fresh = plx_qp_query_state(pair->a.qp);
	assert_true(fresh == PLX_QP_RESET || fresh == PLX_QP_INIT);
	pair_connect(pair, &conf);
	assert_int_equal(plx_qp_query_state(pair->a.qp), PLX_QP_RTS);
	assert_int_equal(plx_qp_query_state(pair->b.qp), PLX_QP_RTS);
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	assert_int_equal(plx_qp_query_state(pair->a.qp), PLX_QP_ERR);
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	assert_int_equal(plx_qp_query_state(pair->a.qp), PLX_QP_ERR);
	assert_int_equal(plx_qp_query_state(pair->b.qp), PLX_QP_RTS);
}

static void
attribute_exchange_is_refused_where_it_is_not_advertised(void **state)
{
	struct pair *pair = *state;
	struct plx_qp_addr addr = {.qp_num = 2, .mtu = 1024};
	struct plx_qp_path path;

	plx_test_needs(!contract_has_flag(PLX_CAP_ATTR_EXCHANGE), "a device without attribute exchange");
	plx_qp_path_default(&path);
	assert_int_equal(plx_qp_local_addr(pair->a.qp, &path, &addr), -ENOTSUP);
	assert_int_equal(plx_qp_bring_up(pair->a.qp, &path, &addr), -ENOTSUP);
}

static void
bringing_up_twice_is_refused(void **state)
{
	struct pair *pair = *state;
	struct plx_qp_addr addr;
	struct plx_qp_path path;

	needs_connection();
	plx_qp_path_default(&path);
	assert_int_equal(plx_qp_local_addr(pair->b.qp, &path, &addr), 0);
	assert_int_equal(plx_qp_bring_up(pair->a.qp, &path, &addr), -EISCONN);
	assert_int_equal(plx_qp_query_state(pair->a.qp), PLX_QP_RTS);
}

static void
qp_in_error_does_not_come_up(void **state)
{
	struct pair *pair = *state;
	struct plx_qp_addr addr;
	struct plx_qp_path path;

	needs_connection();
	plx_qp_path_default(&path);
	assert_int_equal(plx_qp_local_addr(pair->b.qp, &path, &addr), 0);
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	assert_true(plx_qp_bring_up(pair->a.qp, &path, &addr) < 0);
	assert_int_equal(plx_qp_query_state(pair->a.qp), PLX_QP_ERR);
}

static void
address_tells_how_to_reach_the_qp(void **state)
{
	struct pair *pair = *state;
	struct plx_port_attr port;
	struct plx_qp_addr addr;
	struct plx_qp_path path;
	struct plx_gid gid;

	needs_connection();
	plx_qp_path_default(&path);
	assert_int_equal(plx_qp_local_addr(pair->a.qp, &path, &addr), 0);
	assert_int_equal(addr.port, plx_port_default(contract.dev));
	assert_int_equal(plx_port_query(contract.dev, addr.port, &port), 0);
	assert_int_equal(plx_gid_default(contract.dev, addr.port, &gid), 0);
	assert_int_equal(addr.qp_num, pair->a.qp->qp_num);
	assert_true(addr.psn <= 0xffffff);
	assert_int_equal(addr.mtu, port.mtu);
	assert_int_equal(addr.lid, port.lid);
	assert_int_equal(addr.gid_index, gid.index);
	assert_int_equal(addr.gid_type, gid.type);
	assert_memory_equal(addr.gid, gid.raw, sizeof(gid.raw));
	assert_int_equal(addr.guid, contract_caps()->guid);
	assert_true(addr.rd_atomic <= contract_caps()->max_rd_atomic);
}

/** Any channel may carry it: a QP comes up by what arrives, which is all that was sent. */
static void
address_that_travelled_as_bytes_brings_the_qp_up(void **state)
{
	struct pair *pair = *state;
	struct plx_qp_addr addr, arrived;
	struct pair_conf conf = pair_conf();
	struct plx_addr bytes;

	needs_connection();
	conf.connect = false;
	pair_make(pair, contract.dev, &conf);
	assert_int_equal(plx_qp_local_addr(pair->b.qp, &conf.path, &addr), 0);
	assert_int_equal(plx_qp_addr_export(&addr, &bytes), 0);
	assert_int_equal(plx_qp_addr_import(bytes.bytes, sizeof(bytes.bytes), &arrived), 0);
	assert_memory_equal(&arrived, &addr, sizeof(addr));
	assert_int_equal(plx_qp_bring_up(pair->a.qp, &conf.path, &arrived), 0);
	assert_int_equal(plx_qp_query_state(pair->a.qp), PLX_QP_RTS);
}

/** case 15.6 */
static void
bad_paths_are_refused(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;
	struct plx_qp_addr peer;
	struct plx_qp_path good;
	struct plx_qp_path bad[8];

	needs_connection();
	conf = pair_conf();
	conf.connect = false;
	pair_make(pair, contract.dev, &conf);
	good = conf.path;
	assert_int_equal(plx_qp_local_addr(pair->b.qp, &good, &peer), 0);
	for (unsigned int i = 0; i < NB_OF(bad); i++)
		bad[i] = good;
	bad[0].port = contract_caps()->nb_ports + 1;
	bad[1].gid_index = 1 << 20;
	bad[2].retry_cnt = 8;
	bad[3].rnr_retry = 8;
	bad[4].min_rnr_timer = 32;
	bad[5].timeout = 32;
	bad[6].rights = PLX_ACCESS_LOCAL_WRITE;
	bad[7].service_level = 16;
	for (unsigned int i = 0; i < NB_OF(bad); i++)
		assert_int_equal(plx_qp_bring_up(pair->a.qp, &bad[i], &peer), -EINVAL);
	pair_connect(pair, &conf); /* a refusal changes nothing */
}

static void
bad_peer_addresses_are_refused(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;
	struct plx_qp_addr good, bad;
	const uint32_t mtus[] = {0, 128, 1000, 1025, 8192};

	needs_connection();
	conf = pair_conf();
	conf.connect = false;
	pair_make(pair, contract.dev, &conf);
	assert_int_equal(plx_qp_local_addr(pair->b.qp, &conf.path, &good), 0);
	for (unsigned int i = 0; i < NB_OF(mtus); i++) {
		bad = good;
		bad.mtu = mtus[i];
		assert_int_equal(plx_qp_bring_up(pair->a.qp, &conf.path, &bad), -EINVAL);
	}
	bad = good;
	bad.qp_num = 1u << 24;
	assert_int_equal(plx_qp_bring_up(pair->a.qp, &conf.path, &bad), -EINVAL);
	pair_connect(pair, &conf);
}

/** case 15.4: each side is told of an MTU that is smaller than its own */
static void
smaller_mtu_than_the_ports_carries_all_sizes(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;
	struct plx_qp_addr a, b;

	needs_connection();
	conf = pair_conf();
	conf.connect = false;
	pair_make(pair, contract.dev, &conf);
	assert_int_equal(plx_qp_local_addr(pair->a.qp, &conf.path, &a), 0);
	assert_int_equal(plx_qp_local_addr(pair->b.qp, &conf.path, &b), 0);
	a.mtu = b.mtu = 256;
	assert_int_equal(plx_qp_bring_up(pair->a.qp, &conf.path, &b), 0);
	assert_int_equal(plx_qp_bring_up(pair->b.qp, &conf.path, &a), 0);
	for (uint32_t len = 255; len <= 257; len++) {
		struct plx_sge sge = side_sge(&pair->a, 0, len);
		struct plx_wr wr = wr_of(len, PLX_OPCODE_SEND, &sge, 1);

		fill(pair->a.buf, len, len);
		post_recv_at(&pair->b, len, 0, 4096);
		post_send(&pair->a, &wr);
		wait_ok(pair->a.cq, len);
		assert_int_equal(wait_ok(pair->b.cq, len).byte_len, len);
		expect_filled(pair->b.buf, len, len);
	}
}

/** case 11.2 */
static void
receives_may_be_posted_before_bring_up(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;
	struct plx_sge sge;
	struct plx_wr wr;

	needs_connection();
	conf = pair_conf();
	conf.connect = false;
	pair_make(pair, contract.dev, &conf);
	post_recv_at(&pair->b, 7, 0, 100);
	pair_connect(pair, &conf);
	fill(pair->a.buf, 100, 1);
	sge = side_sge(&pair->a, 0, 100);
	wr = wr_of(1, PLX_OPCODE_SEND, &sge, 1);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 1);
	assert_int_equal(wait_ok(pair->b.cq, 7).byte_len, 100);
	expect_filled(pair->b.buf, 100, 1);
}

/** case 2.12: what was reported as not posted never completes, also after the QP has come up */
static void
send_before_bring_up_is_refused_for_good(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf = pair_conf();
	const struct plx_wr *wrs[1];
	struct plx_sge sge;
	struct plx_wr wr;
	int err = 0;

	conf.connect = false;
	pair_make(pair, contract.dev, &conf);
	sge = side_sge(&pair->a, 0, 10);
	wr = wr_remote(1, PLX_OPCODE_SEND, &sge, 1, &pair->b, 0);
	wrs[0] = &wr;
	assert_int_equal(plx_qp_post_send(pair->a.qp, wrs, 1, &err), 0);
	assert_int_equal(err, -EINVAL);
	needs_connection();
	pair_connect(pair, &conf);
	post_recv_at(&pair->b, 2, 0, 100);
	wr.wr_id = 3;
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, 3);
	wait_ok(pair->b.cq, 2);
	expect_empty(pair->a.cq);
}

static void
error_before_bring_up_flushes_receives(void **state)
{
	struct pair *pair = *state;
	struct pair_conf conf;

	needs_connection();
	conf = pair_conf();
	conf.connect = false;
	pair_make(pair, contract.dev, &conf);
	post_recv_at(&pair->a, 1, 0, 100);
	post_recv_at(&pair->a, 2, 0, 100);
	assert_int_equal(plx_qp_to_error(pair->a.qp), 0);
	wait_wc(pair->a.cq, 1, PLX_ST_WR_FLUSH_ERR);
	wait_wc(pair->a.cq, 2, PLX_ST_WR_FLUSH_ERR);
	expect_empty(pair->a.cq);
}

const struct CMUnitTest life_tests[] = {
	pair_test_empty(state_is_told_through_life),
	pair_test(attribute_exchange_is_refused_where_it_is_not_advertised),
	pair_test(bringing_up_twice_is_refused),
	pair_test(qp_in_error_does_not_come_up),
	pair_test(address_tells_how_to_reach_the_qp),
	pair_test(address_that_travelled_as_bytes_brings_the_qp_up),
	pair_test_empty(bad_paths_are_refused),
	pair_test_empty(bad_peer_addresses_are_refused),
	pair_test_empty(smaller_mtu_than_the_ports_carries_all_sizes),
	pair_test_empty(receives_may_be_posted_before_bring_up),
	pair_test_empty(send_before_bring_up_is_refused_for_good),
	pair_test_empty(error_before_bring_up_flushes_receives),
};
const size_t nb_life_tests = NB_OF(life_tests);
