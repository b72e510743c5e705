/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "toy.h"

static struct plx_device *dev;
static struct plx_pd *pd;
static struct plx_cq *cq;
static uint8_t memory[64];

static int
setup(void **state)
{
	plx_device_register(&toy_driver);
	dev = plx_device_open("toy0");
	pd = plx_pd_create(dev);
	cq = plx_cq_create(dev, 64);
	return 0;
}

static int
teardown(void **state)
{
	toy.busy = 0;
	assert_int_equal(plx_cq_destroy(cq), 0);
	assert_int_equal(plx_pd_destroy(pd), 0);
	assert_int_equal(plx_device_close(dev), 0);
	return 0;
}

static struct plx_qp_conf
conf_of(struct plx_qp_cap cap)
{
	return (struct plx_qp_conf){.send_cq = cq, .recv_cq = cq, .cap = cap};
}

static void
destroying_null_is_harmless(void **state)
{
	assert_int_equal(plx_qp_destroy(NULL), 0);
	assert_int_equal(plx_cq_destroy(NULL), 0);
	assert_int_equal(plx_mr_deregister(NULL), 0);
	assert_int_equal(plx_pd_destroy(NULL), 0);
	assert_int_equal(plx_device_close(NULL), 0);
}

/** What is left out of a driver's fast table refuses; the slots that are there stay. */
static uint16_t
post_some(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	return n;
}

static void
an_empty_slot_of_a_drivers_table_refuses(void **state)
{
	static const struct plx_fast_ops only_sends = {.post_send = post_some};
	struct plx_qp_conf conf = conf_of((struct plx_qp_cap){.send_depth = 1});
	struct plx_qp *qp;
	int err = 0;

	assert_int_equal(plx_cq_poll(cq, NULL, 1), -ENOTSUP); /* the toy's CQ has no table at all */
	toy.qp.fast = &only_sends;
	qp = plx_qp_create(pd, &conf);
	assert_int_equal(plx_qp_post_send(qp, NULL, 3, &err), 3);
	assert_int_equal(plx_qp_post_recv(qp, NULL, 3, &err), 0);
	assert_int_equal(err, -ENOTSUP);
	assert_int_equal(plx_qp_destroy(qp), 0);
	toy.qp.fast = NULL;
}

static void
each_incomplete_table_is_filled_once_and_too_many_are_refused(void **state)
{
	static const struct plx_fast_ops tables[PLX_DEVICE_FAST_TABLES]; /* one too many: the CQ's is there already */
	struct plx_qp_conf conf = conf_of((struct plx_qp_cap){.send_depth = 1});

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < PLX_DEVICE_FAST_TABLES - 1; i++) {
			toy.qp.fast = &tables[i];
			assert_int_equal(plx_qp_destroy(plx_qp_create(pd, &conf)), 0);
		}
	}
	toy.qp.fast = &tables[PLX_DEVICE_FAST_TABLES - 1];
	rte_errno = 0;
	assert_null(plx_qp_create(pd, &conf));
	assert_int_equal(rte_errno, ENOSPC);
	toy.qp.fast = NULL;
}

static void
what_is_in_use_is_not_destroyed(void **state)
{
	struct plx_qp_conf conf = conf_of((struct plx_qp_cap){.send_depth = 1});
	struct plx_mr *mr = plx_mr_register(pd, memory, sizeof(memory), 0);
	struct plx_qp *qp = plx_qp_create(pd, &conf);

	assert_int_equal(plx_device_close(dev), -EBUSY);
	assert_int_equal(plx_pd_destroy(pd), -EBUSY);
	assert_int_equal(plx_cq_destroy(cq), -EBUSY);
	assert_int_equal(plx_mr_deregister(mr), 0);
	assert_int_equal(plx_pd_destroy(pd), -EBUSY);
	assert_int_equal(plx_qp_destroy(qp), 0);
}

