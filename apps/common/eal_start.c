/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "app_eal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "app_cause.h"

/** "0,1" */
static void
cpus_text(const cpu_set_t *cpus, char *text, size_t size)
{
	const char *comma = "";
	size_t len = 0;

	text[0] = '\0';
	for (int cpu = 0; cpu < CPU_SETSIZE && len + 8 < size; cpu++) {
		if (!CPU_ISSET(cpu, cpus))
			continue;
		len += (size_t)snprintf(text + len, size - len, "%s%d", comma, cpu);
		comma = ",";
	}
}

/** EAL prints usage and more on stdout, which is for results. */
static int
init_with_stdout_on_stderr(int argc, char **argv)
{
	int out, ret;

	fflush(stdout);
	out = dup(STDOUT_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	ret = rte_eal_init(argc, argv);
	fflush(stdout);
	if (out >= 0) {
		dup2(out, STDOUT_FILENO);
		close(out);
	}
	return ret;
}

int
app_eal_start(struct app_args *args, struct app_machine *machine, struct app_error *error)
{
	struct app_eal_seen seen;
	const char *cause;
	char text[1024];
	bool lcores;
	int err;

	app_machine_ask(machine);
	err = app_eal_check(args, error);
	if (err == 0)
		err = app_eal_complete(args, machine, text, sizeof(text), error);
	if (err != 0)
		return err;
	if (text[0] != '\0')
		fprintf(stderr, "%s\n", text);
	app_cause_watch();
	app_cause_clear();
	if (init_with_stdout_on_stderr(args->eal_argc, args->eal_argv) >= 0)
		return 0;
	err = -rte_errno;
	app_eal_scan(args, &seen, error);
	cause = app_cause(rte_strerror(-err));
	cpus_text(&machine->cpus, text, sizeof(text));
	lcores = strstr(cause, "unavailable") != NULL; /* "lcore 2 unavailable" */
	return app_fail(error, err, "EAL does not start: %s%s%s%s%s", cause,
		seen.unknown != NULL ? "; not known: " : "", seen.unknown != NULL ? seen.unknown : "",
		lcores ? "; this process may use CPUs " : "", lcores ? text : "");
}

void
app_lcore_text(unsigned int lcore, char *text, size_t size)
{
	rte_cpuset_t cpus = rte_lcore_cpuset(lcore);
	size_t len = (size_t)snprintf(text, size, "%u@", lcore);

	if (len < size)
		cpus_text(&cpus, text + len, size - len);
}

bool
app_lcores_share(const unsigned int *lcores, unsigned int n)
{
	rte_cpuset_t all, one;
	int alone = 0;

	CPU_ZERO(&all);
	for (unsigned int i = 0; i < n; i++) {
		one = rte_lcore_cpuset(lcores[i]);
		CPU_OR(&all, &all, &one);
		alone += CPU_COUNT(&one);
	}
	return CPU_COUNT(&all) < alone;
}
