/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A device for people. What it does not say is not printed.
 */

#include "info.h"

#include <inttypes.h>

#include <arpa/inet.h>

#include <rte_errno.h>
#include <rte_memory.h>

static void
words_print(const char *title, const struct info_word *words, uint32_t set, FILE *out)
{
	fprintf(out, "    %s:", title);
	for (; words->name != NULL; words++) {
		if (set & words->bit)
			fprintf(out, " %s", words->name);
		set &= ~words->bit;
	}
	if (set != 0)
		fprintf(out, " 0x%" PRIx32, set); /* newer than this program */
	fprintf(out, "\n");
}

static void
gid_print(const struct plx_gid *gid, bool is_default, FILE *out)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, gid->raw, text, sizeof(text));
	fprintf(out, "        GID %" PRIu32 ": %s, %s%s%s%s\n", gid->index, text, plx_gid_type_name(gid->type),
		gid->netdev[0] != '\0' ? ", " : "", gid->netdev, is_default ? ", default" : "");
}

static void
gids_print(struct plx_device *dev, unsigned int port, unsigned int nb_gids, FILE *out)
{
	struct plx_gid gid, chosen;
	bool has_default = plx_gid_default(dev, port, &chosen) == 0;

	for (unsigned int i = 0; i < nb_gids; i++) {
		if (plx_gid_query(dev, port, i, &gid) == 0 && gid.type != PLX_GID_NONE)
			gid_print(&gid, has_default && i == chosen.index, out);
	}
	if (!has_default)
		fprintf(out, "        no GID that a connection would use\n");
}

static void
port_print(struct plx_device *dev, unsigned int port, FILE *out)
{
	struct plx_port_attr attr;
	int err = plx_port_query(dev, port, &attr);

	if (err != 0) {
		fprintf(out, "    port %u: %s\n", port, rte_strerror(-err));
		return;
	}
	fprintf(out, "    port %u: %s, %s, MTU %" PRIu32 ", messages up to %" PRIu32 " bytes", port,
		info_port_state(&attr), info_link_layer(&attr), attr.mtu, attr.max_msg_sz);
	if (!attr.ethernet)
		fprintf(out, ", LID %" PRIu32, attr.lid);
	fprintf(out, "%s\n", plx_port_default(dev) == (int)port ? ", default" : "");
	gids_print(dev, port, attr.nb_gids, out);
}

static void
limits_print(const struct plx_device_caps *caps, FILE *out)
{
	struct info_limit limits[INFO_NB_LIMITS];

	info_limits(caps, limits);
	fprintf(out, "    limits:\n");
	for (unsigned int i = 0; i < INFO_NB_LIMITS; i++)
		fprintf(out, "        %-28s %" PRIu64 "\n", limits[i].name, limits[i].value);
}

void
info_text(struct plx_device *dev, FILE *out)
{
	const struct plx_device_caps *caps = plx_device_caps(dev);

	fprintf(out, "%s: driver %s", plx_device_name(dev), dev->driver->name);
	if (caps->socket_id == SOCKET_ID_ANY)
		fprintf(out, ", any NUMA node\n");
	else
		fprintf(out, ", NUMA node %d\n", caps->socket_id);
	for (unsigned int port = 1; port <= caps->nb_ports; port++)
		port_print(dev, port, out);
	fprintf(out, "    operations:");
	for (unsigned int kind = 0; kind < PLX_NB_OPCODES; kind++) {
		if (caps->kinds & PLX_KIND(kind))
			fprintf(out, " %s", plx_opcode_name(kind));
	}
	fprintf(out, "\n");
	words_print("transports", info_transports, caps->transports, out);
	words_print("flags", info_flags, caps->flags, out);
	if (info_has_atomics(caps))
		fprintf(out, "    atomics answer in: %s\n", info_atomic_order(caps));
	limits_print(caps, out);
}
