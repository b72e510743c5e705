/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef CONTRACT_PAIR_H
#define CONTRACT_PAIR_H

/**
 * @file
 * Two connected QPs with everything that a data test wants:
 *
 *      side A:  qp, cq, buf[PAIR_BUF_LEN] in mr   <------->   side B:  the same
 *
 * Both sides are in one PD. Each has one CQ for its send and its receive queue.
 */

#include "contract_objects.h"

#define PAIR_BUF_LEN ((1u << 20) + 8192) /* the largest message, and room behind it */

struct side {
	struct plx_cq *cq;
	struct plx_qp *qp;
	uint8_t *buf;
	struct plx_mr *mr;
};

struct pair {
	struct objects objs; /* first: objects_teardown() takes a pair as well */
	struct plx_pd *pd;
	struct plx_srq *srq; /* side B's, if conf.srq_depth asked for it */
	struct side a;
	struct side b;
};

/** How a pair is made; pair_conf() gives the usual one. */
struct pair_conf {
	uint32_t nb_cqe;
	struct plx_qp_cap cap;
	struct plx_qp_path path; /**< rights of side A; side B has b_rights */
	uint32_t b_rights;
	uint32_t srq_depth; /* 0: side B has a receive queue of its own */
	bool connect;
};

struct pair_conf pair_conf(void);

/** Make one side more in the PD of @p pair, which remembers what it is made of; @p srq may be NULL. */
void side_make(struct pair *pair, struct side *side, struct plx_device *dev, const struct pair_conf *conf,
	struct plx_srq *srq);
/** Exchange addresses of two sides and bring them up; @p b has conf->b_rights. */
void sides_connect(struct side *a, struct side *b, const struct pair_conf *conf);

/** Make @p pair on @p dev, or fail the test. */
void pair_make(struct pair *pair, struct plx_device *dev, const struct pair_conf *conf);
/** Exchange addresses and bring both sides up. */
void pair_connect(struct pair *pair, const struct pair_conf *conf);

/** Set-up of a test whose state is a connected pair; not connected where the device cannot. */
int pair_setup(void **state);
/** The same without making anything yet: for a pair_make() with a conf of the test's own. */
int pair_setup_empty(void **state);
int pair_teardown(void **state);

#define pair_test(f)	   cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
#define pair_test_empty(f) cmocka_unit_test_setup_teardown(f, pair_setup_empty, pair_teardown)

/* ---- posting ------------------------------------------------------------------------------- */

/** @p len bytes at offset @p at of the buffer of @p side. */
struct plx_sge side_sge(const struct side *side, size_t at, uint32_t len);

/** A signaled WR over @p nb_sge SGEs; what is remote is left zero. */
struct plx_wr wr_of(uint64_t wr_id, unsigned int opcode, const struct plx_sge *sges, uint32_t nb_sge);
/** The same with offset @p at of the buffer of @p peer as the target. */
struct plx_wr wr_remote(uint64_t wr_id, unsigned int opcode, const struct plx_sge *sges, uint32_t nb_sge,
	const struct side *peer, size_t at);

/** Post one WR, or fail the test. */
void post_send(struct side *side, const struct plx_wr *wr);
void post_recv(struct side *side, const struct plx_wr *wr);
/** Post a receive of @p len bytes at offset @p at. */
void post_recv_at(struct side *side, uint64_t wr_id, size_t at, uint32_t len);

/* ---- waiting ------------------------------------------------------------------------------- */

#define WAIT_NS 10000000000ull /* nothing takes that long, however loaded the machine */

/** Poll until @p n completions are there, or fail the test. */
void wait_wcs_at(struct plx_cq *cq, struct plx_wc *wcs, unsigned int n, const char *file, int line);
#define wait_wcs(cq, wcs, n) wait_wcs_at(cq, wcs, n, __FILE__, __LINE__)

/** The next completion is that of @p wr_id and has @p status; it is returned. */
struct plx_wc wait_wc_at(struct plx_cq *cq, uint64_t wr_id, unsigned int status, const char *file, int line);
#define wait_wc(cq, wr_id, status) wait_wc_at(cq, wr_id, status, __FILE__, __LINE__)
#define wait_ok(cq, wr_id)	   wait_wc(cq, wr_id, PLX_ST_SUCCESS)

/** The CQ is empty, as far as some hundred polls tell. */
void expect_empty_at(struct plx_cq *cq, const char *file, int line);
#define expect_empty(cq) expect_empty_at(cq, __FILE__, __LINE__)

/** Wait until the byte at @p at is @p value. Whether it came in time. */
bool wait_byte(const uint8_t *at, uint8_t value);

/** Wait until the QP is in ERR; its peer may hear of a failure before it has got there itself. Whether it did. */
bool wait_error(struct plx_qp *qp);

/* ---- data ---------------------------------------------------------------------------------- */

/** Bytes that differ from place to place and from @p seed to @p seed. */
void fill(uint8_t *buf, size_t len, unsigned int seed);
void expect_filled_at(const uint8_t *buf, size_t len, unsigned int seed, const char *file, int line);
#define expect_filled(buf, len, seed) expect_filled_at(buf, len, seed, __FILE__, __LINE__)
/** All @p len bytes are @p value. */
void expect_all_at(const uint8_t *buf, size_t len, uint8_t value, const char *file, int line);
#define expect_all(buf, len, value) expect_all_at(buf, len, value, __FILE__, __LINE__)

#endif
