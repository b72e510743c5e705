/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_control.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "control_watch.h"
#include "plx_lane.h"
#include "plx_log.h"
#include "plx_turn.h"

#define DEFAULT_NB_REQS 4096
#define ANSWER_BURST 32

/* The way back to one lcore. Its counter is the lcore's own; a destroy may look at it. */
struct control_home {
	struct plx_lane *answers; /* pointers to requests; NULL: this lcore may not submit */
	uint32_t nb_under_way;
} __rte_cache_aligned;

struct plx_control {
	pthread_t thread;
	uint32_t nb_reqs;
	uint32_t nb_users; /**< atomic */
	struct control_home home[RTE_MAX_LCORE];

	/* Requests waiting, last one first: pushed by any thread, taken all at once by the control
	 * thread. Each push is followed by a post, each post by one run or the end. */
	struct plx_control_req *queue __rte_cache_aligned;
	sem_t nb_queued;

	/* Files beside the requests: control_watch.c. */
	struct control_watches watches;
};

/*
 * Release: the control thread that takes the request (acquire in queue_take_all()) sees what its
 * submitter wrote. A push only ever puts itself in front of what it saw, so that a head that was
 * taken and has come back in the meantime (ABA) is as good as one that never left.
 */
static void
queue_push(struct plx_control *ctl, struct plx_control_req *req)
{
	struct plx_control_req *head = __atomic_load_n(&ctl->queue, __ATOMIC_RELAXED);

	do {
		req->next = head;
	} while (!__atomic_compare_exchange_n(
		&ctl->queue, &head, req, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	sem_post(&ctl->nb_queued);
	control_watches_wake(&ctl->watches);
}

/* All requests, first one first. */
static struct plx_control_req *
queue_take_all(struct plx_control *ctl)
{
	struct plx_control_req *req = __atomic_exchange_n(&ctl->queue, NULL, __ATOMIC_ACQUIRE);
	struct plx_control_req *first = NULL;

	while (req != NULL) {
		struct plx_control_req *next = req->next;

		req->next = first;
		first = req;
		req = next;
	}
	return first;
}

static void
req_run(struct plx_control *ctl, struct plx_control_req *req)
{
	unsigned int taken;

	req->result = req->fn(req);
	if (req->home == LCORE_ID_ANY) {
		req->done(req); /* of plx_control_sync(); req is gone now */
		return;
	}
	taken = plx_lane_send(ctl->home[req->home].answers, &req, 1);
	/* The lane has room for all that submit lets through. */
	RTE_VERIFY(taken == 1);
}

static void *
control_main(void *arg)
{
	struct plx_control *ctl = arg;
	struct plx_control_req *next = NULL;

	pthread_setname_np(pthread_self(), "plx-control");
	for (;;) {
		struct plx_control_req *req;

		control_watches_wait(&ctl->watches, &ctl->nb_queued);
		if (next == NULL)
			next = queue_take_all(ctl);
		if (next == NULL)
			return NULL; /* the post without a push: plx_control_destroy()'s */
		req = next;
		next = req->next;
		req_run(ctl, req);
	}
}

static int
homes_create(struct plx_control *ctl, const struct plx_control_conf *conf)
{
	if (conf->nb_lcores != 0 && conf->lcores == NULL) {
		PLX_LOG(ERR, "control: %u lcores and no list of them", conf->nb_lcores);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < conf->nb_lcores; i++) {
		unsigned int lcore = conf->lcores[i];
		struct plx_lane_conf lane = {
			.name = "control",
			.consumer = lcore,
			.alien = true, /* the control thread has no lcore id */
			.nb_elem = ctl->nb_reqs,
			.elem_size = sizeof(struct plx_control_req *),
			.socket_id = SOCKET_ID_ANY,
		};

		if (lcore >= RTE_MAX_LCORE || ctl->home[lcore].answers != NULL) {
			PLX_LOG(ERR, "control: lcore %u is %s", lcore,
				lcore >= RTE_MAX_LCORE ? "no lcore id" : "named twice");
			return -EINVAL;
		}
		ctl->home[lcore].answers = plx_lane_create(&lane);
		if (ctl->home[lcore].answers == NULL)
			return -rte_errno;
	}
	return 0;
}

static void
homes_destroy(struct plx_control *ctl)
{
	for (unsigned int i = 0; i < RTE_MAX_LCORE; i++)
		plx_lane_destroy(ctl->home[i].answers);
}

static int
thread_start(struct plx_control *ctl, const rte_cpuset_t *cpus)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int err;

	err = pthread_attr_init(&attr);
	if (err != 0)
		return -err;
	/* From its first instruction on: between start and a later call it would sit on the CPU
	 * that it inherits, behind a poller that never yields. */
	err = pthread_attr_setaffinity_np(&attr, sizeof(*cpus), cpus);
	if (err == 0) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		err = pthread_create(&ctl->thread, &attr, control_main, ctl);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attr);
	if (err != 0)
		PLX_LOG(ERR, "control: the thread does not start on the %d CPUs of its set: %s",
			CPU_COUNT(cpus), rte_strerror(err));
	return -err;
}

