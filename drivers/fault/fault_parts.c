/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "fault_parts.h"

#include <errno.h>

#include "plx_status.h"

#define WHICH_TEXT "N, N..M, N.. or 1/N (1 to 1000000000)"
#define ERRNO_TEXT "ENOMEM, EINVAL, EAGAIN, EIO, ENOSPC, EPERM, EBUSY or ENOTSUP"

/** Take one of @p names for @p member, or say that @p what was expected. */
static int
take_choice(struct fault_parser *p, const char *const *names, uint8_t *member, const char *what)
{
	int i = fault_word_choice(p, names);

	if (i < 0)
		return fault_expected(p, what);
	*member = (uint8_t)i;
	return 0;
}

static int
take_number(struct fault_parser *p, uint32_t max, uint32_t *member, const char *what)
{
	return fault_word_number(p, 1, max, member) ? 0 : fault_expected(p, what);
}

/* ---- which --------------------------------------------------------------------------------- */

static int
seed_maybe(struct fault_parser *p, bool every, struct fault_which *which)
{
	static const char *const seed[] = {"seed", NULL};
	struct fault_word word = fault_word_peek(p);

	if (fault_word_is(&word, seed[0]) && !every)
		return fault_expected(p, "no seed here (it goes with 1/N)");
	if (fault_word_choice(p, seed) < 0)
		return 0;
	if (!fault_word_number(p, 0, UINT32_MAX, &which->seed))
		return fault_expected(p, "a seed (0 to 4294967295)");
	which->seeded = true;
	return 0;
}

int
fault_part_which(struct fault_parser *p, struct fault_rule *rule)
{
	struct fault_which *which = &rule->which;
	struct fault_word word = fault_word_peek(p);
	bool every = word.len >= 2 && word.text[0] == '1' && word.text[1] == '/';
	uint32_t first = 1, last = FAULT_NTH_MAX;

	*which = (struct fault_which){.nth = 1};
	if (every) {
		if (!fault_number(word.text + 2, word.len - 2, 1, FAULT_NTH_MAX, &which->nth))
			return fault_expected(p, WHICH_TEXT);
	} else if (fault_number(word.text, word.len, 1, FAULT_NTH_MAX, &first)) {
		last = first;
	} else if (!fault_range(&word, true, 1, FAULT_NTH_MAX, &first, &last)) {
		return fault_expected(p, WHICH_TEXT);
	}
	which->first = first;
	which->last = last == FAULT_NTH_MAX && first != last ? UINT64_MAX : last;
	fault_word_take(p, &word);
	return seed_maybe(p, every, which);
}

int
fault_part_which_maybe(struct fault_parser *p, struct fault_rule *rule)
{
	return fault_word_peek(p).len > 0 ? fault_part_which(p, rule) : 0;
}

/* ---- CQEs ---------------------------------------------------------------------------------- */

static const char *const objects[] = {"cqe", "ok", "err", "send", "recv", NULL};

int
fault_part_object(struct fault_parser *p, struct fault_rule *rule)
{
	return take_choice(p, objects, &rule->object, "cqe, ok, err, send or recv");
}

int
fault_part_object_maybe(struct fault_parser *p, struct fault_rule *rule)
{
	int i = fault_word_choice(p, objects);

	if (i >= 0)
		rule->object = (uint8_t)i;
	return 0;
}

int
fault_part_success_maybe(struct fault_parser *p, struct fault_rule *rule)
{
	int i = fault_word_choice(p, objects + FAULT_SENT);

	rule->object = (uint8_t)(i < 0 ? FAULT_OK : FAULT_SENT + i);
	return 0;
}

int
fault_part_turns(struct fault_parser *p, struct fault_rule *rule)
{
	return take_number(p, FAULT_TURNS_MAX, &rule->arg, "a number of polls (1 to 1000000)");
}

