/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef APP_JSON_H
#define APP_JSON_H

/**
 * @file
 * What the apps share of writing JSON (RFC 8259).
 */

#include <stdio.h>

/** @p text as a string, quoted. Names come from users and drivers and may have anything in them. */
void app_json_string(const char *text, FILE *out);

#endif
