/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_options.h - the command line of vsib-replay
 *
 *   replay_options_parse() -> use -> replay_options_free()
 *
 * The texts are argv's own and live as long as it does. Threads: main thread.
 */
#ifndef VSIB_TOOLS_REPLAY_REPLAY_OPTIONS_H
#define VSIB_TOOLS_REPLAY_REPLAY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/engine.h"
#include "recorder/options.h"
#include "tools/arguments.h"
#include "tools/gather.h"

/* A place in the stream, as people say it. */
struct replay_place {
	enum { REPLAY_PLACE_NONE, REPLAY_PLACE_BYTES, REPLAY_PLACE_TIME, REPLAY_PLACE_UTC } kind;
	uint64_t bytes;
	int64_t ns; /* behind the stream's begin, or since 1970 */
};

enum replay_gaps { REPLAY_GAPS_TIME, REPLAY_GAPS_FILL, REPLAY_GAPS_SKIP };

struct replay_options {
	struct arguments arguments; /* with round_bytes its targets are templates */
	uint64_t round_bytes;       /* 0: not --round */
	const char *destination;    /* NULL: only with is_dry_run */
	uint64_t rate_bps;          /* 0 = none */
	bool is_as_recorded;
	double speed;        /* with is_as_recorded; 1 = as it was */
	unsigned frame_rate; /* frames a second of each thread; 0 = as the data say */
	struct replay_place start, stop;
	uint64_t loop_count; /* 0 = until it is stopped */
	int64_t at_utc_ns;   /* the first byte goes out then; 0 = at once */
	int64_t duration_ns; /* 0 = all */
	enum replay_gaps gaps;
	enum gather_fill fill; /* GATHER_PATTERN or GATHER_VDIF: what stands for gaps with REPLAY_GAPS_FILL */
	uint16_t port;      /* of a savefile's datagrams; 0 = any */
	const char *filter; /* of a savefile's packets; NULL = all */
	bool is_precise;
	int64_t grain_ns; /* see struct player_config */
	unsigned burst;
	uint64_t lump_bytes; /* 0 = by the rate */
	int64_t patience_ns;
	uint64_t ring_bytes, block_bytes; /* block 0 = chosen */
	unsigned depth;                   /* 0 = chosen */
	enum engine_kind engine;
	bool use_direct, is_verified;
	bool is_forced;
	bool is_dry_run;
	const char *json; /* file, "-" or NULL */
	enum live_mode live;
	bool is_quiet;
};

/**
 * replay_options_parse() - the command line
 * @error: OPTIONS_ERROR_LEN, the sentence when it doesn't work out
 *
 * --help and --version print and exit 0; an unknown option prints and exits 64, as argp does it.
 * Return: 0, or 64 for a bad value or values that don't go together.
 */
int replay_options_parse(struct replay_options *options, int argc, char **argv, char *error);

void replay_options_free(struct replay_options *options);

#endif
