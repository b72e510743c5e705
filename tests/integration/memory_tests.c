/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "plx_test.h"

#include "plx_clock.h"
#include "plx_drivers.h"
#include "plx_export.h"
#include "plx_poller.h"
#include "plx_segment.h"

/**
 * @file
 * Memory from registration to the wire, on any device: one connection that is its own peer, run to completion by the
 * main lcore.
 */

#define LEN 65536u

static struct {
	struct plx_device *dev;
	struct plx_pd *pd;
	struct plx_cq *cq;
	struct plx_control *control;
	struct plx_dispatcher *d;
	struct plx_conn_group *group;
	struct plx_poller *poller;
	struct plx_conn *conn;
	struct plx_region *here, *there;
} rig;

static unsigned int owner;

static uint32_t
rights(void)
{
	return plx_device_caps(rig.dev)->kinds & PLX_KIND(PLX_OPCODE_FETCH_ADD) ? PLX_ACCESS_ALL
		: PLX_ACCESS_ALL & ~PLX_ACCESS_REMOTE_ATOMIC;
}

static void
conn_make(void)
{
	struct plx_conn_conf conf = {.group = rig.group, .pd = rig.pd, .home = owner};
	struct plx_qp_addr self;

	plx_qp_path_default(&conf.path);
	conf.path.rights = rights() & PLX_ACCESS_REMOTE;
	assert_non_null(rig.conn = plx_conn_create(&conf));
	assert_int_equal(plx_conn_local_attr(rig.conn, &self), 0);
	assert_int_equal(plx_conn_bring_up(rig.conn, &self), 0);
}

/** @p args are added to the name of the device. */
static void
rig_make(const char *args, uint64_t len)
{
	char spec[256];

	owner = rte_lcore_id();
	snprintf(spec, sizeof(spec), "%s%s", plx_test_device(), args);
	assert_non_null(rig.dev = plx_device_open(spec));
	assert_non_null(rig.pd = plx_pd_create(rig.dev));
	assert_non_null(rig.cq = plx_cq_create(rig.dev, 512));
	assert_non_null(rig.control = plx_control_create(&(struct plx_control_conf){.lcores = &owner, .nb_lcores = 1}));
	assert_non_null(rig.d = plx_dispatcher_create(&(struct plx_dispatcher_conf){
		.name = "memory", .owner = owner, .pool = {.nb_ops = 64, .socket_id = SOCKET_ID_ANY}}));
	assert_non_null(rig.group = plx_conn_group_create(&(struct plx_conn_group_conf){
		.name = "memory", .dispatcher = rig.d, .cq = rig.cq, .control = rig.control}));
	assert_non_null(rig.poller = plx_poller_create(&(struct plx_poller_conf){.name = "memory"}));
	assert_int_equal(plx_poller_add_cq(rig.poller, rig.cq, rig.d), 0);
	assert_int_equal(plx_poller_add_hook(rig.poller, plx_dispatcher_hook, rig.d), 0);
	assert_int_equal(plx_poller_add_hook(rig.poller, plx_conn_group_hook, rig.group), 0);
	assert_non_null(rig.here = plx_region_alloc(rig.pd, len, rights()));
	assert_non_null(rig.there = plx_region_alloc(rig.pd, len, rights()));
	conn_make();
}

static void
rig_break(void)
{
	assert_int_equal(plx_conn_close(rig.conn), 0);
	while (plx_conn_state(rig.conn) != PLX_CONN_CLOSED)
		plx_poller_once(rig.poller);
	assert_int_equal(plx_conn_destroy(rig.conn), 0);
	assert_int_equal(plx_poller_destroy(rig.poller), 0);
	assert_int_equal(plx_conn_group_destroy(rig.group), 0);
	assert_int_equal(plx_cq_destroy(rig.cq), 0);
	assert_int_equal(plx_dispatcher_destroy(rig.d), 0);
	assert_int_equal(plx_control_destroy(rig.control), 0);
	assert_int_equal(plx_region_destroy(rig.here), 0);
	assert_int_equal(plx_region_destroy(rig.there), 0);
	assert_int_equal(plx_pd_destroy(rig.pd), 0);
	assert_int_equal(plx_device_close(rig.dev), 0);
}

