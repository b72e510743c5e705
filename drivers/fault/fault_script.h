/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FAULT_SCRIPT_H
#define FAULT_SCRIPT_H

/**
 * @file
 * A fault script as data, and its decoder. doc/guide/fault.md is the language.
 *
 *      "drop cqe 1/9; fail qp_create 2 EIO"
 *         words (fault_words.h) --> parts (fault_parts.c) --> rules (fault_script.c) --> struct fault_script
 *
 * The decoder takes a pointer and a length and touches nothing else.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_RULES_MAX	 16
#define FAULT_GROWS_MAX	 4 /* rules that double what one CQE can become */
#define FAULT_NTH_MAX	 1000000000u
#define FAULT_TURNS_MAX	 1000000u
#define FAULT_AGE_MAX	 1024u
#define FAULT_DELAY_MAX	 1000000u
#define FAULT_QPN_MAX	 16000000u
#define FAULT_ERROR_LEN	 256

enum fault_action {
	/* On CQEs, in script order. */
	FAULT_DROP,
	FAULT_DUP,
	FAULT_HOLD,
	FAULT_SWAP,
	FAULT_REPLAY,
	FAULT_ERROR,
	FAULT_WRID,
	FAULT_POISON,
	/* On WRs: the first that hits decides. */
	FAULT_FAIL_POST,
	FAULT_DENY,
	FAULT_UNNAME,
	FAULT_LOSE,
	FAULT_LINK,
	FAULT_IN_ERR,
	/* On control verbs, likewise, but every delay counts. */
	FAULT_FAIL_VERB,
	FAULT_DELAY,
	/* On the device. */
	FAULT_QPN,
	FAULT_EVENT,
	FAULT_RAISE,
};

/** Whether of one CQE that enters a rule two may leave: FAULT_GROWS_MAX counts these, and so do the rings. */
static inline bool
fault_grows(enum fault_action action)
{
	return action == FAULT_DUP || action == FAULT_SWAP || action == FAULT_REPLAY;
}

/** What CQEs a rule is about. */
enum fault_object { FAULT_ANY, FAULT_OK, FAULT_ERR, FAULT_SENT, FAULT_RECEIVED };

enum fault_queue { FAULT_SEND, FAULT_RECV, FAULT_SRQ_RECV, FAULT_NB_QUEUES };

/** How a post says no. */
enum fault_style { FAULT_NEGATIVE, FAULT_PLAIN, FAULT_MINUS_ONE };

/** What a wr_id becomes. */
enum fault_garbage { FAULT_HASH, FAULT_ZERO, FAULT_ONES, FAULT_FLIP, FAULT_LAST };

/** What becomes of a WR that is posted in ERR. */
enum fault_fate { FAULT_REFUSE, FAULT_FLUSH, FAULT_SWALLOW };

/** What becomes of an async event. */
enum fault_event_fate { FAULT_EVENT_DROP, FAULT_EVENT_TWICE, FAULT_EVENT_LATE };

/** Control verbs as bits, named as the slots of struct plx_device_ops. */
enum fault_verb {
	FAULT_QP_LIMITS,
	FAULT_PORT_QUERY,
	FAULT_GID_QUERY,
	FAULT_PD_CREATE,
	FAULT_PD_DESTROY,
	FAULT_MR_REGISTER,
	FAULT_MR_DEREGISTER,
	FAULT_CQ_CREATE,
	FAULT_CQ_DESTROY,
	FAULT_QP_CREATE,
	FAULT_QP_DESTROY,
	FAULT_QP_LOCAL_ADDR,
	FAULT_QP_BRING_UP,
	FAULT_QP_TO_ERROR,
	FAULT_QP_QUERY_STATE,
	FAULT_MW_CREATE,
	FAULT_MW_DESTROY,
	FAULT_SRQ_CREATE,
	FAULT_SRQ_DESTROY,
	FAULT_SRQ_ARM,
	FAULT_SRQ_QUERY,

	FAULT_NB_VERBS
};

/** Which of the things that reach a rule it acts on: of first to last every nth, or by chance 1 in nth. */
struct fault_which {
	uint64_t first;
	uint64_t last;
	uint32_t nth;
	bool seeded; /* the seed and the count decide */
	uint32_t seed;
};

struct fault_rule {
	enum fault_action action;
	struct fault_which which;
	uint8_t object; /* enum fault_object */
	uint8_t queue;	/* enum fault_queue */
	uint8_t how;	/* enum fault_style, fault_garbage, fault_fate or fault_event_fate, as the action wants it */
	bool fatal;
	uint32_t arg; /* hold, lose: turns; replay: age; error: status; fail: errno; wrid: bit; delay: us; qpn: first; event: looks */
	uint32_t most;	/* hold: turns at most */
	uint32_t verbs;	/* 1 << enum fault_verb */
	uint32_t event;	/* enum plx_event_type */
};

struct fault_script {
	unsigned int nb_rules;
	struct fault_rule rules[FAULT_RULES_MAX];
};

/**
 * Decode @p len bytes at @p text. 0, or -EINVAL with a line in @p error (FAULT_ERROR_LEN bytes) that names rule,
 * column and what was expected there; then @p script is undefined.
 */
int fault_script_parse(const char *text, size_t len, struct fault_script *script, char *error);

/** Whether the @p count th thing (from 1) is one of @p which. */
bool fault_which_hits(const struct fault_which *which, uint64_t count);

/** A number from @p least to @p most that the seed and @p count decide. */
uint32_t fault_which_between(const struct fault_which *which, uint64_t count, uint32_t least, uint32_t most);

/** A number that looks random; each @p x has its own. */
uint64_t fault_mix(uint64_t x);

#endif
