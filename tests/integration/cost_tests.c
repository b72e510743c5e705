/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "stack.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_launch.h>
#include <rte_malloc.h>
#include <rte_pause.h>

#include "plx_drivers.h"
#include "watch.h"

/**
 * @file
 * No hidden cost (contract 1.1): what all lcores do while messages go through the whole stack, between two markers.
 *
 *      cost-tests -d null0|loopback0|rxe0...
 *
 * On the software devices: no allocation, no lock, no system call. On verbs: exactly those of the raw twin, which
 * posts and polls through the device's table and nothing above. The watch itself is tested: each kind of cost is planted
 * once, and must be found.
 */

#define PAIRS 2
#define DEPTH 64
#define NB_OPS 4096

static const char *device;
static struct stack stack;

static bool
is_null(void)
{
	return strncmp(device, "null", 4) == 0;
}

static bool
is_software(void)
{
	return is_null() || strncmp(device, "loopback", 8) == 0;
}

/* ---- calls of the device's table, counted on the owner's lcore -------------------------------- */

struct calls {
	uint64_t sends;
	uint64_t recvs;
	uint64_t polls;
};

static struct calls calls;
static const struct plx_fast_ops *real;
static struct plx_fast_ops counting;

static uint16_t
count_post_send(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	calls.sends++;
	return real->post_send(qp, wrs, n, err);
}

static uint16_t
count_post_recv(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err)
{
	calls.recvs++;
	return real->post_recv(qp, wrs, n, err);
}

static int
count_poll_cq(struct plx_cq *cq, struct plx_wc *wcs, uint16_t n)
{
	calls.polls++;
	return real->poll_cq(cq, wcs, n);
}

static void
count_calls(struct plx_conn *conn)
{
	conn->fast = &counting;
	conn->qp->fast = &counting;
}

static void
make(unsigned int home)
{
	stack_make(&stack, device,
		&(struct stack_conf){.nb_pairs = PAIRS,
			.depth = DEPTH,
			.spare_recvs = DEPTH,
			.nb_ops = NB_OPS,
			.home = home,
			.busy = true});
	real = stack.cq->fast;
	counting = *real;
	counting.post_send = count_post_send;
	counting.post_recv = count_post_recv;
	counting.poll_cq = count_poll_cq;
	stack.cq->fast = &counting;
	for (unsigned int i = 0; i < PAIRS; i++) {
		count_calls(stack.from[i].conn);
		count_calls(stack.to[i].conn);
	}
}

static void
stop(void)
{
	stack_stop(&stack);
	stack_check_and_free(&stack);
}

/* ---- a run of the product ---------------------------------------------------------------------- */

/** Messages before the first marker, and between the two at least. */
static uint64_t
warm_messages(void)
{
	return is_software() ? 20000 : 500;
}

static uint64_t
messages(void)
{
	if (is_null())
		return plx_test_scale();
	return is_software() ? plx_test_scale() / 2 : 10000; /* two ops each */
}

/** The poller's and the callbacks', but for what is said. */
static struct {
	unsigned int burst;
	uint64_t nb; /**< messages between the markers */
	void (*plant)(void); /**< done once between the markers; NULL: nothing */
	enum { STARTING, WARM, BETWEEN, OVER } phase; /**< atomic */
	bool poller_watched, worker_watched; /**< atomic */
	uint64_t begun; /**< messages before the first marker */
	struct calls before, made;
} run;

/** Messages over by now. The null device takes receives and never uses them. */
static uint64_t
arrived(void)
{
	return __atomic_load_n(&stack.count.settled, __ATOMIC_RELAXED) / (is_null() ? 1 : 2);
}

/**
 * On the lcore that is the ops' home. Not more than it settles, or its backlog takes every op there is, and a send
 * that finds no receive waits: on the loopback device in a list with a lock.
 */
static unsigned int
submit_hook(void *arg)
{
	uint64_t out = __atomic_load_n(&stack.count.submitted, __ATOMIC_RELAXED) - stack.count.settled;
	unsigned int did = 0;

	if (__atomic_load_n(&run.phase, __ATOMIC_ACQUIRE) != OVER && out < NB_OPS / 2)
		for (unsigned int i = 0; i < PAIRS; i++)
			did += stack_send_burst(&stack, i, run.burst);
	return did;
}

/** On the poller: the markers stand between two of its turns, so that the calls of its turns are counted exactly. */
static unsigned int
marker_hook(void *arg)
{
	uint64_t now = arrived();

	if (run.phase == WARM && now >= warm_messages()) {
		run.phase = BETWEEN;
		run.begun = now;
		run.before = calls;
		watch_begin();
	} else if (run.phase == BETWEEN && now - run.begun >= run.nb) {
		watch_end();
		run.nb = now - run.begun;
		run.made = (struct calls){calls.sends - run.before.sends, calls.recvs - run.before.recvs,
			calls.polls - run.before.polls};
		__atomic_store_n(&run.phase, OVER, __ATOMIC_RELEASE);
	} else if (run.phase == BETWEEN && run.plant != NULL) {
		run.plant();
		run.plant = NULL;
	}
	return 0;
}