static void
fill(uint8_t *at, uint64_t len, unsigned int seed)
{
	for (uint64_t i = 0; i < len; i++)
		at[i] = (uint8_t)(seed + i + (i >> 8) * 7);
}

static struct plx_view
view_of(const struct plx_region *region, uint64_t off, uint64_t len)
{
	struct plx_view view;

	assert_int_equal(plx_region_view(region, off, len, &view), 0);
	return view;
}

/** Submit a prepared op and turn until it is done. Its status, or -errno of submit. */
static int
run_op(struct plx_op *op)
{
	uint64_t end = plx_clock_monotonic_ns() + UINT64_C(10000000000);
	int ret = plx_conn_submit(rig.conn, op);

	if (ret == 0) {
		while (!plx_op_is_done(op) && plx_clock_monotonic_ns() < end)
			plx_poller_once(rig.poller);
		assert_true(plx_op_is_done(op));
		ret = op->status;
	}
	assert_int_equal(plx_op_put(op), 0);
	return ret;
}

static int
run_write(const struct plx_view *from, const struct plx_remote *to, uint64_t off)
{
	struct plx_op *op = plx_op_get(rig.d->pool);

	plx_prep_write(op, from, to, off, NULL, NULL);
	return run_op(op);
}

static int
run_read(const struct plx_view *into, const struct plx_remote *from, uint64_t off)
{
	struct plx_op *op = plx_op_get(rig.d->pool);

	plx_prep_read(op, into, from, off, NULL, NULL);
	return run_op(op);
}

static struct plx_remote
sent_over(struct plx_region *region, const struct plx_view *part)
{
	struct plx_remote remote;
	struct plx_export out;
	uint64_t guid;

	assert_int_equal(plx_region_export(region, part, &out), 0);
	assert_int_equal(plx_remote_import(out.bytes, sizeof(out.bytes), &remote, &guid), 0);
	assert_int_equal(guid, plx_device_caps(rig.dev)->guid);
	return remote;
}

/* ---- exports ------------------------------------------------------------------------------- */

static void
imported_memory_is_written_and_read(void **state)
{
	struct plx_view from, into, part;
	struct plx_remote remote;

	rig_make("", LEN);
	part = view_of(rig.there, 4096, 8192);
	remote = sent_over(rig.there, &part);
	from = view_of(rig.here, 0, 1000);
	into = view_of(rig.here, 2000, 1000);
	fill(from.addr, 1000, 3);
	assert_int_equal(run_write(&from, &remote, 8192 - 1000), PLX_ST_SUCCESS);
	assert_memory_equal((char *)part.addr + 8192 - 1000, from.addr, 1000);
	assert_int_equal(run_read(&into, &remote, 8192 - 1000), PLX_ST_SUCCESS);
	assert_memory_equal(into.addr, from.addr, 1000);
	/* One byte further the region goes on, and the export does not. */
	assert_int_equal(run_write(&from, &remote, 8192 - 999), -ERANGE);
	assert_int_equal(plx_region_destroy(rig.there), -EBUSY);
	assert_int_equal(plx_region_release(rig.there), 0);
	rig_break();
}

static void
missing_rights_are_told_before_the_wire(void **state)
{
	struct plx_view from, reads, writes;
	struct plx_remote remote;

	rig_make("", LEN);
	from = view_of(rig.here, 0, 8);
	reads = view_of(rig.there, 0, LEN);
	writes = reads;
	reads.rights = PLX_ACCESS_REMOTE_READ;
	writes.rights = PLX_ACCESS_REMOTE_WRITE;
	remote = sent_over(rig.there, &reads);
	assert_int_equal(run_write(&from, &remote, 0), -EACCES);
	assert_int_equal(run_read(&from, &remote, 0), PLX_ST_SUCCESS);
	remote = sent_over(rig.there, &writes);
	assert_int_equal(run_read(&from, &remote, 0), -EACCES);
	assert_int_equal(run_write(&from, &remote, 0), PLX_ST_SUCCESS); /* nothing went wrong on the wire */
	assert_int_equal(plx_region_release(rig.there), 0);
	assert_int_equal(plx_region_release(rig.there), 0);
	rig_break();
}

