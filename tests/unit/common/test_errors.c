/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_common.h"
#include "plx_status.h"

#include "plx_test.h"

#include <errno.h>
#include <string.h>

static bool
is_status(unsigned int st)
{
	return st <= PLX_ST_TM_RNDV_INCOMPLETE || (st >= PLX_ST_OTHER && st < PLX_NB_STATUS);
}

static void
version_is_that_of_the_project(void **state)
{
	assert_string_equal(plx_version(), PROJECT_VERSION);
}

/* case 3.6 */
static void
each_status_has_a_name_and_a_text_of_its_own(void **state)
{
	for (unsigned int a = 0; a < PLX_NB_STATUS; a++) {
		if (!is_status(a))
			continue;
		assert_null(strstr(plx_status_name(a), "other"));
		for (unsigned int b = 0; b < a; b++)
			assert_string_not_equal(plx_status_name(a), plx_status_name(b));
		if (a != PLX_ST_SUCCESS) {
			assert_string_not_equal(plx_status_str(a), plx_status_str(PLX_NB_STATUS));
			assert_non_null(strchr(plx_status_str(a), ':')); /* what to check */
		}
	}
	assert_string_equal(plx_status_name(PLX_ST_RNR_RETRY_EXC_ERR), "RNR_RETRY_EXC_ERR");
	assert_string_equal(plx_status_name(PLX_ST_CONN_LOST), "CONN_LOST");
}

/* case 3.6: every number that a byte can be has a name that nobody else has. */
static void
status_outside_the_enum_is_other_with_its_number(void **state)
{
	char want[16];

	for (unsigned int st = 0; st < 256; st++) {
		snprintf(want, sizeof(want), "other (%u)", st);
		if (!is_status(st))
			assert_string_equal(plx_status_name(st), want);
		assert_non_null(plx_status_str(st));
	}
	assert_string_equal(plx_status_name(256), "other");
	assert_string_equal(plx_status_name(~0u), "other");
	assert_non_null(plx_status_str(~0u));
}

static void
only_eagain_asks_for_a_retry(void **state)
{
	assert_true(plx_is_retry(-EAGAIN));
	assert_false(plx_is_retry(0));
	assert_false(plx_is_retry(EAGAIN));
	assert_false(plx_is_retry(-EBUSY));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(version_is_that_of_the_project),
	cmocka_unit_test(each_status_has_a_name_and_a_text_of_its_own),
	cmocka_unit_test(status_outside_the_enum_is_other_with_its_number),
	cmocka_unit_test(only_eagain_asks_for_a_retry),
};

PLX_TEST_SUITE(common, errors, tests);
