/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The windows of a pair: one on each region of a side, made when it is bound first, gone with the pair. Two keys of a side are
 * theirs:
 *
 *      bind-mw ---> window      the key of the side's last bind
 *                   oldwindow   the one before
 */

#include "conformance.h"

#include <rte_errno.h>

int
window_bind(struct pair *pair, const struct post *post, struct plx_wr *wr)
{
	const struct place *place = &post->sges[0];
	struct plx_mw **mw = &pair->mws[post->side][place->region];
	uint32_t *rkeys = pair->rkeys[post->side];
	int err;

	if (pair->mrs[post->side][place->region] == NULL)
		return -1;
	if (*mw == NULL)
		*mw = plx_mw_create(pair->mrs[post->side][place->region]);
	if (*mw == NULL)
		return -1;
	err = plx_mw_bind_wr(*mw, pair_addr(pair, post->side, place), place->len, post->rights, wr);
	if (err != 0)
		return err;
	wr->flags = post->flags;
	rkeys[REGION_OLDWINDOW] = rkeys[REGION_WINDOW];
	rkeys[REGION_WINDOW] = wr->rkey;
	return 0;
}

int
windows_drop(struct pair *pair)
{
	int err = 0;

	for (unsigned int side = 0; side < SIDES; side++) {
		for (unsigned int i = 0; i < NB_REGIONS; i++) {
			int left = plx_mw_destroy(pair->mws[side][i]);

			err = left != 0 ? left : err;
			pair->mws[side][i] = NULL;
		}
		pair->rkeys[side][REGION_WINDOW] = pair->rkeys[side][REGION_BADKEY];
		pair->rkeys[side][REGION_OLDWINDOW] = pair->rkeys[side][REGION_BADKEY];
	}
	return err;
}