int
fault_part_turns_range(struct fault_parser *p, struct fault_rule *rule)
{
	struct fault_word word = fault_word_peek(p);

	if (fault_range(&word, false, 1, FAULT_TURNS_MAX, &rule->arg, &rule->most)) {
		fault_word_take(p, &word);
		return 0;
	}
	if (take_number(p, FAULT_TURNS_MAX, &rule->arg, "a number of polls, T or T..U (1 to 1000000)") != 0)
		return -EINVAL;
	rule->most = rule->arg;
	return 0;
}

int
fault_part_age(struct fault_parser *p, struct fault_rule *rule)
{
	return take_number(p, FAULT_AGE_MAX, &rule->arg, "how many CQEs back (1 to 1024)");
}

/** What a device can say; ours (POST_FAILED and on) never come from one. */
int
fault_part_status(struct fault_parser *p, struct fault_rule *rule)
{
	struct fault_word word = fault_word_peek(p);

	for (uint32_t st = PLX_ST_SUCCESS + 1; st <= PLX_ST_TM_RNDV_INCOMPLETE; st++) {
		if (fault_word_is(&word, plx_status_name(st))) {
			rule->arg = st;
			fault_word_take(p, &word);
			return 0;
		}
	}
	return fault_expected(p, "an error status such as RNR_RETRY_EXC_ERR");
}

int
fault_part_fatal_maybe(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const fatal[] = {"fatal", NULL};

	rule->fatal = fault_word_choice(p, fatal) == 0;
	return 0;
}

int
fault_part_garbage_maybe(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const kinds[] = {"hash", "zero", "ones", "flip", "last", NULL};
	int kind = fault_word_choice(p, kinds);

	rule->how = (uint8_t)(kind < 0 ? FAULT_HASH : kind);
	if (rule->how == FAULT_FLIP && !fault_word_number(p, 0, 63, &rule->arg))
		return fault_expected(p, "a bit (0 to 63)");
	return 0;
}

/* ---- posts --------------------------------------------------------------------------------- */

static const char *const queues[] = {"post_send", "post_recv", "post_srq_recv", NULL};

int
fault_part_queue(struct fault_parser *p, struct fault_rule *rule)
{
	return take_choice(p, queues, &rule->queue, "post_send, post_recv or post_srq_recv");
}

int
fault_part_qp_queue(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const of_qp[] = {"post_send", "post_recv", NULL};

	return take_choice(p, of_qp, &rule->queue, "post_send or post_recv");
}

int
fault_part_send(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const send[] = {"post_send", NULL};

	return take_choice(p, send, &rule->queue, "post_send");
}

int
fault_part_down(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const down[] = {"down", NULL};

	return fault_word_choice(p, down) == 0 ? 0 : fault_expected(p, "down");
}

static bool
take_errno(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const names[] = {
		"ENOMEM", "EINVAL", "EAGAIN", "EIO", "ENOSPC", "EPERM", "EBUSY", "ENOTSUP", NULL};
	static const uint8_t errnos[] = {ENOMEM, EINVAL, EAGAIN, EIO, ENOSPC, EPERM, EBUSY, ENOTSUP};
	int i = fault_word_choice(p, names);

	if (i >= 0)
		rule->arg = errnos[i];
	return i >= 0;
}

int
fault_part_errno(struct fault_parser *p, struct fault_rule *rule)
{
	return take_errno(p, rule) ? 0 : fault_expected(p, ERRNO_TEXT);
}

int
fault_part_style_maybe(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const styles[] = {"negative", "plain", "minus-one", NULL};
	int style = rule->action == FAULT_FAIL_VERB ? -1 : fault_word_choice(p, styles);

	rule->how = (uint8_t)(style < 0 ? FAULT_NEGATIVE : style);
	return 0;
}

int
fault_part_fate(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const fates[] = {"flush", "swallow", NULL};
	int fate = fault_word_choice(p, fates);

	rule->how = (uint8_t)(fate < 0 ? FAULT_REFUSE : FAULT_FLUSH + fate);
	return fate >= 0 || take_errno(p, rule) ? 0 : fault_expected(p, "flush, swallow, " ERRNO_TEXT);
}

