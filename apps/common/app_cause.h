/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef APP_CAUSE_H
#define APP_CAUSE_H

/**
 * @file
 * The cause of a failure is in the log, written where it was first seen, and often several lines up. Remember
 * it, so that an app's last line can say it again.
 *
 * rte_log goes through a stream of ours to stderr; the first line of level ERR or worse since the last
 * app_cause_clear() is the cause.
 *
 * Threads: logging from any; clear and get from the main one.
 */

/** Send rte_log to stderr by way of us. Before rte_eal_init(). 0 or -errno. */
int app_cause_watch(void);

/** Forget. Before a step that may fail. */
void app_cause_clear(void);

/** The cause, without its "EAL: " or "pollux: "; @p otherwise when nothing was logged. Valid until the next
 * clear. */
const char *app_cause(const char *otherwise);

#endif
