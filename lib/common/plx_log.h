/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_LOG_H
#define PLX_LOG_H

/**
 * @file
 * Log lines of the library, through rte_log: EAL's `--log-level=pollux:debug` shows more.
 *
 * An error is logged once, where it is first seen, with its cause and the numbers. A full queue is
 * no error. Nothing on the warm path logs. What a caller has named may be of any length: "%.63s", so that the numbers
 * behind it are seen.
 *
 * @since 0.1
 */

#include <rte_log.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The rte_log type "pollux", registered at the first use. Any thread. */
int plx_log_type(void);

/** One line at RTE_LOG_@p level, printf-like; the newline is added. Not on the warm path. */
#define PLX_LOG(level, fmt, ...)                                                                   \
	rte_log(RTE_LOG_##level, plx_log_type(), "pollux: " fmt "\n", ##__VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
