/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FAULT_SCRIPT_H
#define FAULT_SCRIPT_H

/**
 * @file
 * A fault script as data, and its decoder. doc/guide/fault.md is the language.
 *
 * The decoder takes a pointer and a length and touches nothing else.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_RULES_MAX	 16
#define FAULT_DUPS_MAX	 4 /* each doubles what one CQE can become */
#define FAULT_NTH_MAX	 1000000000u
#define FAULT_TURNS_MAX	 1000000u
#define FAULT_ERROR_LEN	 160

enum fault_action {
	FAULT_DROP,
	FAULT_DUP,
	FAULT_HOLD,
	FAULT_ERROR,
	FAULT_WRID,
	FAULT_POISON,
	FAULT_FAIL_SEND,
	FAULT_FAIL_RECV,
};

/** Which of the things that reach a rule it acts on. */
struct fault_which {
	uint32_t nth;
	bool once;   /* the nth and no other; else every nth */
	bool seeded; /* every nth by chance: the seed and the count decide */
	uint32_t seed;
};

struct fault_rule {
	enum fault_action action;
	struct fault_which which;
	uint32_t arg; /* hold: turns; error: enum plx_status; fail: errno */
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

/** A number that looks random; each @p x has its own. */
uint64_t fault_mix(uint64_t x);

#endif
