/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Control verbs: which wait, and which fail. One that fails has not reached the inner device.
 */

#include "fault.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <rte_errno.h>

static void
wait_us(uint32_t us)
{
	struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

int
fault_verb(struct fault_device *dev, enum fault_verb verb)
{
	int err = 0;

	for (unsigned int i = 0; i < dev->script.nb_rules; i++) {
		const struct fault_rule *rule = &dev->script.rules[i];

		if (!(rule->verbs & 1u << verb) || fault_rule_hits(dev, i) == 0)
			continue;
		if (rule->action == FAULT_DELAY) {
			fault_count(&dev->stats.delayed, 1);
			wait_us(rule->arg);
		} else if (err == 0) {
			err = (int)rule->arg;
		}
	}
	fault_count(&dev->stats.failed_verbs, err != 0);
	return err;
}

void *
fault_object(struct fault_device *dev, enum fault_verb verb, size_t size)
{
	int err = fault_verb(dev, verb);
	void *object = err == 0 ? calloc(1, size) : NULL;

	if (object == NULL)
		rte_errno = err != 0 ? err : ENOMEM;
	return object;
}
