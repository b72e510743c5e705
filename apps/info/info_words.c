/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "info.h"

#include <string.h>

const struct info_word info_transports[] = {
	{1u << PLX_TRANSPORT_RC, "RC"},
	{1u << PLX_TRANSPORT_UC, "UC"},
	{1u << PLX_TRANSPORT_UD, "UD"},
	{0, NULL},
};

const struct info_word info_flags[] = {
	{PLX_CAP_ATTR_EXCHANGE, "attribute-exchange"},
	{PLX_CAP_ACTIVE_SENDS_FIRST, "active-sends-first"},
	{PLX_CAP_SRQ, "srq"},
	{PLX_CAP_RNR, "rnr-retry"},
	{PLX_CAP_SOLICITED, "solicited"},
	{PLX_CAP_FENCE, "fence"},
	{PLX_CAP_MW, "memory-windows"},
	{PLX_CAP_PINS, "pins-memory"},
	{PLX_CAP_DMABUF, "dma-buf"},
	{0, NULL},
};

void
info_limits(const struct plx_device_caps *caps, struct info_limit limits[INFO_NB_LIMITS])
{
	const struct info_limit all[INFO_NB_LIMITS] = {
		{"QPs", "max_qp", caps->max_qp},
		{"WRs of a queue", "max_qp_wr", caps->max_qp_wr},
		{"SGEs of a WR", "max_sge", caps->max_sge},
		{"SGEs of a read", "max_sge_rd", caps->max_sge_rd},
		{"inline bytes", "max_inline", caps->max_inline},
		{"reads and atomics in flight", "max_rd_atomic", caps->max_rd_atomic},
		{"CQs", "max_cq", caps->max_cq},
		{"CQEs of a CQ", "max_cqe", caps->max_cqe},
		{"SRQs", "max_srq", caps->max_srq},
		{"WRs of an SRQ", "max_srq_wr", caps->max_srq_wr},
		{"SGEs of an SRQ's WR", "max_srq_sge", caps->max_srq_sge},
		{"MRs", "max_mr", caps->max_mr},
		{"memory windows", "max_mw", caps->max_mw},
		{"bytes of an MR", "max_mr_size", caps->max_mr_size},
	};

	memcpy(limits, all, sizeof(all));
}

bool
info_has_atomics(const struct plx_device_caps *caps)
{
	return caps->kinds & (PLX_KIND(PLX_OPCODE_CMP_SWAP) | PLX_KIND(PLX_OPCODE_FETCH_ADD));
}

const char *
info_port_state(const struct plx_port_attr *attr)
{
	return attr->active ? "active" : "down";
}

const char *
info_link_layer(const struct plx_port_attr *attr)
{
	return attr->ethernet ? "Ethernet" : "InfiniBand";
}

const char *
info_atomic_order(const struct plx_device_caps *caps)
{
	return caps->atomic_big_endian ? "big endian" : "host order";
}
