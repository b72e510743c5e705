/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef WIRE_H
#define WIRE_H

/**
 * @file
 * What all descriptors have in common that travel to a peer as bytes: how integers lie, and the frame.
 *
 *       0       4         6         8                   len
 *      +-------+---------+---------+-------------------+
 *      | magic | version | length  |  the descriptor's |
 *      +-------+---------+---------+-------------------+
 *
 * Integers are little-endian on every host. `length` is that of the whole, so that who only carries it can tell where it
 * ends. What comes in is believed in nothing. The library's own: no public header needs it.
 *
 * Threads: any; the bytes are the caller's.
 */

#include <stddef.h>
#include <stdint.h>

/** Bytes of the frame, with which every version begins. */
#define WIRE_HEAD 8

/** One kind of descriptor. */
struct wire_frame {
	uint8_t magic[4];
	uint16_t version; /**< written, and understood */
	uint16_t len;	  /**< of the whole, in that version */
};

/** The low @p len bytes of @p value, lowest first. */
void wire_store(uint8_t *at, uint64_t value, unsigned int len);

/** @p len bytes as a number, lowest first. */
uint64_t wire_load(const uint8_t *at, unsigned int len);

/** Begin a descriptor at @p to. */
void wire_frame_store(uint8_t *to, const struct wire_frame *frame);

/**
 * Whether @p len bytes at @p from are one whole descriptor of this kind and version. 0, or the first thing that is wrong:
 * -ENODATA truncated; -EBADMSG not one; -EPROTONOSUPPORT another version; -E2BIG bytes behind its end.
 */
int wire_frame_check(const uint8_t *from, size_t len, const struct wire_frame *frame);

#endif
