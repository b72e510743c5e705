/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/* Does not stand alone; check.sh must say so. */
struct not_alone {
	uint64_t word;
};
