/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Addresses as bytes: the bytes themselves, and what is believed of them.
 */

#include "plx_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plx_addr.h"

static const struct plx_qp_addr whole = {
	.qp_num = 0x123456,
	.psn = 0xfedcba,
	.lid = 0xabcd,
	.gid_index = 0x01020304,
	.gid_type = PLX_GID_ROCE_V2,
	.mtu = 4096,
	.port = 0x05060708,
	.rd_atomic = 0x090a0b0c,
	.gid = {[10] = 0xff, 0xff, 192, 168, 0, 1},
	.guid = UINT64_C(0x1122334455667788),
};

/* Written by hand from the picture in plx_addr.h. */
static const uint8_t golden[PLX_ADDR_LEN] = {
	'P', 'L', 'X', 'q', 0x01, 0x00, 0x40, 0x00,
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0xff, 0xff, 0xc0, 0xa8, 0x00, 0x01,
	0x56, 0x34, 0x12, 0x00, 0xba, 0xdc, 0xfe, 0x00,
	0xcd, 0xab, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
	0x04, 0x03, 0x02, 0x01, 0x00, 0x10, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05, 0x0c, 0x0b, 0x0a, 0x09,
};

/** Import @p len bytes at @p bytes from memory that ends right behind them; what is refused writes nothing. */
static int
import(const uint8_t *bytes, size_t len, struct plx_qp_addr *addr)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	struct plx_qp_addr untouched;
	int err;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	memset(&untouched, 0x5a, sizeof(untouched));
	*addr = untouched;
	err = plx_qp_addr_import(copy, len, addr);
	free(copy);
	if (err != 0)
		assert_memory_equal(addr, &untouched, sizeof(untouched));
	return err;
}

/** The golden bytes with the 32 bits at @p at being @p value. */
static int
import_with(size_t at, uint32_t value)
{
	struct plx_qp_addr addr;
	uint8_t bytes[PLX_ADDR_LEN];

	memcpy(bytes, golden, sizeof(bytes));
	for (unsigned int i = 0; i < 4; i++)
		bytes[at + i] = (uint8_t)(value >> 8 * i);
	return import(bytes, sizeof(bytes), &addr);
}

static void
bytes_are_those_of_the_picture(void **state)
{
	struct plx_addr out;

	assert_int_equal(plx_qp_addr_export(&whole, &out), 0);
	assert_memory_equal(out.bytes, golden, sizeof(golden));
}

static void
what_was_exported_is_imported(void **state)
{
	struct plx_qp_addr addr;

	assert_int_equal(import(golden, sizeof(golden), &addr), 0);
	assert_memory_equal(&addr, &whole, sizeof(whole));
}

static void
every_truncation_is_told(void **state)
{
	struct plx_qp_addr addr;

	for (size_t len = 0; len < sizeof(golden); len++)
		assert_int_equal(import(golden, len, &addr), -ENODATA);
}

static void
bytes_behind_the_end_are_told(void **state)
{
	struct plx_qp_addr addr;
	uint8_t bytes[PLX_ADDR_LEN + 16] = {0};

	memcpy(bytes, golden, sizeof(golden));
	for (size_t len = PLX_ADDR_LEN + 1; len <= sizeof(bytes); len++)
		assert_int_equal(import(bytes, len, &addr), -E2BIG);
}

static void
another_version_or_something_else_is_told(void **state)
{
	assert_int_equal(import_with(4, 0x00400002), -EPROTONOSUPPORT);
	assert_int_equal(import_with(4, 0x00400100), -EPROTONOSUPPORT);
	assert_int_equal(import_with(4, 0x003f0001), -EBADMSG);
	assert_int_equal(import_with(4, 0x00410001), -EBADMSG);
	assert_int_equal(import_with(0, 0x6d584c50), -EBADMSG); /* "PLXm": memory */
}

/* Each limit, and the first number behind it. */
static void
number_that_no_address_has_is_told(void **state)
{
	static const struct {
		size_t at;
		uint32_t good, bad;
	} rows[] = {
		{32, 0xffffff, 0x1000000}, {32, 0, 0xffffffff},
		{36, 0xffffff, 0x1000000}, {36, 0, 0xffffffff},
		{40, 0xffff, 0x10000},
		{44, PLX_GID_IWARP, PLX_GID_IWARP + 1}, {44, PLX_GID_NONE, 0xffffffff},
		{52, 256, 255}, {52, 512, 128}, {52, 1024, 1000}, {52, 2048, 0}, {52, 4096, 8192},
	};

	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		assert_int_equal(import_with(rows[i].at, rows[i].good), 0);
		assert_int_equal(import_with(rows[i].at, rows[i].bad), -EINVAL);
	}
}

static void
nothing_insane_is_exported(void **state)
{
	struct plx_addr out, untouched;
	struct plx_qp_addr addr = whole;

	memset(&out, 0x5a, sizeof(out));
	untouched = out;
	addr.psn = 0x1000000;
	assert_int_equal(plx_qp_addr_export(&addr, &out), -EINVAL);
	addr = whole;
	addr.mtu = 0; /* nothing was filled in, say */
	assert_int_equal(plx_qp_addr_export(&addr, &out), -EINVAL);
	assert_memory_equal(&out, &untouched, sizeof(out));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(bytes_are_those_of_the_picture),
	cmocka_unit_test(what_was_exported_is_imported),
	cmocka_unit_test(every_truncation_is_told),
	cmocka_unit_test(bytes_behind_the_end_are_told),
	cmocka_unit_test(another_version_or_something_else_is_told),
	cmocka_unit_test(number_that_no_address_has_is_told),
	cmocka_unit_test(nothing_insane_is_exported),
};

PLX_TEST_SUITE(device, addr, tests);