/** An op of 8 bytes of @p kind on the first word of @p remote. */
static struct plx_op *
op_of(enum plx_opcode kind, const struct plx_view *word, const struct plx_remote *remote)
{
	struct plx_op *op = plx_op_get(rig.d->pool);

	assert_non_null(op);
	if (kind == PLX_OPCODE_WRITE)
		plx_prep_write(op, word, remote, 0, NULL, NULL);
	else if (kind == PLX_OPCODE_WRITE_IMM)
		plx_prep_write_imm(op, word, remote, 0, 1, NULL, NULL);
	else if (kind == PLX_OPCODE_READ)
		plx_prep_read(op, word, remote, 0, NULL, NULL);
	else if (kind == PLX_OPCODE_CMP_SWAP)
		plx_prep_cmp_swap(op, word, remote, 0, 0, 1, NULL, NULL);
	else
		plx_prep_fetch_add(op, word, remote, 0, 1, NULL, NULL);
	return op;
}

static void
each_kind_is_refused_without_the_right_that_it_needs(void **state)
{
	static const struct {
		enum plx_opcode kind;
		uint32_t needs;
	} rows[] = {
		{PLX_OPCODE_WRITE, PLX_ACCESS_REMOTE_WRITE},
		{PLX_OPCODE_WRITE_IMM, PLX_ACCESS_REMOTE_WRITE},
		{PLX_OPCODE_READ, PLX_ACCESS_REMOTE_READ},
		{PLX_OPCODE_CMP_SWAP, PLX_ACCESS_REMOTE_ATOMIC},
		{PLX_OPCODE_FETCH_ADD, PLX_ACCESS_REMOTE_ATOMIC},
	};
	struct plx_remote all, remote;
	struct plx_view word;

	rig_make("", LEN);
	word = view_of(rig.here, 0, 8);
	all = plx_remote_of_region(rig.there);
	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		bool has = plx_device_caps(rig.dev)->kinds & PLX_KIND(rows[i].kind);

		remote = all;
		remote.rights = PLX_ACCESS_REMOTE & ~rows[i].needs;
		assert_int_equal(run_op(op_of(rows[i].kind, &word, &remote)), has ? -EACCES : -ENOTSUP);
		remote = all;
		remote.rights = PLX_ACCESS_REMOTE;
		remote.len = 7;
		assert_int_equal(run_op(op_of(rows[i].kind, &word, &remote)), has ? -ERANGE : -ENOTSUP);
		remote = all;
		remote.rights = rows[i].needs; /* that one alone is enough */
		if (has && rows[i].kind != PLX_OPCODE_WRITE_IMM) /* it would wait for a receive */
			assert_int_equal(run_op(op_of(rows[i].kind, &word, &remote)), PLX_ST_SUCCESS);
	}
	rig_break();
}

/* case 8.10 */
static void
write_to_a_region_that_is_gone_fails_and_so_does_its_old_key_later(void **state)
{
	struct plx_view from;
	struct plx_remote stale;

	rig_make("", LEN);
	from = view_of(rig.here, 0, 8);
	stale = plx_remote_of_region(rig.there);
	assert_int_equal(plx_region_destroy(rig.there), 0);
	assert_non_null(rig.there = plx_region_alloc(rig.pd, LEN, rights()));
	assert_int_not_equal(rig.there->rkey, stale.rkey);
	assert_int_equal(run_write(&from, &stale, 0), PLX_ST_REM_ACCESS_ERR);
	assert_int_equal(plx_qp_query_state(rig.conn->qp), PLX_QP_ERR);
	rig_break();
}

/* ---- fork ---------------------------------------------------------------------------------- */

/** The status of a child that writes @p len bytes at @p at, and ends. */
static int
child_writes(void *at, size_t len)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL); /* cmocka would go on with the tests */
		memset(at, 0xee, len);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* case 8.1 */
