/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Run steps and write the trace:
 *
 *      step 12: b recv all:0+64; a send all:0+64
 *        a#23 send SUCCESS
 *        b#22 recv SUCCESS send 64 bytes
 *        memory a 1c9f... b 83d0...
 *
 * Sends always end: well, badly or flushed. Receives end when something arrives, or are flushed when a step has failed. What
 * is undefined is not written: of an error all but the status, and the bytes where a failed operation may have put some.
 *
 * A completion that nobody waits for, one that came before or the number of no operation, is no line of the trace: it ends the run.
 */

#include "conformance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_pause.h>

#include <plx_clock.h>

#define WAIT_NS	 20000000000ull /* nothing takes that long, however loaded the machine */
#define MARKER	 0		/* wr_id of a send that shows that those before it have ended */
#define MAX_OPS	 8192
#define MAX_DONE 64		/* all that fit into the two queues of a side */

/** What a side has posted and not seen the end of, and what ended in this step. */
struct side {
	unsigned int sends, recvs, markers;
	unsigned int nb_done;
	struct plx_wc done[MAX_DONE];
};

struct run {
	struct pair *pair;
	struct side sides[SIDES];
	struct post ops[MAX_OPS]; /* by wr_id */
	uint64_t nb_ops;
	bool ended[MAX_OPS]; /* by wr_id: no completion of it may come */
	bool failed;	     /* in this step */
	bool broken;	     /* nothing that the device says can be believed */
	uint32_t rights;
};

/** Nothing more is waited for. */
static bool
late(const struct run *run, uint64_t since)
{
	return run->broken || plx_clock_monotonic_ns() - since > WAIT_NS;
}

/* ---- posting ------------------------------------------------------------------------------- */

static struct plx_wr
wr_of(const struct run *run, const struct post *post, uint64_t wr_id, struct plx_sge *sges)
{
	const struct pair *pair = run->pair;
	struct plx_wr wr = {.wr_id = wr_id, .sg_list = sges, .num_sge = post->nb_sges, .opcode = post->opcode, .flags = post->flags};

	for (uint32_t i = 0; i < post->nb_sges; i++)
		sges[i] = (struct plx_sge){pair_addr(pair, post->side, &post->sges[i]), post->sges[i].len,
			pair->lkeys[post->side][post->sges[i].region]};
	wr.remote_addr = pair_addr(pair, 1 - post->side, &post->target);
	wr.rkey = pair->rkeys[post->opcode == PLX_OPCODE_LOCAL_INV ? post->side : 1 - post->side][post->target.region];
	wr.imm = (uint32_t)post->numbers[0];
	wr.compare_add = post->numbers[0];
	wr.swap = post->numbers[1];
	return wr;
}

static bool
takes_receive(enum plx_opcode opcode)
{
	return opcode <= PLX_OPCODE_SEND_INV || opcode == PLX_OPCODE_WRITE_IMM;
}

/** Whether the peer's receive of this one is waited for. */
static void
post_one(struct run *run, const struct post *post, unsigned int *arrivals)
{
	struct plx_qp *qp = run->pair->qps[post->side];
	struct side *side = &run->sides[post->side];
	struct plx_sge sges[STEP_SGES];
	struct plx_wr wr = wr_of(run, post, run->nb_ops, sges);
	const struct plx_wr *wrs[] = {&wr};
	bool recv = post->opcode == PLX_OPCODE_RECV;
	int err = post->opcode == PLX_OPCODE_BIND_MW ? window_bind(run->pair, post, &wr) : 0;

	if (err != 0 || (recv ? plx_qp_post_recv(qp, wrs, 1, &err) : plx_qp_post_send(qp, wrs, 1, &err)) != 1) {
		printf("  %c#%" PRIu64 " %s refused\n", 'a' + (char)post->side, wr.wr_id, plx_opcode_name(wr.opcode));
		run->ended[wr.wr_id % MAX_OPS] = true;
		return;
	}
	side->recvs += recv;
	side->sends += !recv && (post->flags & PLX_WR_SIGNALED) != 0;
	if (takes_receive(post->opcode))
		arrivals[1 - post->side]++;
}

static void
post_marker(struct run *run, unsigned int s)
{
	const struct plx_wr wr = {.wr_id = MARKER, .opcode = PLX_OPCODE_SEND, .flags = PLX_WR_SIGNALED};
	const struct plx_wr *wrs[] = {&wr};
	int err;

	run->sides[s].markers += plx_qp_post_send(run->pair->qps[s], wrs, 1, &err);
}

/* ---- waiting ------------------------------------------------------------------------------- */

/** Whether an operation of @p s is in flight under that number. It ends with this. */
static bool
ends_one(struct run *run, unsigned int s, uint64_t wr_id)
{
	uint64_t i = wr_id % MAX_OPS;

	if (wr_id > run->nb_ops || run->nb_ops - wr_id >= MAX_OPS || run->ops[i].side != s || run->ended[i])
		return false;
	run->ended[i] = true;
	return true;
}

