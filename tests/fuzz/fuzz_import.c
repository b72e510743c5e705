/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Descriptors of memory, from a peer: what is taken is sane and has one form, what is refused writes nothing.
 */

#include "fuzz.h"

#include <string.h>

#include "plx_export.h"

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return 0;
}

static void
require_sane(const struct plx_remote *remote)
{
	fuzz_require(remote->addr + remote->len >= remote->addr);
	fuzz_require(remote->rights != 0);
	fuzz_require((remote->rights & ~(uint32_t)PLX_ACCESS_REMOTE) == 0);
}

/** The bytes as a descriptor. */
static void
decode(const uint8_t *data, size_t size)
{
	struct plx_remote remote, untouched;
	struct plx_export again;
	uint64_t guid = 0x5a;

	memset(&untouched, 0x5a, sizeof(untouched));
	remote = untouched;
	if (plx_remote_import(data, size, &remote, &guid) != 0) {
		fuzz_require(memcmp(&remote, &untouched, sizeof(remote)) == 0 && guid == 0x5a);
		return;
	}
	require_sane(&remote);
	fuzz_require(size == PLX_EXPORT_LEN);
	fuzz_require(plx_remote_export(&remote, guid, &again) == 0);
	fuzz_require(memcmp(again.bytes, data, size) == 0);
}

/** The bytes as what somebody wants to describe. */
static void
encode(const uint8_t *data, size_t size)
{
	struct plx_remote remote = {0}, back;
	struct plx_export out;
	uint64_t guid;

	memcpy(&remote, data, size < sizeof(remote) ? size : sizeof(remote));
	if (plx_remote_export(&remote, size, &out) != 0)
		return;
	require_sane(&remote);
	fuzz_require(plx_remote_import(out.bytes, sizeof(out.bytes), &back, &guid) == 0);
	fuzz_require(memcmp(&back, &remote, sizeof(back)) == 0 && guid == size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode(data, size);
	encode(data, size);
	return 0;
}
