/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "plx_test.h"

#include <string.h>

#include "perf_payload.h"

#define MAX 67

static void
message_holds_what_was_filled_in_whatever_its_size(void **state)
{
	uint8_t buffer[MAX + 1];

	(void)state;
	for (uint32_t size = 0; size <= MAX; size++) {
		memset(buffer, 0xee, sizeof(buffer));
		perf_payload_fill(buffer, size, 3, 1000);
		assert_true(perf_payload_holds(buffer, size, 3, 1000));
		assert_int_equal(buffer[size], 0xee);
	}
}

static void
one_wrong_byte_anywhere_is_seen(void **state)
{
	uint8_t buffer[MAX];

	(void)state;
	perf_payload_fill(buffer, MAX, 3, 1000);
	for (uint32_t i = 0; i < MAX; i++) {
		buffer[i] ^= 1;
		assert_false(perf_payload_holds(buffer, MAX, 3, 1000));
		buffer[i] ^= 1;
	}
	assert_true(perf_payload_holds(buffer, MAX, 3, 1000));
}

static void
sequence_is_found_in_the_first_word(void **state)
{
	const uint64_t seqs[] = {0, 1, 1000, UINT64_C(1) << 39, UINT64_MAX};

	(void)state;
	for (unsigned int i = 0; i < sizeof(seqs) / sizeof(seqs[0]); i++)
		for (uint32_t connection = 0; connection < 70000; connection += 6999)
			assert_true(perf_payload_seq(connection, perf_payload_first(connection, seqs[i])) == seqs[i]);
}

/* A stale buffer is another message, in every word of it. */
static void
neighbours_differ_in_every_word(void **state)
{
	uint8_t a[64], b[64];

	(void)state;
	for (uint64_t seq = 0; seq < 1000; seq++) {
		perf_payload_fill(a, 64, 5, seq);
		perf_payload_fill(b, 64, seq % 2 ? 5 : 6, seq % 2 ? seq + 1 : seq);
		for (unsigned int i = 0; i < 64; i += 8)
			assert_memory_not_equal(a + i, b + i, 8);
	}
}

static void
stamp_changes_the_first_word_alone(void **state)
{
	uint8_t buffer[24], before[24];

	(void)state;
	perf_payload_fill(buffer, 24, 1, 1);
	memcpy(before, buffer, 24);
	perf_payload_stamp(buffer, 24, 1, 2);
	assert_memory_not_equal(buffer, before, 8);
	assert_memory_equal(buffer + 8, before + 8, 16);
	perf_payload_stamp(buffer, 3, 1, 1);
	assert_memory_equal(buffer, before, 3);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(message_holds_what_was_filled_in_whatever_its_size),
	cmocka_unit_test(one_wrong_byte_anywhere_is_seen),
	cmocka_unit_test(sequence_is_found_in_the_first_word),
	cmocka_unit_test(neighbours_differ_in_every_word),
	cmocka_unit_test(stamp_changes_the_first_word_alone),
};

PLX_TEST_SUITE(apps, perf_payload, tests);