static void
what_the_driver_could_not_destroy_still_counts(void **state)
{
	struct plx_qp_conf conf = conf_of((struct plx_qp_cap){.send_depth = 1});
	struct plx_qp *qp = plx_qp_create(pd, &conf);

	toy.busy = -EIO;
	assert_int_equal(plx_qp_destroy(qp), -EIO);
	assert_int_equal(pd->nb_qps, 1);
	cq->nb_qps = 0;
	assert_int_equal(plx_cq_destroy(cq), -EIO);
	assert_int_equal(dev->nb_cqs, 1);
	cq->nb_qps = 2;
	toy.busy = 0;
	assert_int_equal(plx_cq_destroy(cq), -EBUSY);
	assert_int_equal(plx_qp_destroy(qp), 0);
}

/** Only the driver knows whether a -EIO means that it is gone, and says 0 then. */
static void
what_a_driver_says_of_a_destroy_holds_on_a_lost_device_too(void **state)
{
	struct plx_qp_conf conf = conf_of((struct plx_qp_cap){.send_depth = 1});
	struct plx_mr *mr = plx_mr_register(pd, memory, sizeof(memory), 0);
	struct plx_qp *qp = plx_qp_create(pd, &conf);
	struct plx_event event;

	toy.fatal = true;
	assert_int_equal(plx_device_next_event(dev, &event), 1);
	assert_true(plx_device_is_lost(dev));
	toy.busy = -EIO;
	assert_int_equal(plx_qp_destroy(qp), -EIO);
	assert_int_equal(plx_mr_deregister(mr), -EIO);
	assert_int_equal(pd->nb_qps + pd->nb_mrs, 2);
	toy.busy = 0;
	assert_int_equal(plx_qp_destroy(qp), 0);
	assert_int_equal(plx_mr_deregister(mr), 0);
}

static void
rights_and_ranges_of_memory_are_checked(void **state)
{
	const struct {
		void *addr;
		uint64_t len;
		uint32_t rights;
		int err;
	} bad[] = {
		{memory, 0, 0, EINVAL},
		{NULL, 8, 0, EINVAL},
		{memory, 8, 0x10, EINVAL},
		{memory, 8, PLX_ACCESS_REMOTE_WRITE, EINVAL},
		{memory, 8, PLX_ACCESS_REMOTE_ATOMIC | PLX_ACCESS_REMOTE_READ, EINVAL},
		{memory, (1 << 20) + 1, 0, ERANGE},
		{(void *)(UINTPTR_MAX - 6), 8, 0, ERANGE},
	};

	for (unsigned int i = 0; i < NB_OF(bad); i++) {
		rte_errno = 0;
		assert_null(plx_mr_register(pd, bad[i].addr, bad[i].len, bad[i].rights));
		assert_int_equal(rte_errno, bad[i].err);
	}
	assert_int_equal(plx_mr_deregister(plx_mr_register(pd, memory, 8, PLX_ACCESS_REMOTE_READ)), 0);
	assert_int_equal(plx_mr_deregister(plx_mr_register(pd, memory, 8, PLX_ACCESS_ALL)), 0);
}

static void
sizes_are_checked_against_their_limits(void **state)
{
	const struct plx_qp_cap bad[] = {{.send_depth = 17}, {.recv_depth = 17}, {.send_sge = 5}, {.recv_sge = 5},
		{.inline_len = 33}};
	const struct plx_qp_cap most = {16, 16, 4, 4, 32};
	struct plx_qp_conf conf;

	for (unsigned int i = 0; i < NB_OF(bad); i++) {
		conf = conf_of(bad[i]);
		assert_null(plx_qp_create(pd, &conf));
		assert_int_equal(rte_errno, EINVAL);
	}
	assert_null(plx_cq_create(dev, 0));
	assert_null(plx_cq_create(dev, 65));
	assert_int_equal(rte_errno, EINVAL);
	conf = conf_of(most);
	assert_int_equal(plx_qp_destroy(plx_qp_create(pd, &conf)), 0);
	conf = conf_of((struct plx_qp_cap){0});
	assert_int_equal(plx_qp_destroy(plx_qp_create(pd, &conf)), 0);
	assert_int_equal(toy.conf.cap.send_sge, 1);
	assert_int_equal(toy.conf.cap.recv_sge, 1);
}

