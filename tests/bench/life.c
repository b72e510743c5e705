/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * B1, B2 and B8: an op's life on null in bursts of 32, of 1, and on loopback.
 */

#include "life.h"

#include <string.h>

#include "bench.h"

static void
life_bench(struct bench *b, const char *device, unsigned int burst, unsigned int ahead, uint64_t nb_ops)
{
	struct bench_rig rig;
	struct bench_raw_qp raw_qp;
	struct life_raw raw;
	struct life_plx plx;
	struct bench_work works[] = {
		{"raw", life_raw_run, &raw, 0},
		{"plx", life_plx_run, &plx, 0},
		{"poller", life_plx_run_poller, &plx, 0},
#ifdef LIFE_STATIC
		{"static", life_plx_run_static, &plx, 0}, /* null's table: last, for loopback goes without */
#endif
	};
	unsigned int nb_works = strcmp(device, "null0") == 0 ? RTE_DIM(works) : 3;

	bench_rig_make(&rig, &(struct bench_rig_conf){.device = device, .nb_conns = 1, .depth = LIFE_DEPTH,
				      .nb_ops = 4 * LIFE_DEPTH});
	bench_raw_qp_make(&raw_qp, device, LIFE_DEPTH);
	life_raw_make(&raw, &raw_qp, burst, ahead);
	life_plx_make(&plx, &rig, burst, ahead);
	if (bench_measure(b, works, nb_works, nb_ops, 2 * LIFE_BURST)) {
		bench_row(b);
		bench_put_works(works, nb_works);
		if (ahead != 0)
			bench_put("rate", works[0].ns / works[1].ns);
		bench_row_end();
	}
	life_raw_break(&raw);
	bench_raw_qp_break(&raw_qp);
	bench_rig_break(&rig);
}

void
bench_b1(struct bench *b)
{
	life_bench(b, "null0", LIFE_BURST, 0, 32768);
}

void
bench_b2(struct bench *b)
{
	life_bench(b, "null0", 1, 0, 16384);
}

void
bench_b8(struct bench *b)
{
	life_bench(b, "loopback0", LIFE_BURST, LIFE_DEPTH / LIFE_BURST - 1, 16384);
}
