/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A use after put does not go unseen in an ASan build: each is planted in a child process, whose report is read.
 */

#include "plx_op_pool.h"

#include "plx_test.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifndef WITH_ASAN
#define WITH_ASAN 0
#endif

static struct plx_op_pool *pool;

static int
create(void **state)
{
	struct plx_op_pool_conf conf = {.name = "test", .nb_ops = 4, .priv_size = 32, .socket_id = SOCKET_ID_ANY};

	pool = plx_op_pool_create(&conf);
	return pool == NULL;
}

static int
destroy(void **state)
{
	return plx_op_pool_destroy(pool);
}

/* What the child says on stderr, and whether it died of it. */
static bool
report_of(void (*fault)(struct plx_op *op), char *report, size_t size)
{
	size_t len = 0;
	int out[2], status;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(out), 0);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		struct plx_op *op = plx_op_get(pool);

		dup2(out[1], STDERR_FILENO);
		plx_op_put(op);
		fault(op);
		_exit(0);
	}
	close(out[1]);
	while ((got = read(out[0], report + len, size - 1 - len)) > 0)
		len += (size_t)got;
	report[len] = '\0';
	close(out[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void
assert_seen(void (*fault)(struct plx_op *op))
{
	static char report[1 << 16];

	assert_true(report_of(fault, report, sizeof(report)));
	assert_non_null(strstr(report, "use-after-poison"));
}

static void
nothing(struct plx_op *op)
{
}

static void
read_state(struct plx_op *op)
{
	(void)plx_op_is_done(op);
}

static void
prepare(struct plx_op *op)
{
	plx_op_prep_send(op, NULL, 0, 0, NULL, NULL);
}

static void
write_private_bytes(struct plx_op *op)
{
	memset(plx_op_priv(op), 1, 32);
}

static void
put_again(struct plx_op *op)
{
	plx_op_put(op);
}

static void
read_id(struct plx_op *op)
{
	(void)plx_op_id(op);
}

static void
use_after_put_is_reported(void **state)
{
	plx_test_needs(WITH_ASAN, "AddressSanitizer");
	assert_seen(read_state);
	assert_seen(prepare);
	assert_seen(write_private_bytes);
}

static void
second_put_is_reported(void **state)
{
	plx_test_needs(WITH_ASAN, "AddressSanitizer");
	assert_seen(put_again);
}

/* The child of a test without a fault says nothing; and the id stays readable, for stale completions. */
static void
what_is_no_fault_is_not_reported(void **state)
{
	static char report[1 << 16];

	plx_test_needs(WITH_ASAN, "AddressSanitizer");
	assert_false(report_of(nothing, report, sizeof(report)));
	assert_false(report_of(read_id, report, sizeof(report)));
	assert_string_equal(report, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
static const struct CMUnitTest tests[] = {
	TEST(use_after_put_is_reported),
	TEST(second_put_is_reported),
	TEST(what_is_no_fault_is_not_reported),
};

PLX_TEST_SUITE(op, poison, tests, .lcores = 4);
