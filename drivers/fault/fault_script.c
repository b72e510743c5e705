/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "fault_script.h"

#include <errno.h>
#include <string.h>

#include "fault_parts.h"

#define PARTS_MAX 4

/** The grammar: a rule is its first word and these parts, in this order. */
static const struct form {
	const char *name;
	enum fault_action action;
	fault_part_fn parts[PARTS_MAX + 1];
} forms[] = {
	{"drop", FAULT_DROP, {fault_part_object, fault_part_which}},
	{"dup", FAULT_DUP, {fault_part_object, fault_part_which}},
	{"hold", FAULT_HOLD, {fault_part_object, fault_part_turns_range, fault_part_which_maybe}},
	{"swap", FAULT_SWAP, {fault_part_object, fault_part_which}},
	{"replay", FAULT_REPLAY, {fault_part_object, fault_part_which, fault_part_age}},
	{"error", FAULT_ERROR,
		{fault_part_status, fault_part_success_maybe, fault_part_which, fault_part_fatal_maybe}},
	{"wrid", FAULT_WRID, {fault_part_object_maybe, fault_part_which, fault_part_garbage_maybe}},
	{"poison", FAULT_POISON, {NULL}},
	{"fail", FAULT_FAIL_POST, {fault_part_target, fault_part_which, fault_part_errno, fault_part_style_maybe}},
	{"deny", FAULT_DENY, {fault_part_queue, fault_part_which, fault_part_errno, fault_part_style_maybe}},
	{"unname", FAULT_UNNAME, {fault_part_queue, fault_part_which, fault_part_errno, fault_part_style_maybe}},
	{"lose", FAULT_LOSE, {fault_part_send, fault_part_which, fault_part_turns}},
	{"link", FAULT_LINK, {fault_part_down, fault_part_which, fault_part_turns}},
	{"in_err", FAULT_IN_ERR, {fault_part_qp_queue, fault_part_fate, fault_part_which_maybe}},
	{"delay", FAULT_DELAY, {fault_part_verb, fault_part_delay, fault_part_which_maybe}},
	{"qpn", FAULT_QPN, {fault_part_qpn}},
	{"event", FAULT_EVENT, {fault_part_event, fault_part_which, fault_part_event_fate}},
	{"raise", FAULT_RAISE, {fault_part_event, fault_part_which}},
};

#define NB_FORMS (sizeof(forms) / sizeof(forms[0]))

static const struct form *
form_find(const struct fault_word *word)
{
	for (unsigned int i = 0; i < NB_FORMS; i++) {
		if (fault_word_is(word, forms[i].name))
			return &forms[i];
	}
	return NULL;
}

/** How many rules of @p script are like @p action: grow CQEs, or number QPs. */
static unsigned int
alike(const struct fault_script *script, enum fault_action action)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < script->nb_rules; i++) {
		enum fault_action other = script->rules[i].action;

		n += fault_grows(action) ? fault_grows(other) : other == action;
	}
	return n;
}

/** One rule that is not blank, up to its `;`. */
static int
parse_rule(struct fault_parser *p, struct fault_script *script)
{
	/* Every one of any CQEs, unless it says which. */
	struct fault_rule rule = {.which = {.first = 1, .last = UINT64_MAX, .nth = 1}};
	struct fault_word word = fault_word_peek(p);
	const struct form *form = form_find(&word);
	int err = 0;

	if (form == NULL)
		return fault_expected(p, "drop, dup, hold, swap, replay, error, wrid, poison, fail, deny, unname, lose, link, "
					 "in_err, delay, qpn, event or raise");
	if (script->nb_rules == FAULT_RULES_MAX)
		return fault_expected(p, "at most 16 rules");
	if (fault_grows(form->action) && alike(script, form->action) == FAULT_GROWS_MAX)
		return fault_expected(p, "at most 4 rules of dup, swap and replay");
	if (form->action == FAULT_QPN && alike(script, form->action) != 0)
		return fault_expected(p, "one qpn");
	fault_word_take(p, &word);
	rule.action = form->action;
	for (unsigned int i = 0; form->parts[i] != NULL && err == 0; i++)
		err = form->parts[i](p, &rule);
	if (err == 0 && fault_word_peek(p).len > 0)
		err = fault_expected(p, "; or the end of the script");
	if (err == 0)
		script->rules[script->nb_rules++] = rule;
	return err;
}

int
fault_script_parse(const char *text, size_t len, struct fault_script *script, char *error)
{
	struct fault_parser p = {.text = text, .len = len, .error = error};
	int err = 0;

	error[0] = '\0';
	memset(script, 0, sizeof(*script));
	while (err == 0 && p.at < len) {
		p.rule++;
		if (fault_word_peek(&p).len > 0)
			err = parse_rule(&p, script);
		p.at++; /* the ; that ended the rule */
	}
	return err;
}
