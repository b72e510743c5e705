/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_COMMON_H
#define PLX_COMMON_H

/**
 * @file
 * What every room may use: the error convention, version and language glue.
 *
 * Errors. An `int` is 0 or -errno; a count is the count or -errno; a constructor returns NULL and
 * sets `rte_errno`. One class of errors is no failure at all, "retry after progress": the pool is
 * empty, the queue is full, the lane is full. It is always -EAGAIN, it is never logged, and the
 * call that returned it has changed nothing. Progress is a turn of the loop; of plx_conn_hold_burst() a flush, too.
 *
 * @since 0.1
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plx_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/** 128 bits, of gcc and clang; a name that -Wpedantic lets pass in a user's file. */
__extension__ typedef unsigned __int128 plx_uint128_t;

/** "major.minor.patch" of the library that is linked, which may differ from the headers'. */
const char *plx_version(void);

/** Whether @p err (0 or -errno) says "nothing was done, make progress and call again". */
PLX_INLINE bool
plx_is_retry(int err)
{
	return err == -11; /* -EAGAIN, without <errno.h> in every header */
}

/**
 * One sentence on why bytes from a peer were refused, and what to check: @p err is what plx_remote_import() or
 * plx_qp_addr_import() returned. Never NULL.
 */
const char *plx_import_err_str(int err);

/** The object of type @p type whose member @p member is at @p ptr. */
#define plx_container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#ifdef __cplusplus
}
#endif

#endif
