/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Which drivers there are, and how a name becomes an open device:
 *
 *      "loopback0,max_cqe=64"  -->  match("loopback0")  -->  keys known?  -->  open(name, kvargs)
 *
 * Threads: register at start-up, then any.
 */

#include "device_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVERS_MAX 32 /* registered by hand, each a folder somebody wrote */

static const struct plx_driver *drivers[DRIVERS_MAX];
static unsigned int nb_drivers;

int
plx_device_register(const struct plx_driver *driver)
{
	if (driver->name == NULL || driver->match == NULL || driver->open == NULL) {
		PLX_LOG(ERR, "driver %.63s: it has no %s", driver->name != NULL ? driver->name : "without a name",
			driver->name == NULL ? "name" : driver->match == NULL ? "match" : "open");
		return -EINVAL;
	}
	for (unsigned int i = 0; i < nb_drivers; i++) {
		if (strcmp(drivers[i]->name, driver->name) == 0)
			return -EEXIST;
	}
	if (nb_drivers == DRIVERS_MAX) {
		PLX_LOG(ERR, "driver %.63s: %u are registered, and no more fit", driver->name, nb_drivers);
		return -ENOSPC;
	}
	drivers[nb_drivers++] = driver;
	return 0;
}

int
plx_device_list(struct plx_device_info *infos, unsigned int n)
{
	unsigned int total = 0;

	for (unsigned int i = 0; i < nb_drivers; i++) {
		unsigned int room = total < n ? n - total : 0;
		int got = drivers[i]->list == NULL ? 0 :
			drivers[i]->list(room > 0 ? &infos[total] : NULL, room);

		if (got < 0) { /* one driver without hardware must not hide the others */
			PLX_LOG(WARNING, "driver %s cannot list its devices: %s", drivers[i]->name,
				strerror(-got));
			continue;
		}
		for (unsigned int k = 0; k < room && k < (unsigned int)got; k++)
			infos[total + k].driver = drivers[i]->name;
		total += got;
	}
	return total;
}

static const struct plx_driver *
driver_find(const char *name)
{
	for (unsigned int i = 0; i < nb_drivers; i++) {
		if (drivers[i]->match(name))
			return drivers[i];
	}
	return NULL;
}

static bool
key_known(const struct plx_driver *driver, const char *key)
{
	for (const char *const *known = driver->keys; known != NULL && *known != NULL; known++) {
		if (strcmp(*known, key) == 0)
			return true;
	}
	return false;
}

/** "a, b, c" of the keys that @p driver knows, for a log line. */
static void
keys_print(const struct plx_driver *driver, char *text, size_t size)
{
	size_t at = 0;

	snprintf(text, size, "none");
	for (const char *const *key = driver->keys; key != NULL && *key != NULL && at < size; key++)
		at += snprintf(text + at, size - at, "%s%s", at > 0 ? ", " : "", *key);
}

/** Every key known and given once, each with a value; rte_kvargs alone would not say which is wrong. */
static int
keys_check(const struct plx_driver *driver, const char *name, const struct rte_kvargs *args)
{
	for (unsigned int i = 0; i < args->count; i++) {
		const char *key = args->pairs[i].key;

		if (!key_known(driver, key)) {
			char known[512];

			keys_print(driver, known, sizeof(known));
			PLX_LOG(ERR, "device %s: unknown key \"%.63s\"; %s knows: %s", name, key, driver->name, known);
			return -EINVAL;
		}
		if (rte_kvargs_count(args, key) != 1) {
			PLX_LOG(ERR, "device %s: key \"%.63s\" is given %u times", name, key,
				rte_kvargs_count(args, key));
			return -EINVAL;
		}
		if (args->pairs[i].value == NULL || args->pairs[i].value[0] == '\0') {
			PLX_LOG(ERR, "device %s: key \"%.63s\" has no value", name, key);
			return -EINVAL;
		}
	}
	return 0;
}

static struct plx_device *
driver_open(const struct plx_driver *driver, const char *name, struct rte_kvargs *args)
{
	struct plx_device *dev;

	if (args != NULL && keys_check(driver, name, args) != 0)
		return device_fail(EINVAL);
	dev = driver->open(name, args);
	if (dev != NULL)
		plx_device_init(dev, driver, name);
	return dev;
}

struct plx_device *
plx_device_open(const char *name_and_args)
{
	size_t len = name_and_args != NULL ? strcspn(name_and_args, ",") : 0;
	const char *text;
	const struct plx_driver *driver;
	struct rte_kvargs *args = NULL;
	struct plx_device *dev;
	char name[PLX_NAME_LEN];
	int err;

	if (len == 0) {
		PLX_LOG(ERR, "no device name");
		return device_fail(ENODEV);
	}
	text = name_and_args[len] == ',' ? &name_and_args[len + 1] : "";
	if (len >= sizeof(name)) {
		PLX_LOG(ERR, "device name of %zu bytes; at most %zu", len, sizeof(name) - 1);
		return device_fail(ENODEV);
	}
	memcpy(name, name_and_args, len);
	name[len] = '\0';
	driver = driver_find(name);
	if (driver == NULL) {
		PLX_LOG(ERR, "no device \"%s\" (asked %u drivers)", name, nb_drivers);
		return device_fail(ENODEV);
	}
	if (text[0] != '\0') {
		args = rte_kvargs_parse(text, NULL);
		if (args == NULL) {
			PLX_LOG(ERR, "device %s: \"%.63s\" is no key=value list", name, text);
			return device_fail(EINVAL);
		}
	}
	dev = driver_open(driver, name, args);
	err = rte_errno;
	rte_kvargs_free(args);
	rte_errno = err; /* free() may have changed errno's neighbours; the cause must survive */
	return dev;
}

/* ---- devargs ------------------------------------------------------------------------------- */

int
plx_kvargs_u64(struct rte_kvargs *args, const char *key, uint64_t min, uint64_t max, uint64_t def,
	uint64_t *value)
{
	const char *text = args == NULL ? NULL : rte_kvargs_get(args, key);
	char *end;

	*value = def;
	if (text == NULL)
		return 0;
	errno = 0;
	*value = strtoull(text, &end, 0);
	/* strtoull() reads "-1" as the largest number. */
	if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL || *value < min ||
		*value > max) {
		PLX_LOG(ERR, "devarg %s=%.63s: want a number from %" PRIu64 " to %" PRIu64, key, text, min, max);
		return -EINVAL;
	}
	return 0;
}

int
plx_kvargs_choice(struct rte_kvargs *args, const char *key, const char *const *choices, unsigned int def)
{
	const char *text = args == NULL ? NULL : rte_kvargs_get(args, key);
	char list[256] = "";

	if (text == NULL)
		return def;
	for (int i = 0; choices[i] != NULL; i++) {
		if (strcmp(choices[i], text) == 0)
			return i;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i > 0 ? ", " : "", choices[i]);
	}
	PLX_LOG(ERR, "devarg %s=%.63s: not one of %s", key, text, list);
	return -EINVAL;
}
