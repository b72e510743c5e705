/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_control.h"

#include "plx_test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include <rte_errno.h>

static const unsigned int lcores[] = {1, 2};
static struct plx_control *ctl;

/* Keeps the control thread inside a verb for as long as a test wants to look at the queue. */
static sem_t gate;

/* A verb, and what it saw. Written by the control thread in fn, read here in or after done. */
struct verb {
	struct plx_control_req req;
	int gives;
	bool waits; /* at the gate */
	struct plx_control_req *again;

	pthread_t ran_on;
	unsigned int done_on, nb_ran, nb_done;
	int seen, submitted;
};

static struct verb *ran[16];
static struct verb *answered[16];
static unsigned int nb_ran, nb_answered;

static int
verb_fn(struct plx_control_req *req)
{
	struct verb *v = plx_container_of(req, struct verb, req);

	if (v->waits)
		sem_wait(&gate);
	v->ran_on = pthread_self();
	v->nb_ran++;
	ran[nb_ran++ % NB_OF(ran)] = v;
	return v->gives;
}

static void
verb_done(struct plx_control_req *req)
{
	struct verb *v = plx_container_of(req, struct verb, req);

	v->done_on = rte_lcore_id();
	v->seen = req->result;
	v->nb_done++;
	answered[nb_answered++ % NB_OF(answered)] = v;
	if (v->again != NULL)
		v->submitted = plx_control_submit(ctl, v->again);
}

/* Not on a test's stack: one that fails leaves its requests with the control thread. */
static struct verb verbs[16];
static unsigned int nb_verbs;

static struct verb *
verb_new(struct verb as)
{
	struct verb *v = &verbs[nb_verbs++ % NB_OF(verbs)];

	*v = as;
	v->req.fn = verb_fn;
	v->req.done = verb_done;
	return v;
}

#define VERB(...) verb_new((struct verb){__VA_ARGS__})

static int
nothing(void *arg)
{
	return 0;
}

static int
create_with(unsigned int nb_reqs)
{
	struct plx_control_conf conf = {.lcores = lcores, .nb_lcores = NB_OF(lcores), .nb_reqs = nb_reqs};

	ctl = plx_control_create(&conf);
	return ctl == NULL ? -1 : 0;
}

static int
create(void **state)
{
	nb_ran = nb_answered = nb_verbs = 0;
	sem_init(&gate, 0, 0);
	return create_with(0);
}

/* A test that failed half-way leaves requests under way: take them in. */
static int
destroy(void **state)
{
	for (int i = 0; i < 16; i++)
		sem_post(&gate);
	plx_control_sync(ctl, nothing, NULL);
	for (size_t i = 0; i < NB_OF(lcores); i++) {
		plx_test_as_lcore(lcores[i]);
		while (plx_control_nb_under_way(ctl) > 0)
			plx_control_once(ctl);
	}
	plx_test_as_lcore(0);
	return plx_control_destroy(ctl);
}

static int
submit_as(unsigned int lcore, struct verb *v)
{
	unsigned int was = plx_test_as_lcore(lcore);
	int ret = plx_control_submit(ctl, &v->req);

	plx_test_as_lcore(was);
	return ret;
}

static unsigned int
once_as(unsigned int lcore)
{
	unsigned int was = plx_test_as_lcore(lcore);
	unsigned int nb = plx_control_once(ctl);

	plx_test_as_lcore(was);
	return nb;
}

/* All that was submitted before has run, its answers lie in the lanes. */
static void
settle(void)
{
	assert_int_equal(plx_control_sync(ctl, nothing, NULL), 0);
}

/* case 13.4: the verb runs off the lcore, however long it takes; the answer comes to the lcore */
static void
done_runs_on_the_lcore_that_asked(void **state)
{
	struct verb *a = VERB(.gives = -71), *b = VERB(.gives = 5);

	assert_int_equal(submit_as(1, a), 0);
	assert_int_equal(submit_as(2, b), 0);
	settle();
	assert_int_equal(a->nb_ran + b->nb_ran, 2);
	assert_int_equal(a->nb_done + b->nb_done, 0);
	assert_false(pthread_equal(a->ran_on, pthread_self()));

	assert_int_equal(once_as(2), 1);
	assert_int_equal(a->nb_done, 0);
	assert_int_equal(b->done_on, 2);
	assert_int_equal(b->seen, 5);
	assert_int_equal(once_as(1), 1);
	assert_int_equal(a->done_on, 1);
	assert_int_equal(a->seen, -71);
	assert_int_equal(once_as(1) + once_as(2), 0);
}

