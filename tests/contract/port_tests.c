/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Ports, their GID tables, and which of either is taken when nobody says.
 */

#include "contract.h"

#include <errno.h>
#include <string.h>

static bool
is_ipv4_mapped(const struct plx_gid *gid)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

static unsigned int
default_port(void)
{
	int port = plx_port_default(contract.dev);

	assert_true(port >= 1);
	return port;
}

static void
default_port_is_active_and_has_sane_attributes(void **state)
{
	struct plx_port_attr attr = {0};

	assert_int_equal(plx_port_query(contract.dev, default_port(), &attr), 0);
	assert_int_equal(attr.active, 1);
	assert_in_range(attr.mtu, 256, 4096);
	assert_int_equal(attr.mtu & (attr.mtu - 1), 0);
	assert_true(attr.max_msg_sz >= 1u << 20);
	assert_true(attr.nb_gids > 0);
}

static void
ports_outside_1_to_nb_ports_are_refused(void **state)
{
	struct plx_port_attr attr;
	struct plx_gid gid;
	unsigned int bad[] = {0, contract_caps()->nb_ports + 1, 255};

	for (unsigned int i = 0; i < NB_OF(bad); i++) {
		assert_int_equal(plx_port_query(contract.dev, bad[i], &attr), -EINVAL);
		assert_int_equal(plx_gid_query(contract.dev, bad[i], 0, &gid), -EINVAL);
		assert_int_equal(plx_gid_default(contract.dev, bad[i], &gid), -EINVAL);
	}
}

static void
each_gid_has_its_index_and_a_type_or_is_absent(void **state)
{
	unsigned int port = default_port(), found = 0;
	struct plx_port_attr attr;

	assert_int_equal(plx_port_query(contract.dev, port, &attr), 0);
	for (unsigned int i = 0; i < attr.nb_gids; i++) {
		struct plx_gid gid;
		int err = plx_gid_query(contract.dev, port, i, &gid);

		if (err == -ENOENT)
			continue;
		assert_int_equal(err, 0);
		assert_int_equal(gid.index, i);
		if (gid.type == PLX_GID_NONE)
			continue;
		assert_in_range(gid.type, PLX_GID_IB, PLX_GID_IWARP);
		found++;
	}
	assert_true(found > 0);
}

static void
gid_past_the_table_is_absent(void **state)
{
	unsigned int port = default_port();
	struct plx_port_attr attr;
	struct plx_gid gid;

	assert_int_equal(plx_port_query(contract.dev, port, &attr), 0);
	assert_int_equal(plx_gid_query(contract.dev, port, attr.nb_gids, &gid), -ENOENT);
	assert_int_equal(plx_gid_query(contract.dev, port, 1u << 20, &gid), -ENOENT);
}

static void
roce_gids_name_their_netdev(void **state)
{
	struct plx_gid gid;

	assert_int_equal(plx_gid_default(contract.dev, default_port(), &gid), 0);
	plx_test_needs(gid.type == PLX_GID_ROCE_V1 || gid.type == PLX_GID_ROCE_V2, "a RoCE port");
	assert_true(gid.netdev[0] != '\0');
	assert_non_null(memchr(gid.netdev, '\0', sizeof(gid.netdev)));
}

/** The first RoCE v2 entry, an IPv4-mapped one before any other; -1 without. */
static int
best_roce_v2(unsigned int port, const struct plx_port_attr *attr)
{
	int best = -1;

	for (unsigned int i = 0; i < attr->nb_gids; i++) {
		struct plx_gid gid;

		if (plx_gid_query(contract.dev, port, i, &gid) != 0 || gid.type != PLX_GID_ROCE_V2)
			continue;
		if (is_ipv4_mapped(&gid))
			return i;
		if (best < 0)
			best = i;
	}
	return best;
}

/** case 15.1 */
static void
default_gid_is_the_first_ipv4_roce_v2(void **state)
{
	unsigned int port = default_port();
	struct plx_port_attr attr;
	struct plx_gid gid;
	int best;

	assert_int_equal(plx_port_query(contract.dev, port, &attr), 0);
	best = best_roce_v2(port, &attr);
	plx_test_needs(attr.ethernet && best >= 0, "a RoCE v2 GID");
	assert_int_equal(plx_gid_default(contract.dev, port, &gid), 0);
	assert_int_equal(gid.type, PLX_GID_ROCE_V2);
	assert_int_equal(gid.index, best);
	/* The guest's rxe0 has a link-local IPv6 entry in front of its IPv4 one. */
	if (strcmp(contract.name, "rxe0") == 0) {
		assert_int_equal(gid.index, 1);
		assert_true(is_ipv4_mapped(&gid));
	}
}

static void
gid_types_have_names(void **state)
{
	assert_string_equal(plx_gid_type_name(PLX_GID_ROCE_V2), "RoCE v2");
	assert_string_equal(plx_gid_type_name(PLX_GID_IWARP), "iWARP");
	assert_non_null(plx_gid_type_name(99));
}

const struct CMUnitTest port_tests[] = {
	cmocka_unit_test(default_port_is_active_and_has_sane_attributes),
	cmocka_unit_test(ports_outside_1_to_nb_ports_are_refused),
	cmocka_unit_test(each_gid_has_its_index_and_a_type_or_is_absent),
	cmocka_unit_test(gid_past_the_table_is_absent),
	cmocka_unit_test(roce_gids_name_their_netdev),
	cmocka_unit_test(default_gid_is_the_first_ipv4_roce_v2),
	cmocka_unit_test(gid_types_have_names),
};
const size_t nb_port_tests = NB_OF(port_tests);
