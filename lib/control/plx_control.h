/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_CONTROL_H
#define PLX_CONTROL_H

/**
 * @file
 * The control thread: where what may block runs, so that no polling lcore ever does.
 *
 *   lcore 1                     control thread                      lcore 2
 *   submit(a) --+            +- a.fn()  may block ---lane of 1-->
 *               +--> queue --+- b.fn()                              submit(b)
 *   once():     |            +-                  ---lane of 2---->  once():
 *     a.done()  |                                                     b.done()
 *               +--- sync(fn, arg) of any other thread, which waits
 *
 * A request is a struct inside the caller's own object; nothing is allocated per request. Requests
 * run one at a time, in the order in which they were submitted. `fn` runs on the control thread;
 * its result goes back to the lcore that asked, where `done` runs inside plx_control_once(), a hook
 * of that lcore's poller or worker loop.
 *
 * It can watch files too (plx_control_watch()): those of async events, which so are read on no polling lcore.
 *
 * submit takes no lock that the control thread could hold while it is preempted. It makes one
 * system call when the control thread sleeps, and one more while files are watched.
 *
 * Where the thread runs: EAL pins the thread that initialises it, and threads made later inherit
 * that pin, so that a plain pthread would share its CPU with a busy-polling loop. This one gets a
 * mask of its own: the CPUs given, or those that the process may use and no polling lcore does.
 *
 * @since 0.1
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_lcore.h>

#include "plx_common.h"

#ifdef __cplusplus
extern "C" {
#endif

struct plx_control;
struct plx_control_req;

/** The slow verb: on the control thread, may block; what it returns becomes `result`. It may free
 * or submit other requests' memory, not @p req's. */
typedef int (*plx_control_fn_t)(struct plx_control_req *req);

/** The answer: on the lcore that asked, in plx_control_once(). @p req is the caller's again: it may
 * be freed here, or submitted again. */
typedef void (*plx_control_done_t)(struct plx_control_req *req);

/**
 * One request, embedded in the caller's object (plx_container_of() leads back). Zero is valid and
 * idle. From a submit that returned 0 until its `done` runs it belongs to the control room.
 */
struct plx_control_req {
	plx_control_fn_t fn;
	plx_control_done_t done;
	int result;	   /**< of fn; read it in done */
	unsigned int home; /**< lcore that asked; set by submit */

	/* private */
	uint32_t under_way;
	struct plx_control_req *next;
};

/** What a control thread is made of. Zero is valid: nobody but threads in plx_control_sync(). */
struct plx_control_conf {
	/** CPUs for the thread, taken as they are; NULL: plx_control_cpus(NULL, ...). */
	const rte_cpuset_t *cpuset;
	const unsigned int *lcores; /**< ids of the lcores that may submit, each once */
	unsigned int nb_lcores;
	/** Most requests that one lcore has under way; 0: 4096. More are refused, -EAGAIN. */
	unsigned int nb_reqs;
};

/**
 * The CPUs on which a control thread disturbs no poller: @p allowed without the CPUs of all lcores
 * but the main one, and without the @p nb_lcores CPUs of @p lcores (main may poll too). All of
 * @p allowed when nothing would remain; the return value says whether that was so.
 *
 * @p allowed NULL: all CPUs that the kernel lets the process use. That is not what `taskset` had
 * allowed, which nobody can ask for after rte_eal_init() has pinned the thread. To honour it, an
 * application records pthread_getaffinity_np() before, and passes it here and the result in the
 * conf.
 */
bool plx_control_cpus(
	const rte_cpuset_t *allowed, const unsigned int *lcores, unsigned int nb_lcores, rte_cpuset_t *cpus);

/**
 * Start a control thread, named "plx-control". All signals are blocked on it: they belong to the
 * application's threads. NULL with `rte_errno`
 *   EINVAL   conf: no list of its lcores, an lcore id beyond RTE_MAX_LCORE or named twice; a CPU set without a usable CPU
 *   ENOMEM   no memory for the lanes or the thread
 *   other    what pthread_create(3) said
 */
