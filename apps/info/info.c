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
 * A device is opened, asked and closed; nothing is made on it. What a device does not say is not printed.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "app_cause.h"
#include "app_eal.h"
#include "plx_driver.h" /* the name of an open device's driver */
#include "plx_drivers.h"

#define DEVICES_MAX 256

/** A bit and the word that is printed for it. */
struct word {
	uint32_t bit;
	const char *name;
};

static void
words_print(const char *title, const struct word *words, unsigned int n, uint32_t set)
{
	printf("    %s:", title);
	for (unsigned int i = 0; i < n; i++) {
		if (set & words[i].bit)
			printf(" %s", words[i].name);
		set &= ~words[i].bit;
	}
	if (set != 0)
		printf(" 0x%" PRIx32, set); /* newer than this program */
	printf("\n");
}

/* ---- ports and GIDs ------------------------------------------------------------------------- */

static void
gid_print(const struct plx_gid *gid, bool is_default)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, gid->raw, text, sizeof(text));
	printf("        GID %" PRIu32 ": %s, %s%s%s%s\n", gid->index, text, plx_gid_type_name(gid->type),
		gid->netdev[0] != '\0' ? ", " : "", gid->netdev, is_default ? ", default" : "");
}

static void
gids_print(struct plx_device *dev, unsigned int port, unsigned int nb_gids)
{
	struct plx_gid gid, chosen;
	bool has_default = plx_gid_default(dev, port, &chosen) == 0;

	for (unsigned int i = 0; i < nb_gids; i++) {
		if (plx_gid_query(dev, port, i, &gid) == 0 && gid.type != PLX_GID_NONE)
			gid_print(&gid, has_default && i == chosen.index);
	}
	if (!has_default)
		printf("        no GID that a connection would use\n");
}

static void
port_print(struct plx_device *dev, unsigned int port)
{
	struct plx_port_attr attr;
	int err = plx_port_query(dev, port, &attr);

	if (err != 0) {
		printf("    port %u: %s\n", port, rte_strerror(-err));
		return;
	}
	printf("    port %u: %s, %s, MTU %" PRIu32 ", messages up to %" PRIu32 " bytes", port,
		attr.active ? "active" : "down", attr.ethernet ? "Ethernet" : "InfiniBand", attr.mtu, attr.max_msg_sz);
	if (!attr.ethernet)
		printf(", LID %" PRIu32, attr.lid);
	printf("%s\n", plx_port_default(dev) == (int)port ? ", default" : "");
	gids_print(dev, port, attr.nb_gids);
}

/* ---- capabilities --------------------------------------------------------------------------- */

static void
kinds_print(uint32_t kinds)
{
	printf("    operations:");
	for (unsigned int kind = 0; kind < PLX_NB_OPCODES; kind++) {
		if (kinds & PLX_KIND(kind))
			printf(" %s", plx_opcode_name(kind));
	}
	printf("\n");
}

static void
flags_print(const struct plx_device_caps *caps)
{
	static const struct word transports[] = {
		{1u << PLX_TRANSPORT_RC, "RC"},
		{1u << PLX_TRANSPORT_UC, "UC"},
		{1u << PLX_TRANSPORT_UD, "UD"},
	};
	static const struct word flags[] = {
		{PLX_CAP_ATTR_EXCHANGE, "attribute-exchange"},
		{PLX_CAP_ACTIVE_SENDS_FIRST, "active-sends-first"},
		{PLX_CAP_SRQ, "srq"},
		{PLX_CAP_RNR, "rnr-retry"},
		{PLX_CAP_SOLICITED, "solicited"},
		{PLX_CAP_FENCE, "fence"},
		{PLX_CAP_MW, "memory-windows"},
	};

	words_print("transports", transports, RTE_DIM(transports), caps->transports);
	words_print("flags", flags, RTE_DIM(flags), caps->flags);
}

