/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Descriptors: the bytes themselves, what is believed of them, and who is held.
 */

#include "plx_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plx_driver.h"
#include "plx_export.h"

#define GUID UINT64_C(0x1122334455667788)

static const struct plx_remote whole = {
	.addr = UINT64_C(0x7f01020304050607),
	.len = UINT64_C(0x0000000140000001),	/* above 4 GiB */
	.rkey = 0xfedcba98,			/* all 32 bits of a key are the device's (case 8.16) */
	.rights = PLX_ACCESS_REMOTE_READ | PLX_ACCESS_REMOTE_ATOMIC,
};

/* Written by hand from the picture in plx_export.h. */
static const uint8_t golden[PLX_EXPORT_LEN] = {
	'P', 'L', 'X', 'm', 0x01, 0x00, 0x28, 0x00,
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x7f,
	0x01, 0x00, 0x00, 0x40, 0x01, 0x00, 0x00, 0x00,
	0x98, 0xba, 0xdc, 0xfe, 0x0a, 0x00, 0x00, 0x00,
};

/** Import @p len bytes at @p bytes from memory that ends right behind them; what is refused writes nothing. */
static int
import(const uint8_t *bytes, size_t len, struct plx_remote *remote)
{
	const struct plx_remote untouched = {.addr = 1, .len = 2, .rkey = 3, .rights = 4};
	uint8_t *copy = malloc(len > 0 ? len : 1);
	uint64_t guid = 5;
	int err;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	*remote = untouched;
	err = plx_remote_import(copy, len, remote, &guid);
	free(copy);
	if (err != 0) {
		assert_memory_equal(remote, &untouched, sizeof(untouched));
		assert_int_equal(guid, 5);
	} else {
		assert_int_equal(guid, GUID);
	}
	return err;
}

/** The golden bytes with one of them changed. */
static int
import_with(size_t at, uint8_t value)
{
	struct plx_remote remote;
	uint8_t bytes[PLX_EXPORT_LEN];

	memcpy(bytes, golden, sizeof(bytes));
	bytes[at] = value;
	return import(bytes, sizeof(bytes), &remote);
}

static void
bytes_are_those_of_the_picture(void **state)
{
	struct plx_export out;

	assert_int_equal(plx_remote_export(&whole, GUID, &out), 0);
	assert_memory_equal(out.bytes, golden, sizeof(golden));
}

/* case 8.16 */
static void
what_was_exported_is_imported(void **state)
{
	struct plx_remote remote;

	assert_int_equal(import(golden, sizeof(golden), &remote), 0);
	assert_memory_equal(&remote, &whole, sizeof(whole));
	assert_int_equal(plx_remote_import(golden, sizeof(golden), &remote, NULL), 0);
}

static void
every_truncation_is_told(void **state)
{
	struct plx_remote remote;

	for (size_t len = 0; len < sizeof(golden); len++)
		assert_int_equal(import(golden, len, &remote), -ENODATA);
}

static void
bytes_behind_the_end_are_told(void **state)
{
	struct plx_remote remote;
	uint8_t bytes[PLX_EXPORT_LEN + 16] = {0};

	memcpy(bytes, golden, sizeof(golden));
	for (size_t len = PLX_EXPORT_LEN + 1; len <= sizeof(bytes); len++)
		assert_int_equal(import(bytes, len, &remote), -E2BIG);
}

/* Whatever its length: another version may have another. */
static void
another_version_is_told(void **state)
{
	struct plx_remote remote;
	uint8_t bytes[PLX_EXPORT_LEN + 8] = {0};

	memcpy(bytes, golden, sizeof(golden));
	for (unsigned int version = 0; version <= UINT16_MAX; version++) {
		bytes[4] = version & 0xff;
		bytes[5] = version >> 8;
		if (version == PLX_EXPORT_VERSION)
			continue;
		assert_int_equal(plx_remote_import(bytes, PLX_EXPORT_LEN, &remote, NULL), -EPROTONOSUPPORT);
	}
	assert_int_equal(import(bytes, 8, &remote), -EPROTONOSUPPORT);
	assert_int_equal(import(bytes, sizeof(bytes), &remote), -EPROTONOSUPPORT);
}

