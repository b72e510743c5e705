/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef CONTRACT_H
#define CONTRACT_H

/**
 * @file
 * What every device must do, written against lib/device only: one body for all drivers.
 *
 *      contract_main.c      options, EAL once
 *      contract_run.c       the groups in order
 *      contract_objects.c   PDs, CQs, QPs and regions that a test made, taken down behind it
 *      contract_pair.c      two connected QPs with a buffer each; posting and waiting
 *      NAME_tests.c         one group each; the device is open while a group runs
 *
 * What a device does not advertise is skipped, with the capability named, and its refusal is tested
 * instead. No test waits for a time to pass; every wait gives up after 10 s and says what for.
 */

#include <plx_device.h>
#include <plx_test.h>

/** The device under test. */
struct contract {
	const char *spec;	/**< as given: "rxe0", "loopback0,status=rxe" */
	char name[PLX_NAME_LEN]; /**< in front of the comma */
	const char *fault;	/**< script of a wrapper around the device, or NULL */
	bool rxe;		/**< errors have rxe's statuses, not the specification's */
	struct plx_device *dev;	/**< open while a group runs */
};

extern struct contract contract;

static inline const struct plx_device_caps *
contract_caps(void)
{
	return plx_device_caps(contract.dev);
}

static inline bool
contract_has_kind(unsigned int opcode)
{
	return (contract_caps()->kinds & PLX_KIND(opcode)) != 0;
}

static inline bool
contract_has_flag(uint32_t flag)
{
	return (contract_caps()->flags & flag) != 0;
}

#define needs_kind(opcode) plx_test_needs(contract_has_kind(opcode), plx_opcode_name(opcode))
#define needs_flag(flag)   plx_test_needs(contract_has_flag(flag), #flag)
/** For every test that moves data: lib/device connects QPs by attribute exchange only. */
#define needs_connection() needs_flag(PLX_CAP_ATTR_EXCHANGE)

/** Cases that cmocka runs as one group with the device open. */
struct contract_group {
	const char *name;
	const struct CMUnitTest *tests;
	size_t nb_tests;
};

#define CONTRACT_GROUP(group) {#group, group##_tests, nb_##group##_tests}

/* The groups, and how each ends its file. */
#define CONTRACT_GROUP_DECL(group)                                                                           \
	extern const struct CMUnitTest group##_tests[];                                                      \
	extern const size_t nb_##group##_tests

CONTRACT_GROUP_DECL(device);
CONTRACT_GROUP_DECL(port);
CONTRACT_GROUP_DECL(memory);
CONTRACT_GROUP_DECL(register);
CONTRACT_GROUP_DECL(large);
CONTRACT_GROUP_DECL(queue);
CONTRACT_GROUP_DECL(life);
CONTRACT_GROUP_DECL(transfer);
CONTRACT_GROUP_DECL(inline);
CONTRACT_GROUP_DECL(order);
CONTRACT_GROUP_DECL(full);
CONTRACT_GROUP_DECL(atomic);
CONTRACT_GROUP_DECL(window);
CONTRACT_GROUP_DECL(rnr);
CONTRACT_GROUP_DECL(flush);
CONTRACT_GROUP_DECL(srq);
CONTRACT_GROUP_DECL(event);
CONTRACT_GROUP_DECL(refusal);

/** Run the groups of the comma-separated list @p wanted (NULL: all) on @p device. Returns how many cases failed. */
int contract_run(const char *device, const char *wanted);

/** The table of access cases, a test a row; the tests are the caller's to free. */
struct contract_group access_group(void);

#endif
