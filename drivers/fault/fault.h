/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FAULT_H
#define FAULT_H

/**
 * @file
 * The wrapper's objects. Each holds the inner object that it stands for; lib/device checks and counts both, the
 * wrapper's for its user and inner's for the wrapper.
 */

#include <pthread.h>

#include "fault_ring.h"
#include "fault_script.h"
#include "plx_driver.h"
#include "plx_fault.h"
#include "plx_mw.h"
#include "plx_srq.h"

#define FAULT_QPNS	 (1u << 16) /* QPs that `qpn` can number */
#define FAULT_EVENTS_MAX 64	    /* that wait to be read */

/** An object of the inner device whose events name it, and the wrapper's. */
struct fault_link {
	const uint64_t *inner_id;
	const uint64_t *id;
	struct fault_link *next;
};

struct fault_event {
	struct plx_event event;
	uint64_t due; /* the look at which it is told */
};

struct fault_device {
	struct plx_device base;
	struct plx_device *inner;
	struct fault_script script;
	bool watches[FAULT_NB_QUEUES]; /* by enum fault_queue: the script has a rule for posts to it */
	bool holds;
	bool raises;
	plx_fault_hook_t hook;
	void *hook_arg;

	/* fault_qps.c */
	pthread_mutex_t lock;
	struct fault_qp *qps;  /* all, under the lock */
	uint64_t *numbers;     /* NULL without `qpn`: inner QP number -> ours; atomic */
	uint8_t *number_taken; /* by number - first; under the lock */

	/* fault_event.c; under the lock, but for the files */
	int event_fd, wake_fd; /* -1: inner tells of no events */
	struct fault_link *links;
	uint64_t looks;
	unsigned int nb_events;
	struct fault_event events[FAULT_EVENTS_MAX];

	/* Shared by the owners of all CQs and QPs. Relaxed atomics: nothing is ordered by a count. */
	uint64_t counts[FAULT_RULES_MAX]; /* what has reached each rule */
	struct plx_fault_stats stats;
};

struct fault_pd {
	struct plx_pd base;
	struct plx_pd *inner;
};

struct fault_mr {
	struct plx_mr base;
	struct plx_mr *inner;
};

struct fault_srq {
	struct plx_srq base;
	struct plx_srq *inner;
	struct fault_device *dev;
	struct fault_link link;
};

struct fault_cq {
	struct plx_cq base;
	struct plx_cq *inner;
	struct fault_device *dev;
	struct fault_link link;
	uint64_t turn;	     /* polls so far */
	uint64_t taken;	     /* CQEs off the inner CQ so far */
	uint64_t empty_turn; /* the last poll that found the inner CQ empty */
	uint64_t last_wr_id[FAULT_RULES_MAX]; /* `wrid last`: of the CQE before */
	/* At the index of a `hold`, `swap` or `replay` rule its own, and behind the last rule the one for what is
	 * ready to be given. */
	struct fault_ring rings[FAULT_RULES_MAX + 1];
	struct fault_ring made; /* CQEs that the inner CQ never had, on their way to the first rule */
};

struct fault_qp {
	struct plx_qp base;
	struct plx_qp *inner;
	struct fault_device *dev;
	struct fault_qp *next;
	struct fault_link link;
	uint64_t lost_due; /* `lose`: the turn of the send CQ at which it is found out; 0: nothing is lost */
};

/* Typed conversions: base is the first member. */

static inline struct fault_device *
fault_device(struct plx_device *dev)
{
	return plx_container_of(dev, struct fault_device, base);
}

static inline struct fault_pd *
fault_pd(struct plx_pd *pd)
{
	return plx_container_of(pd, struct fault_pd, base);
}

static inline struct fault_mr *
fault_mr(struct plx_mr *mr)
{
	return plx_container_of(mr, struct fault_mr, base);
}

static inline struct fault_srq *
fault_srq(struct plx_srq *srq)
{
	return plx_container_of(srq, struct fault_srq, base);
}

static inline struct fault_cq *
fault_cq(struct plx_cq *cq)
{
	return plx_container_of(cq, struct fault_cq, base);
}

static inline struct fault_qp *
fault_qp(struct plx_qp *qp)
{
	return plx_container_of(qp, struct fault_qp, base);
}

static inline void
fault_count(uint64_t *stat, uint64_t n)
{
	__atomic_fetch_add(stat, n, __ATOMIC_RELAXED);
}

static inline void
fault_uncount(uint64_t *stat, uint64_t n)
{
	__atomic_fetch_sub(stat, n, __ATOMIC_RELAXED);
}

/** Count one more thing that reaches rule @p i: its number if the rule acts on it, else 0. */
static inline uint64_t
fault_rule_hits(struct fault_device *dev, unsigned int i)
{
	uint64_t count = __atomic_add_fetch(&dev->counts[i], 1, __ATOMIC_RELAXED);

	return fault_which_hits(&dev->script.rules[i].which, count) ? count : 0;
}

static inline struct fault_ring *
fault_ready(struct fault_cq *cq)
{
	return &cq->rings[cq->dev->script.nb_rules];
}

/**
 * How many CQEs may enter at rule @p from: each can double at every `dup`, `swap` and `replay`, and all of them can end
 * up in the same ring, as far as the first that takes them all.
 */
uint32_t fault_room(const struct fault_cq *cq, unsigned int from);

/**
 * Send a CQE through the rules, from number @p from on, into the ring where it has to wait. fault_room() is at
 * least 1. Calls itself twice at most for each rule that makes two of one.
 */
