/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "kinds.h"

#include "plx_drivers.h"

struct kinds kinds;

/* ---- making -------------------------------------------------------------------------------- */

static void
closed(struct plx_conn *conn, void *arg)
{
	kinds.nb_closed++;
}

static struct plx_conn *
conn_make(const struct kinds_conf *make)
{
	struct plx_conn_conf conf = {.group = kinds.group,
		.pd = kinds.pd,
		.cap = make->cap,
		.path = make->path,
		.home = OWNER,
		.drain_ms = 300,
		.closed_cb = closed};
	struct plx_conn *conn;

	conf.cap.inline_len = RTE_MIN(conf.cap.inline_len, plx_device_caps(kinds.dev)->max_inline);
	assert_non_null(conn = plx_conn_create(&conf));
	return conn;
}

struct kinds_conf
kinds_conf(void)
{
	struct kinds_conf conf = {.cap = {16, 16, 4, 4, 64}, .nb_cqe = 256};

	plx_qp_path_default(&conf.path);
	conf.path.rights = PLX_ACCESS_REMOTE;
	return conf;
}

/** A CQ that both connections fit into, with nothing to spare. */
static uint32_t
cqes(const struct kinds_conf *conf)
{
	struct plx_qp_cap cap = conf->cap;

	if (conf->nb_cqe != 0)
		return conf->nb_cqe;
	cap.inline_len = 0;
	assert_int_equal(plx_qp_limits(kinds.dev, &cap), 0);
	return 2 * plx_conn_cqes(&cap);
}

void
kinds_open(const char *spec, const struct kinds_conf *conf)
{
	static const unsigned int owner = OWNER;
	struct plx_control_conf control = {.lcores = &owner, .nb_lcores = 1};
	struct plx_dispatcher_conf d = {.name = "kinds", .owner = OWNER, .pool = {.nb_ops = 128, .socket_id = -1}};
	struct plx_conn_group_conf group = {.name = "kinds"};
	struct plx_qp_addr addr_a, addr_b;

	memset(&kinds, 0, sizeof(kinds));
	assert_non_null(kinds.dev = plx_device_open(spec));
	assert_non_null(kinds.pd = plx_pd_create(kinds.dev));
	assert_non_null(kinds.mem = plx_region_alloc(kinds.pd, BYTES, PLX_ACCESS_ALL));
	assert_non_null(kinds.cq = plx_cq_create(kinds.dev, cqes(conf)));
	assert_non_null(kinds.control = plx_control_create(&control));
	assert_non_null(kinds.d = plx_dispatcher_create(&d));
	group.dispatcher = kinds.d;
	group.cq = kinds.cq;
	group.control = kinds.control;
	assert_non_null(kinds.group = plx_conn_group_create(&group));
	kinds.a = conn_make(conf);
	kinds.b = conn_make(conf);
	assert_int_equal(plx_conn_local_attr(kinds.a, &addr_a), 0);
	assert_int_equal(plx_conn_local_attr(kinds.b, &addr_b), 0);
	assert_int_equal(plx_conn_bring_up(kinds.a, &addr_b), 0);
	assert_int_equal(plx_conn_bring_up(kinds.b, &addr_a), 0);
	kinds.remote = plx_remote_of_region(kinds.mem);
	kinds.was = plx_test_as_lcore(OWNER);
}

void
kinds_turn(void)
{
	assert_true(plx_poll(kinds.cq, kinds.d) >= 0);
	plx_dispatcher_once(kinds.d);
	plx_conn_group_once(kinds.group);
}

void
kinds_close(void)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(10000000000);

	plx_conn_close(kinds.a);
	plx_conn_close(kinds.b);
	while (kinds.nb_closed < 2 && plx_clock_monotonic_ns() < end)
		kinds_turn();
	assert_int_equal(plx_conn_destroy(kinds.a), 0);
	assert_int_equal(plx_conn_destroy(kinds.b), 0);
	plx_test_as_lcore(kinds.was);
	assert_int_equal(plx_conn_group_destroy(kinds.group), 0);
	assert_int_equal(plx_cq_destroy(kinds.cq), 0);
	assert_int_equal(plx_op_pool_in_use(kinds.d->pool), 0);
	assert_int_equal(plx_dispatcher_destroy(kinds.d), 0);
	assert_int_equal(plx_control_destroy(kinds.control), 0);
	assert_int_equal(plx_region_destroy(kinds.mem), 0);
	assert_int_equal(plx_pd_destroy(kinds.pd), 0);
	assert_int_equal(plx_device_close(kinds.dev), 0);
}

int
kinds_make(void **state)
{
	struct kinds_conf conf = kinds_conf();

	kinds_open(plx_test_device(), &conf);
	return 0;
}

int
kinds_unmake(void **state)
{
	kinds_close();
	return 0;
}

int
kinds_drivers(void **state)
{
	return plx_drivers_register();
}

/* ---- ops ----------------------------------------------------------------------------------- */

bool
kinds_has(unsigned int opcode)
{
	return plx_device_caps(kinds.dev)->kinds & PLX_KIND(opcode);
}

uint8_t *
kinds_at(size_t off)
{
	return (uint8_t *)kinds.mem->addr + off;
}

struct plx_view
kinds_view(size_t off, size_t len)
{
	struct plx_view v;

	assert_int_equal(plx_region_view(kinds.mem, off, len, &v), 0);
	return v;
}

struct plx_op *
kinds_op(void)
{
	struct plx_op *op = plx_op_get(kinds.d->pool);

	assert_non_null(op);
	return op;
}

struct plx_result
kinds_wait(const struct plx_op *op, enum plx_status status)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(10000000000);
	struct plx_result res;

	while (!plx_op_is_done(op)) {
		kinds_turn();
		if (plx_clock_monotonic_ns() > end)
			fail_msg("%s did not complete", plx_opcode_name(op->wr.opcode));
	}
	plx_op_result(op, &res);
	if (res.status != status)
		fail_msg("%s ended as %s, vendor 0x%x", plx_opcode_name(op->wr.opcode), plx_status_name(res.status), res.vendor_err);
	return res;
}

struct plx_result
kinds_run(struct plx_conn *conn, struct plx_op *op)
{
	struct plx_result res;

	assert_int_equal(plx_conn_submit(conn, op), 0);
	res = kinds_wait(op, PLX_ST_SUCCESS);
	assert_int_equal(plx_op_put(op), 0);
	return res;
}