struct plx_control *plx_control_create(const struct plx_control_conf *conf);

/**
 * Run what is queued, join the thread, free all. From any thread but the control thread; nobody may
 * submit or sync meanwhile. 0, or, with nothing changed,
 *   -EBUSY    held, or requests of lcores are under way; the count is logged. Their `done` has to run on
 *             their lcores: go on calling plx_control_once() there, then destroy. An lcore that
 *             leaves its loop first sees to it that plx_control_nb_under_way() is 0
 *   -EDEADLK  called on the control thread
 * NULL is fine.
 */
int plx_control_destroy(struct plx_control *ctl);

/**
 * Count one more, or one less, that needs the thread (a connection group, whose closes would never end without it):
 * while somebody holds it, it cannot be destroyed. Any thread.
 */
void plx_control_hold(struct plx_control *ctl);
/** The other half of plx_control_hold(). */
void plx_control_release(struct plx_control *ctl);

/**
 * Queue @p req, whose fn and done are set. On an lcore that was named in the conf. 0, or
 *   -EINVAL   fn or done is NULL
 *   -EPERM    the calling thread is no lcore of the conf: nowhere to bring the answer.
 *             plx_control_sync() is for it
 *   -EBUSY    @p req is under way already
 *   -EAGAIN   nb_reqs requests of this lcore are under way: answers come with plx_control_once()
 */
int plx_control_submit(struct plx_control *ctl, struct plx_control_req *req);

/**
 * Take the answers that have come for the calling lcore, at most 32, and run their `done`. Returns
 * how many; 0 on a thread that is no lcore of the conf. Costs a load or two when nothing is under
 * way. Not from inside a `done`: later answers would overtake.
 */
unsigned int plx_control_once(struct plx_control *ctl);

/** Whether lcore @p lcore was named in the conf, so that it may submit. Any thread. */
bool plx_control_serves(const struct plx_control *ctl, unsigned int lcore);

/**
 * A file that the control thread waits for beside its requests, embedded in the caller's object. Zero but for fd and fn.
 * From a plx_control_watch() that returned 0 until plx_control_unwatch() returns it belongs to the control room.
 */
struct plx_control_watch {
	/**
	 * Becomes -1 when the file has failed or is at its end, after a last call of fn; logged. Nothing is waited for
	 * then.
	 */
	int fd;
	/**
	 * @p watch's fd is readable: on the control thread, between requests. It reads, without blocking, until nothing is left.
	 * If it cannot it may set fd to -1 itself, so that it is not called again and again.
	 */
	void (*fn)(struct plx_control_watch *watch);

	/* private */
	struct plx_control_watch *next;
};

/**
 * Have the control thread call @p watch's fn whenever its fd is readable. Not on the control thread. 0, -EINVAL: no fn,
 * or an fd below 0; -ENOSPC: PLX_CONTROL_WATCHES files are watched; -EDEADLK: called on the control thread; or what
 * eventfd(2) says.
 */
int plx_control_watch(struct plx_control *ctl, struct plx_control_watch *watch);

/** After this fn does not run any more. -ENOENT: it is not watched; -EDEADLK: called on the control thread. */
int plx_control_unwatch(struct plx_control *ctl, struct plx_control_watch *watch);

/** Files that one control thread can watch. */
#define PLX_CONTROL_WATCHES 64

/** Requests of the calling lcore whose `done` has not run yet. */
unsigned int plx_control_nb_under_way(const struct plx_control *ctl);

/**
 * Run fn(arg) on the control thread, after what is queued, and wait for it: for threads outside of
 * any loop, alien ones too. Returns what fn returned, or
 *   -EDEADLK  called on the control thread: it would wait for itself
 */
int plx_control_sync(struct plx_control *ctl, int (*fn)(void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif
