/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Addresses of queue pairs, from a peer: what is taken is sane and has one form, what is refused writes nothing.
 */

#include "fuzz.h"

#include <string.h>

#include "plx_addr.h"

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return 0;
}

static void
require_sane(const struct plx_qp_addr *addr)
{
	fuzz_require(addr->qp_num <= 0xffffff && addr->psn <= 0xffffff && addr->lid <= 0xffff);
	fuzz_require(addr->mtu == 256 || addr->mtu == 512 || addr->mtu == 1024 || addr->mtu == 2048 || addr->mtu == 4096);
	fuzz_require(addr->gid_type <= PLX_GID_IWARP);
}

/** The bytes as an address. */
static void
decode(const uint8_t *data, size_t size)
{
	struct plx_qp_addr addr, untouched;
	struct plx_addr again;

	memset(&untouched, 0x5a, sizeof(untouched));
	addr = untouched;
	if (plx_qp_addr_import(data, size, &addr) != 0) {
		fuzz_require(memcmp(&addr, &untouched, sizeof(addr)) == 0);
		return;
	}
	require_sane(&addr);
	fuzz_require(size == PLX_ADDR_LEN);
	fuzz_require(plx_qp_addr_export(&addr, &again) == 0);
	fuzz_require(memcmp(again.bytes, data, size) == 0);
}

/** The bytes as what somebody wants to describe. */
static void
encode(const uint8_t *data, size_t size)
{
	struct plx_qp_addr addr = {0}, back;
	struct plx_addr out;

	memcpy(&addr, data, size < sizeof(addr) ? size : sizeof(addr));
	if (plx_qp_addr_export(&addr, &out) != 0)
		return;
	require_sane(&addr);
	fuzz_require(plx_qp_addr_import(out.bytes, sizeof(out.bytes), &back) == 0);
	fuzz_require(memcmp(&back, &addr, sizeof(back)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode(data, size);
	encode(data, size);
	return 0;
}