static unsigned int
watch_hook(void *done)
{
	watch_this_lcore();
	__atomic_store_n((bool *)done, true, __ATOMIC_RELEASE);
	return 0;
}

/** Let the run begin once both loops are watched. This thread, main, only waits and is not. */
static void
begin_watched(void)
{
	while (!__atomic_load_n(&run.poller_watched, __ATOMIC_ACQUIRE) ||
		!__atomic_load_n(&run.worker_watched, __ATOMIC_ACQUIRE))
		usleep(1000);
	__atomic_store_n(&run.phase, WARM, __ATOMIC_RELEASE);
}

static void
wait_until_over(void)
{
	while (__atomic_load_n(&run.phase, __ATOMIC_ACQUIRE) != OVER)
		usleep(10000);
}

static void
run_product(unsigned int home, unsigned int burst, uint64_t nb, void (*plant)(void), struct watch_count *count)
{
	make(home);
	memset(&run, 0, sizeof(run));
	run.burst = burst;
	run.nb = nb;
	run.plant = plant;
	assert_int_equal(plx_poller_add_hook(home == POLLER ? stack.poller : stack.worker, submit_hook, NULL), 0);
	assert_int_equal(plx_poller_add_hook(stack.poller, marker_hook, NULL), 0);
	assert_int_equal(plx_poller_add_hook(stack.poller, watch_hook, &run.poller_watched), 0);
	assert_int_equal(plx_poller_add_hook(stack.worker, watch_hook, &run.worker_watched), 0);
	stack_launch(&stack);
	begin_watched();
	wait_until_over();
	watch_get(count);
	stop();
}

/* ---- the raw twin: the same messages through the device's table --------------------------------- */

/** On the owner's lcore; false if the device refused something. */
static bool
twin_message(struct plx_qp *from, struct plx_qp *to, const struct plx_wr *send, const struct plx_wr *recv)
{
	struct plx_wc wcs[2];
	int code, got;

	if (plx_qp_post_recv(to, &recv, 1, &code) != 1 || plx_qp_post_send(from, &send, 1, &code) != 1)
		return false;
	for (unsigned int nb = 0; nb < 2; nb += (unsigned int)got) {
		got = plx_cq_poll(stack.cq, wcs, 2);
		if (got < 0)
			return false;
	}
	return true;
}

static int
twin(void *arg)
{
	struct plx_sge from = {(uintptr_t)stack.region->addr, MSG_LEN, stack.region->lkey};
	struct plx_sge to = {from.addr + MSG_LEN, MSG_LEN, from.lkey};
	struct plx_wr send = {.sg_list = &from, .num_sge = 1, .opcode = PLX_OPCODE_SEND, .flags = PLX_WR_SIGNALED};
	struct plx_wr recv = {.sg_list = &to, .num_sge = 1, .opcode = PLX_OPCODE_RECV};
	uint64_t done = 0;

	watch_this_lcore();
	watch_begin();
	while (done < run.nb && twin_message(stack.from[0].conn->qp, stack.to[0].conn->qp, &send, &recv))
		done++;
	watch_end();
	run.nb = done;
	__atomic_store_n(&run.phase, OVER, __ATOMIC_RELEASE);
	return 0;
}

static void
run_twin(uint64_t nb, struct watch_count *count)
{
	make(POLLER);
	memset(&run, 0, sizeof(run));
	run.nb = nb;
	memset(&calls, 0, sizeof(calls));
	assert_int_equal(rte_eal_remote_launch(twin, NULL, POLLER), 0);
	/* As the other loop does beside the product: a guest's CPU that is idle between two stops is slow to wake. */
	while (__atomic_load_n(&run.phase, __ATOMIC_ACQUIRE) != OVER)
		rte_pause();
	assert_int_equal(rte_eal_wait_lcore(POLLER), 0);
	watch_get(count);
	run.made = calls;
	stack_launch(&stack);
	stop();
}

/* ---- what is allowed ----------------------------------------------------------------------------- */

static void
print(const char *what, const struct watch_count *count)
{
	print_message("%s: %s: allocations %" PRIu64 ", locks %" PRIu64 ", system calls %" PRIu64 "; post_send %" PRIu64
		      ", post_recv %" PRIu64 ", poll_cq %" PRIu64 "\n", device, what, count->nb[WATCH_ALLOC],
		count->nb[WATCH_LOCK], count->nb[WATCH_SYSCALL], run.made.sends, run.made.recvs, run.made.polls);
}