static void
limits_print(const struct plx_device_caps *caps)
{
	const struct {
		const char *name;
		uint64_t value;
	} limits[] = {
		{"QPs", caps->max_qp},
		{"WRs of a queue", caps->max_qp_wr},
		{"SGEs of a WR", caps->max_sge},
		{"SGEs of a read", caps->max_sge_rd},
		{"inline bytes", caps->max_inline},
		{"reads and atomics in flight", caps->max_rd_atomic},
		{"CQs", caps->max_cq},
		{"CQEs of a CQ", caps->max_cqe},
		{"MRs", caps->max_mr},
		{"bytes of an MR", caps->max_mr_size},
	};

	printf("    limits:\n");
	for (unsigned int i = 0; i < RTE_DIM(limits); i++)
		printf("        %-28s %" PRIu64 "\n", limits[i].name, limits[i].value);
}

/* ---- devices -------------------------------------------------------------------------------- */

static void
device_print(struct plx_device *dev)
{
	const struct plx_device_caps *caps = plx_device_caps(dev);

	printf("%s: driver %s", plx_device_name(dev), dev->driver->name);
	if (caps->socket_id == SOCKET_ID_ANY)
		printf(", any NUMA node\n");
	else
		printf(", NUMA node %d\n", caps->socket_id);
	for (unsigned int port = 1; port <= caps->nb_ports; port++)
		port_print(dev, port);
	kinds_print(caps->kinds);
	flags_print(caps);
	if (caps->kinds & (PLX_KIND(PLX_OPCODE_CMP_SWAP) | PLX_KIND(PLX_OPCODE_FETCH_ADD)))
		printf("    atomics answer in: %s\n", caps->atomic_big_endian ? "big endian" : "host order");
	limits_print(caps);
}

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

/** Show device @p name, which may carry devargs. 0, or -errno with the cause in @p error. */
static int
device_show(const char *name, struct app_error *error)
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
	device_print(dev);
	err = plx_device_close(dev);
	return err == 0 ? 0 : app_fail(error, err, "%s: close: %s", name, app_cause(rte_strerror(-err)));
}

/** All of them; one that cannot be opened hides no other. */
static int
devices_show(struct app_error *error)
{
	static struct plx_device_info infos[DEVICES_MAX];
	unsigned int n = devices_list(infos);
	int err = 0;

	for (unsigned int i = 0; i < n; i++) {
		int one = device_show(infos[i].name, error);

		err = err != 0 ? err : one;
	}
	return err;
}

static const char usage[] = "usage: plx-info [EAL arguments] -- [-d DEVICE[,KEY=VALUE...]]\n"
			    "  -d, --device  this device only; without it all of them\n"
			    "  -h, --help    this text\n";

/** 0, 1: only help was wanted, or -EINVAL. */
static int
options_parse(int argc, char **argv, const char **device, struct app_error *error)
{
	static const struct option longs[] = {
		{"device", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":d:h", longs, NULL)) != -1) {
		if (opt == 'h')
			return 1;
		if (opt != 'd')
			return app_bad_option(opt, argv[optind - 1], optopt, error);
		*device = optarg;
	}
	if (optind < argc)
		return app_fail(error, -EINVAL, "%s: not an option (-d DEVICE names a device)", argv[optind]);
	return 0;
}

int
main(int argc, char **argv)
{
	const char *device = NULL;
	struct app_error error = {""};
	struct app_machine machine;
	struct app_args args;
	int err = app_args_split(argc, argv, &args, &error);

	if (err == 0)
		err = options_parse(args.argc, args.argv, &device, &error);
	if (err > 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (err == 0)
		err = app_eal_start(&args, &machine, &error);
	if (err == 0) {
		err = plx_drivers_register();
		if (err == 0)
			err = device != NULL ? device_show(device, &error) : devices_show(&error);
		rte_eal_cleanup();
	}
	if (err == 0)
		return 0;
	app_fail(&error, err, "%s", rte_strerror(-err));
	app_error_print("plx-info", &error);
	return APP_EXIT_USAGE;
}
