/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef NULL_H
#define NULL_H

/**
 * @file
 * A device that does nothing, at once: every send-queue WR succeeds while it is posted and its completion waits in
 * the CQ; nothing is moved, looked up or checked. Receives are taken and complete only as flushed. Peers need not exist.
 *
 * It is what the framework's own cost is measured on, so a post is two stores and a poll two loads per WR
 * (plx_null_fast.h).
 *
 * Threads: as the contract says, one owner per QP and CQ; to-error and destroy from the control thread.
 */

#include <sys/queue.h>

#include "plx_driver.h"
#include "plx_null_fast.h"

#endif