static void
a_transport_that_is_not_advertised_is_refused(void **state)
{
	struct plx_qp_conf conf = conf_of((struct plx_qp_cap){.send_depth = 1});

	conf.transport = PLX_TRANSPORT_UD;
	assert_null(plx_qp_create(pd, &conf));
	assert_int_equal(rte_errno, ENOTSUP);
}

static void
a_cq_of_another_device_is_refused(void **state)
{
	struct plx_qp_conf conf = conf_of((struct plx_qp_cap){.send_depth = 1});
	struct plx_device other;
	struct plx_cq foreign = {.dev = &other};

	conf.recv_cq = &foreign;
	assert_null(plx_qp_create(pd, &conf));
	conf.recv_cq = NULL;
	assert_null(plx_qp_create(pd, &conf));
	assert_int_equal(rte_errno, EINVAL);
}

/* ---- ports, GIDs, paths -------------------------------------------------------------------- */

#define V4 .raw = {[10] = 0xff, [11] = 0xff, [12] = 10}

static void
the_default_gid_goes_by_type_never_by_index(void **state)
{
	struct plx_gid gid;

	toy.nb_gids = 4;
	toy.gids[0] = (struct plx_gid){.type = PLX_GID_ROCE_V1, V4};
	assert_int_equal(plx_gid_default(dev, 1, &gid), -ENOENT);
	toy.gids[1] = (struct plx_gid){.type = PLX_GID_ROCE_V2};
	assert_int_equal(plx_gid_default(dev, 1, &gid), 0);
	assert_int_equal(gid.index, 1);
	toy.gids[3] = (struct plx_gid){.type = PLX_GID_ROCE_V2, V4}; /* 2 is empty */
	assert_int_equal(plx_gid_default(dev, 1, &gid), 0);
	assert_int_equal(gid.index, 3);
	toy.ethernet = 0;
	assert_int_equal(plx_gid_default(dev, 1, &gid), -ENOENT);
	toy.gids[2] = (struct plx_gid){.type = PLX_GID_IB};
	assert_int_equal(plx_gid_default(dev, 1, &gid), 0);
	assert_int_equal(gid.index, 2);
	assert_string_equal(plx_gid_type_name(PLX_GID_ROCE_V2), "RoCE v2");
	assert_string_equal(plx_gid_type_name(99), "unknown");
}

static void
the_default_port_is_the_first_active_one(void **state)
{
	assert_int_equal(plx_port_default(dev), 1);
	toy.inactive = 1 << 1;
	assert_int_equal(plx_port_default(dev), 2);
	toy.inactive |= 1 << 2;
	assert_int_equal(plx_port_default(dev), -ENOENT);
}

static void
port_that_is_not_there_is_named_with_those_that_are(void **state)
{
	struct plx_port_attr attr;
	struct plx_gid gid;

	plx_test_refusal(plx_port_query(dev, 0, &attr), -EINVAL, "port 0 asked; it has 2, which count from 1");
	plx_test_refusal(plx_port_query(dev, 3, &attr), -EINVAL, "port 3 asked; it has 2");
	plx_test_refusal(plx_gid_query(dev, 0, 0, &gid), -EINVAL, "port 0 asked; it has 2");
	plx_test_refusal(plx_gid_query(dev, 3, 0, &gid), -EINVAL, "port 3 asked; it has 2");
	plx_test_refusal(plx_gid_default(dev, 3, &gid), -EINVAL, "port 3 asked; it has 2");
}

static const struct plx_qp_addr good_peer = {.qp_num = 5, .mtu = 1024, .rd_atomic = 3};

static struct plx_qp *
qp_make(void)
{
	struct plx_qp_conf conf = conf_of((struct plx_qp_cap){.send_depth = 1});

	toy.nb_gids = 1;
	toy.gids[0] = (struct plx_gid){.type = PLX_GID_ROCE_V2, V4};
	return plx_qp_create(pd, &conf);
}

