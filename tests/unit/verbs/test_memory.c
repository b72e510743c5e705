/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Registration, with a libibverbs of the test's own: what it is asked for, and what is said of its failures.
 * Fork protection that fails on hugepages cannot be had on a kernel of today, so here it is played.
 */

#include <plx_test.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

#include "verbs_impl.h"

static struct fake {
	unsigned int access; /**< asked for last */
	uint64_t offset, iova;
	int fd;
	int fail; /**< errno of the next registration */
	enum ibv_fork_status fork;
	struct ibv_mr mr;
} fake;

static struct ibv_mr *
fake_made(unsigned int access)
{
	fake.access = access;
	errno = fake.fail;
	return fake.fail == 0 ? &fake.mr : NULL;
}

struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	return fake_made(access);
}

struct ibv_mr *
ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	fake.offset = offset;
	fake.iova = iova;
	fake.fd = fd;
	return fake_made((unsigned int)access);
}

int
ibv_dereg_mr(struct ibv_mr *mr)
{
	return mr == &fake.mr ? 0 : EINVAL;
}

enum ibv_fork_status
ibv_is_fork_initialized(void)
{
	return fake.fork;
}

static struct verbs_device dev;
static struct verbs_pd pd = {.base = {.dev = &dev.base}};
static _Alignas(4096) char buf[8192];
static FILE *log_stream, *log_before;
static char *text;
static size_t text_len;

static int
device_make(void **state)
{
	memset(&fake, 0, sizeof(fake));
	memset(&dev, 0, sizeof(dev));
	fake.mr.lkey = 7;
	fake.mr.rkey = 0xffffffff;
	plx_device_init(&dev.base, &plx_verbs_driver, "fake0");
	dev.base.caps.max_mr_size = UINT64_MAX;
	dev.base.caps.max_mr = 1234;
	dev.base.caps.flags = PLX_CAP_PINS | PLX_CAP_DMABUF;
	unsetenv("RDMAV_FORK_SAFE");
	unsetenv("IBV_FORK_SAFE");
	unsetenv("RDMAV_HUGEPAGES_SAFE");
	log_before = rte_log_get_stream();
	log_stream = open_memstream(&text, &text_len);
	return log_stream == NULL ? -1 : rte_openlog_stream(log_stream);
}

static int
device_gone(void **state)
{
	rte_openlog_stream(log_before);
	fclose(log_stream);
	free(text);
	return pd.base.nb_mrs == 0 ? 0 : -1;
}

/** What is logged of a registration that fails with @p err. */
static const char *
failed_with(int err)
{
	size_t before = (fflush(log_stream), text_len);

	fake.fail = err;
	rte_errno = 0;
	assert_null(plx_mr_register(&pd.base, buf + 10, 4096, PLX_ACCESS_LOCAL_WRITE));
	assert_int_equal(rte_errno, err);
	fflush(log_stream);
	return text + before;
}

static unsigned int
access_of(uint32_t rights)
{
	struct plx_mr *mr = plx_mr_register(&pd.base, buf, sizeof(buf), rights);

	assert_non_null(mr);
	assert_int_equal(mr->rights, rights);
	assert_int_equal(mr->rkey, 0xffffffff);
	assert_int_equal(plx_mr_deregister(mr), 0);
	return fake.access;
}

