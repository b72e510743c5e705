/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Which of the things that reach a rule are hit. Nothing here depends on anything but its arguments: the same script
 * does the same in every run and in later versions.
 */

#include "fault_script.h"

uint64_t
fault_mix(uint64_t x)
{
	/* SplitMix64's finalizer (Steele, Lea, Flood 2014): a bijection. */
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

bool
fault_which_hits(const struct fault_which *which, uint64_t count)
{
	if (count < which->first || count > which->last)
		return false;
	if (which->seeded)
		return fault_mix(fault_mix(which->seed) + count) % which->nth == 0;
	return count % which->nth == 0;
}

uint32_t
fault_which_between(const struct fault_which *which, uint64_t count, uint32_t least, uint32_t most)
{
	/* Another sequence than the one that picks: ~ keeps the two apart. */
	return least + (uint32_t)(fault_mix(fault_mix(~(uint64_t)which->seed) + count) % (most - least + 1u));
}
