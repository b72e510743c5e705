/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * @file
 * Which schedules there are: dynamic partial-order reduction by source sets, with sleep sets (Abdulla, Aronis, Jonsson,
 * Sagonas: Optimal dynamic partial order reduction, POPL 2014, algorithm 1).
 *
 *      step 0    1    2    3    4		the path: who went at each step
 *           A    A    B    A    B
 *                ^---------'		step 3 meets step 1 of another on one word, nothing orders them:
 *                			another schedule must let the other go first there
 *
 * Depth first, each schedule from the start. At each step `backtrack` says who must go first in some schedule, `done` who
 * has, `sleep` whose going first would repeat, in another order of independent steps, what was seen. Two schedules that
 * differ only in such an order are one; of each such class one schedule is run.
 */

#define MAX_DEPTH 4096
#define NB_WORDS  (ARENA_SIZE / 8)

typedef uint16_t steps_t[EXPLORE_ACTORS]; /* by actor: its last step that is ordered before; +1, 0: none */

struct node {
	unsigned int chosen, enabled, backtrack, done, sleep;
	struct step pending[EXPLORE_ACTORS];
	steps_t behind;		/* of the step that was chosen, itself included */
	unsigned int previous;	/* step on the same word, +1; 0: none */
};

/** What happened to a word so far. */
struct word {
	uint32_t schedule;
	steps_t after_write, after_read; /* what a later access is ordered behind */
	uint16_t last;			 /* step, +1; 0: none */
};

static struct node path[MAX_DEPTH];
static unsigned int depth;	/* of the present schedule */
static unsigned int kept;	/* steps that are as in the schedule before */
static struct word words[NB_WORDS];
static uint32_t schedule;
static steps_t ordered[EXPLORE_ACTORS];
static bool every_order;

static bool
dependent(const struct step *a, const struct step *b)
{
	return every_order || (a->word != 0 && a->word == b->word && (a->write || b->write));
}

static struct word *
word_of(const struct step *step)
{
	struct word *w = &words[arena_offset((const void *)(step->word * 8)) / 8];

	if (w->schedule != schedule) {
		memset(w, 0, sizeof(*w));
		w->schedule = schedule;
	}
	return w;
}

static unsigned int
first_of(unsigned int mask)
{
	return (unsigned int)__builtin_ctz(mask);
}

static void
join(steps_t into, const steps_t from)
{
	for (unsigned int i = 0; i < EXPLORE_ACTORS; i++)
		if (into[i] < from[i])
			into[i] = from[i];
}

/** The @p at th step is done: what it is ordered behind. */
static void
take(unsigned int at)
{
	struct node *node = &path[at];
	unsigned int actor = node->chosen;
	const struct step *step = &node->pending[actor];
	struct word *w;

	ordered[actor][actor] = (uint16_t)(at + 1);
	node->previous = 0;
	if (step->word != 0) {
		w = word_of(step);
		node->previous = w->last;
		w->last = (uint16_t)(at + 1);
		join(ordered[actor], w->after_write);
		if (step->write) {
			join(ordered[actor], w->after_read);
			memcpy(w->after_write, ordered[actor], sizeof(steps_t));
		} else {
			join(w->after_read, ordered[actor]);
		}
	}
	memcpy(node->behind, ordered[actor], sizeof(steps_t));
}

static bool
is_behind(const struct node *node, unsigned int step)
{
	return node->behind[path[step].chosen] > step;
}

/**
 * Step @p late could have come before step @p early. What lies between and is not behind that one, and then `late`, can
 * come first: who can begin with it? Unless one of those is to go first at `early` anyway, one more is.
 */
static void
race(unsigned int early, unsigned int late)
{
	unsigned int first[EXPLORE_ACTORS] = {0}, begin = 0, may;

	for (unsigned int i = early + 1; i <= late; i++) {
		unsigned int actor = path[i].chosen;
		bool initial = !(begin & 1u << actor);

		if (!initial || (i != late && is_behind(&path[i], early)))
			continue;
		begin |= 1u << actor;
		first[actor] = i;
	}
	may = begin;
	for (unsigned int a = 0; a < EXPLORE_ACTORS; a++)
		for (unsigned int b = 0; b < EXPLORE_ACTORS; b++)
			if (a != b && (begin & 1u << a) && (begin & 1u << b) && is_behind(&path[first[a]], first[b]))
				may &= ~(1u << a);
	may &= path[early].enabled; /* who waited for `early` cannot be before it */
	if (may != 0 && (may & path[early].backtrack) == 0)
		path[early].backtrack |= 1u << first_of(may);
}

/** The steps that the @p at th one depends on and nothing else orders it behind; @p before: what did before it. */
static void
races_of(unsigned int at, const steps_t before)
{
	const struct node *node = &path[at];
	steps_t seen;

	memcpy(seen, before, sizeof(seen));
	for (unsigned int next = node->previous; next != 0; next = path[next - 1].previous) {
		const struct node *other = &path[next - 1];

		if (!dependent(&other->pending[other->chosen], &node->pending[node->chosen]))
			continue;
		if (other->chosen != node->chosen && seen[other->chosen] < next)
			race(next - 1, at);
		/* Who waited then (an unlock) could not come before it, but may before what it waited for (the lock). */
		if (other->enabled & 1u << node->chosen)
			join(seen, other->behind);
	}
}

/* ---- one schedule -------------------------------------------------------------------------- */

