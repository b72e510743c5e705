/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * plx-test: shell.h is the map.
 *
 *      plx-test [EAL arguments --] [-d DEVICE[,KEY=VALUE...]] [COMMAND...]
 *
 * Commands come from the environment's DPDK_TEST (separated by commas or spaces) and from the arguments, in this
 * order; without any there is a prompt. Exit status: 0 all that ran passed, 1 a test failed, 2 it could not begin
 * (or no such command), 77 all was skipped.
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
#include "plx_device.h"
#include "plx_drivers.h"
#include "plx_test_eal.h"
#include "shell.h"

static const char usage[] = "usage: plx-test [EAL arguments --] [-d DEVICE[,KEY=VALUE...]] [COMMAND...]\n"
			    "  -d, --device  for tests that run on one (loopback0)\n"
			    "  -h, --help    this text\n"
			    "Commands: dump_tests lists the tests, fast_tests runs them; without a command\n"
			    "there is a prompt, where help lists all.\n";

/** The commands to run before, or instead of, the prompt. */
struct todo {
	const struct command *list[COMMANDS_MAX];
	unsigned int nb;
	const char *device; /**< NULL: none was given */
	bool help;
};

static int
todo_add(struct todo *todo, const char *from, const char *name, struct app_error *error)
{
	const struct command *cmd = command_find(name);

	if (cmd == NULL)
		return app_fail(error, -EINVAL, "%s%s: no such command; dump_tests lists the tests", from, name);
	if (todo->nb == COMMANDS_MAX)
		return app_fail(error, -E2BIG, "more than %d commands", COMMANDS_MAX);
	todo->list[todo->nb++] = cmd;
	return 0;
}

static int
todo_from_environment(struct todo *todo, struct app_error *error)
{
	const char *value = getenv("DPDK_TEST");
	char *copy = value != NULL ? strdup(value) : NULL, *rest = copy, *name;
	int err = 0;

	while (err == 0 && rest != NULL && (name = strtok_r(rest, ", ", &rest)) != NULL)
		err = todo_add(todo, "DPDK_TEST: ", name, error);
	free(copy);
	return err;
}

static int
todo_parse(int argc, char **argv, struct todo *todo, struct app_error *error)
{
	static const struct option longs[] = {
		{"device", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int opt, err;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":d:h", longs, NULL)) != -1) {
		if (opt == 'd')
			todo->device = optarg;
		else if (opt == 'h')
			todo->help = true;
		else
			return app_bad_option(opt, argv[optind - 1], optopt, error);
	}
	err = todo_from_environment(todo, error);
	for (; err == 0 && optind < argc; optind++)
		err = todo_add(todo, "", argv[optind], error);
	return err;
}

/** EAL, with the lcores that unit tests are written for unless the user wants others. */
static int
start(struct app_args *args, struct app_error *error)
{
	struct app_machine machine;
	char lcores[64];
	int err;

	app_machine_ask(&machine);
	plx_test_lcores_option(&machine.cpus, lcores, sizeof(lcores));
	args->lcores = lcores;
	err = app_eal_start(args, &machine, error);
	if (err != 0)
		return err;
	plx_test_eal_adopt(&machine.cpus);
	footprint_settle();
	err = plx_drivers_register();
	return err == 0 ? 0 : app_fail(error, err, "the drivers cannot be registered");
}

/** A device that was asked for by name must be there. */
static int
choose_device(const char *name, struct app_error *error)
{
	struct plx_device *dev;

	app_cause_clear();
	dev = plx_device_open(name);
	if (dev == NULL)
		return app_fail(error, -rte_errno, "-d %s: %s", name, app_cause(rte_strerror(rte_errno)));
	plx_test_device_set(name);
	return plx_device_close(dev);
}

static int
run(const struct todo *todo, struct app_error *error)
{
	int nb_bad = todo->nb == 0 ? prompt_run() : 0;

	if (nb_bad < 0)
		return app_fail(error, nb_bad, "no prompt");
	if (nb_bad > 0)
		return app_fail(error, -ENOENT, "%d lines of stdin are no commands; help lists all", nb_bad);
	for (unsigned int i = 0; i < todo->nb; i++)
		todo->list[i]->run(todo->list[i]);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct todo todo;
	struct app_error error = {""};
	struct app_args args;
	int err = app_args_split(argc, argv, &args, &error);

	if (err == 0)
		err = todo_parse(args.argc, args.argv, &todo, &error);
	if (err == 0 && todo.help) {
		fputs(usage, stdout);
		err = app_check_written(stdout, "stdout", &error);
		if (err == 0)
			return 0;
	}
	if (err == 0)
		err = start(&args, &error);
	if (err == 0 && todo.device != NULL)
		err = choose_device(todo.device, &error);
	if (err == 0)
		err = run(&todo, &error);
	if (err != 0) {
		app_error_print("plx-test", &error);
		return APP_EXIT_USAGE;
	}
	if (app_check_written(stdout, "stdout", &error) != 0) {
		app_error_print("plx-test", &error);
		return APP_EXIT_FAILED;
	}
	rte_eal_cleanup();
	return autotest_status();
}
