/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FAULT_WORDS_H
#define FAULT_WORDS_H

/**
 * @file
 * The words of a script, and the one way in which a script is refused.
 *
 *      drop  cqe 1/9 ; fail ...
 *            ^ at
 *
 * A word ends at a space, at ; or at the end. A rule whose words are used up shows an empty one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fault_word {
	const char *text;
	size_t len; /* 0: the rule has ended */
};

struct fault_parser {
	const char *text;
	size_t len;
	size_t at;
	unsigned int rule; /* from 1 */
	char *error;	   /* FAULT_ERROR_LEN bytes */
};

/** The next word of the rule, without taking it. Afterwards the parser stands at its first byte. */
struct fault_word fault_word_peek(struct fault_parser *p);

static inline void
fault_word_take(struct fault_parser *p, const struct fault_word *word)
{
	p->at += word->len;
}

bool fault_word_is(const struct fault_word *word, const char *text);

/** Take the next word if it is one of @p names (NULL at the end): its index, or -1. */
int fault_word_choice(struct fault_parser *p, const char *const *names);

/** Take the next word if it is a decimal number from @p min to @p max and nothing else. */
bool fault_word_number(struct fault_parser *p, uint32_t min, uint32_t max, uint32_t *value);

/** A decimal number from @p min to @p max and nothing else. */
bool fault_number(const char *text, size_t len, uint32_t min, uint32_t max, uint32_t *value);

/**
 * The text A..B: 0 ends it without B (*to is then @p max), which only @p open allows. False, with nothing taken, for
 * anything else.
 */
bool fault_range(const struct fault_word *word, bool open, uint32_t min, uint32_t max, uint32_t *from, uint32_t *to);

/** The one way to fail: the word that the parser stands at is not @p what. Always -EINVAL. */
int fault_expected(struct fault_parser *p, const char *what);

#endif
