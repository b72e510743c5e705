/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Registration: what becomes of keys and rights, and what a failure says.
 */

#include "contract_objects.h"

#include <errno.h>
#include <linux/capability.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_log.h>

#include <plx_pin.h>

#define LEN 8192u

/* ---- keys and rights ----------------------------------------------------------------------- */

#define NB_RECENT 16

/** case 8.10: a key that a peer still has must not open what was registered since. */
static void
key_is_not_used_again_at_once(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);
	uint32_t recent[NB_RECENT] = {0};

	for (unsigned int i = 0; i < 4 * NB_RECENT; i++) {
		struct plx_mr *mr = objects_mr(objs, pd, buf, LEN, contract_rights());

		for (unsigned int k = 0; k < NB_RECENT; k++)
			assert_int_not_equal(mr->rkey, recent[k]);
		recent[i % NB_RECENT] = mr->rkey;
		objects_drop_mr(objs, mr);
	}
}

/** case 8.11 */
static void
more_rights_over_the_same_memory_are_a_region_of_their_own(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);
	struct plx_mr *less = objects_mr(objs, pd, buf, LEN, PLX_ACCESS_REMOTE_READ);
	struct plx_mr *more = objects_mr(objs, pd, buf, LEN, contract_rights());

	assert_int_equal(less->rights, PLX_ACCESS_REMOTE_READ);
	assert_int_equal(more->rights, contract_rights());
	assert_int_not_equal(less->rkey, more->rkey);
}

static unsigned long
nb_rounds(void)
{
	if (contract_has_flag(PLX_CAP_PINS))
		return plx_test_scale() / 100; /* a kernel's business each */
	return plx_test_scale() / 10;
}

static void
register_once(struct plx_pd *pd, void *buf)
{
	struct plx_mr *mr = plx_mr_register(pd, buf, LEN, contract_rights());

	assert_non_null(mr);
	assert_int_equal(plx_mr_deregister(mr), 0);
}

static void
rounds_of_registration_leave_nothing(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);
	struct plx_pin before, after;
	size_t heap;

	for (unsigned int i = 0; i < 100; i++) /* what is made once */
		register_once(pd, buf);
	heap = mallinfo2().uordblks;
	plx_pin_query(&before);
	for (unsigned long i = 0; i < nb_rounds(); i++)
		register_once(pd, buf);
	plx_pin_query(&after);
	assert_true(mallinfo2().uordblks <= heap + 4096);
	assert_int_equal(after.pinned, before.pinned);
	assert_int_equal(pd->nb_mrs, 0);
}

/** case 8.6: a source needs no right to be written. */
static void
memory_that_cannot_be_written_is_a_source_and_no_target(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	void *ro = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(ro != MAP_FAILED);
	objects_drop_mr(objs, objects_mr(objs, pd, ro, LEN, 0));
	objects_drop_mr(objs, objects_mr(objs, pd, ro, LEN, PLX_ACCESS_REMOTE_READ));
	if (contract_has_flag(PLX_CAP_PINS)) {
		rte_errno = 0;
		assert_null(plx_mr_register(pd, ro, LEN, PLX_ACCESS_LOCAL_WRITE));
		assert_int_equal(rte_errno, EFAULT);
	}
	munmap(ro, LEN);
}

/* ---- dma-buf ------------------------------------------------------------------------------- */

static void
dmabuf_is_refused_where_the_device_has_none(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);

	rte_errno = 0;
	assert_null(plx_mr_register_dmabuf(pd, -1, 0, 4096, 0, PLX_ACCESS_LOCAL_WRITE));
	assert_int_equal(rte_errno, contract_has_flag(PLX_CAP_DMABUF) ? EINVAL : ENOTSUP);
	assert_int_equal(pd->nb_mrs, 0);
}

/* ---- RLIMIT_MEMLOCK ------------------------------------------------------------------------ */

#define LIMIT	 65536u
#define TOO_MUCH (1u << 20)

/** The log of the calls in between, and a limit that counts: CAP_IPC_LOCK is laid down. */
struct locked {
	FILE *log, *log_before;
	char *text;
	size_t text_len;
	struct rlimit limit;
	struct __user_cap_data_struct caps[2];
};

