/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The program around a test file: run what is linked in.
 *
 *      test_op_pool [-d DEVICE[,key=value...]] [-t PATTERN]
 *
 * -t runs only the cases whose names match ("put_*"). Exit status: 0, 1 when a case failed, 2 for a bad option.
 */

#include "plx_test.h"

#include <unistd.h>

int
main(int argc, char **argv)
{
	int opt, failed = 0;

	while ((opt = getopt(argc, argv, "d:t:")) != -1) {
		if (opt == 'd')
			plx_test_device_set(optarg);
		else if (opt == 't')
			cmocka_set_test_filter(optarg);
		else
			return 2;
	}
	if (optind != argc) {
		fprintf(stderr, "%s: %s: what is it?\n", argv[0], argv[optind]);
		return 2;
	}
	for (const struct plx_suite *suite = plx_suites; suite != NULL; suite = suite->next)
		failed += plx_suite_run(suite) == PLX_SUITE_FAILED;
	return failed != 0;
}
