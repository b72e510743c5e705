/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "shell.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "plx_device.h"

static const struct {
	uint32_t cap;
	const char *name;
} cap_names[] = {
	{PLX_CAP_ATTR_EXCHANGE, "set-up by attribute exchange"},
	{PLX_CAP_ACTIVE_SENDS_FIRST, "the active side sending first"},
	{PLX_CAP_SRQ, "shared receive queues"},
	{PLX_CAP_RNR, "RNR retries"},
	{PLX_CAP_SOLICITED, "solicited events"},
	{PLX_CAP_FENCE, "fences"},
	{PLX_CAP_MW, "memory windows"},
};

__attribute__((format(printf, 2, 3))) static const char *
say(char text[NEEDS_LEN], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, NEEDS_LEN, fmt, args);
	va_end(args);
	return text;
}

static unsigned int
lcores_in_a_row(void)
{
	unsigned int n = 0;

	while (n < RTE_MAX_LCORE && rte_lcore_is_enabled(n))
		n++;
	return rte_get_main_lcore() == 0 ? n : 0;
}

static const char *
cap_name(uint32_t caps)
{
	for (unsigned int i = 0; i < sizeof(cap_names) / sizeof(cap_names[0]); i++)
		if (caps & cap_names[i].cap)
			return cap_names[i].name;
	return "?";
}

static const char *
device_missing(uint32_t caps, char text[NEEDS_LEN])
{
	const char *name = plx_test_device();
	struct plx_device *dev = plx_device_open(name);

	if (dev == NULL)
		return say(text, "device %s: %s", name, rte_strerror(rte_errno));
	caps &= ~plx_device_caps(dev)->flags;
	plx_device_close(dev);
	return caps != 0 ? say(text, "%s: not on %s", cap_name(caps), name) : NULL;
}

const char *
needs_missing(const struct plx_suite *suite, char text[NEEDS_LEN])
{
	unsigned int lcores = lcores_in_a_row();

	if (suite->lcores > lcores)
		return say(text, "lcores 0 (main) to %u: there are %u", suite->lcores - 1, lcores);
	if (suite->hugepages && !rte_eal_has_hugepages())
		return say(text, "hugepages: EAL runs without");
	if (suite->root && geteuid() != 0)
		return say(text, "root: this is user %u", (unsigned int)geteuid());
	return suite->device ? device_missing(suite->caps, text) : NULL;
}

void
needs_text(const struct plx_suite *suite, char text[NEEDS_LEN])
{
	char lcores[16];

	snprintf(lcores, sizeof(lcores), " lcores=%u", suite->lcores);
	snprintf(text, NEEDS_LEN, "%s%s%s%s%s%s", suite->lcores != 0 ? lcores : "", suite->hugepages ? " hugepages" : "",
		suite->root ? " root" : "", suite->device ? " device" : "", suite->caps != 0 ? " with " : "",
		suite->caps != 0 ? cap_name(suite->caps) : "");
}