/** Nothing on software devices. On verbs a lock for each call of the table and a system call for each post_send: rxe's. */
static bool
as_the_twin(const struct watch_count *count)
{
	uint64_t locks = is_software() ? 0 : run.made.sends + run.made.recvs + run.made.polls;
	uint64_t syscalls = is_software() ? 0 : run.made.sends;
	const uint64_t allowed[WATCH_KINDS] = {0, locks, syscalls};
	bool same = true;

	for (unsigned int kind = 0; kind < WATCH_KINDS; kind++) {
		if (count->nb[kind] == allowed[kind])
			continue;
		print_message("%s: %" PRIu64 " where %" PRIu64 " are allowed; the first: %s\n", device,
			count->nb[kind], allowed[kind], count->first[kind]);
		same = false;
	}
	return same;
}

static void
needs_two_cpus_and_a_tracer(void)
{
	plx_test_needs(watch_traced(), "ptrace, which is not allowed here");
	/* The loops never yield. */
	plx_test_needs(sysconf(_SC_NPROCESSORS_ONLN) >= 2, "two CPUs");
}

static void
the_twin_costs_what_is_allowed(void **state)
{
	struct watch_count count;

	needs_two_cpus_and_a_tracer();
	plx_test_needs(!is_null(), "messages that arrive");
	run_twin(messages(), &count);
	print("raw twin", &count);
	assert_true(as_the_twin(&count));
	assert_int_equal(run.nb, messages());
	assert_int_equal(run.made.sends, messages());
}

static void
check_product(const char *what, unsigned int home, unsigned int burst)
{
	struct watch_count count;

	needs_two_cpus_and_a_tracer();
	run_product(home, burst, messages(), NULL, &count);
	print(what, &count);
	assert_true(run.nb >= messages());
	assert_true(run.made.sends != 0 && run.made.polls != 0);
	assert_true(as_the_twin(&count));
}

static void
run_to_completion_adds_no_cost_one_at_a_time(void **state)
{
	check_product("run to completion, one at a time", POLLER, 1);
}

static void
run_to_completion_adds_no_cost_in_bursts(void **state)
{
	check_product("run to completion, bursts of 32", POLLER, 32);
}

static void
hand_off_adds_no_cost_one_at_a_time(void **state)
{
	check_product("hand-off, one at a time", WORKER, 1);
}

static void
hand_off_adds_no_cost_in_bursts(void **state)
{
	check_product("hand-off, bursts of 32", WORKER, 32);
}

/* ---- the watch is awake ---------------------------------------------------------------------------- */

static void
plant_malloc(void)
{
	void *volatile p = malloc(1);

	free(p);
}

static void
plant_rte_malloc(void)
{
	rte_free(rte_malloc("planted", 64, 0));
}

static void
plant_lock(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void
plant_write(void)
{
	if (write(STDERR_FILENO, "", 0) != 0)
		abort();
}

/** One planted cost in a run is found. (One malloc can be more: the first of a thread maps memory.) */
static void
check_planted(void (*plant)(void), enum watch_kind kind)
{
	struct watch_count count;

	needs_two_cpus_and_a_tracer();
	run_product(POLLER, 1, 1000, plant, &count);
	assert_null(run.plant);
	assert_false(as_the_twin(&count));
	assert_true(count.nb[kind] >= 1);
	assert_true(strstr(count.first[kind], kind == WATCH_SYSCALL ? "call 1 " : "lcore 1") != NULL);
}

static void
planted_malloc_is_found(void **state)
{
	check_planted(plant_malloc, WATCH_ALLOC);
}

static void
planted_rte_malloc_is_found(void **state)
{
	check_planted(plant_rte_malloc, WATCH_ALLOC);
}

static void
planted_lock_is_found(void **state)
{
	check_planted(plant_lock, WATCH_LOCK);
}

static void
planted_write_is_found(void **state)
{
	check_planted(plant_write, WATCH_SYSCALL);
}

static int
tests(void)
{
	const struct CMUnitTest of_the_watch[] = {
		cmocka_unit_test(planted_malloc_is_found),
		cmocka_unit_test(planted_rte_malloc_is_found),
		cmocka_unit_test(planted_lock_is_found),
		cmocka_unit_test(planted_write_is_found),
	};
	const struct CMUnitTest of_the_stack[] = {
		cmocka_unit_test(the_twin_costs_what_is_allowed),
		cmocka_unit_test(run_to_completion_adds_no_cost_one_at_a_time),
		cmocka_unit_test(run_to_completion_adds_no_cost_in_bursts),
		cmocka_unit_test(hand_off_adds_no_cost_one_at_a_time),
		cmocka_unit_test(hand_off_adds_no_cost_in_bursts),
	};

	if (plx_test_eal_init(NULL) != 0 || plx_drivers_register() != 0)
		return 2;
	if (is_null() && cmocka_run_group_tests(of_the_watch, NULL, NULL) != 0)
		return 1;
	return cmocka_run_group_tests(of_the_stack, NULL, NULL);
}

int
main(int argc, char **argv)
{
	if (argc != 3 || strcmp(argv[1], "-d") != 0) {
		fprintf(stderr, "usage: cost-tests -d DEVICE[,key=value...]\n");
		return 2;
	}
	device = argv[2];
	return watch_run(tests);
}