static void
what_is_no_descriptor_is_told(void **state)
{
	for (size_t at = 0; at < 4; at++)
		assert_int_equal(import_with(at, golden[at] ^ 0x20), -EBADMSG);
	assert_int_equal(import_with(6, PLX_EXPORT_LEN - 1), -EBADMSG);
	assert_int_equal(import_with(6, PLX_EXPORT_LEN + 1), -EBADMSG);
	assert_int_equal(import_with(7, 1), -EBADMSG);
}

static void
rights_that_are_unknown_or_none_are_told(void **state)
{
	assert_int_equal(import_with(36, 0), -EINVAL);
	assert_int_equal(import_with(36, PLX_ACCESS_LOCAL_WRITE | PLX_ACCESS_REMOTE_READ), -EINVAL);
	for (unsigned int bit = 4; bit < 32; bit++)
		assert_int_equal(import_with(36 + bit / 8, 0x0e * (bit < 8) + (1u << bit % 8)), -EINVAL);
	for (uint8_t rights = 2; rights <= PLX_ACCESS_REMOTE; rights += 2)
		assert_int_equal(import_with(36, rights), 0);
}

static void
range_that_ends_behind_all_memory_is_told(void **state)
{
	static const struct {
		uint64_t addr, len;
		int err;
	} rows[] = {
		{0, UINT64_MAX, 0},
		{1, UINT64_MAX, -EOVERFLOW},
		{UINT64_MAX, 0, 0},
		{UINT64_MAX, 1, -EOVERFLOW},
		{UINT64_MAX - 4095, 4095, 0},
		{UINT64_MAX - 4095, 4096, -EOVERFLOW},
		{UINT64_C(1) << 63, UINT64_C(1) << 63, -EOVERFLOW},
		{UINT64_MAX, UINT64_MAX, -EOVERFLOW},
	};

	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		struct plx_remote remote = {rows[i].addr, rows[i].len, 1, PLX_ACCESS_REMOTE_READ}, back;
		struct plx_export out;
		uint8_t bytes[PLX_EXPORT_LEN];

		assert_int_equal(plx_remote_export(&remote, GUID, &out), rows[i].err);
		memcpy(bytes, golden, sizeof(bytes));
		for (unsigned int k = 0; k < 8; k++) {
			bytes[16 + k] = rows[i].addr >> 8 * k;
			bytes[24 + k] = rows[i].len >> 8 * k;
		}
		assert_int_equal(import(bytes, sizeof(bytes), &back), rows[i].err);
	}
}

static void
nothing_insane_is_exported(void **state)
{
	struct plx_remote remote = whole;
	struct plx_export out, before;

	memset(&out, 0x5a, sizeof(out));
	before = out;
	remote.rights = 0;
	assert_int_equal(plx_remote_export(&remote, GUID, &out), -EINVAL);
	remote.rights = PLX_ACCESS_ALL;
	assert_int_equal(plx_remote_export(&remote, GUID, &out), -EINVAL);
	remote = whole;
	remote.len = UINT64_MAX;
	assert_int_equal(plx_remote_export(&remote, GUID, &out), -EOVERFLOW);
	assert_memory_equal(&out, &before, sizeof(out));
}

/* ---- regions ------------------------------------------------------------------------------- */

static struct plx_device dev = {.caps = {.guid = GUID}};
static struct plx_pd pd = {.dev = &dev};
static struct plx_mr mr = {.pd = &pd};

static struct plx_region
region_of(uint32_t rights)
{
	return (struct plx_region){
		.mr = &mr, .addr = (void *)0x10000, .len = 0x2000, .lkey = 1, .rkey = 0x80000001, .rights = rights};
}

static struct plx_remote
imported(const struct plx_export *out)
{
	struct plx_remote remote;
	uint64_t guid;

	assert_int_equal(plx_remote_import(out->bytes, sizeof(out->bytes), &remote, &guid), 0);
	assert_int_equal(guid, GUID);
	return remote;
}