static int
thread_start_by_conf(struct plx_control *ctl, const struct plx_control_conf *conf)
{
	rte_cpuset_t cpus;

	if (conf->cpuset != NULL)
		return thread_start(ctl, conf->cpuset);
	if (plx_control_cpus(NULL, conf->lcores, conf->nb_lcores, &cpus))
		PLX_LOG(INFO, "control: lcores may poll on all of the %d CPUs, the thread shares theirs",
			CPU_COUNT(&cpus));
	return thread_start(ctl, &cpus);
}

struct plx_control *
plx_control_create(const struct plx_control_conf *conf)
{
	struct plx_control *ctl = rte_zmalloc("plx_control", sizeof(*ctl), RTE_CACHE_LINE_SIZE);
	int err;

	if (ctl == NULL) {
		PLX_LOG(ERR, "control: no memory for %zu bytes", sizeof(*ctl));
		rte_errno = ENOMEM;
		return NULL;
	}
	ctl->nb_reqs = conf->nb_reqs != 0 ? conf->nb_reqs : DEFAULT_NB_REQS;
	sem_init(&ctl->nb_queued, 0, 0);

	err = homes_create(ctl, conf);
	if (err != 0)
		goto destroy_homes;
	err = thread_start_by_conf(ctl, conf);
	if (err != 0)
		goto destroy_homes;
	return ctl;

destroy_homes:
	homes_destroy(ctl);
	sem_destroy(&ctl->nb_queued);
	rte_free(ctl);
	rte_errno = err == -EAGAIN ? ENOMEM : -err; /* EAGAIN: too many threads, pthread_create(3) */
	return NULL;
}

static bool
on_control_thread(const struct plx_control *ctl)
{
	return pthread_equal(pthread_self(), ctl->thread) != 0;
}

void
plx_control_hold(struct plx_control *ctl)
{
	__atomic_fetch_add(&ctl->nb_users, 1, __ATOMIC_RELAXED);
}

void
plx_control_release(struct plx_control *ctl)
{
	/* Release: pairs with the acquire in plx_control_destroy(). */
	__atomic_fetch_sub(&ctl->nb_users, 1, __ATOMIC_RELEASE);
}

int
plx_control_destroy(struct plx_control *ctl)
{
	unsigned int nb = 0;

	if (ctl == NULL)
		return 0;
	if (on_control_thread(ctl))
		return -EDEADLK;
	nb = __atomic_load_n(&ctl->nb_users, __ATOMIC_ACQUIRE);
	if (nb != 0) {
		PLX_LOG(WARNING, "control: destroy refused, %u users (connection groups) are left", nb);
		return -EBUSY;
	}
	for (unsigned int i = 0; i < RTE_MAX_LCORE; i++)
		/* Acquire: pairs with the release in plx_control_once(). */
		nb += __atomic_load_n(&ctl->home[i].nb_under_way, __ATOMIC_ACQUIRE);
	if (nb != 0) {
		PLX_LOG(WARNING, "control: destroy refused, %u requests of lcores are under way", nb);
		return -EBUSY;
	}
	sem_post(&ctl->nb_queued);
	control_watches_wake(&ctl->watches);
	pthread_join(ctl->thread, NULL);
	control_watches_fini(&ctl->watches);
	homes_destroy(ctl);
	sem_destroy(&ctl->nb_queued);
	rte_free(ctl);
	return 0;
}

/* The calling lcore's, or NULL. */
static struct control_home *
home_here(struct plx_control *ctl)
{
	unsigned int lcore = rte_lcore_id();

	if (lcore >= RTE_MAX_LCORE || ctl->home[lcore].answers == NULL)
		return NULL;
	return &ctl->home[lcore];
}

/* Whether @p req was nobody's and is ours now. Acquire: pairs with req_leave() on what may have been
 * another lcore. */
