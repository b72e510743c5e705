/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * plx-perf: rate and latency of ops over connections that share a CQ. perf.h is the map.
 *
 * Exit status: 0 with a result, also when Ctrl-C cut it short; 1 the run failed, and what there is of a
 * result is printed; 2 it could not begin. With 1 and 2 the last line on stderr is the cause.
 */

#include "perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_eal.h>

#include "plx_drivers.h"

static void
on_signal(int number)
{
	(void)number;
	perf_interrupted = 1;
}

/** The second Ctrl-C is the system's again. */
static void
catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/** Where JSON goes; opened before the run, so that a bad path costs nobody a measurement, and kept as it is until then. */
static int
open_json(struct perf *perf, FILE **json)
{
	*json = NULL;
	if (perf->opts.json == NULL)
		return 0;
	*json = strcmp(perf->opts.json, "-") == 0 ? stdout : fopen(perf->opts.json, "a");
	if (*json == NULL)
		return app_fail(&perf->error, -errno, "--json %s: %s", perf->opts.json, strerror(errno));
	return 0;
}

static int
prepare(struct perf *perf, int argc, char **argv, FILE **json)
{
	struct app_args args;
	int err = app_args_split(argc, argv, &args, &perf->error);

	if (err == 0)
		err = perf_options_parse(args.argc, args.argv, &perf->opts, &perf->error);
	if (err == 0 && perf->opts.help) {
		perf_usage();
		err = app_check_written(stdout, "stdout", &perf->error);
		if (err == 0)
			exit(0);
	}
	if (err == 0)
		err = open_json(perf, json);
	if (err == 0)
		err = app_eal_start(&args, &perf->machine, &perf->error);
	return err;
}

/** The device, the rooms and the connections; undone again if it fails. */
static int
begin(struct perf *perf)
{
	int err = perf_choose_lcores(perf);

	if (err == 0 && plx_drivers_register() != 0)
		err = app_fail(&perf->error, -EINVAL, "the drivers cannot be registered");
	if (err == 0)
		err = perf_device_open(perf);
	if (err == 0)
		err = perf_setup(perf);
	if (err != 0 && perf_close(perf) == 0)
		perf_teardown(perf);
	return err;
}

/** One object in place of what the file had. */
static void
write_json(const struct perf *perf, const struct perf_result *res, FILE *json)
{
	struct stat st;

	/* Where that is not possible the object comes behind it, and is still a line of its own. */
	if (json != stdout && fstat(fileno(json), &st) == 0 && S_ISREG(st.st_mode) &&
		ftruncate(fileno(json), 0) != 0)
		fputc('\n', json);
	perf_json(perf, res, json);
}

/** From the first op to the last word. Returns the exit status. */
static int
run_and_report(struct perf *perf, FILE *json)
{
	FILE *text = json == stdout ? stderr : stdout;
	struct perf_result res;
	int err, closed;

	perf_report_header(perf, text);
	err = perf_run(perf);
	closed = perf_close(perf);
	if (err == 0 && closed == 0)
		err = perf_verify_regions(perf);
	perf_result_take(perf, &res);
	if (err == 0 && perf->loop->errors != 0)
		err = app_fail(&perf->error, -EIO, "%s", perf->loop_error.text);
	perf_report(perf, &res, text);
	if (json != NULL)
		write_json(perf, &res, json);
	perf_report_faults(perf, &res);
	if (err == 0)
		err = app_check_written(stdout, "stdout", &perf->error);
	if (err == 0 && json != NULL)
		err = app_check_written(json, perf->opts.json, &perf->error);
	if (closed == 0)
		closed = perf_teardown(perf);
	return err == 0 && closed == 0 ? 0 : APP_EXIT_FAILED;
}

int
main(int argc, char **argv)
{
	static struct perf perf; /* zero; large */
	FILE *json = NULL;
	int status = APP_EXIT_USAGE;

	catch_signals();
	if (prepare(&perf, argc, argv, &json) != 0)
		goto out;
	if (begin(&perf) == 0)
		status = run_and_report(&perf, json);
	if (perf.nb_launched == 0) /* loops that could not be stopped use EAL's memory */
		rte_eal_cleanup();
out:
	if (json != NULL && json != stdout)
		fclose(json);
	if (status != 0)
		app_error_print("plx-perf", &perf.error);
	return status;
}
