/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The result as one JSON object on one line (RFC 8259). Times are in ns; what there is none of is null.
 */

#include "perf.h"

#include <inttypes.h>
#include <math.h>

#include "app_json.h"

/** A number that JSON has: no NaN, no infinity. */
static void
put_double(const char *key, double value, FILE *out)
{
	if (isfinite(value))
		fprintf(out, ",\"%s\":%.3f", key, value);
	else
		fprintf(out, ",\"%s\":null", key);
}

static void
put_latency(const struct perf_result *res, FILE *out)
{
	const struct plx_hist *h = res->hist;
	bool none = h->count == 0;

	fprintf(out, ",\"latency_ns\":{\"samples\":%" PRIu64, h->count);
	put_double("min", none ? NAN : (double)h->min * res->ns_per_tick, out);
	put_double("p50", none ? NAN : perf_result_ns(res, 50), out);
	put_double("p90", none ? NAN : perf_result_ns(res, 90), out);
	put_double("p99", none ? NAN : perf_result_ns(res, 99), out);
	put_double("p99_9", none ? NAN : perf_result_ns(res, 99.9), out);
	put_double("p99_99", none ? NAN : perf_result_ns(res, 99.99), out);
	put_double("max", none ? NAN : (double)h->max * res->ns_per_tick, out);
	put_double("mean", none ? NAN : plx_hist_mean(h) * res->ns_per_tick, out);
	put_double("stdev", none ? NAN : plx_hist_stdev(h) * res->ns_per_tick, out);
	fputc('}', out);
}

static void
put_lcores(const struct perf *perf, FILE *out)
{
	fprintf(out, ",\"lcores\":{\"main\":%u,\"poller\":%u,\"worker\":", perf->main_lcore,
		perf->poller_lcore);
	if (perf->opts.handoff)
		fprintf(out, "%u}", perf->worker_lcore);
	else
		fputs("null}", out);
}

void
perf_json(const struct perf *perf, const struct perf_result *res, FILE *out)
{
	const struct perf_options *opts = &perf->opts;
	const struct plx_clock *clock = perf->loop->clock;

	fputs("{\"device\":", out);
	app_json_string(opts->device, out);
	fputs(",\"fault\":", out);
	if (opts->fault != NULL)
		app_json_string(opts->fault, out);
	else
		fputs("null", out);
	fprintf(out, ",\"op\":\"%s\",\"size\":%u,\"connections\":%u,\"depth\":%u,\"burst\":%u,\"signal_every\":%u",
		plx_opcode_name(opts->opcode), opts->size, opts->connections, opts->depth, opts->burst, opts->late);
	put_lcores(perf, out);
	fprintf(out, ",\"seconds\":%.9f,\"ops\":%" PRIu64, res->seconds, res->ops);
	put_double("rate_ops", res->seconds > 0 ? (double)res->ops / res->seconds : 0, out);
	fprintf(out,
		",\"lost\":%" PRIu64 ",\"duplicated\":%" PRIu64 ",\"stale\":%" PRIu64 ",\"late\":%" PRIu64
		",\"errors\":%" PRIu64 ",\"unsignaled\":%" PRIu64,
		res->lost, res->duplicated, res->stale, perf->loop->late, res->errors, perf->nb_implied);
	put_latency(res, out);
	fprintf(out, ",\"half_rtt\":false,\"loop\":\"closed\",\"clock\":\"%s\"",
		clock->tsc ? "tsc" : "monotonic");
	if (clock->tsc)
		fprintf(out, ",\"tsc_hz\":%" PRIu64, clock->hz);
	else
		fputs(",\"tsc_hz\":null", out);
	fputs("}\n", out);
	fflush(out);
}
