/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "fault_script.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plx_status.h"

#define FOUND_MAX 24 /* bytes of a wrong word that a message repeats */

struct word {
	const char *text;
	size_t len; /* 0: the rule has ended */
};

struct parser {
	const char *text;
	size_t len;
	size_t at;
	unsigned int rule; /* from 1 */
	char *error;
};

/* ---- words --------------------------------------------------------------------------------- */

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/** The next word of the rule, without taking it. Afterwards the parser stands at its first byte. */
static struct word
word_peek(struct parser *p)
{
	size_t end;

	while (p->at < p->len && is_space(p->text[p->at]))
		p->at++;
	end = p->at;
	while (end < p->len && !is_space(p->text[end]) && p->text[end] != ';')
		end++;
	return (struct word){.text = p->text + p->at, .len = end - p->at};
}

static void
word_take(struct parser *p, const struct word *word)
{
	p->at += word->len;
}

static bool
word_is(const struct word *word, const char *text)
{
	return word->len == strlen(text) && memcmp(word->text, text, word->len) == 0;
}

/** The one way to fail: the word that the parser stands at is not what was expected. */
static int
expected(struct parser *p, const char *what)
{
	struct word word = word_peek(p);
	char found[FOUND_MAX + 1];
	size_t n = word.len < FOUND_MAX ? word.len : FOUND_MAX;

	for (size_t i = 0; i < n; i++) /* the script may be any bytes, the log is text */
		found[i] = isprint((unsigned char)word.text[i]) ? word.text[i] : '?';
	found[n] = '\0';
	if (word.len == 0)
		snprintf(p->error, FAULT_ERROR_LEN, "rule %u, column %zu: expected %s, found the end of the rule",
			p->rule, p->at + 1, what);
	else
		snprintf(p->error, FAULT_ERROR_LEN, "rule %u, column %zu: expected %s, found \"%s%s\"", p->rule,
			p->at + 1, what, found, n < word.len ? "..." : "");
	return -EINVAL;
}

/** A decimal number from @p min to @p max and nothing else. */
static bool
number(const char *text, size_t len, uint32_t min, uint32_t max, uint32_t *value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		sum = sum * 10 + (uint64_t)(text[i] - '0');
		if (sum > max) /* before it can overflow */
			return false;
	}
	*value = (uint32_t)sum;
	return len > 0 && sum >= min;
}

/* ---- parts of a rule ----------------------------------------------------------------------- */

static int
parse_keyword(struct parser *p, const char *keyword, const char *what)
{
	struct word word = word_peek(p);

	if (!word_is(&word, keyword))
		return expected(p, what);
	word_take(p, &word);
	return 0;
}

static int
parse_seed(struct parser *p, struct fault_which *which)
{
	struct word word = word_peek(p);

	if (!word_is(&word, "seed"))
		return 0;
	if (which->once)
		return expected(p, "no seed behind N (it goes with 1/N)");
	word_take(p, &word);
	word = word_peek(p);
	if (!number(word.text, word.len, 0, UINT32_MAX, &which->seed))
		return expected(p, "a seed (0 to 4294967295)");
	word_take(p, &word);
	which->seeded = true;
	return 0;
}

/** N: the Nth. 1/N: every Nth, and `seed S` behind it: by chance. */
static int
parse_which(struct parser *p, struct fault_which *which)
{
	struct word word = word_peek(p);
	bool every = word.len >= 2 && word.text[0] == '1' && word.text[1] == '/';
	size_t skip = every ? 2 : 0;

	if (!number(word.text + skip, word.len - skip, 1, FAULT_NTH_MAX, &which->nth))
		return expected(p, "N or 1/N (1 to 1000000000)");
	which->once = !every;
	word_take(p, &word);
	return parse_seed(p, which);
}

static int
parse_turns(struct parser *p, struct fault_rule *rule)
{
	struct word word = word_peek(p);

	if (!number(word.text, word.len, 1, FAULT_TURNS_MAX, &rule->arg))
		return expected(p, "a number of polls (1 to 1000000)");
	word_take(p, &word);
	return 0;
}

static int
parse_errno(struct parser *p, struct fault_rule *rule)
{
	static const struct {
		const char *name;
		uint32_t err;
	} errnos[] = {{"ENOMEM", ENOMEM}, {"EINVAL", EINVAL}, {"EAGAIN", EAGAIN}, {"EIO", EIO}};
	struct word word = word_peek(p);

	for (unsigned int i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++) {
		if (word_is(&word, errnos[i].name)) {
			rule->arg = errnos[i].err;
			word_take(p, &word);
			return 0;
		}
	}
	return expected(p, "ENOMEM, EINVAL, EAGAIN or EIO");
}

