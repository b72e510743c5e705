/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

/**
 * @file
 * A device that does what the test says: it keeps what is posted, and completes it when told to.
 */

#include <pthread.h>

#include "plx_driver.h"

#define FAKE_DEPTH 2048 /* of everything */

struct fake_queue {
	uint64_t wr_ids[FAKE_DEPTH];
	uint8_t flags[FAKE_DEPTH]; /**< of the WRs */
	uint32_t head, tail;
};

struct fake_qp {
	struct plx_qp base;
	struct fake_queue sq, rq;
	enum plx_qp_state state;
	unsigned int nb_posts;	   /**< post_send calls */
	unsigned int largest_post; /**< WRs of the longest chain */
	struct plx_wr last;	   /**< copy of the last WR posted */
	struct plx_sge last_sges[8];
};

struct fake_srq {
	struct plx_srq base;
	struct fake_queue q;
	uint32_t limit; /**< armed; 0: not */
};

struct fake_cq {
	struct plx_cq base;
	struct plx_wc wcs[FAKE_DEPTH];
	uint32_t head, tail;
	bool overflown;
	bool dead; /**< polls fail */
};

struct fake_device {
	struct plx_device base;
	unsigned int fail_post_at; /**< count down: the n-th WR from now is refused; 0: none */
	int fail_post_errno;
	bool deny_posts; /**< a receive that an SRQ refuses it has all the same */
	bool keep_flushes;	 /**< to_error flushes nothing */
	bool complete_in_post;	 /**< each send completes while it is posted, by on_post */
	void (*on_post)(struct fake_qp *qp, uint64_t wr_id);
	void (*on_limit)(struct plx_srq *srq); /**< fewer are left than its limit, which is armed no longer */
	unsigned int nb_created, nb_destroyed, nb_to_error;
	pthread_t verb_thread; /**< the last that created, modified or destroyed */
	uint32_t next_qp_num;
	struct plx_qp_cap grant_more; /**< granted beyond what was asked for */
	bool fail_limits, fail_create, fail_port, fail_to_error; /**< with -EIO */
	unsigned int fail_destroys;	 /**< atomic: so many attempts fail, with -EIO */
	unsigned int fail_srq_destroys;	 /**< likewise, not atomic */
	unsigned int fail_mr_deregisters; /**< likewise */
	unsigned int nb_destroy_tries; /**< atomic */
	int event_fd;			 /**< 0: it has no events */
	int event_err;			 /**< every read of an event fails with it */
	unsigned int nb_event_reads;	 /**< atomic */
};

/** A device that is ready for plx_pd_create(). One at a time. */
struct fake_device *fake_device_open(void);

static inline struct fake_qp *
fake_qp(struct plx_qp *qp)
{
	return plx_container_of(qp, struct fake_qp, base);
}

/** Put a completion into @p cq. */
void fake_cq_push(struct plx_cq *cq, const struct plx_wc *wc);

/** Complete the oldest @p n sends or receives of @p qp; nothing tells the success of an unsignaled send. */
void fake_complete(struct plx_qp *qp, bool recv, unsigned int n, enum plx_status status);

/** A message for @p qp takes the oldest receive of its SRQ, and ends so; false: there is none. */
bool fake_arrive(struct plx_qp *qp, enum plx_status status);

/* fake_srq.c: slots of the driver's. */
struct plx_srq *fake_srq_create(struct plx_pd *pd, const struct plx_srq_conf *conf);
int fake_srq_destroy(struct plx_srq *srq);
int fake_srq_arm(struct plx_srq *srq, uint32_t limit);
/** Whether the next WR is refused, and with what (fail_post_at). */
bool fake_refuses(struct fake_device *dev, int *err);

static inline struct fake_srq *
fake_srq(struct plx_srq *srq)
{
	return plx_container_of(srq, struct fake_srq, base);
}

/** Forget the oldest send or receive: its completion will never come. */
void fake_lose(struct plx_qp *qp, bool recv);

#endif