static void
caps_call(long nr, struct __user_cap_data_struct caps[2])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	assert_int_equal(syscall(nr, &header, caps), 0);
}

static void
locked_begin(struct locked *locked)
{
	struct __user_cap_data_struct caps[2];
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &locked->limit), 0);
	limit = (struct rlimit){LIMIT, locked->limit.rlim_max};
	caps_call(SYS_capget, locked->caps);
	memcpy(caps, locked->caps, sizeof(caps));
	caps[0].effective &= ~(1u << CAP_IPC_LOCK);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	caps_call(SYS_capset, caps);
	locked->log_before = rte_log_get_stream();
	locked->log = open_memstream(&locked->text, &locked->text_len);
	rte_openlog_stream(locked->log);
}

/** Everything as it was; what was logged is in text, to be freed. */
static void
locked_end(struct locked *locked)
{
	rte_openlog_stream(locked->log_before);
	fclose(locked->log);
	caps_call(SYS_capset, locked->caps);
	setrlimit(RLIMIT_MEMLOCK, &locked->limit);
	printf("%s", locked->text);
}

/** case 8.4 */
static void
lock_limit_is_named_with_its_numbers(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, TOO_MUCH);
	struct locked locked;
	struct plx_mr *mr;
	int err;

	locked_begin(&locked);
	rte_errno = 0;
	mr = plx_mr_register(pd, buf, TOO_MUCH, PLX_ACCESS_LOCAL_WRITE);
	err = rte_errno;
	locked_end(&locked);
	if (contract_has_flag(PLX_CAP_PINS)) {
		assert_null(mr);
		assert_int_equal(err, ENOMEM);
		assert_non_null(strstr(locked.text, "Needed 1048576"));
		assert_non_null(strstr(locked.text, "RLIMIT_MEMLOCK 65536"));
		assert_non_null(strstr(locked.text, "ulimit -l"));
	} else { /* nothing is pinned, no limit counts */
		assert_non_null(mr);
		assert_int_equal(plx_mr_deregister(mr), 0);
	}
	free(locked.text);
}

/** case 8.4: and before anything has been registered. */
static void
lock_limit_is_told_beforehand(void **state)
{
	struct locked locked;
	int fits, too_much;

	locked_begin(&locked);
	fits = plx_pin_check(contract.dev, 4096);
	too_much = plx_pin_check(contract.dev, TOO_MUCH);
	locked_end(&locked);
	assert_int_equal(fits, 0);
	assert_int_equal(too_much, contract_has_flag(PLX_CAP_PINS) ? -ENOMEM : 0);
	if (too_much != 0) {
		assert_non_null(strstr(locked.text, "1048576 bytes cannot be pinned: RLIMIT_MEMLOCK is 65536"));
		assert_non_null(strstr(locked.text, "ulimit -l"));
	}
	free(locked.text);
}

/** The limit of the two tests above is one that counts what is registered, and nothing else. */
static void
small_regions_fit_below_the_lock_limit(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	uint8_t *buf = objects_buf(objs, LEN);
	struct locked locked;
	struct plx_mr *mr;

	locked_begin(&locked);
	mr = plx_mr_register(pd, buf, LEN, PLX_ACCESS_LOCAL_WRITE);
	locked_end(&locked);
	free(locked.text);
	assert_non_null(mr);
	assert_int_equal(plx_mr_deregister(mr), 0);
}

#define objects_test(f) cmocka_unit_test_setup_teardown(f, objects_setup, objects_teardown)

const struct CMUnitTest register_tests[] = {
	objects_test(key_is_not_used_again_at_once),
	objects_test(more_rights_over_the_same_memory_are_a_region_of_their_own),
	objects_test(rounds_of_registration_leave_nothing),
	objects_test(memory_that_cannot_be_written_is_a_source_and_no_target),
	objects_test(dmabuf_is_refused_where_the_device_has_none),
	objects_test(lock_limit_is_named_with_its_numbers),
	cmocka_unit_test(lock_limit_is_told_beforehand),
	objects_test(small_regions_fit_below_the_lock_limit),
};
const size_t nb_register_tests = NB_OF(register_tests);