static void
rights_are_asked_for_as_they_are(void **state)
{
	assert_int_equal(access_of(0), 0);
	assert_int_equal(access_of(PLX_ACCESS_LOCAL_WRITE), IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(access_of(PLX_ACCESS_REMOTE_READ), IBV_ACCESS_REMOTE_READ);
	assert_int_equal(access_of(PLX_ACCESS_ALL), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
}

/* case 8.7 */
static void
iwarp_adds_remote_write_where_a_read_may_land(void **state)
{
	dev.iwarp = true;
	assert_int_equal(access_of(PLX_ACCESS_LOCAL_WRITE), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(access_of(0), 0);
	assert_int_equal(access_of(PLX_ACCESS_REMOTE_READ), IBV_ACCESS_REMOTE_READ);
}

/* case 8.3 */
static void
fork_protection_is_named_only_when_it_is_on(void **state)
{
	const char *hint = "RDMAV_HUGEPAGES_SAFE=1";

	assert_null(strstr(failed_with(EINVAL), hint));
	setenv("RDMAV_FORK_SAFE", "1", 1);
	assert_non_null(strstr(failed_with(EINVAL), hint));
	setenv("RDMAV_HUGEPAGES_SAFE", "1", 1);
	assert_null(strstr(failed_with(EINVAL), hint));
	unsetenv("RDMAV_FORK_SAFE");
	unsetenv("RDMAV_HUGEPAGES_SAFE");
	fake.fork = IBV_FORK_ENABLED; /* ibv_fork_init() was called */
	assert_non_null(strstr(failed_with(EINVAL), hint));
	fake.fork = IBV_FORK_UNNEEDED;
	assert_null(strstr(failed_with(EINVAL), hint));
}

static void
failure_has_its_numbers(void **state)
{
	const char *said = failed_with(ENOSPC);

	assert_non_null(strstr(said, "of 4096 bytes"));
	assert_non_null(strstr(said, "Needed 8192")); /* two pages */
	assert_non_null(strstr(said, "max_mr 1234"));
	assert_non_null(strstr(failed_with(EFAULT), "read-only"));
}

static void
dmabuf_is_registered_by_its_offset_and_address(void **state)
{
	struct plx_mr *mr = plx_mr_register_dmabuf(&pd.base, 33, 65536, 4096, 0x7000000000, PLX_ACCESS_ALL);

	assert_non_null(mr);
	assert_int_equal(fake.fd, 33);
	assert_int_equal(fake.offset, 65536);
	assert_int_equal(fake.iova, 0x7000000000);
	assert_int_equal((uintptr_t)mr->addr, 0x7000000000);
	assert_int_equal(mr->len, 4096);
	assert_int_equal(pd.base.nb_mrs, 1);
	assert_int_equal(plx_mr_deregister(mr), 0);
}

static void
dmabuf_that_makes_no_sense_is_refused(void **state)
{
	static const struct {
		int fd;
		uint64_t offset, len, iova;
		uint32_t rights;
		int err;
	} rows[] = {
		{-1, 0, 4096, 0, 0, EINVAL},
		{3, 0, 0, 0, 0, EINVAL},
		{3, 0, 4096, 0, PLX_ACCESS_REMOTE_WRITE, EINVAL},
		{3, UINT64_MAX - 4095, 4096, 0, 0, ERANGE},
		{3, 0, 4096, UINT64_MAX - 4095, 0, ERANGE},
	};

	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		rte_errno = 0;
		assert_null(plx_mr_register_dmabuf(&pd.base, rows[i].fd, rows[i].offset, rows[i].len, rows[i].iova,
			rows[i].rights));
		assert_int_equal(rte_errno, rows[i].err);
	}
	fake.fail = EBADF;
	assert_null(plx_mr_register_dmabuf(&pd.base, 3, 0, 4096, 0, 0));
	assert_int_equal(rte_errno, EBADF);
	dev.base.caps.flags = PLX_CAP_PINS;
	assert_null(plx_mr_register_dmabuf(&pd.base, 3, 0, 4096, 0, 0));
	assert_int_equal(rte_errno, ENOTSUP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, device_make, device_gone)

static const struct CMUnitTest tests[] = {
	TEST(rights_are_asked_for_as_they_are),
	TEST(iwarp_adds_remote_write_where_a_read_may_land),
	TEST(fork_protection_is_named_only_when_it_is_on),
	TEST(failure_has_its_numbers),
	TEST(dmabuf_is_registered_by_its_offset_and_address),
	TEST(dmabuf_that_makes_no_sense_is_refused),
};

PLX_TEST_SUITE(verbs, memory, tests);
