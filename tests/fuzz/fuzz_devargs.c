/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * What stands behind -d: device names with key=value arguments. It opens, and then every limit is one that a device may
 * have, or it is refused with an errno.
 */

#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_log.h>

#include "plx_driver.h"
#include "plx_log.h"

/* Not plx_drivers_register(): libibverbs looks through /sys for every name. */
extern const struct plx_driver plx_loopback_driver, plx_null_driver;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	rte_log_set_level(plx_log_type(), RTE_LOG_EMERG);
	fuzz_require(plx_device_register(&plx_loopback_driver) == 0);
	fuzz_require(plx_device_register(&plx_null_driver) == 0);
	return 0;
}

static void
require_sane(struct plx_device *dev)
{
	const struct plx_device_caps *caps = plx_device_caps(dev);
	struct plx_port_attr attr;

	fuzz_require(strncmp(plx_device_name(dev), "loopback", 8) == 0 || strncmp(plx_device_name(dev), "null", 4) == 0);
	fuzz_require(caps->max_qp > 0 && caps->max_cq > 0 && caps->max_cqe > 0 && caps->max_mr > 0);
	fuzz_require(caps->max_qp_wr > 0 && caps->max_sge > 0 && caps->max_sge_rd > 0 && caps->nb_ports > 0);
	fuzz_require(caps->max_rd_atomic <= UINT8_MAX);
	fuzz_require(caps->max_qp <= 1 << 24 && caps->max_qp_wr <= 1 << 20 && caps->max_cqe <= 1 << 24);
	fuzz_require(plx_port_query(dev, caps->nb_ports, &attr) == 0);
	fuzz_require(plx_port_query(dev, caps->nb_ports + 1, &attr) == -EINVAL);
	fuzz_require(attr.mtu >= 256 && attr.mtu <= 4096);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct plx_device *dev;

	fuzz_require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	rte_errno = 0;
	dev = plx_device_open(text);
	if (dev != NULL) {
		require_sane(dev);
		fuzz_require(plx_device_close(dev) == 0);
	} else {
		fuzz_require(rte_errno == ENODEV || rte_errno == EINVAL || rte_errno == ENOMEM);
	}
	free(text);
	return 0;
}
