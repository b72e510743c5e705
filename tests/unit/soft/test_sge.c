/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_test.h"

#include <stdlib.h>
#include <string.h>

#include "soft_sge.h"

#define BYTES 64
#define PIECES 5

static void
lengths_add_up_past_32_bits(void **state)
{
	struct plx_sge sges[] = {{.length = UINT32_MAX}, {.length = UINT32_MAX}, {.length = 2}};

	assert_true(soft_sge_len(sges, 3) == UINT64_C(0x200000000));
	assert_true(soft_sge_len(NULL, 0) == 0);
}

/* Cut @p len bytes at @p memory into pieces, some of them empty. */
static void
cut(struct plx_sge sges[PIECES], uint8_t *memory, uint32_t len)
{
	for (int i = 0; i < PIECES; i++) {
		uint32_t piece = i == PIECES - 1 ? len : (uint32_t)rand() % (len + 1);

		sges[i] = (struct plx_sge){.addr = (uintptr_t)memory, .length = piece};
		memory += piece;
		len -= piece;
	}
}

static void
any_cut_of_both_sides_copies_the_same_bytes(void **state)
{
	uint8_t from[BYTES], to[BYTES + 1], want[BYTES + 1];
	struct plx_sge from_sges[PIECES], to_sges[PIECES];

	srand(1);
	for (int i = 0; i < BYTES; i++)
		from[i] = i + 1;
	for (int round = 0; round < 20000; round++) {
		uint32_t len = rand() % (BYTES + 1);

		cut(from_sges, from, BYTES);
		cut(to_sges, to, BYTES);
		memset(to, 0, sizeof(to));
		memset(want, 0, sizeof(want));
		memcpy(want, from, len);
		soft_sge_copy(to_sges, from_sges, len);
		assert_memory_equal(to, want, sizeof(to));
	}
}

static void
overlapping_memory_is_copied_as_if_read_first(void **state)
{
	char text[] = "abcdef";
	struct plx_sge from = {.addr = (uintptr_t)text, .length = 5}, to = {.addr = (uintptr_t)&text[1], .length = 5};

	soft_sge_copy(&to, &from, 5);
	assert_string_equal(text, "aabcde");
}

static void
only_the_bytes_in_use_are_checked(void **state)
{
	struct plx_sge sges[2] = {{.addr = 0x1000, .length = 16}, {.addr = 0, .length = 16, .lkey = 0xbad}};
	struct soft_keys keys;

	soft_keys_init(&keys, 1);
	sges[0].lkey = soft_keys_add(&keys, NULL, 0x1000, 8, 0);
	assert_int_equal(soft_sge_check(&keys, NULL, sges, 2, 8, 0), SOFT_ACCESS_OK);
	assert_int_equal(soft_sge_check(&keys, NULL, sges, 2, 9, 0), SOFT_ACCESS_RANGE);
	sges[0].length = 8;
	assert_int_equal(soft_sge_check(&keys, NULL, sges, 2, 9, 0), SOFT_ACCESS_KEY);
	assert_int_equal(soft_sge_check(&keys, NULL, sges, 2, 0, 0), SOFT_ACCESS_OK);
	soft_keys_fini(&keys);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(lengths_add_up_past_32_bits),
	cmocka_unit_test(any_cut_of_both_sides_copies_the_same_bytes),
	cmocka_unit_test(overlapping_memory_is_copied_as_if_read_first),
	cmocka_unit_test(only_the_bytes_in_use_are_checked),
};

PLX_TEST_SUITE(soft, sge, tests);
