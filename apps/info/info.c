/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * plx-info: what devices there are, and what each can do.
 *
 *      rxe0: driver verbs, any NUMA node
 *          port 1: active, Ethernet, MTU 4096, messages up to 8388608 bytes, default
 *              GID 1: ::ffff:10.77.0.1, RoCE v2, dummy0, default
 *          operations: send send-imm write ...
 *
 * With --json the same as one object: {"version": "0.1.0", "devices": [{"name": "rxe0", "ports": [...], ...}]}.
 * A device is opened, asked and closed; nothing is made on it.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "app_cause.h"
#include "app_eal.h"
#include "info.h"
#include "plx_drivers.h"

#define DEVICES_MAX 256

/** What is printed, and where: with --json only when all of it is known. */
struct output {
	bool json;
	FILE *out;
	unsigned int nb_devices; /**< printed so far */
};

/** Names of up to DEVICES_MAX devices; returns how many are in @p infos. */
static unsigned int
devices_list(struct plx_device_info *infos)
{
	int n = plx_device_list(infos, DEVICES_MAX);

	return n > DEVICES_MAX ? DEVICES_MAX : (unsigned int)n;
}

/** "no device NAME; there are A, B, C" */
static int
device_unknown(const char *name, struct app_error *error)
{
	static struct plx_device_info infos[DEVICES_MAX];
	unsigned int n = devices_list(infos);
	char there[APP_ERROR_LEN / 2] = "none";
	size_t len = 0;

	for (unsigned int i = 0; i < n && len < sizeof(there); i++)
		len += (size_t)snprintf(there + len, sizeof(there) - len, "%s%s", i > 0 ? ", " : "", infos[i].name);
	return app_fail(error, -ENODEV, "no device %.*s; there are: %s", PLX_NAME_LEN, name, there);
}

static void
device_print(struct plx_device *dev, struct output *to)
{
	if (to->json) {
		fputs(to->nb_devices++ > 0 ? "," : "", to->out);
		info_json(dev, to->out);
	} else {
		info_text(dev, to->out);
	}
}

/** Show device @p name, which may carry devargs. 0, or -errno with the cause in @p error. */
static int
device_show(const char *name, struct output *to, struct app_error *error)
{
	struct plx_device *dev;
	int err;

	app_cause_clear();
	dev = plx_device_open(name);
	if (dev == NULL) {
		err = -rte_errno;
		if (err == -ENODEV)
			return device_unknown(name, error);
		return app_fail(error, err, "%s: %s", name, app_cause(rte_strerror(-err)));
	}
	device_print(dev, to);
	err = plx_device_close(dev);
	return err == 0 ? 0 : app_fail(error, err, "%s: close: %s", name, app_cause(rte_strerror(-err)));
}

/** All of them; one that cannot be opened hides no other. */
static int
devices_show(struct output *to, struct app_error *error)
{
	static struct plx_device_info infos[DEVICES_MAX];
	unsigned int n = devices_list(infos);
	int err = 0;

	for (unsigned int i = 0; i < n; i++) {
		int one = device_show(infos[i].name, to, error);

		err = err != 0 ? err : one;
	}
	return err;
}

/** The one object. Nothing at all when the one device that was asked for is not there. */
static int
show_json(const char *device, struct app_error *error)
{
	char *text = NULL;
	size_t len;
	struct output to = {.json = true, .out = open_memstream(&text, &len)};
	int err;

	if (to.out == NULL)
		return app_fail(error, -errno, "%s", rte_strerror(errno));
	err = device != NULL ? device_show(device, &to, error) : devices_show(&to, error);
	if (fclose(to.out) != 0)
		err = app_fail(error, -ENOMEM, "%s", rte_strerror(ENOMEM));
	else if (err == 0 || device == NULL)
		printf("{\"version\":\"%s\",\"devices\":[%s]}\n", plx_version(), text);
	free(text);
	return err;
}

static int
show_text(const char *device, struct app_error *error)
{
	struct output to = {.out = stdout};

	return device != NULL ? device_show(device, &to, error) : devices_show(&to, error);
}

static const char usage[] = "usage: plx-info [EAL arguments] -- [-d DEVICE[,KEY=VALUE...]] [--json]\n"
			    "  -d, --device  this device only; without it all of them\n"
			    "  -j, --json    as one JSON object\n"
			    "  -h, --help    this text\n";

/** 0, 1: only help was wanted, or -EINVAL. */
static int
options_parse(int argc, char **argv, const char **device, bool *json, struct app_error *error)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"device", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":d:jh", longs, NULL)) != -1) {
		if (opt == 'h')
			return 1;
		if (opt == 'j')
			*json = true;
		else if (opt == 'd')
			*device = optarg;
		else
			return app_bad_option(opt, argv[optind - 1], optopt, error);
	}
	if (optind < argc)
		return app_fail(error, -EINVAL, "%s: not an option (-d DEVICE names a device)", argv[optind]);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *device = NULL;
	bool json = false;
	struct app_error error = {""};
	struct app_machine machine;
	struct app_args args;
	int err = app_args_split(argc, argv, &args, &error);

	if (err == 0)
		err = options_parse(args.argc, args.argv, &device, &json, &error);
	if (err > 0) {
		fputs(usage, stdout);
		err = app_check_written(stdout, "stdout", &error);
		if (err == 0)
			return 0;
	}
	if (err == 0)
		err = app_eal_start(&args, &machine, &error);
	if (err == 0) {
		err = plx_drivers_register();
		if (err == 0)
			err = json ? show_json(device, &error) : show_text(device, &error);
		if (err == 0)
			err = app_check_written(stdout, "stdout", &error);
		rte_eal_cleanup();
	}
	if (err == 0)
		return 0;
	app_fail(&error, err, "%s", rte_strerror(-err));
	app_error_print("plx-info", &error);
	return err == -EIO ? APP_EXIT_FAILED : APP_EXIT_USAGE;
}