void fault_cqe_pass(struct fault_cq *cq, unsigned int from, const struct plx_wc *original);

/** Let go what is due. */
void fault_release(struct fault_cq *cq);

/* ---- fault_cq.c ---- */
struct plx_cq *fault_cq_create(struct plx_device *dev, uint32_t nb_cqe);
int fault_cq_destroy(struct plx_cq *cq);
int fault_poll_cq(struct plx_cq *cq, struct plx_wc *wcs, uint16_t n);
/** Have @p cq give an error CQE of @p qp that inner never had, @p turns polls from now. False: no room. */
bool fault_cqe_make(struct fault_cq *cq, const struct fault_qp *qp, uint64_t wr_id, uint8_t status, uint64_t due);

/* ---- fault_qps.c: what is known of all QPs of a device ---- */
int fault_qps_init(struct fault_device *dev);
void fault_qps_fini(struct fault_device *dev);
/** Give @p qp, whose inner one is made, its number. -ENOSPC: all that `qpn` has are taken. */
int fault_qps_add(struct fault_device *dev, struct fault_qp *qp);
/** From here on no completion takes @p qp to ERR; until it is shown again, when it was not destroyed after all. */
void fault_qps_hide(struct fault_device *dev, struct fault_qp *qp);
void fault_qps_show(struct fault_device *dev, struct fault_qp *qp);
void fault_qps_free_number(struct fault_device *dev, uint32_t qp_num);
/** Our number of the inner QP @p inner, also when it is gone. */
uint32_t fault_qps_number(struct fault_device *dev, uint32_t inner);
/** Take the QP that has @p qp_num, if it is there, to ERR. Any thread. */
void fault_qps_fail(struct fault_device *dev, uint32_t qp_num);

/* ---- fault_post.c ---- */
extern const struct plx_fast_ops fault_fast; /* the data path of a wrapper */
/** One more look at the link: `link` rules count it as they count sends. Any thread. */
bool fault_link_is_down(struct fault_device *dev);

/* ---- fault_control.c ---- */
/** One more call of @p verb: wait, and 0 or the errno with which it is refused, as the script says. Any thread. */
int fault_verb(struct fault_device *dev, enum fault_verb verb);

/** Memory for the wrapper of an object that @p verb is to make. NULL with rte_errno: a rule says no, or there is none. */
void *fault_object(struct fault_device *dev, enum fault_verb verb, size_t size);

/* ---- fault_memory.c ---- */
struct plx_pd *fault_pd_create(struct plx_device *dev);
int fault_pd_destroy(struct plx_pd *pd);
struct plx_mr *fault_mr_register(struct plx_pd *pd, void *addr, uint64_t len, uint32_t rights);
struct plx_mr *fault_mr_register_dmabuf(struct plx_pd *pd, int fd, uint64_t offset, uint64_t len, uint64_t iova,
	uint32_t rights);
int fault_mr_deregister(struct plx_mr *mr);
struct plx_mw *fault_mw_create(struct plx_mr *mr);
int fault_mw_destroy(struct plx_mw *mw);

/* ---- fault_srq.c ---- */
struct plx_srq *fault_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf);
int fault_srq_destroy(struct plx_srq *srq);
int fault_srq_arm(struct plx_srq *srq, uint32_t limit);
int fault_srq_query(struct plx_srq *srq, struct plx_srq_attr *attr);

/* ---- fault_event.c ---- */
/** Events that come with a posted send, a poll, and a receive posted to an SRQ: raised for its QP, CQ and SRQ. */
#define FAULT_EVENTS_OF_SEND                                                                                 \
	(1u << PLX_EVENT_QP_FATAL | 1u << PLX_EVENT_LAST_WQE | 1u << PLX_EVENT_PORT_DOWN | 1u << PLX_EVENT_PORT_UP |  \
		1u << PLX_EVENT_DEVICE_FATAL)
#define FAULT_EVENTS_OF_POLL (1u << PLX_EVENT_CQ_ERROR)
#define FAULT_EVENTS_OF_SRQ  (1u << PLX_EVENT_SRQ_LIMIT | 1u << PLX_EVENT_SRQ_ERROR)
#define FAULT_EVENTS_OF_NONE (1u << PLX_EVENT_PORT_DOWN | 1u << PLX_EVENT_PORT_UP | 1u << PLX_EVENT_DEVICE_FATAL)
int fault_event_init(struct fault_device *dev);
void fault_event_fini(struct fault_device *dev);
int fault_event_fd(struct plx_device *dev);
int fault_event_next(struct plx_device *dev, struct plx_event *event);
/**
 * Raise what `raise` rules want now that something has happened to @p object that events of @p types come with. Any
 * thread.
 */
void fault_event_raise(struct fault_device *dev, uint32_t types, uint64_t object);
/** From here on events of the object with the id at @p inner name the one with that at @p id. */
void fault_link(struct fault_device *dev, struct fault_link *link, const uint64_t *inner, const uint64_t *id);
void fault_unlink(struct fault_device *dev, struct fault_link *link);

/* ---- fault_qp.c ---- */
struct plx_qp *fault_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf);
int fault_qp_destroy(struct plx_qp *qp);
int fault_qp_limits(struct plx_device *dev, struct plx_qp_cap *cap);
int fault_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr);
int fault_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer);
int fault_qp_to_error(struct plx_qp *qp);
int fault_qp_query_state(struct plx_qp *qp);

#endif
