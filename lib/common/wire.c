/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

#include "wire.h"

#include <errno.h>
#include <string.h>

#define AT_VERSION 4
#define AT_LENGTH  6

void
wire_store(uint8_t *at, uint64_t value, unsigned int len)
{
	for (unsigned int i = 0; i < len; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

uint64_t
wire_load(const uint8_t *at, unsigned int len)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < len; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

void
wire_frame_store(uint8_t *to, const struct wire_frame *frame)
{
	memcpy(to, frame->magic, sizeof(frame->magic));
	wire_store(&to[AT_VERSION], frame->version, 2);
	wire_store(&to[AT_LENGTH], frame->len, 2);
}

int
wire_frame_check(const uint8_t *from, size_t len, const struct wire_frame *frame)
{
	if (len < WIRE_HEAD) /* shorter than the head of any version */
		return -ENODATA;
	if (memcmp(from, frame->magic, sizeof(frame->magic)) != 0)
		return -EBADMSG;
	if (wire_load(&from[AT_VERSION], 2) != frame->version)
		return -EPROTONOSUPPORT;
	if (wire_load(&from[AT_LENGTH], 2) != frame->len)
		return -EBADMSG;
	if (len < frame->len)
		return -ENODATA;
	return len > frame->len ? -E2BIG : 0;
}
