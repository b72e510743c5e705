/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * EAL's grammar, and the sets that EAL refuses. When it does, it prints some 75 lines of usage around its
 * reason; we say the reason alone. What is not known here is passed on: EAL has the last word.
 */

#include "app_eal.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

/* Options that have something to do with a check, as numbers; any other is OTHER. */
enum {
	OTHER = 256,
	NO_HUGE,
	IN_MEMORY,
	HUGE_UNLINK,
	SOCKET_MEM,
	LEGACY_MEM,
	MATCH_ALLOC,
	LCORES,
	MAIN_LCORE,
	PROC_TYPE,
	FILE_PREFIX,
	NB_KNOWN,
};

/* The long options of DPDK 22.11. One that it lacks and EAL knows goes through unseen. */
static const struct option options[] = {
	{"no-huge", no_argument, NULL, NO_HUGE},
	{"in-memory", no_argument, NULL, IN_MEMORY},
	{"huge-unlink", optional_argument, NULL, HUGE_UNLINK},
	{"socket-mem", required_argument, NULL, SOCKET_MEM},
	{"legacy-mem", no_argument, NULL, LEGACY_MEM},
	{"match-allocations", no_argument, NULL, MATCH_ALLOC},
	{"lcores", required_argument, NULL, LCORES},
	{"main-lcore", required_argument, NULL, MAIN_LCORE},
	{"proc-type", required_argument, NULL, PROC_TYPE},
	{"file-prefix", required_argument, NULL, FILE_PREFIX},
	{"allow", required_argument, NULL, OTHER},
	{"base-virtaddr", required_argument, NULL, OTHER},
	{"block", required_argument, NULL, OTHER},
	{"create-uio-dev", no_argument, NULL, OTHER},
	{"force-max-simd-bitwidth", required_argument, NULL, OTHER},
	{"help", no_argument, NULL, 'h'},
	{"huge-dir", required_argument, NULL, OTHER},
	{"huge-worker-stack", optional_argument, NULL, OTHER},
	{"iova-mode", required_argument, NULL, OTHER},
	{"log-level", required_argument, NULL, OTHER},
	{"mbuf-pool-ops-name", required_argument, NULL, OTHER},
	{"no-hpet", no_argument, NULL, OTHER},
	{"no-pci", no_argument, NULL, OTHER},
	{"no-shconf", no_argument, NULL, OTHER},
	{"no-telemetry", no_argument, NULL, OTHER},
	{"single-file-segments", no_argument, NULL, OTHER},
	{"socket-limit", required_argument, NULL, OTHER},
	{"syslog", required_argument, NULL, OTHER},
	{"telemetry", no_argument, NULL, OTHER},
	{"trace", required_argument, NULL, OTHER},
	{"trace-bufsz", required_argument, NULL, OTHER},
	{"trace-dir", required_argument, NULL, OTHER},
	{"trace-mode", required_argument, NULL, OTHER},
	{"vdev", required_argument, NULL, OTHER},
	{"vfio-intr", required_argument, NULL, OTHER},
	{"vfio-vf-token", required_argument, NULL, OTHER},
	{"vmware-tsc-map", no_argument, NULL, OTHER},
	{NULL, 0, NULL, 0},
};

/* '-': a word that is no option is reported where it stands. ':' tells a missing value from an unknown. */
static const char short_options[] = "-:a:b:c:d:hl:m:n:r:s:S:v";

/** Which options were there, and the value of each. */
struct scan {
	bool has[NB_KNOWN];
	const char *value[NB_KNOWN];
	const char *unknown;
};

static int
bare_word(const char *word, struct app_error *error)
{
	for (int i = 0; options[i].name != NULL; i++) {
		if (strcmp(options[i].name, word) == 0)
			return app_fail(
				error, -EINVAL, "EAL argument '%s' is no option: --%s is", word, word);
	}
	return app_fail(
		error, -EINVAL, "EAL argument '%s' is no option (the program's own stand behind a --)", word);
}

