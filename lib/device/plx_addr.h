/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_ADDR_H
#define PLX_ADDR_H

/**
 * @file
 * The address of a queue pair for its peer, as bytes: exported here, carried by any channel, imported there.
 *
 *      plx_qp_local_addr() --> export --> 64 bytes ~~~ any channel ~~~> 64 bytes --> import --> plx_qp_bring_up()
 *
 *       0       4         6         8          16             32       36    40    44
 *      +-------+---------+---------+----------+--------------+--------+-----+-----+----------+
 *      | "PLXq"| version | length  |  device  |     gid      | qp_num | psn | lid | gid_type | ...
 *      +-------+---------+---------+----------+--------------+--------+-----+-----+----------+
 *
 *          44         48          52    56     60          64
 *         +----------+-----------+-----+------+-----------+
 *     ... | gid_type | gid_index | mtu | port | rd_atomic |
 *         +----------+-----------+-----+------+-----------+
 *
 * Version 1. Integers are little-endian on every host; `gid` is its 16 bytes in the order of the wire. `length` is that of
 * the whole, 64, so that who only carries it can tell where it ends. `device` is plx_device_caps.guid, that which stands in
 * a descriptor of memory too (plx_export.h): so the importer of both can tell that they belong together.
 *
 * An address comes from outside: the decoder takes (pointer, length), believes nothing, and logs nothing.
 *
 * Threads: any; the values are the caller's.
 *
 * @since 0.1
 */

#include <stddef.h>

#include "plx_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The version that is written, and the one that is understood. */
#define PLX_ADDR_VERSION 1

/** Bytes of an address of that version. */
#define PLX_ADDR_LEN 64

/** An address, ready to be sent. */
struct plx_addr {
	uint8_t bytes[PLX_ADDR_LEN];
};

/** The bytes of @p addr. 0; -EINVAL: a number that no address has, as plx_qp_addr_import(). Then @p out is untouched. */
int plx_qp_addr_export(const struct plx_qp_addr *addr, struct plx_addr *out);

/**
 * What @p len bytes at @p bytes, from a peer, describe.
 *
 * 0, or the first thing that is wrong, and then nothing is written (plx_import_err_str() has a text for each):
 *   -ENODATA          truncated
 *   -EBADMSG          no address: the first four bytes, or `length`
 *   -EPROTONOSUPPORT  another version
 *   -E2BIG            bytes behind the end
 *   -EINVAL           a number that no address has: qp_num or psn above 24 bits, lid above 16, an mtu that is none of 256,
 *                     512, 1024, 2048, 4096, a gid_type outside the enum
 */
int plx_qp_addr_import(const void *bytes, size_t len, struct plx_qp_addr *addr);

#ifdef __cplusplus
}
#endif

#endif
