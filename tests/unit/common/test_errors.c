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

/* case 3.6: words that no other text has, so that a text that is swapped with another is seen */
static void
each_text_is_that_of_its_status(void **state)
{
#define ROW(st, says) {PLX_ST_##st, says}
	static const struct {
		unsigned int status;
		const char *says;
	} rows[] = {
		ROW(SUCCESS, "success"),
		ROW(LOC_LEN_ERR, "did not fit here: check that the receive buffers"),
		ROW(LOC_QP_OP_ERR, "refused a work request of ours as inconsistent"),
		ROW(LOC_EEC_OP_ERR, "local end-to-end context error"),
		ROW(LOC_PROT_ERR, "SGE is not covered by its lkey: check lkey"),
		ROW(WR_FLUSH_ERR, "where there is none"),
		ROW(MW_BIND_ERR, "invalidated before it is bound again"),
		ROW(BAD_RESP_ERR, "answered with an opcode that does not belong here"),
		ROW(LOC_ACCESS_ERR, "check that the local region has local write"),
		ROW(REM_INV_REQ_ERR, "refused the request as invalid"),
		ROW(REM_ACCESS_ERR, "memory window that it is bound on the QP at that end"),
		ROW(REM_OP_ERR, "could not complete the request"),
		ROW(RETRY_EXC_ERR, "did not acknowledge in time"),
		ROW(RNR_RETRY_EXC_ERR, "rnr_retry here and min_rnr_timer there"),
		ROW(LOC_RDD_VIOL_ERR, "local RDD violation"),
		ROW(REM_INV_RD_REQ_ERR, "refused an RD request"),
		ROW(REM_ABORT_ERR, "aborted the operation"),
		ROW(INV_EECN_ERR, "invalid end-to-end context number"),
		ROW(INV_EEC_STATE_ERR, "invalid end-to-end context state"),
		ROW(FATAL_ERR, "the device failed: check the kernel log"),
		ROW(RESP_TIMEOUT_ERR, "no response in time"),
		ROW(GENERAL_ERR, "an error the device has no other name for"),
		ROW(TM_ERR, "tag matching failed"),
		ROW(TM_RNDV_INCOMPLETE, "left a rendezvous to software"),
		ROW(OTHER, "newer than this library"),
		ROW(POST_FAILED, "its post failed there"),
		ROW(TIMED_OUT, "deadline passed before its completion"),
		ROW(CANCELLED, "cancelled here"),
		ROW(STOPPED, "before the queued operation was posted"),
		ROW(CONN_LOST, "this operation's completion never came"),
		ROW(EVENT, "an async event of the device ended the connection"),
	};
#undef ROW
	unsigned int row = 0;

	for (unsigned int st = 0; st < PLX_NB_STATUS; st++) {
		if (!is_status(st))
			continue;
		assert_true(row < NB_OF(rows));
		assert_int_equal(rows[row].status, st); /* none is left out */
		for (unsigned int other = 0; other < PLX_NB_STATUS; other++) {
			const char *found = strstr(plx_status_str(other), rows[row].says);

			assert_int_equal(found != NULL, other == st);
		}
		row++;
	}
	assert_int_equal(row, NB_OF(rows));
}

/* Who is told so must know that the buffers may be written yet, and whom to ask. */
static void
text_of_an_op_that_was_given_up_names_who_has_its_buffers(void **state)
{
	assert_non_null(strstr(plx_status_str(PLX_ST_TIMED_OUT), "plx_op_in_device()"));
	assert_non_null(strstr(plx_status_str(PLX_ST_CANCELLED), "plx_op_in_device()"));
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
each_refusal_of_an_import_has_a_text_that_says_what_to_check(void **state)
{
	static const struct {
		int err;
		const char *says;
	} rows[] = {
		{0, "success"},
		{-ENODATA, "end before the descriptor does"},
		{-EBADMSG, "no descriptor of this kind"},
		{-EPROTONOSUPPORT, "another version"},
		{-E2BIG, "bytes behind the descriptor"},
		{-EOVERFLOW, "behind the last address"},
		{-EINVAL, "a number that none can have"},
		{-ENOENT, "no error of an import"},
	};

	for (unsigned int row = 0; row < NB_OF(rows); row++) {
		for (unsigned int other = 0; other < NB_OF(rows); other++)
			assert_int_equal(strstr(plx_import_err_str(rows[other].err), rows[row].says) != NULL, row == other);
		assert_int_equal(strstr(plx_import_err_str(rows[row].err), ": ") != NULL && strstr(plx_import_err_str(rows[row].err),
			"check"), row != 0);
	}
	assert_string_equal(plx_import_err_str(1), plx_import_err_str(-ENOENT));
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
	cmocka_unit_test(each_text_is_that_of_its_status),
	cmocka_unit_test(text_of_an_op_that_was_given_up_names_who_has_its_buffers),
	cmocka_unit_test(status_outside_the_enum_is_other_with_its_number),
	cmocka_unit_test(each_refusal_of_an_import_has_a_text_that_says_what_to_check),
	cmocka_unit_test(only_eagain_asks_for_a_retry),
};

PLX_TEST_SUITE(common, errors, tests);
