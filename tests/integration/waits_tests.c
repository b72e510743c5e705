/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plx_control.h"
#include "plx_poller.h"
#include "plx_retry.h"

/**
 * @file
 * A debug build finds who waits on a polling lcore: the rooms that know are compiled once more as such a build has them.
 *
 *      child:  turn of a poller -> hook -> a call that waits -> panic        parent:  SIGABRT, text, stack
 */

static struct plx_poller *poller;
static struct plx_control *control;
static char said[16384];

static int
nothing(void *arg)
{
	return 0;
}

static int
never(void *arg)
{
	return -EAGAIN;
}

static unsigned int
a_turn(void *arg)
{
	return plx_poller_once(poller);
}

static unsigned int
sync_hook(void *arg)
{
	plx_control_sync(control, nothing, NULL);
	return 0;
}

static unsigned int
retry_hook(void *arg)
{
	return plx_retry(arg != NULL ? never : nothing, NULL, a_turn, NULL, 1000000) == 0;
}

static int
make(void **state)
{
	poller = plx_poller_create(&(struct plx_poller_conf){.name = "waits"});
	control = plx_control_create(&(struct plx_control_conf){0});
	return poller == NULL || control == NULL;
}

static int
unmake(void **state)
{
	return plx_control_destroy(control) != 0 || plx_poller_destroy(poller) != 0;
}

/** A turn with @p hook, in a child whose stderr is `said`. How it ended, as waitpid(2) says. */
static int
turn_in_a_child(plx_hook_t hook, void *arg)
{
	int pipes[2], status = 0;
	size_t len = 0;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(pipes[1], STDERR_FILENO);
		dup2(pipes[1], STDOUT_FILENO);
		poller = plx_poller_create(&(struct plx_poller_conf){.name = "child"}); /* EAL's memory is shared */
		plx_poller_add_hook(poller, hook, arg);
		plx_poller_once(poller);
		_exit(0);
	}
	close(pipes[1]);
	while (len < sizeof(said) - 1 && (got = read(pipes[0], said + len, sizeof(said) - 1 - len)) > 0)
		len += (size_t)got;
	said[len] = 0;
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void
aborts_with_the_stack(plx_hook_t hook, void *arg, const char *call)
{
	int status = turn_in_a_child(hook, arg);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_non_null(strstr(said, call));
	assert_non_null(strstr(said, "waits inside a turn"));
	assert_non_null(strstr(said, "waits-tests")); /* in the frames of the stack */
}

/* case 6.7: the control thread answers, but the lcore polls nothing meanwhile */
static void
a_wait_for_the_control_thread_in_a_turn_aborts(void **state)
{
	aborts_with_the_stack(sync_hook, NULL, "plx_control_sync()");
}

/* case 6.7: what it waits for would be progress of the turn that it is in */
static void
a_retry_in_a_turn_aborts_when_it_has_to_wait(void **state)
{
	aborts_with_the_stack(retry_hook, poller, "plx_retry()");
}

static void
who_need_not_wait_may_ask_in_a_turn(void **state)
{
	int status = turn_in_a_child(retry_hook, NULL);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
between_turns_everybody_may_wait(void **state)
{
	plx_poller_once(poller);
	assert_int_equal(plx_control_sync(control, nothing, NULL), 0);
	assert_int_equal(plx_retry(never, NULL, a_turn, NULL, 1000), -ETIMEDOUT);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
static const struct CMUnitTest tests[] = {
	CASE(a_wait_for_the_control_thread_in_a_turn_aborts),
	CASE(a_retry_in_a_turn_aborts_when_it_has_to_wait),
	CASE(who_need_not_wait_may_ask_in_a_turn),
	CASE(between_turns_everybody_may_wait),
};

PLX_TEST_SUITE(poller, waits, tests, .lcores = 1);
