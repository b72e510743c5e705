/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

/**
 * @file
 * One script of operations, run on a device, gives one trace: what completed, how, and what memory is like then. Traces
 * of two devices are compared line by line.
 *
 *      script.txt --> conformance_step.c --> steps --> conformance_run.c --> trace on stdout
 *                                                        |
 *                                             conformance_pair.c: a <--> b
 *
 * A line of the script is a step: posts of side a and b, in order; then all of them complete. When one has failed, both
 * QPs are taken to ERR, the rest is flushed, and the next step has a new pair. README.md has the language.
 */

#include <plx_mw.h>

#define STEP_POSTS 16 /* in one step */
#define STEP_SGES  33 /* of one post: more than any device here grants */
#define SIDES	   2
#define BUF_LEN	   65536u

/** The memory of a side, by name. What they allow and where they are: conformance_pair.c. */
enum region {
	REGION_ALL,
	REGION_PART,
	REGION_READONLY,
	REGION_NOREMOTE,
	REGION_NOREAD,
	REGION_NOWRITE,
	REGION_NOATOMIC,
	REGION_GONE,
	REGION_OTHERPD,
	REGION_BADKEY,
	REGION_WINDOW,	  /**< as a target: the key of the side's last bind */
	REGION_OLDWINDOW, /**< and of the one before */

	NB_REGIONS
};

extern const char *const region_names[];

struct place {
	enum region region;
	int at;
	uint32_t len;
};

struct post {
	unsigned int side;
	enum plx_opcode opcode;
	uint8_t flags; /**< PLX_WR_* */
	bool error;    /**< no post: the QP is taken to ERR */
	uint32_t nb_sges;
	struct place sges[STEP_SGES];
	struct place target; /**< at the peer; of a local-inv, here */
	uint32_t rights;     /**< of a bind: PLX_ACCESS_REMOTE_* */
	uint64_t numbers[2]; /**< immediate; addend; compare, swap */
};

struct step {
	bool pair;	 /**< make a new pair whose side b has these rights on its QP */
	uint32_t rights; /**< PLX_ACCESS_REMOTE_* */
	unsigned int nb_posts;
	struct post posts[STEP_POSTS];
};

/** Decode a line. 0, -ENOENT: nothing on it, or -EINVAL with the word that is wrong in @p word. */
int step_parse(char *line, struct step *step, const char **word);

/** Two connected QPs, and memory that outlives them. */
struct pair {
	struct plx_device *dev;
	struct plx_pd *pd, *other_pd;
	struct plx_cq *cqs[SIDES];
	struct plx_qp *qps[SIDES];
	uint8_t *bufs[SIDES];
	struct plx_mr *mrs[SIDES][NB_REGIONS];
	struct plx_mw *mws[SIDES][NB_REGIONS]; /**< onto those; NULL until they are bound */
	uint32_t lkeys[SIDES][NB_REGIONS], rkeys[SIDES][NB_REGIONS];
};

/** The device's objects that last, on a device that errs as @p faults says (NULL: as it is). 0, or -1 with a message. */
int pair_open(struct pair *pair, const char *device, const char *faults);
/** 0, or -1 with a message: the device did not let go of something. */
int pair_close(struct pair *pair);
/** New CQs and QPs, connected; buffers as they were in the beginning. 0, or -1 with a message. */
int pair_renew(struct pair *pair, uint32_t rights);
/** Address of @p place in the memory of @p side. */
uint64_t pair_addr(const struct pair *pair, unsigned int side, const struct place *place);
/** Of all bytes of a side's buffer. */
uint32_t pair_sum(const struct pair *pair, unsigned int side);

/** Make @p wr the bind that @p post is. 0, or another number: refused. */
int window_bind(struct pair *pair, const struct post *post, struct plx_wr *wr);
/** Every window goes. 0, or -errno of one that did not. */
int windows_drop(struct pair *pair);

/** Run all lines of @p path. 0, or -1 with a message. */
int script_run(struct pair *pair, const char *path);

#endif
