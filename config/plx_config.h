/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PLX_CONFIG_H
#define PLX_CONFIG_H

/**
 * @file
 * Compile-time choices, each with its reason. Everything else is set at run time.
 */

/** Work requests that one chained post carries at most; longer bursts are posted in pieces.
 * 32 is the burst of DPDK's own libraries, and the chain lives on the stack. */
#define PLX_POST_BURST 32

/** Completions taken from one CQ in one turn by default: one busy connection must not keep
 * the others waiting for long. */
#define PLX_POLL_BURST 32

/** SGEs that an op can hold itself. Longer lists stay the caller's until the post. */
#define PLX_OP_SGES 4

/** Lcores that one lane can have as producers; RTE_MAX_LCORE of the DPDK at hand is larger
 * than any map that makes sense for one dispatcher. */
#define PLX_LANE_PRODUCERS 64

#endif