static void
exported_region_is_held_until_released(void **state)
{
	struct plx_region region = region_of(PLX_ACCESS_ALL);
	struct plx_export out;
	struct plx_remote remote;

	assert_int_equal(plx_region_export(&region, NULL, &out), 0);
	assert_int_equal(region.nb_holders, 1);
	remote = imported(&out);
	assert_int_equal(remote.addr, 0x10000);
	assert_int_equal(remote.len, 0x2000);
	assert_int_equal(remote.rkey, 0x80000001);
	assert_int_equal(remote.rights, PLX_ACCESS_REMOTE);
	assert_int_equal(plx_region_export(&region, NULL, &out), 0);
	assert_int_equal(plx_region_destroy(&region), -EBUSY);
	assert_int_equal(region.nb_holders, 2);
	assert_int_equal(plx_region_release(&region), 0);
	assert_int_equal(plx_region_destroy(&region), -EBUSY);
	assert_int_equal(plx_region_release(&region), 0);
}

static void
exported_view_is_its_part_with_its_rights(void **state)
{
	struct plx_region region = region_of(PLX_ACCESS_ALL);
	struct plx_remote remote;
	struct plx_export out;
	struct plx_view view;

	assert_int_equal(plx_region_view(&region, 0x1000, 0x1000, &view), 0);
	view.rights = PLX_ACCESS_REMOTE_READ; /* less than the region has */
	assert_int_equal(plx_region_export(&region, &view, &out), 0);
	assert_int_equal(region.nb_holders, 1);
	remote = imported(&out);
	assert_int_equal(remote.addr, 0x11000);
	assert_int_equal(remote.len, 0x1000);
	assert_int_equal(remote.rights, PLX_ACCESS_REMOTE_READ);
	assert_int_equal(plx_remote_check(&remote, 0xfff, 1, PLX_ACCESS_REMOTE_READ), 0);
	assert_int_equal(plx_remote_check(&remote, 0xfff, 2, PLX_ACCESS_REMOTE_READ), -ERANGE);
	assert_int_equal(plx_remote_check(&remote, 0, 1, PLX_ACCESS_REMOTE_WRITE), -EACCES);
}

static void
more_rights_than_the_region_has_are_not_exported(void **state)
{
	struct plx_region region = region_of(PLX_ACCESS_REMOTE_READ);
	struct plx_export out;
	struct plx_view view;

	assert_int_equal(plx_region_view(&region, 0, 1, &view), 0);
	view.rights = PLX_ACCESS_ALL;
	assert_int_equal(plx_region_export(&region, &view, &out), 0);
	assert_int_equal(imported(&out).rights, PLX_ACCESS_REMOTE_READ);
}

static void
view_that_is_no_part_is_refused_and_nobody_held(void **state)
{
	struct plx_region region = region_of(PLX_ACCESS_ALL);
	struct plx_view view, bad[5];
	struct plx_export out;

	assert_int_equal(plx_region_view(&region, 0, 0x2000, &view), 0);
	for (unsigned int i = 0; i < NB_OF(bad); i++)
		bad[i] = view;
	bad[0].len++;
	bad[1].addr = (char *)view.addr - 1;
	bad[2].addr = (char *)view.addr + 1;
	bad[3].rkey++;
	bad[4].lkey++;
	for (unsigned int i = 0; i < NB_OF(bad); i++)
		assert_int_equal(plx_region_export(&region, &bad[i], &out), -ERANGE);
	assert_int_equal(region.nb_holders, 0);
}

static void
region_without_a_remote_right_is_not_exported(void **state)
{
	struct plx_region region = region_of(PLX_ACCESS_LOCAL_WRITE);
	struct plx_export out;

	assert_int_equal(plx_region_export(&region, NULL, &out), -EACCES);
	assert_int_equal(region.nb_holders, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(bytes_are_those_of_the_picture),
	cmocka_unit_test(what_was_exported_is_imported),
	cmocka_unit_test(every_truncation_is_told),
	cmocka_unit_test(bytes_behind_the_end_are_told),
	cmocka_unit_test(another_version_is_told),
	cmocka_unit_test(what_is_no_descriptor_is_told),
	cmocka_unit_test(rights_that_are_unknown_or_none_are_told),
	cmocka_unit_test(range_that_ends_behind_all_memory_is_told),
	cmocka_unit_test(nothing_insane_is_exported),
	cmocka_unit_test(exported_region_is_held_until_released),
	cmocka_unit_test(exported_view_is_its_part_with_its_rights),
	cmocka_unit_test(more_rights_than_the_region_has_are_not_exported),
	cmocka_unit_test(view_that_is_no_part_is_refused_and_nobody_held),
	cmocka_unit_test(region_without_a_remote_right_is_not_exported),
};

PLX_TEST_SUITE(memory, export, tests);
