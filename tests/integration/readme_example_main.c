/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include <rte_eal.h>
#include <rte_lcore.h>

#include "plx_drivers.h"

/** README.md's example, cut out by readme_example.awk. */
int hello(unsigned int lcore);

int
main(int argc, char **argv)
{
	if (rte_eal_init(argc, argv) < 0 || plx_drivers_register() != 0)
		return 2;
	return hello(rte_lcore_id()) > 0 ? 0 : 1;
}
