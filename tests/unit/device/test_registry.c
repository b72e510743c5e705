/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "toy.h"

static struct plx_device *
open_fails(const char *text)
{
	rte_errno = 0;
	return plx_device_open(text);
}

static void
drivers_are_registered_once_by_name(void **state)
{
	struct plx_driver no_open = toy_driver;

	assert_int_equal(plx_device_register(&toy_driver), -EEXIST);
	no_open.name = "other";
	no_open.open = NULL;
	plx_test_refusal(plx_device_register(&no_open), -EINVAL, "driver other: it has no open");
	no_open.match = NULL;
	plx_test_refusal(plx_device_register(&no_open), -EINVAL, "driver other: it has no match");
	no_open.name = NULL;
	plx_test_refusal(plx_device_register(&no_open), -EINVAL, "it has no name");
}

#define PAIRS_10 "a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,"

/* What is wrong stands behind it, and must be seen. */
static void
name_or_value_of_any_length_is_cut_in_the_log(void **state)
{
	static const struct {
		const char *front, *behind, *says;
	} rows[] = {
		{"", "", "device name of 1000 bytes; at most 63"},
		{"toy0," PAIRS_10 PAIRS_10 PAIRS_10 PAIRS_10, "", "\" is no key=value list"}, /* too many */
		{"toy0,", "=1", "n\"; toy knows: value, word"},
		{"toy0,value=", "", "n: want a number from 5 to 10"},
		{"toy0,word=", "", "n: not one of red, blue"},
	};
	char text[1300];

	for (unsigned int i = 0; i < NB_OF(rows); i++) {
		snprintf(text, sizeof(text), "%s%s%s", rows[i].front, plx_test_long_name(), rows[i].behind);
		plx_test_refusal((intptr_t)open_fails(text), 0, rows[i].says);
	}
}

static void
the_list_counts_all_and_fills_what_fits(void **state)
{
	struct plx_device_info infos[2] = {0};

	assert_int_equal(plx_device_list(NULL, 0), 3);
	assert_int_equal(plx_device_list(infos, 2), 3);
	assert_string_equal(infos[1].name, "toy1");
	assert_string_equal(infos[1].driver, "toy");
}

static void
a_name_opens_with_and_without_arguments(void **state)
{
	struct plx_device *dev = plx_device_open("toy1");

	assert_null(plx_device_open(NULL));
	assert_null(plx_device_open(""));
	assert_non_null(dev);
	assert_string_equal(plx_device_name(dev), "toy1");
	assert_int_equal(toy.value, 7);
	assert_int_equal(plx_device_close(dev), 0);
	dev = plx_device_open("toy2,value=0xa,word=blue");
	assert_int_equal(toy.value, 110);
	assert_int_equal(plx_device_close(dev), 0);
}

static void
bad_names_and_arguments_are_refused(void **state)
{
	static const char *const bad[] = {"toy0,colour=red", "toy0,value=4", "toy0,value=11", "toy0,value=-1",
		"toy0,value=6x", "toy0,value=", "toy0,value", "toy0,word=green", "toy0,value=6,value=6",
		"toy0,value=99999999999999999999",
		"toy0,value=-18446744073709551609" /* 7 in 64 bits */};
	char longer[200] = "toy";

	for (unsigned int i = 0; i < NB_OF(bad); i++) {
		assert_null(open_fails(bad[i]));
		assert_int_equal(rte_errno, EINVAL);
	}
	assert_null(open_fails("nobody0"));
	assert_int_equal(rte_errno, ENODEV);
	assert_null(open_fails(""));
	assert_int_equal(rte_errno, ENODEV);
	memset(&longer[3], '1', sizeof(longer) - 4);
	assert_null(open_fails(longer));
	assert_int_equal(rte_errno, ENODEV);
}

static const struct plx_driver empty_driver = {.name = "empty"};

