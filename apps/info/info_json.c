/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * A device for programs: one JSON object, with everything that the text has. What there is none of is null.
 */

#include "info.h"

#include <inttypes.h>

#include <arpa/inet.h>

#include <rte_errno.h>
#include <rte_memory.h>

#include "app_json.h"

static const char *
truth(bool value)
{
	return value ? "true" : "false";
}

/** "key": "text", with what stands before it. */
static void
put_string(const char *before, const char *text, FILE *out)
{
	fputs(before, out);
	app_json_string(text, out);
}

static void
put_words(const char *key, const struct info_word *words, uint32_t set, FILE *out)
{
	const char *comma = "";

	fprintf(out, ",\"%s\":[", key);
	for (; words->name != NULL; words++) {
		if (set & words->bit) {
			put_string(comma, words->name, out);
			comma = ",";
		}
		set &= ~words->bit;
	}
	if (set != 0)
		fprintf(out, "%s\"0x%" PRIx32 "\"", comma, set); /* newer than this program */
	fputc(']', out);
}

static void
put_kinds(uint32_t kinds, FILE *out)
{
	const char *comma = "";

	fputs(",\"operations\":[", out);
	for (unsigned int kind = 0; kind < PLX_NB_OPCODES; kind++) {
		if (kinds & PLX_KIND(kind)) {
			put_string(comma, plx_opcode_name(kind), out);
			comma = ",";
		}
	}
	fputc(']', out);
}

static void
put_gids(struct plx_device *dev, unsigned int port, unsigned int nb_gids, FILE *out)
{
	struct plx_gid gid, chosen;
	bool has_default = plx_gid_default(dev, port, &chosen) == 0;
	char text[INET6_ADDRSTRLEN];
	const char *comma = "";

	fputs(",\"gids\":[", out);
	for (unsigned int i = 0; i < nb_gids; i++) {
		if (plx_gid_query(dev, port, i, &gid) != 0 || gid.type == PLX_GID_NONE)
			continue;
		inet_ntop(AF_INET6, gid.raw, text, sizeof(text));
		fprintf(out, "%s{\"index\":%" PRIu32 ",\"gid\":\"%s\"", comma, gid.index, text);
		put_string(",\"type\":", plx_gid_type_name(gid.type), out);
		if (gid.netdev[0] != '\0')
			put_string(",\"netdev\":", gid.netdev, out);
		else
			fputs(",\"netdev\":null", out);
		fprintf(out, ",\"default\":%s}", truth(has_default && i == chosen.index));
		comma = ",";
	}
	fputc(']', out);
}

static void
put_port(struct plx_device *dev, unsigned int port, FILE *out)
{
	struct plx_port_attr attr;
	int err = plx_port_query(dev, port, &attr);

	fprintf(out, "{\"port\":%u", port);
	if (err != 0) {
		put_string(",\"error\":", rte_strerror(-err), out);
		fputc('}', out);
		return;
	}
	put_string(",\"state\":", info_port_state(&attr), out);
	put_string(",\"link_layer\":", info_link_layer(&attr), out);
	fprintf(out, ",\"mtu\":%" PRIu32 ",\"max_msg_sz\":%" PRIu32, attr.mtu, attr.max_msg_sz);
	if (attr.ethernet)
		fputs(",\"lid\":null", out);
	else
		fprintf(out, ",\"lid\":%" PRIu32, attr.lid);
	fprintf(out, ",\"default\":%s", truth(plx_port_default(dev) == (int)port));
	put_gids(dev, port, attr.nb_gids, out);
	fputc('}', out);
}

static void
put_limits(const struct plx_device_caps *caps, FILE *out)
{
	struct info_limit limits[INFO_NB_LIMITS];

	info_limits(caps, limits);
	fputs(",\"limits\":{", out);
	for (unsigned int i = 0; i < INFO_NB_LIMITS; i++)
		fprintf(out, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", limits[i].key, limits[i].value);
	fputc('}', out);
}

void
info_json(struct plx_device *dev, FILE *out)
{
	const struct plx_device_caps *caps = plx_device_caps(dev);

	put_string("{\"name\":", plx_device_name(dev), out);
	put_string(",\"driver\":", dev->driver->name, out);
	if (caps->socket_id == SOCKET_ID_ANY)
		fputs(",\"numa_node\":null", out);
	else
		fprintf(out, ",\"numa_node\":%d", caps->socket_id);
	fputs(",\"ports\":[", out);
	for (unsigned int port = 1; port <= caps->nb_ports; port++) {
		fputs(port > 1 ? "," : "", out);
		put_port(dev, port, out);
	}
	fputc(']', out);
	put_kinds(caps->kinds, out);
	put_words("transports", info_transports, caps->transports, out);
	put_words("flags", info_flags, caps->flags, out);
	if (info_has_atomics(caps))
		put_string(",\"atomics_answer_in\":", info_atomic_order(caps), out);
	else
		fputs(",\"atomics_answer_in\":null", out);
	put_limits(caps, out);
	fputc('}', out);
}
