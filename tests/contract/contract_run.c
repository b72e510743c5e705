/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "contract.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>

#include <plx_fault.h>

struct contract contract;

static int
device_open(void **state)
{
	struct plx_device *wrapped;

	contract.dev = plx_device_open(contract.spec);
	if (contract.dev != NULL && contract.fault != NULL) {
		wrapped = plx_fault_wrap(contract.dev, contract.fault);
		if (wrapped == NULL)
			plx_device_close(contract.dev);
		contract.dev = wrapped;
	}
	if (contract.dev != NULL)
		return 0;
	fprintf(stderr, "contract: cannot open %s: %s\n", contract.spec, rte_strerror(rte_errno));
	return -1;
}

/** A device that cannot be closed was left with objects by a test, or counted them wrongly. */
static int
device_close(void **state)
{
	int err = plx_device_close(contract.dev);

	if (err != 0)
		fprintf(stderr, "contract: cannot close %s: %s\n", contract.spec, rte_strerror(-err));
	contract.dev = NULL;
	return err;
}

/** Whether @p name is in the comma-separated @p list; NULL is everything. */
static bool
in_list(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0'))
			return true;
	}
	return list == NULL;
}

/** rxe's kernel driver, and a software device that was asked to answer like it. */
static bool
answers_like_rxe(const char *spec)
{
	return strncmp(spec, "rxe", 3) == 0 || strstr(spec, "status=rxe") != NULL;
}

/** The null device completes each send by itself, and has no netdev: groups that wait for data would wait in vain. */
static bool
waits_for_data(const char *group)
{
	return strncmp(contract.spec, "null", 4) == 0 && !in_list("memory,register,queue", group);
}

int
contract_run(const char *device, const char *wanted)
{
	const struct contract_group access = access_group();
	const struct contract_group groups[] = {
		CONTRACT_GROUP(device),
		CONTRACT_GROUP(port),
		CONTRACT_GROUP(memory),
		CONTRACT_GROUP(register),
		CONTRACT_GROUP(large),
		CONTRACT_GROUP(queue),
		CONTRACT_GROUP(life),
		CONTRACT_GROUP(transfer),
		CONTRACT_GROUP(inline),
		CONTRACT_GROUP(order),
		CONTRACT_GROUP(full),
		CONTRACT_GROUP(atomic),
		CONTRACT_GROUP(window),
		CONTRACT_GROUP(rnr),
		CONTRACT_GROUP(flush),
		CONTRACT_GROUP(srq),
		CONTRACT_GROUP(event),
		CONTRACT_GROUP(refusal),
		access,
	};
	size_t len;
	int failed = 0;

	contract.spec = device;
	len = RTE_MIN(strcspn(device, ","), sizeof(contract.name) - 1);
	memcpy(contract.name, device, len);
	contract.name[len] = '\0';
	contract.rxe = answers_like_rxe(device);
	for (unsigned int i = 0; i < NB_OF(groups); i++) {
		if (!in_list(wanted, groups[i].name))
			continue;
		if (waits_for_data(groups[i].name))
			printf("skip: contract/%s: needs a device that moves data; %s moves none\n", groups[i].name,
				contract.name);
		else
			failed += _cmocka_run_group_tests(groups[i].name, groups[i].tests,
				groups[i].nb_tests, device_open, device_close);
		fflush(stdout);
	}
	free((void *)(uintptr_t)access.tests);
	return failed;
}

static enum plx_suite_result
all_groups(void)
{
	return contract_run(plx_test_device(), NULL) == 0 ? PLX_SUITE_OK : PLX_SUITE_FAILED;
}

PLX_TEST_FUNCTION(contract, all, all_groups, .lcores = 1, .device = true);