static void
requests_run_and_are_answered_in_order(void **state)
{
	struct verb *first = VERB(.waits = true), *v[6];

	assert_int_equal(submit_as(1, first), 0);
	for (size_t i = 0; i < NB_OF(v); i++) {
		v[i] = VERB(.gives = 0);
		assert_int_equal(submit_as(lcores[i % 2], v[i]), 0);
	}
	sem_post(&gate);
	settle();
	assert_int_equal(nb_ran, 7);
	assert_ptr_equal(ran[0], first);
	for (size_t i = 0; i < NB_OF(v); i++)
		assert_ptr_equal(ran[1 + i], v[i]);

	assert_int_equal(once_as(1), 4);
	assert_int_equal(once_as(2), 3);
	assert_ptr_equal(answered[0], first);
	for (size_t i = 0; i < 3; i++) {
		assert_ptr_equal(answered[1 + i], v[2 * i]);
		assert_ptr_equal(answered[4 + i], v[2 * i + 1]);
	}
}

static void
request_under_way_is_busy(void **state)
{
	struct verb *a = VERB(.waits = true), *b = VERB(.gives = 1);

	assert_int_equal(submit_as(1, a), 0); /* runs, or is about to */
	assert_int_equal(submit_as(1, b), 0); /* queued behind */
	assert_int_equal(submit_as(1, a), -EBUSY);
	assert_int_equal(submit_as(1, b), -EBUSY);
	assert_int_equal(submit_as(2, b), -EBUSY);
	sem_post(&gate);
	settle();
	assert_int_equal(submit_as(1, b), -EBUSY); /* answered, not delivered */
	assert_int_equal(once_as(1), 2);
	assert_int_equal(b->nb_ran, 1);

	assert_int_equal(submit_as(2, b), 0);
	settle();
	assert_int_equal(once_as(2), 1);
	assert_int_equal(b->nb_ran, 2);
	assert_int_equal(b->done_on, 2);
}

static void
done_may_submit_again(void **state)
{
	struct verb *a = VERB(.submitted = 1);

	plx_control_destroy(ctl);
	assert_int_equal(create_with(1), 0); /* also when there is room for just one */
	a->again = &a->req;
	assert_int_equal(submit_as(1, a), 0);
	settle();
	assert_int_equal(once_as(1), 1);
	assert_int_equal(a->submitted, 0);
	a->again = NULL;
	settle();
	assert_int_equal(once_as(1), 1);
	assert_int_equal(a->nb_ran, 2);
	assert_int_equal(a->nb_done, 2);
}

static void
more_than_nb_reqs_of_one_lcore_ask_for_a_retry(void **state)
{
	struct verb *v[] = {VERB(.waits = true), VERB(.gives = 1), VERB(.gives = 2)};

	plx_control_destroy(ctl);
	assert_int_equal(create_with(2), 0);
	assert_int_equal(submit_as(1, v[0]), 0);
	assert_int_equal(submit_as(1, v[1]), 0);
	assert_int_equal(submit_as(1, v[2]), -EAGAIN);
	assert_int_equal(submit_as(2, v[2]), 0); /* untouched, and lcore 2 has its own count */
	sem_post(&gate);
	settle();
	assert_int_equal(once_as(1), 2);
	assert_int_equal(once_as(2), 1);
	assert_int_equal(submit_as(1, v[2]), 0);
	settle();
	assert_int_equal(once_as(1), 1);
}

static void
thread_without_a_way_back_may_not_submit(void **state)
{
	struct verb *a = VERB(.gives = 0);

	plx_test_refusal(submit_as(LCORE_ID_ANY, a), -EPERM, "a request from lcore -1");
	plx_test_refusal(submit_as(3, a), -EPERM, "a request from lcore 3");
	assert_int_equal(once_as(LCORE_ID_ANY), 0);
	assert_int_equal(once_as(3), 0);
	assert_int_equal(submit_as(1, a), 0); /* not busy from the refusals */
	settle();
	assert_int_equal(once_as(1), 1);
}