/** A new node at the end of the path; false: nobody can go whose schedules have not been seen. */
static bool
node_make(const struct run_state *state, unsigned int last)
{
	struct node *node = &path[depth];
	unsigned int free;

	*node = (struct node){.enabled = state->enabled};
	memcpy(node->pending, state->pending, sizeof(node->pending));
	if (depth != 0) {
		const struct node *parent = &path[depth - 1];
		unsigned int asleep = (parent->sleep | parent->done) & ~(1u << parent->chosen);

		for (unsigned int i = 0; i < EXPLORE_ACTORS; i++)
			if ((asleep & 1u << i) &&
				!dependent(&parent->pending[i], &parent->pending[parent->chosen]))
				node->sleep |= 1u << i;
	}
	free = node->enabled & ~node->sleep;
	if (free == 0)
		return false;
	node->chosen = last < EXPLORE_ACTORS && (free & 1u << last) ? last : first_of(free);
	node->backtrack = every_order ? node->enabled : 1u << node->chosen;
	return true;
}

static void
node_check(const struct node *node, const struct run_state *state)
{
	const struct step *was = &node->pending[node->chosen], *is = &state->pending[node->chosen];

	if (node->enabled != state->enabled || was->word != is->word || was->write != is->write) {
		fprintf(stderr, "explore: step %u is not what it was in the schedule before: %s by %s\n", depth,
			is->at != NULL ? describe_code(is->at) : "", run_name(node->chosen));
		search_print();
		abort();
	}
}

enum outcome { ENDED, CUT, FAILED };

/** From the start: the first `kept` steps as before, then whoever is free, or as @p replay says. */
static enum outcome
schedule_run(const uint8_t *replay, unsigned int nb_replay)
{
	unsigned int last = NOBODY;
	steps_t before;

	schedule++;
	memset(ordered, 0, sizeof(ordered));
	run_start();
	for (depth = 0; run_failure() == NULL; depth++) {
		const struct run_state *state = run_look();
		struct node *node = &path[depth];

		if (state->enabled == 0)
			return run_finish() ? ENDED : FAILED;
		if (depth == MAX_DEPTH - 1) {
			fprintf(stderr, "explore: more than %u steps\n", MAX_DEPTH);
			abort();
		}
		if (depth < kept)
			node_check(node, state);
		else if (!node_make(state, last))
			return CUT;
		if (depth < nb_replay && (node->enabled >> replay[depth] & 1))
			node->chosen = replay[depth];
		last = node->chosen;
		memcpy(before, ordered[last], sizeof(before));
		take(depth);
		if (depth + 1 >= kept && !every_order)
			races_of(depth, before);
		if (!run_advance(last)) {
			depth++;
			return FAILED;
		}
	}
	return FAILED;
}

/** The deepest step where somebody else has to go first; false: there is none. */
static bool
next_path(void)
{
	while (depth != 0) {
		struct node *node = &path[--depth];
		unsigned int left;

		node->done |= 1u << node->chosen;
		left = node->backtrack & ~node->done & ~node->sleep;
		if (left != 0) {
			node->chosen = first_of(left);
			kept = depth + 1;
			return true;
		}
	}
	return false;
}

/* ---- all ----------------------------------------------------------------------------------- */

static unsigned int
replay_parse(const char *text, uint8_t *replay)
{
	unsigned int nb = 0;

	while (text != NULL && *text != '\0' && nb < MAX_DEPTH) {
		char *end;
		unsigned long actor = strtoul(text, &end, 10), times = 1;

		if (*end == 'x')
			times = strtoul(end + 1, &end, 10);
		while (times-- != 0 && nb < MAX_DEPTH)
			replay[nb++] = (uint8_t)actor;
		text = *end == ',' ? end + 1 : end + strlen(end);
	}
	return nb;
}

static void
outcome_note(struct outcomes *outcomes)
{
	uint64_t value = run_outcome();

	for (unsigned int i = 0; i < outcomes->nb; i++)
		if (outcomes->value[i] == value)
			return;
	if (outcomes->nb == sizeof(outcomes->value) / sizeof(value))
		abort();
	outcomes->value[outcomes->nb++] = value;
}

struct search_result
search(const struct search_conf *conf)
{
	static uint8_t steps[MAX_DEPTH];
	struct search_result result = {0};
	unsigned int nb_replay = replay_parse(conf->replay, steps);

	kept = 0;
	every_order = conf->every_order;
	do {
		enum outcome outcome = schedule_run(steps, nb_replay);

		result.schedules += outcome != CUT;
		result.cut += outcome == CUT;
		if (depth > result.depth)
			result.depth = depth;
		result.failed = outcome == FAILED;
		if (outcome == ENDED && conf->outcomes != NULL)
			outcome_note(conf->outcomes);
		result.limited = conf->max_schedules != 0 && result.schedules + result.cut >= conf->max_schedules;
	} while (!result.failed && !result.limited && conf->replay == NULL && next_path());
	return result;
}

void
search_print(void)
{
	for (unsigned int i = 0; i < depth; i++) {
		const struct step *step = &path[i].pending[path[i].chosen];

		fprintf(stderr, "%4u  %-8s %-10s %7zu  %s\n", i, run_name(path[i].chosen),
			step->what != NULL ? step->what : "", step->word != 0 ? arena_offset((void *)(step->word * 8)) : 0,
			step->at != NULL ? describe_code(step->at) : "");
	}
	fprintf(stderr, "again with: --replay ");
	for (unsigned int i = 0, n; i < depth; i += n) {
		for (n = 1; i + n < depth && path[i + n].chosen == path[i].chosen;)
			n++;
		fprintf(stderr, "%s%ux%u", i != 0 ? "," : "", path[i].chosen, n);
	}
	fprintf(stderr, "\n");
}
