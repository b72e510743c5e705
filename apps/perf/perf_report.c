/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The result in words. Whatever a rate or a latency depends on stands beside it.
 */

#include "perf.h"

#include <inttypes.h>
#include <math.h>

#include "plx_fault.h"

void
perf_result_take(struct perf *perf, struct perf_result *res)
{
	const struct perf_loop *loop = perf->loop;
	uint64_t ended = loop->ended > loop->started ? loop->ended : loop->started;

	plx_dispatcher_stats(perf->dispatcher, &perf->stats);
	*res = (struct perf_result){
		/* Whole nanoseconds, as they are printed: who divides ops by them gets the rate that we
		   print. */
		.seconds = (double)plx_clock_ns(loop->clock, ended - loop->started) / 1e9,
		.ops = loop->hist.count,
		.lost = loop->lost,
		.duplicated = perf->stats.duplicate,
		.stale = perf->stats.stale,
		.errors = loop->errors,
		.ns_per_tick = 1e9 / (double)loop->clock->hz,
		.hist = &loop->hist,
	};
}

double
perf_result_ns(const struct perf_result *res, double percent)
{
	return (double)plx_hist_percentile(res->hist, percent) * res->ns_per_tick;
}

static void
print_lcores(const struct perf *perf, FILE *out)
{
	char main_text[64], poller[64], worker[64];

	app_lcore_text(perf->main_lcore, main_text, sizeof(main_text));
	app_lcore_text(perf->poller_lcore, poller, sizeof(poller));
	fprintf(out, "lcores    main %s (sleeps), poller %s (posts, polls%s)", main_text, poller,
		perf->opts.handoff ? "" : ", callbacks");
	if (perf->opts.handoff) {
		app_lcore_text(perf->worker_lcore, worker, sizeof(worker));
		fprintf(out, ", worker %s (callbacks, submits)", worker);
	}
	fprintf(out, "   [lcore@CPUs]\n");
}

void
perf_report_header(const struct perf *perf, FILE *out)
{
	const struct perf_options *opts = &perf->opts;

	fprintf(out, "%s, port %u: %s of %u B, %u connections, depth %u, bursts of %u, %s\n",
		plx_device_name(perf->dev), perf->port, plx_opcode_name(opts->opcode), opts->size,
		opts->connections, opts->depth, opts->burst,
		opts->handoff ? "hand-off to a worker" : "run to completion");
	print_lcores(perf, out);
	fprintf(out, "granted   send queue %u, receive queue %u, CQ %u (%" PRIu64 " reserved)\n",
		plx_conn_cap(perf->pairs[0].initiator.conn)->send_depth, plx_conn_cap(perf->pairs[0].target.conn)->recv_depth,
		perf->cq->nb_cqe, perf->nb_cqes);
	fprintf(out, "clock     %s, calibrated at %" PRIu64 " Hz%s%s; read %s\n",
		perf->loop->clock->tsc ? "TSC" : "CLOCK_MONOTONIC", perf->loop->clock->hz,
		perf->loop->clock->why_not != NULL ? ": " : "",
		perf->loop->clock->why_not != NULL ? perf->loop->clock->why_not : "",
		perf->loop->each
			? "before each submit and in each callback"
			: "once a turn, after its callbacks and before its submits (never too short)");
	fflush(out);
}

static void
print_latency(const struct perf_result *res, FILE *out)
{
	static const struct {
		const char *name;
		double percent;
	} rows[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}};

	fprintf(out,
		"latency   submit to callback, not halved, closed loop, every op is a sample: %" PRIu64
		" samples\n",
		res->hist->count);
	if (res->hist->count == 0)
		return;
	fprintf(out, "          %-7s %12.3f us\n", "min", (double)res->hist->min * res->ns_per_tick / 1e3);
	for (unsigned int i = 0; i < RTE_DIM(rows); i++)
		fprintf(out, "          %-7s %12.3f us\n", rows[i].name,
			perf_result_ns(res, rows[i].percent) / 1e3);
	fprintf(out, "          %-7s %12.3f us\n", "max", (double)res->hist->max * res->ns_per_tick / 1e3);
	fprintf(out, "          %-7s %12.3f us, deviation %.3f us\n", "mean",
		plx_hist_mean(res->hist) * res->ns_per_tick / 1e3,
		plx_hist_stdev(res->hist) * res->ns_per_tick / 1e3);
}