static void
request_without_fn_or_done_is_refused(void **state)
{
	struct verb *no_fn = VERB(.gives = 0), *no_done = VERB(.gives = 0);

	no_fn->req.fn = NULL;
	no_done->req.done = NULL;
	plx_test_refusal(submit_as(1, no_fn), -EINVAL, "a request without fn");
	plx_test_refusal(submit_as(1, no_done), -EINVAL, "a request without done");
}

static int
add_seven(void *arg)
{
	return *(int *)arg += 7;
}

static void *
sync_from_thread(void *arg)
{
	return (void *)(intptr_t)plx_control_sync(ctl, add_seven, arg);
}

static void
sync_brings_the_result_to_any_thread(void **state)
{
	int value = 10;
	pthread_t thread;
	void *ret;

	assert_int_equal(plx_control_sync(ctl, add_seven, &value), 17);
	assert_int_equal(pthread_create(&thread, NULL, sync_from_thread, &value), 0);
	pthread_join(thread, &ret);
	assert_int_equal((intptr_t)ret, 24);
	assert_int_equal(value, 24);
}

static int
sync_inside(void *arg)
{
	return plx_control_sync(ctl, nothing, NULL);
}

static int
destroy_inside(void *arg)
{
	return plx_control_destroy(ctl);
}

static void
waiting_for_oneself_is_refused(void **state)
{
	assert_int_equal(plx_control_sync(ctl, sync_inside, NULL), -EDEADLK);
	assert_int_equal(plx_control_sync(ctl, destroy_inside, NULL), -EDEADLK);
}

static void
sync_waits_behind_what_is_queued(void **state)
{
	struct verb *v[] = {VERB(.gives = 0), VERB(.gives = 0), VERB(.gives = 0)};

	for (size_t i = 0; i < NB_OF(v); i++)
		assert_int_equal(submit_as(1, v[i]), 0);
	settle();
	assert_int_equal(nb_ran, 3);
}

static void
destroy_is_busy_until_all_answers_are_delivered(void **state)
{
	struct verb *a = VERB(.waits = true);

	assert_int_equal(submit_as(2, a), 0);
	assert_int_equal(plx_control_destroy(ctl), -EBUSY); /* it runs */
	sem_post(&gate);
	settle();
	assert_int_equal(plx_control_destroy(ctl), -EBUSY); /* it is answered */
	plx_test_as_lcore(2);
	assert_int_equal(plx_control_nb_under_way(ctl), 1);
	assert_int_equal(plx_control_once(ctl), 1);
	assert_int_equal(plx_control_nb_under_way(ctl), 0);
	plx_test_as_lcore(0);
	assert_int_equal(plx_control_destroy(ctl), 0);
	assert_int_equal(plx_control_destroy(NULL), 0);
	assert_int_equal(create_with(0), 0); /* for the tear-down */
}

static void
bad_conf_is_refused(void **state)
{
	static const unsigned int twice[] = {1, 1}, none[] = {LCORE_ID_ANY};
	struct plx_control_conf conf = {.lcores = twice, .nb_lcores = 2};

	rte_errno = 0;
	assert_null(plx_control_create(&conf));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	conf = (struct plx_control_conf){.lcores = none, .nb_lcores = 1};
	assert_null(plx_control_create(&conf));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	conf = (struct plx_control_conf){.nb_lcores = 1};
	assert_null(plx_control_create(&conf));
	assert_int_equal(rte_errno, EINVAL);
}

/* Two lcores that ask as fast as they can. Each request counts its runs on the control thread, without
 * a lock: only one thread ever runs them. */
#define NB_OWN 8

struct asker {
	unsigned int lcore;
	unsigned long rounds, nb_submitted, nb_done, nb_wrong;
	struct asker_req {
		struct plx_control_req req;
		struct asker *asker;
		unsigned long runs, dones;
	} reqs[NB_OWN];
	pthread_t thread;
};

static unsigned long nb_runs; /* the control thread's */

