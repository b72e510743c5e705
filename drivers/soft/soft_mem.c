/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "soft_mem.h"

#include <stdint.h>
#include <stdlib.h>

#include <rte_common.h>

void *
soft_zalloc(size_t size)
{
	void *raw = calloc(1, size + RTE_CACHE_LINE_SIZE + sizeof(void *));
	void **mem;

	if (raw == NULL)
		return NULL;
	mem = RTE_PTR_ALIGN_CEIL(RTE_PTR_ADD(raw, sizeof(void *)), RTE_CACHE_LINE_SIZE);
	mem[-1] = raw;
	return mem;
}

void
soft_free(void *mem)
{
	if (mem != NULL)
		free(((void **)mem)[-1]);
}
