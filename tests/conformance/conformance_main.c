/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Write the trace of a script on a device:
 *
 *      plx-conformance -d DEVICE[,key=value...] [-f FAULTS] -s SCRIPT
 *
 * With FAULTS, a script of the fault driver, DEVICE errs: the trace must be another one then, or the exit code.
 */

#include "conformance.h"

#include <stdio.h>
#include <unistd.h>

#include <plx_drivers.h>
#include <plx_test_eal.h>

static int
usage(void)
{
	fprintf(stderr, "usage: plx-conformance -d DEVICE[,key=value...] [-f FAULTS] -s SCRIPT\n");
	return 2;
}

int
main(int argc, char **argv)
{
	const char *device = NULL, *faults = NULL, *script = NULL;
	struct pair pair;
	int opt, err;

	while ((opt = getopt(argc, argv, "d:f:s:")) != -1) {
		if (opt == 'd')
			device = optarg;
		else if (opt == 'f')
			faults = optarg;
		else if (opt == 's')
			script = optarg;
		else
			return usage();
	}
	if (device == NULL || script == NULL || optind != argc)
		return usage();
	if (plx_test_eal_init(NULL) != 0 || plx_drivers_register() != 0)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0); /* a kernel that dies of a step leaves its name behind */
	err = pair_open(&pair, device, faults);
	if (err == 0)
		err = script_run(&pair, script);
	if (pair_close(&pair) != 0)
		err = -1;
	return err == 0 ? 0 : 1;
}
