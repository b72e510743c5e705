/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_CONN_PREFETCH_H
#define PLX_CONN_PREFETCH_H

/**
 * @file
 * For programs with more connections than a cache holds, and who know some time before a submit which is next.
 *
 *      work on A ...  plx_conn_prefetch(C)         the connection's own lines: only its address is needed
 *      work on B ...  plx_conn_prefetch_post(C, n) what posting n ops touches besides: reads the connection
 *      submit to C                                 no miss
 *
 * Each is worth a hundred instructions or two of other work before the next step, and harmless without: a submit of several
 * ops does the second by itself, as early as it can. Hints: nothing is checked, nothing changes.
 *
 * Threads: the owner of the connection.
 *
 * @since 0.1
 */

#include "plx_conn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @p conn will be asked to send soon. */
PLX_INLINE void
plx_conn_prefetch(const struct plx_conn *conn)
{
	__builtin_prefetch(conn);
	__builtin_prefetch(&conn->sq, 1);
}

/** @p conn, which has been fetched, will be asked to send @p n ops at once soon. */
PLX_INLINE void
plx_conn_prefetch_post(const struct plx_conn *conn, uint16_t n)
{
	plx_conn_fetch_post(conn, &conn->sq, n);
	for (unsigned int i = 2; i < conn->nb_qp_lines; i++)
		__builtin_prefetch((const char *)conn->qp + i * RTE_CACHE_LINE_SIZE, 1);
}

#ifdef __cplusplus
}
#endif

#endif