void
perf_report(const struct perf *perf, const struct perf_result *res, FILE *out)
{
	double rate = res->seconds > 0 ? (double)res->ops / res->seconds : 0;

	fprintf(out, "ops       %" PRIu64 " in %.6f s\n", res->ops, res->seconds);
	fprintf(out, "rate      %.0f op/s, %.3f MB/s\n", rate, rate * perf->opts.size / 1e6);
	print_latency(res, out);
	fprintf(out,
		"over the whole run: lost %" PRIu64 ", duplicated %" PRIu64 ", stale %" PRIu64
		", late %" PRIu64 ", errors %" PRIu64 "\n",
		res->lost, res->duplicated, res->stale, perf->loop->late, res->errors);
	if (perf->opts.late != 1)
		fprintf(out, "completed with a later op, without a completion of their own: %" PRIu64 "\n", perf->nb_implied);
	fflush(out);
}

/** Every counter of the wrapper, on one line. */
static void
print_counts(const struct plx_fault_stats *stats)
{
	const uint64_t *count = (const uint64_t *)stats;

	fputs("fault counts:", stderr);
	for (unsigned int i = 0; plx_fault_stat_name(i) != NULL; i++)
		fprintf(stderr, "%s %s %" PRIu64, i == 0 ? "" : ",", plx_fault_stat_name(i), count[i]);
	fputc('\n', stderr);
}

/** Of two numbers that should be the same: rules behind others meet copies, and then only the whole adds up. */
static const char *
verdict(bool equal, bool adds_up)
{
	return equal ? "equal" : adds_up ? "the whole adds up" : "DIFFERENT";
}

/**
 * Each completion that was dropped, or whose wr_id was garbled, is an op that was lost, and so is one that never had any.
 * With it go the unsignaled ones in front of it when it was the last of its queue: they have no completion to count.
 * One that was held back until its connection was gone is both lost and stale: its op was settled as lost, and it was
 * stale when it came. Copies, and completions of posts that said no, are stale or duplicates.
 *
 * That is so for each rule alone. Of a completion and its copy a rule behind may garble or drop one, which loses nothing:
 * the other one settles the op. Whatever the rules, and in whatever order, completions add up, for each op has one:
 *
 *      lost + copies = dropped, swallowed or waiting yet + refused: foreign or misrouted (garbled), stale or duplicate
 */
void
perf_report_faults(const struct perf *perf, const struct perf_result *res)
{
	struct plx_fault_stats stats;
	uint64_t refused = res->duplicated + res->stale, lost = res->lost - perf->loop->silent, swallowed, copies, after;
	bool adds_up;

	if (perf->fault == NULL || plx_fault_stats(perf->fault, &stats) != 0)
		return;
	print_counts(&stats);
	swallowed = stats.dropped + stats.garbled + stats.swallowed;
	copies = stats.duplicated + stats.replayed + stats.denied;
	after = refused - RTE_MIN(refused, copies);
	adds_up = lost + copies == stats.dropped + stats.swallowed + stats.waiting + refused + perf->stats.foreign +
			perf->stats.misrouted;
	fprintf(stderr, "fault script: dropped %" PRIu64 ", garbled %" PRIu64 "; lost %" PRIu64, stats.dropped, stats.garbled,
		res->lost);
	if (perf->loop->silent != 0)
		fprintf(stderr, ", %" PRIu64 " of them unsignaled", perf->loop->silent);
	fprintf(stderr, ": %s\n", verdict(swallowed == lost, adds_up));
	fprintf(stderr, "fault script: duplicates %" PRIu64 "; duplicated + stale %" PRIu64 ": %s\n",
		copies, refused, verdict(copies == refused, adds_up));
	if (stats.failed_posts != 0)
		fprintf(stderr, "fault script: %" PRIu64 " posts failed; %" PRIu64 " queued ops were issued again\n",
			stats.failed_posts, perf->loop->refused);
	if (after != 0 && swallowed + after == lost)
		fprintf(stderr,
			"fault script: %" PRIu64 " completions were held back until their connections were "
			"gone: in both, and all is accounted for\n",
			after);
}