static bool
req_enter(struct plx_control_req *req)
{
	uint32_t idle = 0;

	return __atomic_compare_exchange_n(
		&req->under_way, &idle, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void
req_leave(struct plx_control_req *req)
{
	__atomic_store_n(&req->under_way, 0, __ATOMIC_RELEASE);
}

static void
home_count(struct control_home *home, uint32_t nb)
{
	__atomic_store_n(&home->nb_under_way, nb, __ATOMIC_RELEASE);
}

int
plx_control_submit(struct plx_control *ctl, struct plx_control_req *req)
{
	struct control_home *home = home_here(ctl);

	if (req->fn == NULL || req->done == NULL) {
		PLX_LOG(ERR, "control: a request without %s", req->fn == NULL ? "fn" : "done");
		return -EINVAL;
	}
	if (home == NULL) {
		PLX_LOG(ERR, "control: a request from lcore %d (-1: a thread without one), which is none of its conf's",
			(int)rte_lcore_id());
		return -EPERM;
	}
	if (!req_enter(req))
		return -EBUSY;
	if (home->nb_under_way == ctl->nb_reqs) {
		req_leave(req);
		return -EAGAIN;
	}
	home_count(home, home->nb_under_way + 1);
	req->home = rte_lcore_id();
	queue_push(ctl, req);
	return 0;
}

unsigned int
plx_control_once(struct plx_control *ctl)
{
	struct plx_control_req *reqs[ANSWER_BURST];
	struct control_home *home = home_here(ctl);
	unsigned int nb;

	if (home == NULL || home->nb_under_way == 0)
		return 0;
	nb = plx_lane_recv(home->answers, reqs, ANSWER_BURST);
	for (unsigned int i = 0; i < nb; i++) {
		/* First, so that done may submit it again even when nb_reqs is 1. */
		home_count(home, home->nb_under_way - 1);
		req_leave(reqs[i]);
		reqs[i]->done(reqs[i]);
	}
	return nb;
}

bool
plx_control_serves(const struct plx_control *ctl, unsigned int lcore)
{
	return lcore < RTE_MAX_LCORE && ctl->home[lcore].answers != NULL;
}

unsigned int
plx_control_nb_under_way(const struct plx_control *ctl)
{
	unsigned int lcore = rte_lcore_id();

	return lcore < RTE_MAX_LCORE ? ctl->home[lcore].nb_under_way : 0;
}

/* A request on the stack of a thread that waits. */
struct sync_req {
	struct plx_control_req base;
	int (*fn)(void *arg);
	void *arg;
	sem_t ran;
};

static int
sync_fn(struct plx_control_req *req)
{
	struct sync_req *sync = plx_container_of(req, struct sync_req, base);

	return sync->fn(sync->arg);
}

static void
sync_done(struct plx_control_req *req)
{
	sem_post(&plx_container_of(req, struct sync_req, base)->ran);
}

int
plx_control_sync(struct plx_control *ctl, int (*fn)(void *arg), void *arg)
{
	struct sync_req sync = {
		.base = {.fn = sync_fn, .done = sync_done, .home = LCORE_ID_ANY},
		.fn = fn,
		.arg = arg,
	};

	if (on_control_thread(ctl))
		return -EDEADLK;
	plx_turn_waits("plx_control_sync()");
	sem_init(&sync.ran, 0, 0);
	queue_push(ctl, &sync.base);
	while (sem_wait(&sync.ran) != 0)
		; /* EINTR: a signal handler of the caller's has run */
	sem_destroy(&sync.ran);
	return sync.base.result;
}

/* ---- files --------------------------------------------------------------------------------- */

struct watch_arg {
	struct plx_control *ctl;
	struct plx_control_watch *watch;
};

static int
watch_add(void *arg)
{
	const struct watch_arg *a = arg;

	return control_watches_add(&a->ctl->watches, a->watch);
}

static int
watch_remove(void *arg)
{
	const struct watch_arg *a = arg;

	return control_watches_remove(&a->ctl->watches, a->watch);
}

int
plx_control_watch(struct plx_control *ctl, struct plx_control_watch *watch)
{
	struct watch_arg arg = {.ctl = ctl, .watch = watch};

	if (watch->fn == NULL || watch->fd < 0) {
		PLX_LOG(ERR, "control: a watch of file %d%s", watch->fd, watch->fn == NULL ? " without fn" : "");
		return -EINVAL;
	}
	return plx_control_sync(ctl, watch_add, &arg);
}

int
plx_control_unwatch(struct plx_control *ctl, struct plx_control_watch *watch)
{
	struct watch_arg arg = {.ctl = ctl, .watch = watch};

	return plx_control_sync(ctl, watch_remove, &arg);
}
