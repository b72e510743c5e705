/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_EXPORT_H
#define PLX_EXPORT_H

/**
 * @file
 * Memory for a peer, as bytes: exported here, carried by any channel, imported there.
 *
 *      region --plx_region_export()--> 40 bytes ~~~ any channel ~~~> 40 bytes --plx_remote_import()--> remote
 *
 *       0       4         6         8          16       24       32       36         40
 *      +-------+---------+---------+----------+--------+--------+--------+----------+
 *      | "PLXm"| version | length  |  device  |  addr  |  len   |  rkey  |  rights  |
 *      +-------+---------+---------+----------+--------+--------+--------+----------+
 *
 * Version 1. Integers are little-endian on every host. `length` is that of the whole descriptor, 40, so that who only
 * carries it can tell where it ends. `device` is plx_device_caps.guid of the exporter's. `rights` are PLX_ACCESS_REMOTE_*,
 * at least one. addr + len does not exceed 2^64 - 1. `rkey` is 32 bits of the device's choice, none of them ours.
 *
 * A descriptor comes from outside: the decoder takes (pointer, length), believes nothing, and logs nothing. It is a
 * capability: who has the bytes and a connection may do what they say, so send them to nobody else.
 *
 * Threads: any; the values are the caller's.
 *
 * @since 0.1
 */

#include <stddef.h>

#include "plx_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The version that is written, and the one that is understood. */
#define PLX_EXPORT_VERSION 1

/** Bytes of a descriptor of that version. */
#define PLX_EXPORT_LEN 40

/** A descriptor, ready to be sent. */
struct plx_export {
	uint8_t bytes[PLX_EXPORT_LEN];
};

/**
 * Describe @p part of @p region for a peer, or with NULL all of it, and hold the region: plx_region_release() when the
 * peer has said that it is done, or is gone. The rights are the remote ones that region and @p part both have.
 * 0; -ERANGE: @p part is not of this region; -EACCES: no remote right is left. Then nothing is held.
 * Any thread that knows that the region lives.
 */
int plx_region_export(struct plx_region *region, const struct plx_view *part, struct plx_export *out);

/**
 * The bytes of @p remote, which is memory of the device with @p guid; nobody is held.
 * 0; -EOVERFLOW, -EINVAL as plx_remote_import(). Then @p out is untouched.
 */
int plx_remote_export(const struct plx_remote *remote, uint64_t guid, struct plx_export *out);

/**
 * What @p len bytes at @p bytes, from a peer, describe. @p guid, unless NULL, gets the exporter's device.
 *
 * 0, or the first thing that is wrong, and then nothing is written (plx_import_err_str() has a text for each):
 *   -ENODATA          truncated
 *   -EBADMSG          no descriptor: the first four bytes, or `length`
 *   -EPROTONOSUPPORT  another version
 *   -E2BIG            bytes behind the end
 *   -EOVERFLOW        addr + len
 *   -EINVAL           rights: none, or unknown ones
 */
int plx_remote_import(const void *bytes, size_t len, struct plx_remote *remote, uint64_t *guid);

#ifdef __cplusplus
}
#endif

#endif
