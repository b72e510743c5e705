/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_export.h"

#include <assert.h>

#include "wire.h"

/* Where things lie: the picture in plx_export.h. */
#define AT_DEVICE  WIRE_HEAD
#define AT_ADDR	   16
#define AT_LEN	   24
#define AT_RKEY	   32
#define AT_RIGHTS  36

static_assert(AT_RIGHTS + 4 == PLX_EXPORT_LEN, "nothing behind the rights");
static_assert(PLX_ACCESS_REMOTE_READ == 2 && PLX_ACCESS_REMOTE_WRITE == 4 && PLX_ACCESS_REMOTE_ATOMIC == 8,
	"these numbers are sent");

static const struct wire_frame frame = {
	.magic = {'P', 'L', 'X', 'm'},
	.version = PLX_EXPORT_VERSION,
	.len = PLX_EXPORT_LEN,
};

/** What a descriptor may say. 0, -EOVERFLOW, -EINVAL. */
static int
remote_sane(const struct plx_remote *remote)
{
	if (remote->len > UINT64_MAX - remote->addr)
		return -EOVERFLOW;
	if (remote->rights == 0 || (remote->rights & ~(uint32_t)PLX_ACCESS_REMOTE) != 0)
		return -EINVAL;
	return 0;
}

int
plx_remote_export(const struct plx_remote *remote, uint64_t guid, struct plx_export *out)
{
	int err = remote_sane(remote);

	if (err != 0)
		return err;
	wire_frame_store(out->bytes, &frame);
	wire_store(&out->bytes[AT_DEVICE], guid, 8);
	wire_store(&out->bytes[AT_ADDR], remote->addr, 8);
	wire_store(&out->bytes[AT_LEN], remote->len, 8);
	wire_store(&out->bytes[AT_RKEY], remote->rkey, 4);
	wire_store(&out->bytes[AT_RIGHTS], remote->rights, 4);
	return 0;
}

int
plx_remote_import(const void *bytes, size_t len, struct plx_remote *remote, uint64_t *guid)
{
	const uint8_t *from = bytes;
	struct plx_remote found;
	int err = wire_frame_check(from, len, &frame);

	if (err != 0)
		return err;
	found = (struct plx_remote){
		.addr = wire_load(&from[AT_ADDR], 8),
		.len = wire_load(&from[AT_LEN], 8),
		.rkey = (uint32_t)wire_load(&from[AT_RKEY], 4),
		.rights = (uint32_t)wire_load(&from[AT_RIGHTS], 4),
	};
	err = remote_sane(&found);
	if (err != 0)
		return err;
	*remote = found;
	if (guid != NULL)
		*guid = wire_load(&from[AT_DEVICE], 8);
	return 0;
}