static void
empty_slots_refuse(void **state)
{
	struct plx_device dev = {0};
	struct plx_pd pd = {.dev = &dev};
	struct plx_cq cq = {.dev = &dev};
	struct plx_qp qp = {.dev = &dev};
	struct plx_mr mr = {.pd = &pd};
	struct plx_srq srq = {.dev = &dev};
	void *const *slots = (void *const *)&dev.ops;

	plx_device_init(&dev, &empty_driver, "empty0");
	for (unsigned int i = 0; i < sizeof(dev.ops) / sizeof(slots[0]); i++)
		assert_non_null(slots[i]);
	rte_errno = 0;
	assert_null(dev.ops.pd_create(&dev));
	assert_int_equal(rte_errno, ENOTSUP);
	assert_null(dev.ops.mr_register(&pd, NULL, 0, 0));
	assert_null(dev.ops.mr_register_dmabuf(&pd, -1, 0, 0, 0, 0));
	assert_null(dev.ops.cq_create(&dev, 1));
	assert_null(dev.ops.qp_create(&pd, NULL));
	assert_int_equal(dev.ops.close(&dev), -ENOTSUP);
	assert_int_equal(dev.ops.qp_limits(&dev, NULL), -ENOTSUP);
	assert_int_equal(dev.ops.port_query(&dev, 1, NULL), -ENOTSUP);
	assert_int_equal(dev.ops.gid_query(&dev, 1, 0, NULL), -ENOTSUP);
	assert_int_equal(dev.ops.pd_destroy(&pd), -ENOTSUP);
	assert_int_equal(dev.ops.mr_deregister(&mr), -ENOTSUP);
	assert_int_equal(dev.ops.cq_destroy(&cq), -ENOTSUP);
	assert_int_equal(dev.ops.qp_destroy(&qp), -ENOTSUP);
	assert_null(dev.ops.srq_create(&pd, NULL));
	assert_int_equal(rte_errno, ENOTSUP);
	assert_int_equal(dev.ops.srq_destroy(&srq), -ENOTSUP);
	assert_int_equal(dev.ops.srq_arm(&srq, 1), -ENOTSUP);
	assert_int_equal(dev.ops.srq_query(&srq, NULL), -ENOTSUP);
	assert_int_equal(dev.ops.qp_local_addr(&qp, NULL, NULL), -ENOTSUP);
	assert_int_equal(dev.ops.qp_bring_up(&qp, NULL, NULL), -ENOTSUP);
	assert_int_equal(dev.ops.qp_to_error(&qp), -ENOTSUP);
	assert_int_equal(dev.ops.qp_query_state(&qp), -ENOTSUP);
	assert_int_equal(plx_device_event_fd(&dev), -ENOTSUP);
	assert_int_equal(plx_device_next_event(&dev, NULL), -ENOTSUP);
}

static void
each_device_without_a_guid_gets_one_of_its_own(void **state)
{
	static const struct plx_driver driver = {.name = "empty"};
	struct plx_device one = {0}, two = {0}, own = {.caps = {.guid = 7}};

	plx_device_init(&one, &driver, "empty0");
	plx_device_init(&two, &driver, "empty0");
	plx_device_init(&own, &driver, "empty0");
	assert_true(one.caps.guid != 0 && two.caps.guid != 0);
	assert_true(one.caps.guid != two.caps.guid);
	assert_int_equal(own.caps.guid, 7);
}

static void
empty_post_slots_take_nothing(void **state)
{
	struct plx_fast_ops none = {0}, ops = plx_fast_with_stubs(&none);
	struct plx_qp qp = {.fast = &ops};
	struct plx_cq cq = {.fast = &ops};
	struct plx_srq srq = {.fast = &ops};
	int err = 0;

	assert_int_equal(plx_qp_post_send(&qp, NULL, 3, &err), 0);
	assert_int_equal(err, -ENOTSUP);
	err = 0;
	assert_int_equal(plx_qp_post_recv(&qp, NULL, 3, &err), 0);
	assert_int_equal(err, -ENOTSUP);
	err = 0;
	assert_int_equal(plx_srq_post_recv(&srq, NULL, 3, &err), 0);
	assert_int_equal(err, -ENOTSUP);
	assert_int_equal(plx_cq_poll(&cq, NULL, 1), -ENOTSUP);
}

static int
only_the_toy(void **state)
{
	return plx_device_register(&toy_driver);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(drivers_are_registered_once_by_name),
	cmocka_unit_test(the_list_counts_all_and_fills_what_fits),
	cmocka_unit_test(a_name_opens_with_and_without_arguments),
	cmocka_unit_test(bad_names_and_arguments_are_refused),
	cmocka_unit_test(name_or_value_of_any_length_is_cut_in_the_log),
	cmocka_unit_test(empty_slots_refuse),
	cmocka_unit_test(each_device_without_a_guid_gets_one_of_its_own),
	cmocka_unit_test(empty_post_slots_take_nothing),
};

PLX_TEST_SUITE(device, registry, tests, .setup = only_the_toy);
