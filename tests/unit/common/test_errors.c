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
	return st <= PLX_ST_TM_RNDV_INCOMPLETE || (st >= PLX_ST_POST_FAILED && st < PLX_NB_STATUS);
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
		assert_string_not_equal(plx_status_name(a), "unknown");
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

/* case 3.6 */
static void
status_outside_the_enum_is_unknown_and_does_not_crash(void **state)
{
	for (unsigned int st = 0; st < 256; st++)
		if (!is_status(st))
			assert_string_equal(plx_status_name(st), "unknown");
	assert_string_equal(plx_status_name(~0u), "unknown");
	assert_non_null(plx_status_str(~0u));
	assert_non_null(plx_status_str(PLX_ST_POST_FAILED - 1));
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
	cmocka_unit_test(status_outside_the_enum_is_unknown_and_does_not_crash),
	cmocka_unit_test(only_eagain_asks_for_a_retry),
};

PLX_TEST_SUITE(common, errors, tests);