static int
asker_fn(struct plx_control_req *req)
{
	nb_runs++;
	return (int)++plx_container_of(req, struct asker_req, req)->runs;
}

static void
asker_done(struct plx_control_req *req)
{
	struct asker_req *r = plx_container_of(req, struct asker_req, req);
	struct asker *a = r->asker;

	a->nb_done++;
	r->dones++;
	if (rte_lcore_id() != a->lcore || req->result != (int)r->runs || r->dones != r->runs)
		a->nb_wrong++;
}

static void *
ask(void *arg)
{
	struct asker *a = arg;

	plx_test_as_lcore(a->lcore);
	while (a->nb_done < a->rounds) {
		for (unsigned int i = 0; i < NB_OWN && a->nb_submitted < a->rounds; i++)
			if (plx_control_submit(ctl, &a->reqs[i].req) == 0)
				a->nb_submitted++;
		if (plx_control_once(ctl) == 0)
			sched_yield(); /* the control thread may need this CPU */
	}
	return NULL;
}

static void
each_request_is_answered_once_when_lcores_ask_at_once(void **state)
{
	static struct asker askers[NB_OF(lcores)];
	unsigned long rounds = plx_test_scale() / 20;

	nb_runs = 0;
	memset(askers, 0, sizeof(askers));
	for (size_t i = 0; i < NB_OF(askers); i++) {
		struct asker *a = &askers[i];

		a->lcore = lcores[i];
		a->rounds = rounds;
		for (unsigned int k = 0; k < NB_OWN; k++) {
			a->reqs[k].req.fn = asker_fn;
			a->reqs[k].req.done = asker_done;
			a->reqs[k].asker = a;
		}
		assert_int_equal(pthread_create(&a->thread, NULL, ask, a), 0);
	}
	for (size_t i = 0; i < NB_OF(askers); i++)
		pthread_join(askers[i].thread, NULL);
	settle();
	for (size_t i = 0; i < NB_OF(askers); i++) {
		assert_int_equal(askers[i].nb_done, rounds);
		assert_int_equal(askers[i].nb_wrong, 0);
	}
	assert_int_equal(nb_runs, NB_OF(askers) * rounds);
}

/* ---- files --------------------------------------------------------------------------------- */

struct seen {
	struct plx_control_watch watch;
	uint64_t nb; /* atomic */
	pthread_t ran_on;
};

static void
file_readable(struct plx_control_watch *watch)
{
	struct seen *seen = plx_container_of(watch, struct seen, watch);
	eventfd_t value;

	seen->ran_on = pthread_self();
	if (eventfd_read(watch->fd, &value) == 0)
		__atomic_fetch_add(&seen->nb, value, __ATOMIC_RELEASE);
}

static uint64_t
nb_seen(const struct seen *seen)
{
	return __atomic_load_n(&seen->nb, __ATOMIC_ACQUIRE);
}

static int
answer(void *arg)
{
	return *(int *)arg;
}

static void
readable_files_are_served_between_requests(void **state)
{
	struct seen files[2] = {0};
	int seven = 7;

	for (size_t i = 0; i < NB_OF(files); i++) {
		files[i].watch = (struct plx_control_watch){.fd = eventfd(0, EFD_NONBLOCK), .fn = file_readable};
		assert_int_equal(plx_control_watch(ctl, &files[i].watch), 0);
	}
	for (unsigned int round = 1; round <= 50; round++) {
		eventfd_write(files[round % 2].watch.fd, 1);
		while (nb_seen(&files[0]) + nb_seen(&files[1]) != round)
			sched_yield();
		assert_int_equal(plx_control_sync(ctl, answer, &seven), 7); /* wakes it as before */
	}
	assert_int_equal(nb_seen(&files[0]), 25);
	assert_false(pthread_equal(files[0].ran_on, pthread_self()));
	assert_int_equal(plx_control_unwatch(ctl, &files[0].watch), 0);
	eventfd_write(files[0].watch.fd, 1);
	eventfd_write(files[1].watch.fd, 1);
	while (nb_seen(&files[1]) != 26)
		sched_yield();
	assert_int_equal(nb_seen(&files[0]), 25);
	assert_int_equal(plx_control_unwatch(ctl, &files[0].watch), -ENOENT);
	assert_int_equal(plx_control_unwatch(ctl, &files[1].watch), 0);
	close(files[0].watch.fd);
	close(files[1].watch.fd);
}

