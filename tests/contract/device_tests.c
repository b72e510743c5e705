/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Finding and opening devices, and what they say they can do.
 */

#include "contract_pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

static void
device_is_listed_by_its_name(void **state)
{
	struct plx_device_info infos[64];
	int nb = plx_device_list(infos, NB_OF(infos));

	assert_true(nb > 0);
	for (int i = 0; i < nb && i < (int)NB_OF(infos); i++) {
		assert_non_null(infos[i].driver);
		if (strcmp(infos[i].name, contract.name) == 0)
			return;
	}
	fail_msg("%s is none of the %d devices listed", contract.name, nb);
}

static void
list_of_nothing_still_counts(void **state)
{
	struct plx_device_info infos[64];

	assert_int_equal(plx_device_list(NULL, 0), plx_device_list(infos, NB_OF(infos)));
}

static void
device_knows_its_name(void **state)
{
	char wrapper[PLX_NAME_LEN + 8];

	snprintf(wrapper, sizeof(wrapper), "fault:%s", contract.name);
	assert_string_equal(plx_device_name(contract.dev), contract.fault != NULL ? wrapper : contract.name);
}

static void
unknown_device_is_refused(void **state)
{
	rte_errno = 0;
	assert_null(plx_device_open("no-such-device0"));
	assert_int_equal(rte_errno, ENODEV);
}

static void
unknown_devarg_is_refused(void **state)
{
	char spec[PLX_NAME_LEN + 32];

	snprintf(spec, sizeof(spec), "%s,no_such_key=1", contract.name);
	rte_errno = 0;
	assert_null(plx_device_open(spec));
	assert_int_equal(rte_errno, EINVAL);
}

static void
capabilities_make_sense(void **state)
{
	const struct plx_device_caps *caps = contract_caps();

	assert_true(caps->kinds & PLX_KIND(PLX_OPCODE_SEND));
	assert_true(caps->kinds & PLX_KIND(PLX_OPCODE_RECV));
	assert_false(caps->kinds & PLX_KIND(PLX_OPCODE_RECV_WRITE_IMM)); /* no WR asks for that */
	assert_true(caps->kinds < PLX_KIND(PLX_NB_OPCODES));
	assert_true(caps->transports & (1u << PLX_TRANSPORT_RC));
	assert_true(caps->max_qp > 0 && caps->max_cq > 0 && caps->max_mr > 0);
	assert_true(caps->max_qp_wr > 0 && caps->max_cqe > 0);
	assert_true(caps->max_sge > 0 && caps->max_sge_rd > 0 && caps->max_sge_rd <= caps->max_sge);
	assert_true(caps->max_mr_size > 0);
	assert_true(caps->guid != 0);
	assert_true(caps->nb_ports > 0);
	assert_true(caps->atomic_big_endian <= 1);
}

/** Compare-and-swap, fetch-and-add: a device has both or none (IBA 9.4.5). */
static void
atomics_come_together(void **state)
{
	assert_int_equal(contract_has_kind(PLX_OPCODE_CMP_SWAP), contract_has_kind(PLX_OPCODE_FETCH_ADD));
	if (contract_has_kind(PLX_OPCODE_CMP_SWAP))
		assert_true(contract_caps()->max_rd_atomic > 0);
}

static void
device_in_use_does_not_close(void **state)
{
	struct objects *objs = *state;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *cq;

	assert_int_equal(plx_device_close(contract.dev), -EBUSY);
	objects_drop_pd(objs, pd);
	cq = objects_cq(objs, contract.dev, 1);
	assert_int_equal(plx_device_close(contract.dev), -EBUSY);
	objects_drop_cq(objs, cq);
	objects_pd(objs, contract.dev); /* still open, still works */
}

/** A second device of the same name, closed at the end of the test in any case. */
struct second {
	struct pair pair;
	struct pair first; /* on the device of the group */
	struct plx_device *dev;
};

static int
second_setup(void **state)
{
	struct second *second = calloc(1, sizeof(*second));

	*state = second;
	if (second == NULL)
		return -1;
	second->dev = plx_device_open(contract.spec);
	return second->dev != NULL ? 0 : -1;
}

static int
second_teardown(void **state)
{
	struct second *second = *state;
	int err = objects_destroy(&second->pair.objs);

	if (err == 0)
		err = objects_destroy(&second->first.objs);
	if (err == 0)
		err = plx_device_close(second->dev);
	free(second);
	return err;
}

static void
objects_of_two_devices_do_not_mix(void **state)
{
	struct second *second = *state;
	struct objects *objs = &second->pair.objs;
	struct plx_pd *pd = objects_pd(objs, contract.dev);
	struct plx_cq *own = objects_cq(objs, contract.dev, 8);
	struct plx_cq *other = objects_cq(objs, second->dev, 8);
	struct plx_qp_conf conf = {.send_cq = own, .recv_cq = other, .cap = {.send_depth = 1, .recv_depth = 1}};

	assert_ptr_not_equal(second->dev, contract.dev);
	rte_errno = 0;
	assert_null(plx_qp_create(pd, &conf));
	assert_int_equal(rte_errno, EINVAL);
}

static void
write_and_check(struct pair *pair, unsigned int seed)
{
	struct plx_sge sge = side_sge(&pair->a, 0, 1000);
	struct plx_wr wr = wr_remote(seed, PLX_OPCODE_WRITE, &sge, 1, &pair->b, 0);

	fill(pair->a.buf, 1000, seed);
	post_send(&pair->a, &wr);
	wait_ok(pair->a.cq, seed);
	expect_filled(pair->b.buf, 1000, seed);
}

static void
two_devices_of_one_name_work_side_by_side(void **state)
{
	struct second *second = *state;
	struct pair_conf conf;

	needs_connection();
	needs_kind(PLX_OPCODE_WRITE);
	conf = pair_conf();
	pair_make(&second->first, contract.dev, &conf);
	pair_make(&second->pair, second->dev, &conf);
	write_and_check(&second->first, 1);
	write_and_check(&second->pair, 2);
	assert_int_equal(objects_destroy(&second->first.objs), 0);
	write_and_check(&second->pair, 3); /* the other one's end is none of its business */
}

#define second_test(f) cmocka_unit_test_setup_teardown(f, second_setup, second_teardown)

const struct CMUnitTest device_tests[] = {
	cmocka_unit_test(device_is_listed_by_its_name),
	cmocka_unit_test(list_of_nothing_still_counts),
	cmocka_unit_test(device_knows_its_name),
	cmocka_unit_test(unknown_device_is_refused),
	cmocka_unit_test(unknown_devarg_is_refused),
	cmocka_unit_test(capabilities_make_sense),
	cmocka_unit_test(atomics_come_together),
	cmocka_unit_test_setup_teardown(device_in_use_does_not_close, objects_setup, objects_teardown),
	second_test(objects_of_two_devices_do_not_mix),
	second_test(two_devices_of_one_name_work_side_by_side),
};
const size_t nb_device_tests = NB_OF(device_tests);
