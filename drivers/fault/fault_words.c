/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "fault_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fault_script.h"

#define FOUND_MAX 24 /* bytes of a wrong word that a message repeats */

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct fault_word
fault_word_peek(struct fault_parser *p)
{
	size_t end;

	while (p->at < p->len && is_space(p->text[p->at]))
		p->at++;
	end = p->at;
	while (end < p->len && !is_space(p->text[end]) && p->text[end] != ';')
		end++;
	return (struct fault_word){.text = p->text + p->at, .len = end - p->at};
}

bool
fault_word_is(const struct fault_word *word, const char *text)
{
	return word->len == strlen(text) && memcmp(word->text, text, word->len) == 0;
}

int
fault_word_choice(struct fault_parser *p, const char *const *names)
{
	struct fault_word word = fault_word_peek(p);

	for (int i = 0; names[i] != NULL; i++) {
		if (fault_word_is(&word, names[i])) {
			fault_word_take(p, &word);
			return i;
		}
	}
	return -1;
}

int
fault_expected(struct fault_parser *p, const char *what)
{
	struct fault_word word = fault_word_peek(p);
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

/* ---- numbers ------------------------------------------------------------------------------- */

bool
fault_number(const char *text, size_t len, uint32_t min, uint32_t max, uint32_t *value)
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

bool
fault_word_number(struct fault_parser *p, uint32_t min, uint32_t max, uint32_t *value)
{
	struct fault_word word = fault_word_peek(p);

	if (!fault_number(word.text, word.len, min, max, value))
		return false;
	fault_word_take(p, &word);
	return true;
}

/** Where ".." begins in @p word; its length: nowhere. */
static size_t
dots(const struct fault_word *word)
{
	for (size_t i = 0; i + 1 < word->len; i++) {
		if (word->text[i] == '.' && word->text[i + 1] == '.')
			return i;
	}
	return word->len;
}

bool
fault_range(const struct fault_word *word, bool open, uint32_t min, uint32_t max, uint32_t *from, uint32_t *to)
{
	size_t at = dots(word);

	if (at == word->len || !fault_number(word->text, at, min, max, from))
		return false;
	if (open && at + 2 == word->len) {
		*to = max;
		return true;
	}
	return fault_number(word->text + at + 2, word->len - at - 2, *from, max, to);
}