static int
scan(const struct app_args *args, struct scan *found, struct app_error *error)
{
	char *argv[APP_EAL_ARGS_MAX + 1];
	bool unknown = false; /* the word behind an unknown option may be its value */
	int c, err = 0;

	memset(found, 0, sizeof(*found));
	memcpy(argv, args->eal_argv, sizeof(argv[0]) * (size_t)args->eal_argc);
	argv[args->eal_argc] = NULL;
	optind = 0; /* glibc: start anew */
	opterr = 0;
	while (err == 0 && (c = getopt_long(args->eal_argc, argv, short_options, options, NULL)) != -1) {
		if (c == ':')
			err = app_fail(error, -EINVAL, "EAL option %s needs a value", argv[optind - 1]);
		else if (c == 1 && !unknown)
			err = bare_word(optarg, error);
		unknown = c == '?';
		if (unknown)
			found->unknown = argv[optind - 1];
		if (c > 1 && c < NB_KNOWN) {
			found->has[c] = true;
			found->value[c] = optarg;
		}
	}
	optind = 0;
	return err;
}

/** "64,64" -> 128; NULL -> 0 */
static unsigned long
sum_of(const char *list)
{
	unsigned long sum = 0;

	while (list != NULL) {
		const char *comma = strchr(list, ',');

		sum += strtoul(list, NULL, 10);
		list = comma != NULL ? comma + 1 : NULL;
	}
	return sum;
}

int
app_eal_scan(const struct app_args *args, struct app_eal_seen *seen, struct app_error *error)
{
	struct scan found;
	int err = scan(args, &found, error);

	*seen = (struct app_eal_seen){
		.lcores = found.has['c'] || found.has['l'] || found.has['s'] || found.has['S'] ||
			  found.has[LCORES],
		.no_huge = found.has[NO_HUGE],
		.secondary = found.has[PROC_TYPE],
		.help = found.has['h'] || found.has['v'],
		.has_mib = found.has['m'],
		.socket_mib = sum_of(found.value[SOCKET_MEM]),
		.unknown = found.unknown,
	};
	return err;
}

static const char *
name_of(int option, char text[3])
{
	for (int i = 0; options[i].name != NULL; i++) {
		if (options[i].val == option)
			return options[i].name;
	}
	snprintf(text, 3, "%c", option);
	return text;
}

/** Two options that exclude each other. */
static int
check_pairs(const struct scan *found, struct app_error *error)
{
	static const int pairs[][2] = {
		{IN_MEMORY, NO_HUGE},
		{HUGE_UNLINK, NO_HUGE},
		{SOCKET_MEM, NO_HUGE},
		{MATCH_ALLOC, NO_HUGE},
		{LEGACY_MEM, IN_MEMORY},
		{LEGACY_MEM, MATCH_ALLOC},
		{'m', SOCKET_MEM},
		{'c', 'l'},
		{'c', LCORES},
		{'l', LCORES},
	};
	char text[2][3];

	for (unsigned int i = 0; i < RTE_DIM(pairs); i++) {
		int a = pairs[i][0], b = pairs[i][1];
		const char *value = found->value[a];

		/* "existing" is what EAL does anyway, "never" the opposite of a need for hugepages. */
		if (a == HUGE_UNLINK && value != NULL && strcmp(value, "always") != 0)
			continue;
		if (found->has[a] && found->has[b])
			return app_fail(error, -EINVAL, "EAL options %s%s and %s%s exclude each other",
				a < OTHER ? "-" : "--", name_of(a, text[0]), b < OTHER ? "-" : "--",
				name_of(b, text[1]));
	}
	return 0;
}

static int
check_values(const struct scan *found, struct app_error *error)
{
	const char *mib = found->value['m'], *sockets = found->value[SOCKET_MEM];
	uint64_t value;

	if (mib != NULL && app_parse_u64("EAL option -m", mib, false, 1, 1u << 22, &value, error) != 0)
		return -EINVAL;
	if (sockets != NULL && strspn(sockets, "0123456789,") != strlen(sockets))
		return app_fail(error, -EINVAL,
			"EAL option --socket-mem %s: not MiB per NUMA node, \"64,64\"", sockets);
	if (sockets != NULL && !isdigit((unsigned char)sockets[0]))
		return app_fail(error, -EINVAL, "EAL option --socket-mem '%s': empty", sockets);
	return 0;
}

int
app_eal_check(const struct app_args *args, struct app_error *error)
{
	struct scan found;
	int err = scan(args, &found, error);

	if (err == 0)
		err = check_values(&found, error);
	return err != 0 ? err : check_pairs(&found, error);
}
