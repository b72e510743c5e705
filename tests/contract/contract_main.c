/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Run the contract on one device:
 *
 *      plx-contract-tests -d DEVICE[,key=value...] [-f SCRIPT] [-g GROUP[,GROUP...]] [-t PATTERN]
 *
 * With a script the device is wrapped in the fault driver.
 * One process is one EAL, which takes seconds to start where it loads every PMD.
 */

#include "contract.h"

#include <unistd.h>

#include <plx_drivers.h>

static int
usage(void)
{
	fprintf(stderr, "usage: plx-contract-tests -d DEVICE[,key=value...] [-f SCRIPT] [-g GROUP,...] [-t PATTERN]\n");
	return 2;
}

int
main(int argc, char **argv)
{
	const char *device = NULL, *groups = NULL;
	int opt;

	while ((opt = getopt(argc, argv, "d:f:g:t:")) != -1) {
		if (opt == 'd')
			device = optarg;
		else if (opt == 'f')
			contract.fault = optarg;
		else if (opt == 'g')
			groups = optarg;
		else if (opt == 't')
			cmocka_set_test_filter(optarg);
		else
			return usage();
	}
	if (device == NULL || optind != argc)
		return usage();
	if (plx_test_eal_init(NULL) != 0 || plx_drivers_register() != 0)
		return 2;
	return contract_run(device, groups) == 0 ? 0 : 1;
}
