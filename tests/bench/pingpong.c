/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * B6: 8 bytes there and back over loopback, beside a bare cache line, and beside 8 bytes and a line that announces them. B7: 64 bytes to 1 MiB, beside one memcpy of them and
 * a cache line, between the same places. B12: B6 beside a flood, with a budget of 8 completions a turn, and the default.
 *
 * The asking lcore leads: it says in `mode` what the answering one does, and rounds take turns. All times are of round
 * trips; what is printed is half of one.
 */

#include <stdio.h>

#include <rte_pause.h>

#include "bench.h"
#include "bench_lcores.h"
#include "flood.h"
#include "line.h"
#include "pair.h"

#define PINGS 512 /* of a round */
#define BYTES (16u << 20) /* of a round, at most */

enum mode { MODE_LINE, MODE_CARGO, MODE_PAIR, MODE_END };

struct game {
	struct bench *b;
	struct pair pair;
	struct flood *flood; /**< B12 */
	struct line line;
	struct line_cargo cargo[2]; /**< of asking and answering lcore */
	uint64_t nb_pings;	    /**< of a round */
	uint32_t mode __rte_cache_aligned; /**< atomic */
	uint32_t answering;		   /**< atomic: the mode that the answering lcore is in */
	unsigned int twins;		   /**< 1 << MODE_LINE, 1 << MODE_CARGO */
	struct plx_hist *line_hist;
	struct plx_hist *cargo_hist;
	struct plx_hist *alone_hist;
	struct plx_hist *flood_hist;
};

/* ---- the answering lcore ------------------------------------------------------------------- */

static int
answer(void *arg)
{
	struct game *game = arg;
	struct pair_side *side = &game->pair.side[1];
	uint32_t mode;

	pair_begin(side);
	while ((mode = __atomic_load_n(&game->mode, __ATOMIC_ACQUIRE)) != MODE_END) {
		__atomic_store_n(&game->answering, mode, __ATOMIC_RELEASE);
		if (mode == MODE_LINE)
			line_answer(&game->line, NULL);
		else if (mode == MODE_CARGO)
			line_answer(&game->line, &game->cargo[1]);
		else
			plx_poller_once(side->poller);
	}
	pair_close(side);
	return 0;
}

/* ---- the asking lcore ---------------------------------------------------------------------- */

static void
set_mode(struct game *game, uint32_t mode)
{
	__atomic_store_n(&game->mode, mode, __ATOMIC_RELEASE);
	line_stop(&game->line);
	while (mode != MODE_END && __atomic_load_n(&game->answering, __ATOMIC_ACQUIRE) != mode)
		;
	game->line = (struct line){0};
}

static void
twin_round(struct game *game, enum mode mode, bool warm)
{
	if (!(game->twins & 1u << mode))
		return;
	set_mode(game, mode);
	if (mode == MODE_LINE)
		line_ask(&game->line, NULL, game->nb_pings, warm ? NULL : game->line_hist);
	else
		line_ask(&game->line, &game->cargo[0], game->nb_pings, warm ? NULL : game->cargo_hist);
	if (game->line.nb_torn != 0)
		bench_broken("what was copied is not what arrived");
}

static void
pair_round(struct game *game, struct plx_hist *hist, bool warm)
{
	set_mode(game, MODE_PAIR);
	game->pair.hist = warm ? NULL : hist;
	pair_play(&game->pair, game->nb_pings);
}

static int
ask(void *arg)
{
	struct game *game = arg;

	pair_begin(&game->pair.side[0]);
	for (unsigned int round = 0; round <= game->b->rounds; round++) {
		bool warm = round == 0;

		twin_round(game, MODE_LINE, warm);
		twin_round(game, MODE_CARGO, warm);
		pair_round(game, game->alone_hist, warm);
		if (game->flood == NULL)
			continue;
		flood_begin(game->flood);
		pair_round(game, game->flood_hist, warm);
		flood_end(game->flood);
	}
	set_mode(game, MODE_END);
	if (game->flood != NULL)
		flood_close(game->flood);
	pair_close(&game->pair.side[0]);
	return 0;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/** NAME_p50 and so on: halves of round trips. */
static void
put_hist(const char *name, const struct plx_hist *hist)
{
	static const double percents[] = {0, 50, 99, 99.9, 100};
	static const char *const texts[] = {"min", "p50", "p99", "p99_9", "max"};
	char key[64];

	for (unsigned int i = 0; i < RTE_DIM(percents); i++) {
		snprintf(key, sizeof(key), "%s_%s", name, texts[i]);
		bench_put(key, bench_percentile_ns(hist, percents[i]) / 2);
	}
}

static void
put_ratio(const char *key, const struct plx_hist *above, const struct plx_hist *below, double percent)
{
	bench_put(key, bench_percentile_ns(above, percent) / bench_percentile_ns(below, percent));
}

/** The twin's copies go from where the product sends to where it receives. */
static void
cargo_make(struct game *game)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct pair_side *side = &game->pair.side[i], *other = &game->pair.side[1 - i];

		game->cargo[i] = (struct line_cargo){.from = pair_from(side, 0),
			.to = pair_into(other, 0),
			.into = pair_into(side, 0),
			.place = game->pair.place,
			.len = game->pair.len,
			.nb = PAIR_RECVS};
	}
}