static void
note(struct run *run, unsigned int s, const struct plx_wc *wc)
{
	struct side *side = &run->sides[s];

	if (wc->wr_id == MARKER && side->markers != 0) {
		side->markers--;
		return;
	}
	if (!ends_one(run, s, wc->wr_id) || side->nb_done == MAX_DONE) {
		fprintf(stderr, "conformance: %c has a completion 0x%" PRIx64 ", %s, that nobody waits for\n", 'a' + (char)s, wc->wr_id,
			plx_status_name(wc->status));
		run->broken = true;
		return;
	}
	if (wc->status != PLX_ST_SUCCESS)
		run->failed = true;
	if (run->ops[wc->wr_id % MAX_OPS].opcode == PLX_OPCODE_RECV)
		side->recvs--;
	else if (run->ops[wc->wr_id % MAX_OPS].flags & PLX_WR_SIGNALED)
		side->sends--;
	side->done[side->nb_done++] = *wc;
}

static void
poll_sides(struct run *run)
{
	struct plx_wc wc;

	for (unsigned int s = 0; s < SIDES; s++) {
		while (plx_cq_poll(run->pair->cqs[s], &wc, 1) == 1)
			note(run, s, &wc);
	}
	rte_pause();
}

/** Until every send has ended, and each side has at most @p left receives waiting or something has failed. */
static int
wait_step(struct run *run, const unsigned int *left)
{
	const struct side *a = &run->sides[0], *b = &run->sides[1];
	uint64_t since = plx_clock_monotonic_ns();

	while (a->sends + b->sends != 0 || (!run->failed && (a->recvs > left[0] || b->recvs > left[1]))) {
		if (late(run, since))
			return -1;
		poll_sides(run);
	}
	return 0;
}

/** The responder said no, so it is in ERR, or about to be: its own errors must not become flushes. */
static int
wait_responder(struct run *run, unsigned int s)
{
	const struct side *side = &run->sides[s];
	uint64_t since = plx_clock_monotonic_ns();
	bool refused = false;

	for (unsigned int i = 0; i < side->nb_done; i++) {
		unsigned int status = side->done[i].status;

		if (run->ops[side->done[i].wr_id % MAX_OPS].opcode == PLX_OPCODE_RECV) /* its own no */
			continue;
		refused |= status == PLX_ST_REM_INV_REQ_ERR || status == PLX_ST_REM_ACCESS_ERR || status == PLX_ST_REM_OP_ERR;
	}
	while (refused && plx_qp_query_state(run->pair->qps[1 - s]) != PLX_QP_ERR) {
		if (late(run, since))
			return -1;
		poll_sides(run);
	}
	return 0;
}

/** Both QPs to ERR, until all has ended. */
static int
wait_flush(struct run *run)
{
	const struct side *a = &run->sides[0], *b = &run->sides[1];
	uint64_t since = plx_clock_monotonic_ns();

	if (wait_responder(run, 0) != 0 || wait_responder(run, 1) != 0)
		return -1;
	for (unsigned int s = 0; s < SIDES; s++) {
		plx_qp_to_error(run->pair->qps[s]);
		post_marker(run, s);
	}
	while (a->sends + b->sends + a->recvs + b->recvs + a->markers + b->markers != 0) {
		if (late(run, since))
			return -1;
		poll_sides(run);
	}
	return 0;
}

/* ---- trace --------------------------------------------------------------------------------- */

/** Whether the SGEs of such an operation are where the device puts bytes. */
static bool
is_written(enum plx_opcode opcode)
{
	return opcode >= PLX_OPCODE_READ && opcode != PLX_OPCODE_BIND_MW && opcode != PLX_OPCODE_LOCAL_INV;
}

static void
print_wc(const struct run *run, unsigned int s, const struct plx_wc *wc)
{
	const struct post *op = &run->ops[wc->wr_id % MAX_OPS];

	printf("  %c#%" PRIu64 " %s %s", 'a' + (char)s, wc->wr_id, plx_opcode_name(op->opcode), plx_status_name(wc->status));
	if (wc->qp_num != run->pair->qps[s]->qp_num)
		printf(" of another QP");
	if (wc->status == PLX_ST_SUCCESS && is_written(op->opcode))
		printf(" %u bytes", wc->byte_len);
	if (wc->status == PLX_ST_SUCCESS && op->opcode == PLX_OPCODE_RECV && wc->opcode != PLX_OPCODE_RECV)
		printf(" by %s", plx_opcode_name(wc->opcode));
	if (wc->status == PLX_ST_SUCCESS && op->opcode == PLX_OPCODE_RECV && wc->flags & PLX_WC_WITH_IMM)
		printf(" immediate 0x%x", wc->imm);
	if (wc->status == PLX_ST_SUCCESS && op->opcode == PLX_OPCODE_RECV && wc->flags & PLX_WC_WITH_INV)
		printf(" invalidates %s", wc->inv_rkey == run->pair->rkeys[s][REGION_WINDOW] ? "window" : "another key");
	putchar('\n');
}