/** What a device can say; ours (POST_FAILED and on) never come from one. */
static int
parse_status(struct parser *p, struct fault_rule *rule)
{
	struct word word = word_peek(p);

	for (uint32_t st = PLX_ST_SUCCESS + 1; st <= PLX_ST_TM_RNDV_INCOMPLETE; st++) {
		if (word_is(&word, plx_status_name(st))) {
			rule->arg = st;
			word_take(p, &word);
			return 0;
		}
	}
	return expected(p, "an error status such as RNR_RETRY_EXC_ERR");
}

/* ---- rules --------------------------------------------------------------------------------- */

static int
parse_cqe_which(struct parser *p, struct fault_rule *rule)
{
	int err = parse_keyword(p, "cqe", "cqe");

	return err != 0 ? err : parse_which(p, &rule->which);
}

static int
parse_hold(struct parser *p, struct fault_rule *rule)
{
	int err = parse_keyword(p, "cqe", "cqe");

	if (err == 0)
		err = parse_turns(p, rule);
	if (err == 0 && word_peek(p).len > 0)
		err = parse_which(p, &rule->which);
	return err;
}

static int
parse_fail(struct parser *p, struct fault_rule *rule)
{
	struct word word = word_peek(p);
	int err;

	if (word_is(&word, "post_recv"))
		rule->action = FAULT_FAIL_RECV;
	else if (!word_is(&word, "post_send"))
		return expected(p, "post_send or post_recv");
	word_take(p, &word);
	err = parse_which(p, &rule->which);
	return err != 0 ? err : parse_errno(p, rule);
}

static int
parse_error(struct parser *p, struct fault_rule *rule)
{
	int err = parse_status(p, rule);

	return err != 0 ? err : parse_which(p, &rule->which);
}

static int
parse_wrid(struct parser *p, struct fault_rule *rule)
{
	return parse_which(p, &rule->which);
}

static int
parse_poison(struct parser *p, struct fault_rule *rule)
{
	return 0;
}

static const struct verb {
	const char *name;
	enum fault_action action;
	int (*parse)(struct parser *p, struct fault_rule *rule);
} verbs[] = {
	{"drop", FAULT_DROP, parse_cqe_which},
	{"dup", FAULT_DUP, parse_cqe_which},
	{"hold", FAULT_HOLD, parse_hold},
	{"error", FAULT_ERROR, parse_error},
	{"wrid", FAULT_WRID, parse_wrid},
	{"poison", FAULT_POISON, parse_poison},
	{"fail", FAULT_FAIL_SEND, parse_fail},
};

static const struct verb *
verb_find(const struct word *word)
{
	for (unsigned int i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (word_is(word, verbs[i].name))
			return &verbs[i];
	}
	return NULL;
}

static unsigned int
dups(const struct fault_script *script)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < script->nb_rules; i++)
		n += script->rules[i].action == FAULT_DUP;
	return n;
}

/** One rule that is not blank, up to its `;`. */
static int
parse_rule(struct parser *p, struct fault_script *script)
{
	struct fault_rule rule = {.which = {.nth = 1}}; /* every one, unless it says which */
	struct word word = word_peek(p);
	const struct verb *verb = verb_find(&word);
	int err;

	if (verb == NULL)
		return expected(p, "drop, dup, hold, error, wrid, poison or fail");
	if (script->nb_rules == FAULT_RULES_MAX)
		return expected(p, "at most 16 rules");
	if (verb->action == FAULT_DUP && dups(script) == FAULT_DUPS_MAX)
		return expected(p, "at most 4 dup rules");
	word_take(p, &word);
	rule.action = verb->action;
	err = verb->parse(p, &rule);
	if (err == 0 && word_peek(p).len > 0)
		err = expected(p, "; or the end of the script");
	if (err == 0)
		script->rules[script->nb_rules++] = rule;
	return err;
}

int
fault_script_parse(const char *text, size_t len, struct fault_script *script, char *error)
{
	struct parser p = {.text = text, .len = len, .error = error};
	int err = 0;

	error[0] = '\0';
	memset(script, 0, sizeof(*script));
	while (err == 0 && p.at < len) {
		p.rule++;
		if (word_peek(&p).len > 0)
			err = parse_rule(&p, script);
		p.at++; /* the ; that ended the rule */
	}
	return err;
}

/* ---- which --------------------------------------------------------------------------------- */

uint64_t
fault_mix(uint64_t x)
{
	/* SplitMix64's finalizer (Steele, Lea, Flood 2014): a bijection. */
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

bool
fault_which_hits(const struct fault_which *which, uint64_t count)
{
	if (which->once)
		return count == which->nth;
	if (which->seeded)
		return fault_mix(fault_mix(which->seed) + count) % which->nth == 0;
	return count % which->nth == 0;
}