/* ---- control verbs ------------------------------------------------------------------------- */

static const char *const verbs[] = {
	[FAULT_QP_LIMITS] = "qp_limits",
	[FAULT_PORT_QUERY] = "port_query",
	[FAULT_GID_QUERY] = "gid_query",
	[FAULT_PD_CREATE] = "pd_create",
	[FAULT_PD_DESTROY] = "pd_destroy",
	[FAULT_MR_REGISTER] = "mr_register",
	[FAULT_MR_DEREGISTER] = "mr_deregister",
	[FAULT_CQ_CREATE] = "cq_create",
	[FAULT_CQ_DESTROY] = "cq_destroy",
	[FAULT_QP_CREATE] = "qp_create",
	[FAULT_QP_DESTROY] = "qp_destroy",
	[FAULT_QP_LOCAL_ADDR] = "qp_local_addr",
	[FAULT_QP_BRING_UP] = "qp_bring_up",
	[FAULT_QP_TO_ERROR] = "qp_to_error",
	[FAULT_QP_QUERY_STATE] = "qp_query_state",
	[FAULT_MW_CREATE] = "mw_create",
	[FAULT_MW_DESTROY] = "mw_destroy",
	[FAULT_SRQ_CREATE] = "srq_create",
	[FAULT_SRQ_DESTROY] = "srq_destroy",
	[FAULT_SRQ_ARM] = "srq_arm",
	[FAULT_SRQ_QUERY] = "srq_query",
	NULL,
};

static bool
take_verb(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const all[] = {"control", NULL};
	int i = fault_word_choice(p, verbs);

	if (i >= 0)
		rule->verbs = 1u << i;
	else if (fault_word_choice(p, all) == 0)
		rule->verbs = (1u << FAULT_NB_VERBS) - 1;
	return rule->verbs != 0;
}

int
fault_part_verb(struct fault_parser *p, struct fault_rule *rule)
{
	return take_verb(p, rule) ? 0 : fault_expected(p, "a control verb such as qp_create, or control");
}

int
fault_part_target(struct fault_parser *p, struct fault_rule *rule)
{
	int queue = fault_word_choice(p, queues);

	if (queue >= 0) {
		rule->queue = (uint8_t)queue;
		return 0;
	}
	rule->action = FAULT_FAIL_VERB;
	return take_verb(p, rule) ? 0
				  : fault_expected(p, "post_send, post_recv, post_srq_recv, a control verb such as qp_create, or control");
}

int
fault_part_delay(struct fault_parser *p, struct fault_rule *rule)
{
	return take_number(p, FAULT_DELAY_MAX, &rule->arg, "microseconds (1 to 1000000)");
}

int
fault_part_qpn(struct fault_parser *p, struct fault_rule *rule)
{
	return take_number(p, FAULT_QPN_MAX, &rule->arg, "a QP number (1 to 16000000)");
}

/* ---- async events -------------------------------------------------------------------------- */

int
fault_part_event(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const types[] = { /* as enum plx_event_type */
		"cq_error", "qp_fatal", "last_wqe", "srq_limit", "srq_error", "port_down", "port_up", "device_fatal", NULL};
	int i = fault_word_choice(p, types);

	if (i < 0)
		return fault_expected(p, "cq_error, qp_fatal, last_wqe, srq_limit, srq_error, port_down, port_up or device_fatal");
	rule->event = (uint32_t)i;
	return 0;
}

int
fault_part_event_fate(struct fault_parser *p, struct fault_rule *rule)
{
	static const char *const fates[] = {"drop", "twice", "late", NULL};

	if (take_choice(p, fates, &rule->how, "drop, twice or late") != 0)
		return -EINVAL;
	if (rule->how != FAULT_EVENT_LATE)
		return 0;
	return take_number(p, FAULT_TURNS_MAX, &rule->arg, "a number of looks (1 to 1000000)");
}