static void
bring_up_resolves_the_path_and_cuts_rd_atomic(void **state)
{
	struct plx_qp *qp = qp_make();
	struct plx_qp_path path;

	plx_qp_path_default(&path);
	path.rights = PLX_ACCESS_REMOTE_READ;
	assert_int_equal(plx_qp_bring_up(qp, &path, &good_peer), 0);
	assert_int_equal(toy.path.port, 1);
	assert_int_equal(toy.path.gid_index, 0);
	assert_int_equal(toy.path.rd_atomic, 3); /* asked 16, the device has 8, the peer 3 */
	assert_int_equal(toy.path.timeout, 14);
	assert_int_equal(toy.path.retry_cnt, 6);
	assert_int_equal(toy.path.rnr_retry, 7);
	assert_int_equal(toy.path.min_rnr_timer, 12);
	assert_int_equal(toy.path.hop_limit, 64);
	assert_int_equal(qp->rights, PLX_ACCESS_REMOTE_READ);
	assert_int_equal(plx_qp_destroy(qp), 0);
}

static void
bad_paths_and_peers_are_refused(void **state)
{
	struct plx_qp *qp = qp_make();
	struct plx_qp_addr peer = good_peer;
	struct plx_qp_path def, path;

	plx_qp_path_default(&def);
#define REFUSED(field, value)                                                                                \
	do {                                                                                                 \
		path = def;                                                                                  \
		path.field = (value);                                                                        \
		assert_int_equal(plx_qp_bring_up(qp, &path, &good_peer), -EINVAL);                           \
	} while (0)
	REFUSED(rights, PLX_ACCESS_LOCAL_WRITE);
	REFUSED(timeout, 32);
	REFUSED(retry_cnt, 8);
	REFUSED(rnr_retry, 8);
	REFUSED(min_rnr_timer, 32);
	REFUSED(service_level, 16);
	REFUSED(port, 3);
	REFUSED(gid_index, 1);
	peer.mtu = 1000;
	plx_test_refusal(plx_qp_bring_up(qp, &def, &peer), -EINVAL, "mtu 1000 (256, 512, 1024, 2048 or 4096)");
	peer.mtu = 8192;
	assert_int_equal(plx_qp_bring_up(qp, &def, &peer), -EINVAL);
	peer = good_peer;
	peer.qp_num = 1 << 24;
	assert_int_equal(plx_qp_bring_up(qp, &def, &peer), -EINVAL);
	peer = good_peer;
	peer.psn = 1 << 24;
	plx_test_refusal(plx_qp_bring_up(qp, &def, &peer), -EINVAL, "psn 0x1000000 (24 bits)");
	dev->caps.flags = 0;
	assert_int_equal(plx_qp_bring_up(qp, &def, &good_peer), -ENOTSUP);
	assert_int_equal(plx_qp_destroy(qp), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
static const struct CMUnitTest tests[] = {
	T(destroying_null_is_harmless),
	T(an_empty_slot_of_a_drivers_table_refuses),
	T(each_incomplete_table_is_filled_once_and_too_many_are_refused),
	T(what_is_in_use_is_not_destroyed),
	T(what_the_driver_could_not_destroy_still_counts),
	T(what_a_driver_says_of_a_destroy_holds_on_a_lost_device_too),
	T(rights_and_ranges_of_memory_are_checked),
	T(sizes_are_checked_against_their_limits),
	T(a_transport_that_is_not_advertised_is_refused),
	T(a_cq_of_another_device_is_refused),
	T(the_default_gid_goes_by_type_never_by_index),
	T(the_default_port_is_the_first_active_one),
	T(bring_up_resolves_the_path_and_cuts_rd_atomic),
	T(port_that_is_not_there_is_named_with_those_that_are),
	T(bad_paths_and_peers_are_refused),
};

PLX_TEST_SUITE(device, device, tests);
