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

#include "fault_ring.h"
#include "fault_script.h"
#include "plx_driver.h"
#include "plx_fault.h"

struct fault_device {
	struct plx_device base;
	struct plx_device *inner;
	struct fault_script script;
	bool fails_send; /* the script has a rule for it */
	bool fails_recv;
	bool holds;
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

struct fault_cq {
	struct plx_cq base;
	struct plx_cq *inner;
	struct fault_device *dev;
	uint64_t turn; /* polls so far */
	/* One for each `hold` rule, at the rule's index, and behind the last rule the one for what is
	 * ready to be given. */
	struct fault_ring rings[FAULT_RULES_MAX + 1];
};

struct fault_qp {
	struct plx_qp base;
	struct plx_qp *inner;
	struct fault_device *dev;
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

/** Count one more thing that reaches rule @p i, and say whether the rule acts on it. */
static inline bool
fault_rule_hits(struct fault_device *dev, unsigned int i)
{
	uint64_t count = __atomic_add_fetch(&dev->counts[i], 1, __ATOMIC_RELAXED);

	return fault_which_hits(&dev->script.rules[i].which, count);
}

static inline struct fault_ring *
fault_ready(struct fault_cq *cq)
{
	return &cq->rings[cq->dev->script.nb_rules];
}

/**
 * How many CQEs may enter at rule @p from: each can double at every `dup`, and all of them can end up in the same
 * ring, as far as the first that takes them all.
 */
uint32_t fault_room(const struct fault_cq *cq, unsigned int from);

/**
 * Send a CQE through the rules, from number @p from on, into the ring where it has to wait. fault_room() is at
 * least 1. Calls itself once for each `dup` at most.
 */
void fault_cqe_pass(struct fault_cq *cq, unsigned int from, const struct plx_wc *original);

/** Let go what is due. */
void fault_release(struct fault_cq *cq);

/** The data path of a wrapper. */
extern const struct plx_fast_ops fault_fast;
uint16_t fault_post_send(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err);
uint16_t fault_post_recv(struct plx_qp *qp, const struct plx_wr *const *wrs, uint16_t n, int *err);
int fault_poll_cq(struct plx_cq *cq, struct plx_wc *wcs, uint16_t n);

struct plx_cq *fault_cq_create(struct plx_device *dev, uint32_t nb_cqe);
int fault_cq_destroy(struct plx_cq *cq);
struct plx_qp *fault_qp_create(struct plx_pd *pd, const struct plx_qp_conf *conf);
int fault_qp_destroy(struct plx_qp *qp);
int fault_qp_local_addr(struct plx_qp *qp, const struct plx_qp_path *path, struct plx_qp_addr *addr);
int fault_qp_bring_up(struct plx_qp *qp, const struct plx_qp_path *path, const struct plx_qp_addr *peer);
int fault_qp_to_error(struct plx_qp *qp);
int fault_qp_query_state(struct plx_qp *qp);

#endif