static void
play(struct game *game, struct bench *b, uint32_t len, unsigned int twins, struct flood *flood)
{
	*game = (struct game){
		.b = b, .flood = flood, .nb_pings = RTE_MIN(PINGS, BYTES / 2 / len), .twins = twins, .answering = MODE_END};
	game->line_hist = bench_hist();
	game->cargo_hist = bench_hist();
	game->alone_hist = bench_hist();
	game->flood_hist = bench_hist();
	pair_make(&game->pair, len, flood != NULL ? FLOOD_CQES : 0);
	cargo_make(game);
	if (flood != NULL)
		flood_make(flood, &game->pair);
	bench_run_lcores(ask, answer, game);
	if (flood != NULL)
		flood_break(flood);
	pair_break(&game->pair);
}

static void
game_free(struct game *game)
{
	free(game->line_hist);
	free(game->cargo_hist);
	free(game->alone_hist);
	free(game->flood_hist);
}

void
bench_b6(struct bench *b)
{
	static struct game game;

	if (b->count)
		return; /* two lcores */
	play(&game, b, PAIR_LEN, 1u << MODE_LINE | 1u << MODE_CARGO, NULL);
	bench_row(b);
	bench_put("raw", bench_percentile_ns(game.line_hist, 50) / 2);
	bench_put("plx", bench_percentile_ns(game.alone_hist, 50) / 2);
	put_ratio("ratio", game.alone_hist, game.line_hist, 50);
	bench_put("cargo", bench_percentile_ns(game.cargo_hist, 50) / 2);
	put_ratio("ratio_cargo", game.alone_hist, game.cargo_hist, 50);
	put_hist("raw", game.line_hist);
	put_hist("plx", game.alone_hist);
	put_ratio("ratio_p99", game.alone_hist, game.line_hist, 99);
	bench_put("samples", (double)game.alone_hist->count);
	bench_row_end();
	game_free(&game);
}

/** One length: medians, and by how much one memcpy with a cache line is faster. */
static void
put_len(const struct game *game, uint32_t len)
{
	double raw = bench_percentile_ns(game->cargo_hist, 50) / 2, plx = bench_percentile_ns(game->alone_hist, 50) / 2;
	char key[32];

	snprintf(key, sizeof(key), "raw_%u", len);
	bench_put(key, raw);
	snprintf(key, sizeof(key), "plx_%u", len);
	bench_put(key, plx);
	snprintf(key, sizeof(key), "rate_%u", len);
	bench_put(key, raw / plx);
	snprintf(key, sizeof(key), "gbytes_%u", len);
	bench_put(key, len / plx);
}

void
bench_b7(struct bench *b)
{
	static const uint32_t lens[] = {64, 512, 4096, 65536, 1u << 20};
	static struct game game;

	if (b->count)
		return;
	bench_row(b);
	for (unsigned int i = 0; i < RTE_DIM(lens); i++) {
		play(&game, b, lens[i], 1u << MODE_CARGO, NULL);
		put_len(&game, lens[i]);
		game_free(&game);
	}
	bench_row_end();
}

void
bench_b12(struct bench *b)
{
	static struct game game;
	static struct flood flood;

	if (b->count)
		return;
	bench_row(b);
	flood.budget = 8;
	play(&game, b, PAIR_LEN, 1u << MODE_LINE, &flood);
	bench_put("raw", bench_percentile_ns(game.alone_hist, 99) / 2);
	bench_put("plx", bench_percentile_ns(game.flood_hist, 99) / 2);
	put_ratio("ratio", game.flood_hist, game.alone_hist, 99);
	put_hist("line", game.line_hist);
	put_hist("alone", game.alone_hist);
	put_hist("flooded", game.flood_hist);
	put_ratio("ratio_p50", game.flood_hist, game.alone_hist, 50);
	bench_put("samples", (double)game.flood_hist->count);
	bench_put("flood_writes", (double)flood.nb_done);
	game_free(&game);

	flood.budget = 0;
	play(&game, b, PAIR_LEN, 1u << MODE_LINE, &flood);
	put_ratio("ratio_default", game.flood_hist, game.alone_hist, 99);
	bench_put("flood_writes_default", (double)flood.nb_done);
	game_free(&game);
	bench_row_end();
}