static void
forked_child_neither_sees_nor_disturbs_what_is_registered(void **state)
{
	uint8_t *beside;
	struct plx_view from;
	struct plx_remote remote;
	FILE *pipe;
	int status;

	rig_make("", LEN);
	assert_non_null(beside = rte_zmalloc(NULL, 2048, 0)); /* half a page, next to the regions */
	from = view_of(rig.here, 0, LEN);
	remote = plx_remote_of_region(rig.there);
	assert_int_equal((uintptr_t)rig.there->addr % (unsigned int)sysconf(_SC_PAGESIZE), 0);
	assert_int_equal(child_writes(beside, 2048), 0);
	status = child_writes(rig.there->addr, LEN); /* its own copy, or nothing that is mapped */
	assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
	pipe = popen("exit 0", "r");
	assert_non_null(pipe);
	assert_int_equal(pclose(pipe), 0);
	fill(from.addr, LEN, 5);
	assert_int_equal(run_write(&from, &remote, 0), PLX_ST_SUCCESS);
	assert_memory_equal(rig.there->addr, from.addr, LEN);
	rte_free(beside);
	rig_break();
}

/* ---- segments ------------------------------------------------------------------------------ */

static unsigned int nb_done;

static void
segment_done(struct plx_segment *seg, void *arg)
{
	nb_done++;
}

static void
run_segment(enum plx_opcode opcode, uint64_t len)
{
	struct plx_segment_conf conf = {
		.conn = rig.conn,
		.opcode = opcode,
		.local = view_of(rig.here, 0, len),
		.remote = plx_remote_of_region(rig.there),
		.window = 3,
		.done_cb = segment_done,
	};
	struct plx_segment seg;

	nb_done = 0;
	assert_int_equal(plx_segment_start(&seg, &conf), 0);
	while (nb_done == 0)
		plx_poller_once(rig.poller);
	assert_int_equal(seg.status, PLX_ST_SUCCESS);
	assert_int_equal(plx_segment_moved(&seg), len);
	assert_int_equal(nb_done, 1);
}

/* case 8.8 */
static void
transfer_above_max_msg_sz_arrives_whole(void **state)
{
	bool ours = strncmp(plx_test_device(), "loopback", 8) == 0;
	struct plx_view view;
	struct plx_remote remote;
	uint64_t len, max;

	rig_make(ours ? ",max_msg_sz=8388608" : "", 9 << 20);
	max = rig.conn->max_msg_sz;
	len = 9 << 20;
	if (max < len) { /* one message is refused with the numbers, and takes nothing */
		view = view_of(rig.here, 0, max + 1);
		remote = plx_remote_of_region(rig.there);
		assert_int_equal(run_write(&view, &remote, 0), -EMSGSIZE);
	}
	fill(rig.here->addr, len, 1);
	run_segment(PLX_OPCODE_WRITE, len - 1);
	assert_memory_equal(rig.there->addr, rig.here->addr, len - 1);
	assert_int_equal(((uint8_t *)rig.there->addr)[len - 1], 0);
	memset(rig.here->addr, 0, len);
	run_segment(PLX_OPCODE_READ, len - 1);
	assert_memory_equal(rig.here->addr, rig.there->addr, len);
	run_segment(PLX_OPCODE_WRITE, 0);
	rig_break();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(imported_memory_is_written_and_read),
	cmocka_unit_test(missing_rights_are_told_before_the_wire),
	cmocka_unit_test(each_kind_is_refused_without_the_right_that_it_needs),
	cmocka_unit_test(write_to_a_region_that_is_gone_fails_and_so_does_its_old_key_later),
	cmocka_unit_test(forked_child_neither_sees_nor_disturbs_what_is_registered),
	cmocka_unit_test(transfer_above_max_msg_sz_arrives_whole),
};

static int
drivers(void **state)
{
	return plx_drivers_register();
}

PLX_TEST_SUITE(stack, memory, tests, .setup = drivers, .lcores = 1, .device = true, .caps = PLX_CAP_ATTR_EXCHANGE);
