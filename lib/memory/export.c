/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_export.h"

#include <assert.h>
#include <string.h>

/* Where things lie: the picture in plx_export.h. */
#define AT_VERSION 4
#define AT_LENGTH  6
#define AT_DEVICE  8
#define AT_ADDR	   16
#define AT_LEN	   24
#define AT_RKEY	   32
#define AT_RIGHTS  36

static_assert(AT_RIGHTS + 4 == PLX_EXPORT_LEN, "nothing behind the rights");
static_assert(PLX_ACCESS_REMOTE_READ == 2 && PLX_ACCESS_REMOTE_WRITE == 4 && PLX_ACCESS_REMOTE_ATOMIC == 8,
	"these numbers are sent");

static const uint8_t magic[4] = {'P', 'L', 'X', 'm'};

/* ---- little-endian, byte by byte ----------------------------------------------------------- */

static void
store(uint8_t *at, uint64_t value, unsigned int len)
{
	for (unsigned int i = 0; i < len; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t
load(const uint8_t *at, unsigned int len)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < len; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

/* ---- descriptors --------------------------------------------------------------------------- */

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

/** Whether @p len bytes at @p from are one whole descriptor of our version. 0 or -errno. */
static int
frame_check(const uint8_t *from, size_t len)
{
	if (len < AT_DEVICE) /* shorter than the head of any version */
		return -ENODATA;
	if (memcmp(from, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	if (load(&from[AT_VERSION], 2) != PLX_EXPORT_VERSION)
		return -EPROTONOSUPPORT;
	if (load(&from[AT_LENGTH], 2) != PLX_EXPORT_LEN)
		return -EBADMSG;
	if (len < PLX_EXPORT_LEN)
		return -ENODATA;
	return len > PLX_EXPORT_LEN ? -E2BIG : 0;
}

int
plx_remote_export(const struct plx_remote *remote, uint64_t guid, struct plx_export *out)
{
	int err = remote_sane(remote);

	if (err != 0)
		return err;
	memcpy(out->bytes, magic, sizeof(magic));
	store(&out->bytes[AT_VERSION], PLX_EXPORT_VERSION, 2);
	store(&out->bytes[AT_LENGTH], PLX_EXPORT_LEN, 2);
	store(&out->bytes[AT_DEVICE], guid, 8);
	store(&out->bytes[AT_ADDR], remote->addr, 8);
	store(&out->bytes[AT_LEN], remote->len, 8);
	store(&out->bytes[AT_RKEY], remote->rkey, 4);
	store(&out->bytes[AT_RIGHTS], remote->rights, 4);
	return 0;
}

int
plx_remote_import(const void *bytes, size_t len, struct plx_remote *remote, uint64_t *guid)
{
	const uint8_t *from = bytes;
	struct plx_remote found;
	int err = frame_check(from, len);

	if (err != 0)
		return err;
	found = (struct plx_remote){
		.addr = load(&from[AT_ADDR], 8),
		.len = load(&from[AT_LEN], 8),
		.rkey = (uint32_t)load(&from[AT_RKEY], 4),
		.rights = (uint32_t)load(&from[AT_RIGHTS], 4),
	};
	err = remote_sane(&found);
	if (err != 0)
		return err;
	*remote = found;
	if (guid != NULL)
		*guid = load(&from[AT_DEVICE], 8);
	return 0;
}
