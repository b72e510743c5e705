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
	bool keep_flushes;	 /**< to_error flushes nothing */
	bool complete_in_post;	 /**< each send completes while it is posted, by on_post */
	void (*on_post)(struct fake_qp *qp, uint64_t wr_id);
	unsigned int nb_created, nb_destroyed, nb_to_error;
	pthread_t verb_thread; /**< the last that created, modified or destroyed */
	uint32_t next_qp_num;
	struct plx_qp_cap grant_more; /**< granted beyond what was asked for */
	bool fail_limits, fail_create, fail_port, fail_to_error; /**< with -EIO */
	unsigned int fail_destroys;	 /**< atomic: so many attempts fail, with -EIO */
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

/** Forget the oldest send or receive: its completion will never come. */
void fake_lose(struct plx_qp *qp, bool recv);

#endif
