/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef PERF_PAYLOAD_H
#define PERF_PAYLOAD_H

/**
 * @file
 * What is in a message: 64-bit words that count up from a number which names connection and sequence, so that
 * every byte of a message differs from the same byte of the one before it or of another connection, and a
 * piece that was not copied, or came from elsewhere, is seen.
 *
 * Pure functions, for the warm path: the loops become vector instructions.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PERF_PAYLOAD_STEP    UINT64_C(0x0101010101010101)
#define PERF_PAYLOAD_FACTOR  UINT64_C(0x9e3779b97f4a7c15)
#define PERF_PAYLOAD_INVERSE UINT64_C(0xf1de83e19937733d) /* FACTOR x INVERSE = 1 modulo 2^64 */
#define PERF_PAYLOAD_OFFSET  UINT64_C(0x5851f42d4c957f2d)

static inline uint64_t
perf_payload_first(uint32_t connection, uint64_t seq)
{
	return (seq ^ (uint64_t)connection << 40) * PERF_PAYLOAD_FACTOR + PERF_PAYLOAD_OFFSET;
}

/** The sequence of a message of @p connection whose first word is @p first; garbage in, garbage out. */
static inline uint64_t
perf_payload_seq(uint32_t connection, uint64_t first)
{
	return ((first - PERF_PAYLOAD_OFFSET) * PERF_PAYLOAD_INVERSE) ^ (uint64_t)connection << 40;
}

static inline void
perf_payload_fill(uint8_t *buffer, uint32_t size, uint32_t connection, uint64_t seq)
{
	uint64_t first = perf_payload_first(connection, seq);
	uint32_t words = size / 8;
	uint64_t word;

	for (uint32_t i = 0; i < words; i++) {
		word = first + i * PERF_PAYLOAD_STEP;
		memcpy(buffer + i * 8u, &word, 8);
	}
	word = first + words * PERF_PAYLOAD_STEP;
	memcpy(buffer + words * 8u, &word, size % 8);
}

/** Whether @p buffer holds exactly that message. */
static inline bool
perf_payload_holds(const uint8_t *buffer, uint32_t size, uint32_t connection, uint64_t seq)
{
	uint64_t first = perf_payload_first(connection, seq);
	uint32_t words = size / 8;
	uint64_t differ = 0, word;

	for (uint32_t i = 0; i < words; i++) {
		memcpy(&word, buffer + i * 8u, 8);
		differ |= word ^ (first + i * PERF_PAYLOAD_STEP);
	}
	word = first + words * PERF_PAYLOAD_STEP;
	return differ == 0 && memcmp(buffer + words * 8u, &word, size % 8) == 0;
}

/** For one-sided ops, which the device should be timed on and not us: only the first word changes. */
static inline void
perf_payload_stamp(uint8_t *buffer, uint32_t size, uint32_t connection, uint64_t seq)
{
	uint64_t first = perf_payload_first(connection, seq);

	memcpy(buffer, &first, size < 8 ? size : 8);
}

#endif
