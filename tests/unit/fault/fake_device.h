/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

/**
 * @file
 * A device without a data path of its own: CQEs come when the test says so, posts are only recorded. It grants
 * other sizes than those asked for, and any of its verbs can be made to fail.
 */

#include "plx_driver.h"

#define FAKE_CQES 4096
#define FAKE_WRS  256

struct fake_cq {
	struct plx_cq base;
	struct plx_wc wcs[FAKE_CQES];
	uint32_t head, tail;
	int dead;    /* what a poll of the empty CQ returns */
	int endless; /* never empty: the first CQE over and over */
	uint32_t nb_polls;
};

struct fake_qp {
	struct plx_qp base;
	uint64_t wr_ids[FAKE_WRS]; /* of sends and receives, as posted */
	uint32_t nb_wrs;
	uint32_t nb_posts; /* calls */
	uint32_t room;	   /* WRs that still fit; then -ENOMEM */
	int state;
};

struct fake_device {
	struct plx_device base;
	int fail; /* errno of every further create, destroy and modify; 0: they work */
	struct fake_cq *cqs[4];
	struct fake_qp *qps[4];
	uint32_t nb_cqs_made, nb_qps_made;
	int event_fd; /* -1: it tells of no events */
	struct plx_event events[80];
	uint32_t nb_events;
};

/** Devices, PDs, MRs, CQs and QPs that exist now. */
extern int fake_nb_objects;

struct fake_device *fake_open(void);

/** An async event. */
void fake_raise(struct fake_device *fake, enum plx_event_type type, uint64_t object);

/** One CQE of each wr_id from @p first on. */
void fake_complete_from(struct fake_cq *cq, uint64_t first, uint32_t n);
/** One CQE with every field set to something. */
void fake_complete_with(struct fake_cq *cq, uint64_t wr_id, uint8_t status);

#endif
