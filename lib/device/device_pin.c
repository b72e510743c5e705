/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "plx_pin.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plx_driver.h"
#include "plx_log.h"

/** VmPin and CapEff of this process (proc_pid_status(5)). */
static void
status_read(uint64_t *pinned_kib, uint64_t *capabilities)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[128];

	*pinned_kib = 0;
	*capabilities = 0;
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "VmPin: %" SCNu64, pinned_kib) != 1)
			sscanf(line, "CapEff: %" SCNx64, capabilities);
	}
	fclose(file);
}

void
plx_pin_query(struct plx_pin *pin)
{
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	uint64_t pinned_kib, capabilities;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	status_read(&pinned_kib, &capabilities);
	*pin = (struct plx_pin){
		.pinned = pinned_kib * 1024,
		.limit = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur,
		.exempt = capabilities >> CAP_IPC_LOCK & 1,
	};
}

uint64_t
plx_pin_pages(uintptr_t addr, uint64_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t in_front = addr & (page - 1);

	if (len > UINT64_MAX - in_front - (page - 1))
		return UINT64_MAX & ~(page - 1);
	return (in_front + len + page - 1) & ~(page - 1);
}

int
plx_pin_check(const struct plx_device *dev, uint64_t len)
{
	uint64_t need = plx_pin_pages(0, len);
	struct plx_pin pin;

	if (!(dev->caps.flags & PLX_CAP_PINS))
		return 0;
	plx_pin_query(&pin);
	if (pin.exempt || (pin.pinned <= pin.limit && need <= pin.limit - pin.pinned))
		return 0;
	PLX_LOG(ERR,
		"device %s: %" PRIu64 " bytes cannot be pinned: RLIMIT_MEMLOCK is %" PRIu64 ", pinned already %" PRIu64
		", so it must be %" PRIu64 " at least: ulimit -l %" PRIu64
		" (KiB), LimitMEMLOCK= of the service, --ulimit memlock= of the container, or CAP_IPC_LOCK",
		dev->name, need, pin.limit, pin.pinned, pin.pinned + need, (pin.pinned + need) / 1024);
	return -ENOMEM;
}