static void
count_call(struct plx_control_watch *watch)
{
	__atomic_fetch_add(&plx_container_of(watch, struct seen, watch)->nb, 1, __ATOMIC_RELEASE);
}

static void
read_failed(struct plx_control_watch *watch)
{
	count_call(watch);
	watch->fd = -1;
}

/** Watch @p fd, which keeps the control thread awake: its fn runs once, not again and again. */
static void
is_called_once(int fd, void (*fn)(struct plx_control_watch *watch))
{
	struct seen file = {.watch = {.fd = fd, .fn = fn}};
	int seven = 7;

	assert_int_equal(plx_control_watch(ctl, &file.watch), 0);
	while (nb_seen(&file) == 0)
		sched_yield();
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(plx_control_sync(ctl, answer, &seven), 7);
	assert_int_equal(nb_seen(&file), 1);
	assert_int_equal(plx_control_unwatch(ctl, &file.watch), 0);
	assert_int_equal(file.watch.fd, -1);
}

static void
files_that_are_at_their_end_or_have_failed_are_dropped(void **state)
{
	int hung_up[2], broken[2], full = eventfd(1, EFD_NONBLOCK);

	assert_int_equal(pipe(hung_up), 0);
	close(hung_up[1]);
	is_called_once(hung_up[0], count_call); /* POLLHUP */
	close(hung_up[0]);
	assert_int_equal(pipe(broken), 0);
	close(broken[0]);
	is_called_once(broken[1], count_call); /* POLLERR */
	close(broken[1]);
	is_called_once(broken[1], count_call); /* POLLNVAL */
	is_called_once(full, read_failed); /* as its fn wants */
	close(full);
}

static void
bad_watches_are_refused(void **state)
{
	static struct seen files[PLX_CONTROL_WATCHES + 1];

	files[0].watch = (struct plx_control_watch){.fd = -1, .fn = file_readable};
	plx_test_refusal(plx_control_watch(ctl, &files[0].watch), -EINVAL, "a watch of file -1");
	files[0].watch = (struct plx_control_watch){.fd = 0};
	plx_test_refusal(plx_control_watch(ctl, &files[0].watch), -EINVAL, "a watch of file 0 without fn");
	for (size_t i = 0; i < NB_OF(files); i++) {
		files[i].watch = (struct plx_control_watch){.fd = eventfd(0, EFD_NONBLOCK), .fn = file_readable};
		if (i < PLX_CONTROL_WATCHES)
			assert_int_equal(plx_control_watch(ctl, &files[i].watch), 0);
		else
			plx_test_refusal(plx_control_watch(ctl, &files[i].watch), -ENOSPC, "files are watched, and no more fit");
	}
	for (size_t i = 0; i < NB_OF(files); i++) {
		assert_int_equal(plx_control_unwatch(ctl, &files[i].watch), i < PLX_CONTROL_WATCHES ? 0 : -ENOENT);
		close(files[i].watch.fd);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
static const struct CMUnitTest tests[] = {
	TEST(done_runs_on_the_lcore_that_asked),
	TEST(requests_run_and_are_answered_in_order),
	TEST(request_under_way_is_busy),
	TEST(done_may_submit_again),
	TEST(more_than_nb_reqs_of_one_lcore_ask_for_a_retry),
	TEST(thread_without_a_way_back_may_not_submit),
	TEST(request_without_fn_or_done_is_refused),
	TEST(sync_brings_the_result_to_any_thread),
	TEST(waiting_for_oneself_is_refused),
	TEST(sync_waits_behind_what_is_queued),
	TEST(destroy_is_busy_until_all_answers_are_delivered),
	TEST(bad_conf_is_refused),
	TEST(readable_files_are_served_between_requests),
	TEST(files_that_are_at_their_end_or_have_failed_are_dropped),
	TEST(bad_watches_are_refused),
	TEST(each_request_is_answered_once_when_lcores_ask_at_once),
};

PLX_TEST_SUITE(control, control, tests, .lcores = 1);
