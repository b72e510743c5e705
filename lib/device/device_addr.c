/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_addr.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "device_impl.h"
#include "wire.h"

/* Where things lie: the picture in plx_addr.h. */
#define AT_DEVICE    WIRE_HEAD
#define AT_GID	     16
#define AT_QP_NUM    32
#define AT_PSN	     36
#define AT_LID	     40
#define AT_GID_TYPE  44
#define AT_GID_INDEX 48
#define AT_MTU	     52
#define AT_PORT	     56
#define AT_RD_ATOMIC 60

#define MTU_MIN 256
#define MTU_MAX 4096
#define NUM_MAX 0xffffffu /* QP numbers and PSNs have 24 bits on every wire */
#define LID_MAX 0xffffu

static_assert(AT_RD_ATOMIC + 4 == PLX_ADDR_LEN, "nothing behind rd_atomic");
static_assert(PLX_GID_NONE == 0 && PLX_GID_IB == 1 && PLX_GID_ROCE_V1 == 2 && PLX_GID_ROCE_V2 == 3 && PLX_GID_IWARP == 4,
	"these numbers are sent");

static const struct wire_frame frame = {
	.magic = {'P', 'L', 'X', 'q'},
	.version = PLX_ADDR_VERSION,
	.len = PLX_ADDR_LEN,
};

bool
device_addr_is_sane(const struct plx_qp_addr *addr)
{
	/* A single bit between the smallest and the largest. */
	return addr->mtu >= MTU_MIN && addr->mtu <= MTU_MAX && (addr->mtu & (addr->mtu - 1)) == 0 &&
	       addr->qp_num <= NUM_MAX && addr->psn <= NUM_MAX && addr->lid <= LID_MAX && addr->gid_type <= PLX_GID_IWARP;
}

int
plx_qp_addr_export(const struct plx_qp_addr *addr, struct plx_addr *out)
{
	if (!device_addr_is_sane(addr))
		return -EINVAL;
	wire_frame_store(out->bytes, &frame);
	wire_store(&out->bytes[AT_DEVICE], addr->guid, 8);
	memcpy(&out->bytes[AT_GID], addr->gid, sizeof(addr->gid));
	wire_store(&out->bytes[AT_QP_NUM], addr->qp_num, 4);
	wire_store(&out->bytes[AT_PSN], addr->psn, 4);
	wire_store(&out->bytes[AT_LID], addr->lid, 4);
	wire_store(&out->bytes[AT_GID_TYPE], addr->gid_type, 4);
	wire_store(&out->bytes[AT_GID_INDEX], addr->gid_index, 4);
	wire_store(&out->bytes[AT_MTU], addr->mtu, 4);
	wire_store(&out->bytes[AT_PORT], addr->port, 4);
	wire_store(&out->bytes[AT_RD_ATOMIC], addr->rd_atomic, 4);
	return 0;
}

static uint32_t
load32(const uint8_t *at)
{
	return (uint32_t)wire_load(at, 4);
}

int
plx_qp_addr_import(const void *bytes, size_t len, struct plx_qp_addr *addr)
{
	const uint8_t *from = bytes;
	struct plx_qp_addr found;
	int err = wire_frame_check(from, len, &frame);

	if (err != 0)
		return err;
	found = (struct plx_qp_addr){
		.guid = wire_load(&from[AT_DEVICE], 8),
		.qp_num = load32(&from[AT_QP_NUM]),
		.psn = load32(&from[AT_PSN]),
		.lid = load32(&from[AT_LID]),
		.gid_type = load32(&from[AT_GID_TYPE]),
		.gid_index = load32(&from[AT_GID_INDEX]),
		.mtu = load32(&from[AT_MTU]),
		.port = load32(&from[AT_PORT]),
		.rd_atomic = load32(&from[AT_RD_ATOMIC]),
	};
	memcpy(found.gid, &from[AT_GID], sizeof(found.gid));
	if (!device_addr_is_sane(&found))
		return -EINVAL;
	*addr = found;
	return 0;
}
