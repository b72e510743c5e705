/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A line of the script as data. The line is cut into words in place.
 */

#include "conformance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
find(const char *const *names, const char *word)
{
	for (int i = 0; names[i] != NULL; i++) {
		if (strcmp(names[i], word) == 0)
			return i;
	}
	return -1;
}

static int
find_opcode(const char *word)
{
	for (int i = 0; i <= PLX_OPCODE_RECV; i++) {
		if (strcmp(plx_opcode_name((unsigned int)i), word) == 0)
			return i;
	}
	return -1;
}

/** REGION:AT or REGION:AT+LEN. Whether it is one; *end is what follows. */
static bool
place_parse(char *text, struct place *place, char **end)
{
	char *colon = strchr(text, ':');
	int region;

	if (colon == NULL)
		return false;
	*colon = '\0';
	region = find(region_names, text);
	*colon = ':';
	if (region < 0)
		return false;
	place->region = (enum region)region;
	place->at = (int)strtol(colon + 1, end, 10);
	place->len = 0;
	if (**end == '+')
		place->len = (uint32_t)strtoul(*end + 1, end, 10);
	return *end != colon + 1;
}

/** PLACE{,PLACE}[xN]: the last one N times; or - for none. */
static bool
sges_parse(char *word, struct post *post)
{
	char *at = word;
	unsigned long times;

	if (strcmp(word, "-") == 0)
		return true;
	do {
		at += *at == ',';
		if (post->nb_sges == STEP_SGES || !place_parse(at, &post->sges[post->nb_sges++], &at))
			return false;
	} while (*at == ',');
	times = *at == 'x' ? strtoul(at + 1, &at, 10) : 1;
	for (; times > 1 && post->nb_sges < STEP_SGES; times--, post->nb_sges++)
		post->sges[post->nb_sges] = post->sges[post->nb_sges - 1];
	return *at == '\0';
}

static bool
has_target(enum plx_opcode opcode)
{
	return (opcode >= PLX_OPCODE_WRITE && opcode <= PLX_OPCODE_FETCH_ADD) || opcode == PLX_OPCODE_SEND_INV ||
	       opcode == PLX_OPCODE_LOCAL_INV;
}

/** Numbers that stand behind an operation. */
static unsigned int
nb_numbers(enum plx_opcode opcode)
{
	switch (opcode) {
	case PLX_OPCODE_SEND_IMM:
	case PLX_OPCODE_WRITE_IMM:
	case PLX_OPCODE_FETCH_ADD:
		return 1;
	case PLX_OPCODE_CMP_SWAP:
		return 2;
	default:
		return 0;
	}
}

static bool
flag_parse(const char *word, struct post *post)
{
	static const char *const names[] = {"silent", "fence", "solicited", "inline", NULL}; /* as PLX_WR_* */
	static const char *const rights[] = {"read", "write", "atomic", NULL};
	static const uint32_t bits[] = {PLX_ACCESS_REMOTE_READ, PLX_ACCESS_REMOTE_WRITE, PLX_ACCESS_REMOTE_ATOMIC};
	int i = find(names, word), right = post->opcode == PLX_OPCODE_BIND_MW ? find(rights, word) : -1;

	if (right >= 0)
		post->rights |= bits[right];
	else if (i == 0)
		post->flags &= (uint8_t)~PLX_WR_SIGNALED;
	else if (i > 0)
		post->flags |= (uint8_t)(1u << i);
	return i >= 0 || right >= 0;
}

/** SIDE error, or SIDE OPERATION SGES [TARGET] [NUMBER...] [FLAG...] */
static int
post_parse(char *text, struct post *post, const char **word)
{
	static const char *const sides[] = {"a", "b", NULL};
	char *save, *next = strtok_r(text, " \t", &save), *end;
	int i;

#define WANT(condition)                                                                                      \
	do {                                                                                                 \
		*word = next;                                                                                \
		if (next == NULL || !(condition))                                                            \
			return -EINVAL;                                                                      \
		next = strtok_r(NULL, " \t", &save);                                                         \
	} while (0)

	*post = (struct post){.flags = PLX_WR_SIGNALED};
	WANT((i = find(sides, next)) >= 0);
	post->side = (unsigned int)i;
	if (next != NULL && strcmp(next, "error") == 0) {
		post->error = true;
		return 0;
	}
	WANT((i = find_opcode(next)) >= 0);
	post->opcode = (enum plx_opcode)i;
	WANT(sges_parse(next, post));
	if (has_target(post->opcode))
		WANT(place_parse(next, &post->target, &end) && *end == '\0');
	for (unsigned int n = 0; n < nb_numbers(post->opcode); n++)
		WANT((post->numbers[n] = strtoull(next, &end, 0), *end == '\0'));
	while (next != NULL)
		WANT(flag_parse(next, post));
#undef WANT
	return 0;
}

/** pair [noread|nowrite|noatomic]: what side b's QP does not allow. */
static int
pair_parse(const char *rest, struct step *step, const char **word)
{
	static const char *const names[] = {"", "noread", "nowrite", "noatomic", NULL};
	static const uint32_t lacks[] = {
		0, PLX_ACCESS_REMOTE_READ, PLX_ACCESS_REMOTE_WRITE, PLX_ACCESS_REMOTE_ATOMIC};
	int i = find(names, rest + strspn(rest, " "));

	*word = rest;
	if (i < 0)
		return -EINVAL;
	step->pair = true;
	step->rights = PLX_ACCESS_REMOTE & ~lacks[i];
	return 0;
}

int
step_parse(char *line, struct step *step, const char **word)
{
	char *save, *text;
	int err = 0;

	memset(step, 0, sizeof(*step));
	line[strcspn(line, "#\n")] = '\0';
	if (line[strspn(line, " \t")] == '\0')
		return -ENOENT;
	if (strncmp(line, "pair", 4) == 0)
		return pair_parse(line + 4, step, word);
	for (text = strtok_r(line, ";", &save); text != NULL && err == 0; text = strtok_r(NULL, ";", &save)) {
		*word = text;
		if (step->nb_posts == STEP_POSTS)
			return -EINVAL;
		err = post_parse(text, &step->posts[step->nb_posts++], word);
	}
	return err;
}
