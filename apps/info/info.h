/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef INFO_H
#define INFO_H

/**
 * @file
 * What plx-info knows the names of, and the two ways in which it prints a device: for people and for programs.
 * Both ask the device themselves and print the same; tests/install holds one against the other.
 */

#include <stdio.h>

#include "plx_driver.h" /* the name of an open device's driver */

/** A bit and the word that is printed for it; a table ends with a NULL name. */
struct info_word {
	uint32_t bit;
	const char *name;
};

extern const struct info_word info_transports[];
extern const struct info_word info_flags[];

/** A limit: as people read it, as JSON has it. */
struct info_limit {
	const char *name;
	const char *key;
	uint64_t value;
};

#define INFO_NB_LIMITS 14

void info_limits(const struct plx_device_caps *caps, struct info_limit limits[INFO_NB_LIMITS]);

/** Whether atomics are among what can be posted, so that their byte order means something. */
bool info_has_atomics(const struct plx_device_caps *caps);

/** "active", "Ethernet", "host order", ... */
const char *info_port_state(const struct plx_port_attr *attr);
const char *info_link_layer(const struct plx_port_attr *attr);
const char *info_atomic_order(const struct plx_device_caps *caps);

/** @p dev as lines of text, or as one JSON object. */
void info_text(struct plx_device *dev, FILE *out);
void info_json(struct plx_device *dev, FILE *out);

#endif
