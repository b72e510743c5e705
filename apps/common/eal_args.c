/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "app_eal.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

int
app_args_split(int argc, char **argv, struct app_args *args, struct app_error *error)
{
	int dashes = 1;

	memset(args, 0, sizeof(*args));
	while (dashes < argc && strcmp(argv[dashes], "--") != 0)
		dashes++;
	args->eal_argv[args->eal_argc++] = argv[0];
	args->argv = argv;
	args->argc = argc;
	if (dashes >= argc)
		return 0;
	if (dashes > APP_EAL_ARGS_MAX)
		return app_fail(error, -E2BIG, "%d EAL arguments; at most %d", dashes - 1, APP_EAL_ARGS_MAX);
	for (int i = 1; i < dashes; i++)
		args->eal_argv[args->eal_argc++] = argv[i];
	args->argv = argv + dashes;
	args->argc = argc - dashes;
	args->argv[0] = argv[0]; /* the "--" itself is no argument */
	return 0;
}

static bool
hugepages_free(void)
{
	glob_t found;
	bool any = false;

	if (glob("/sys/kernel/mm/hugepages/*/free_hugepages", 0, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc && !any; i++) {
		FILE *file = fopen(found.gl_pathv[i], "r");
		unsigned long n = 0;

		if (file == NULL)
			continue;
		any = fscanf(file, "%lu", &n) == 1 && n > 0;
		fclose(file);
	}
	globfree(&found);
	return any;
}

void
app_machine_ask(struct app_machine *machine)
{
	memset(machine, 0, sizeof(*machine));
	sched_getaffinity(0, sizeof(machine->cpus), &machine->cpus);
	machine->free_hugepages = hugepages_free();
}

/** The @p nth CPU of @p cpus, from 0; the last one if there are fewer. */
static int
cpu_nth(const cpu_set_t *cpus, int nth)
{
	int last = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE && nth >= 0; cpu++) {
		if (CPU_ISSET(cpu, cpus)) {
			last = cpu;
			nth--;
		}
	}
	return last;
}

void
app_eal_lcores(const cpu_set_t *cpus, char *text, size_t size)
{
	size_t len = (size_t)snprintf(text, size, "0@(");

	for (int i = 0, n = CPU_COUNT(cpus); i < n && len + 24 < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%d", i > 0 ? "," : "", cpu_nth(cpus, i));
	snprintf(text + len, size - len, "),1@%d,2@%d", cpu_nth(cpus, 0), cpu_nth(cpus, 1));
}

static int
append(struct app_args *args, const char *arg, struct app_error *error)
{
	if (args->eal_argc >= APP_EAL_ARGS_MAX)
		return app_fail(error, -E2BIG, "more than %d EAL arguments", APP_EAL_ARGS_MAX);
	args->eal_argv[args->eal_argc++] = (char *)(uintptr_t)arg; /* EAL's prototype; it does not write */
	args->eal_argv[args->eal_argc] = NULL;
	return 0;
}

static int
append_lcores(struct app_args *args, const struct app_machine *machine, struct app_error *error)
{
	static char lcores[512]; /* EAL keeps pointers into its arguments */
	int err = append(args, "--lcores", error);

	if (args->lcores != NULL)
		snprintf(lcores, sizeof(lcores), "%s", args->lcores);
	else
		app_eal_lcores(&machine->cpus, lcores, sizeof(lcores));
	return err != 0 ? err : append(args, lcores, error);
}

/** Take out words that only hugepages give a meaning; --no-shconf is what remains of --in-memory. */
static void
drop_hugepage_options(struct app_args *args)
{
	static char no_shconf[] = "--no-shconf";
	int kept = 1;

	for (int i = 1; i < args->eal_argc; i++) {
		char *arg = args->eal_argv[i];

		if (strncmp(arg, "--huge-unlink", 13) == 0 || strcmp(arg, "--match-allocations") == 0 ||
			strncmp(arg, "--socket-mem=", 13) == 0)
			continue;
		if (strcmp(arg, "--socket-mem") == 0)
			i++; /* and its value */
		else
			args->eal_argv[kept++] = strcmp(arg, "--in-memory") == 0 ? no_shconf : arg;
	}
	args->eal_argc = kept;
}

/** EAL refuses these sets on a machine without free hugepages; ordinary memory does the same job. */
static int
without_hugepages(struct app_args *args, const struct app_eal_seen *seen, struct app_error *error)
{
	static char mib[24];
	int err;

	drop_hugepage_options(args);
	err = append(args, "--no-huge", error);
	if (err != 0 || seen->has_mib)
		return err;
	snprintf(mib, sizeof(mib), "%lu", seen->socket_mib != 0 ? seen->socket_mib : 512);
	err = append(args, "-m", error);
	return err != 0 ? err : append(args, mib, error);
}

static int
defaults(struct app_args *args, struct app_error *error)
{
	static const char *const all[] = {"--no-huge", "--no-shconf", "--no-pci", "-m", "512", NULL};
	int err = 0;

	for (int i = 0; all[i] != NULL && err == 0; i++)
		err = append(args, all[i], error);
	return err;
}

/** The set as a shell would take it. */
static void
describe(const struct app_args *args, char *text, size_t size)
{
	size_t len = (size_t)snprintf(text, size, "EAL arguments:");

	for (int i = 1; i < args->eal_argc && len < size; i++) {
		const char *arg = args->eal_argv[i];
		const char *quote = strpbrk(arg, " ()@*$&;|") != NULL ? "'" : "";

		len += (size_t)snprintf(text + len, size - len, " %s%s%s", quote, arg, quote);
	}
}

int
app_eal_complete(struct app_args *args, const struct app_machine *machine, char *text, size_t size,
	struct app_error *error)
{
	struct app_eal_seen seen;
	int given = args->eal_argc, err = app_eal_scan(args, &seen, error);

	text[0] = '\0';
	if (err != 0 || seen.help)
		return err;
	if (given == 1)
		err = defaults(args, error);
	else if (!seen.no_huge && !seen.secondary && !machine->free_hugepages)
		err = without_hugepages(args, &seen, error);
	if (err == 0 && !seen.lcores)
		err = append_lcores(args, machine, error);
	if (err == 0 && (given == 1 || !seen.lcores || !seen.no_huge))
		describe(args, text, size);
	return err;
}
