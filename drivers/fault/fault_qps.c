/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * All QPs of a device, and their numbers when `qpn` makes them up.
 *
 *      inner QP 4711  --numbers[4711 & mask]-->  100      also when QP 4711 is gone and its CQEs are not
 *      100 is free again when its QP is destroyed, and the next QP has it at once
 *
 * Threads: any. The table of numbers is read without the lock, by whoever polls.
 */

#include "fault.h"

#include <errno.h>
#include <stdlib.h>

/** The number that `qpn` begins with; 0: there is no such rule. */
static uint32_t
first_number(const struct fault_script *script)
{
	for (unsigned int i = 0; i < script->nb_rules; i++) {
		if (script->rules[i].action == FAULT_QPN)
			return script->rules[i].arg;
	}
	return 0;
}

int
fault_qps_init(struct fault_device *dev)
{
	pthread_mutex_init(&dev->lock, NULL);
	if (first_number(&dev->script) == 0)
		return 0;
	dev->numbers = calloc(FAULT_QPNS, sizeof(*dev->numbers));
	dev->number_taken = calloc(FAULT_QPNS, sizeof(*dev->number_taken));
	return dev->numbers != NULL && dev->number_taken != NULL ? 0 : -ENOMEM;
}

void
fault_qps_fini(struct fault_device *dev)
{
	free(dev->numbers);
	free(dev->number_taken);
	pthread_mutex_destroy(&dev->lock);
}

/** The lowest number that is free. */
static int
number_take(struct fault_device *dev, struct fault_qp *qp)
{
	uint32_t inner = qp->inner->qp_num, i = 0;

	while (i < FAULT_QPNS && dev->number_taken[i])
		i++;
	if (i == FAULT_QPNS)
		return -ENOSPC;
	dev->number_taken[i] = 1;
	qp->base.qp_num = first_number(&dev->script) + i;
	/* Relaxed: who polls a CQE of this QP has got the QP from whoever made it. */
	__atomic_store_n(&dev->numbers[inner % FAULT_QPNS], (uint64_t)inner << 32 | qp->base.qp_num, __ATOMIC_RELAXED);
	return 0;
}

uint32_t
fault_qps_number(struct fault_device *dev, uint32_t inner)
{
	uint64_t pair = __atomic_load_n(&dev->numbers[inner % FAULT_QPNS], __ATOMIC_RELAXED);

	return pair >> 32 == inner ? (uint32_t)pair : inner;
}

static void
list_add(struct fault_device *dev, struct fault_qp *qp)
{
	qp->next = dev->qps;
	dev->qps = qp;
}

int
fault_qps_add(struct fault_device *dev, struct fault_qp *qp)
{
	int err = 0;

	pthread_mutex_lock(&dev->lock);
	qp->base.qp_num = qp->inner->qp_num;
	if (dev->numbers != NULL)
		err = number_take(dev, qp);
	if (err == 0)
		list_add(dev, qp);
	pthread_mutex_unlock(&dev->lock);
	return err;
}

void
fault_qps_hide(struct fault_device *dev, struct fault_qp *qp)
{
	struct fault_qp **at = &dev->qps;

	pthread_mutex_lock(&dev->lock);
	while (*at != qp)
		at = &(*at)->next;
	*at = qp->next;
	pthread_mutex_unlock(&dev->lock);
}

void
fault_qps_show(struct fault_device *dev, struct fault_qp *qp)
{
	pthread_mutex_lock(&dev->lock);
	list_add(dev, qp);
	pthread_mutex_unlock(&dev->lock);
}

void
fault_qps_free_number(struct fault_device *dev, uint32_t qp_num)
{
	pthread_mutex_lock(&dev->lock);
	if (dev->numbers != NULL)
		dev->number_taken[qp_num - first_number(&dev->script)] = 0;
	pthread_mutex_unlock(&dev->lock);
}

void
fault_qps_fail(struct fault_device *dev, uint32_t qp_num)
{
	pthread_mutex_lock(&dev->lock); /* it is not destroyed meanwhile */
	for (struct fault_qp *qp = dev->qps; qp != NULL; qp = qp->next) {
		if (qp->base.qp_num == qp_num)
			plx_qp_to_error(qp->inner);
	}
	pthread_mutex_unlock(&dev->lock);
}