/** Zero what a failed operation may or may not have written. */
static void
forget_undefined(struct run *run, unsigned int s, const struct plx_wc *wc)
{
	const struct post *op = &run->ops[wc->wr_id % MAX_OPS];
	uint8_t *buf = run->pair->bufs[s];

	if (wc->status == PLX_ST_SUCCESS || !is_written(op->opcode))
		return;
	for (uint32_t i = 0; i < op->nb_sges; i++) {
		uint64_t at = pair_addr(run->pair, s, &op->sges[i]) - (uintptr_t)buf;

		for (uint64_t end = at + op->sges[i].len; at < end; at++)
			if (at < BUF_LEN)
				buf[at] = 0;
	}
}

/** A queue's own completions are in order; those of the other queue come between them as they like. */
static void
print_queue(struct run *run, unsigned int s, bool recv)
{
	const struct side *side = &run->sides[s];

	for (unsigned int i = 0; i < side->nb_done; i++) {
		const struct plx_wc *wc = &side->done[i];

		if ((run->ops[wc->wr_id % MAX_OPS].opcode == PLX_OPCODE_RECV) != recv)
			continue;
		print_wc(run, s, wc);
		forget_undefined(run, s, wc);
	}
}

static void
print_step(struct run *run)
{
	for (unsigned int s = 0; s < SIDES; s++) {
		print_queue(run, s, false);
		print_queue(run, s, true);
		run->sides[s].nb_done = 0;
	}
	printf("  memory a %08x b %08x\n", pair_sum(run->pair, 0), pair_sum(run->pair, 1));
}

/* ---- steps --------------------------------------------------------------------------------- */

static int
new_pair(struct run *run)
{
	memset(run->sides, 0, sizeof(run->sides));
	return pair_renew(run->pair, run->rights);
}

/** Number the operations, also those that the device does not have. Returns the one that it lacks, or NULL. */
static const struct post *
number_ops(struct run *run, const struct step *step, uint64_t *first)
{
	uint32_t kinds = plx_device_caps(run->pair->dev)->kinds;
	const struct post *lacking = NULL;

	*first = run->nb_ops + 1;
	for (unsigned int i = 0; i < step->nb_posts; i++) {
		const struct post *post = &step->posts[i];

		run->ops[++run->nb_ops % MAX_OPS] = *post;
		run->ended[run->nb_ops % MAX_OPS] = post->error;
		if (!post->error && !(kinds & PLX_KIND(post->opcode)))
			lacking = post;
	}
	return lacking;
}

static int
run_posts(struct run *run, const struct step *step)
{
	unsigned int left[SIDES], arrivals[SIDES] = {0, 0};
	uint64_t first;
	const struct post *lacking = number_ops(run, step, &first);
	uint64_t last = run->nb_ops;

	if (lacking != NULL) {
		printf("  %s is not advertised\n", plx_opcode_name(lacking->opcode));
		return 0;
	}
	run->failed = false;
	for (unsigned int i = 0; i < step->nb_posts; i++) {
		run->nb_ops = first + i;
		if (!step->posts[i].error)
			post_one(run, &step->posts[i], arrivals);
		else
			run->failed = plx_qp_to_error(run->pair->qps[step->posts[i].side]) == 0;
	}
	run->nb_ops = last;
	for (unsigned int s = 0; s < SIDES; s++)
		left[s] = run->sides[s].recvs - RTE_MIN(arrivals[s], run->sides[s].recvs);
	if (wait_step(run, left) != 0 || (run->failed && wait_flush(run) != 0)) {
		printf("  something never ended\n");
		run->failed = true;
	}
	print_step(run);
	if (run->broken)
		return -1;
	return run->failed ? new_pair(run) : 0;
}

static int
run_line(struct run *run, char *line, unsigned int number)
{
	static unsigned int nb_steps;
	struct step step;
	char text[1024];
	const char *word = line;
	int err;

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, "#\n"), line);
	err = step_parse(line, &step, &word);
	if (err == -ENOENT)
		return 0;
	if (err != 0) {
		fprintf(stderr, "conformance: line %u: \"%s\" is not understood\n", number, word == NULL ? "" : word);
		return -1;
	}
	printf("step %u: %s\n", ++nb_steps, text);
	if (!step.pair)
		return run_posts(run, &step);
	run->rights = step.rights;
	return new_pair(run);
}

int
script_run(struct pair *pair, const char *path)
{
	static struct run run;
	char line[1024];
	unsigned int number = 0;
	FILE *script = fopen(path, "r");
	int err = 0;

	if (script == NULL) {
		perror(path);
		return -1;
	}
	run = (struct run){.pair = pair, .rights = PLX_ACCESS_REMOTE, .ended[MARKER] = true};
	err = new_pair(&run);
	while (err == 0 && fgets(line, sizeof(line), script) != NULL)
		err = run_line(&run, line, ++number);
	fclose(script);
	fflush(stdout);
	fprintf(stderr, "conformance: %" PRIu64 " operations\n", run.nb_ops);
	return err;
}
