/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_options.h - the command line of vsib-sim
 *
 *   sim_options_defaults() -> sim_options_parse() -> use
 *
 * The texts are argv's own and live as long as it does. Threads: main thread.
 */
#ifndef VSIB_TOOLS_REPLAY_SIM_OPTIONS_H
#define VSIB_TOOLS_REPLAY_SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/options.h"
#include "tools/replay/disturbance.h"
#include "tools/replay/made_feed.h"

enum sim_pace {
	SIM_PACE_NONE,
	SIM_PACE_SLEEP,
	SIM_PACE_PRECISE,
	SIM_PACE_AUTO, /* not said: as the destination is */
};

struct sim_options {
	const char *destination;
	uint64_t rate_bps;   /* 0 = none */
	int64_t duration_ns; /* 0 = no limit */
	uint64_t bytes;      /* 0 = no limit */
	enum made_format format;
	uint32_t frame_bytes;    /* 0 = not said */
	unsigned thread_count;   /* 0 = not said, as what follows */
	const char *station;     /* NULL = not said */
	unsigned bits, channels; /* channels: a power of two */
	int edv;                 /* -1 = not said */
	bool is_start_now;
	int64_t start_utc_ns; /* 0 = not said */
	uint64_t seed;
	double ppm;
	struct disturbance_config faults;
	enum sim_pace pace;
	unsigned burst;
	uint64_t ring_bytes; /* 0 = not said */
	bool use_force;
	bool is_list;
	const char *json;
	enum live_mode live;
	int64_t log_interval_ns;
};

void sim_options_defaults(struct sim_options *options);

/** sim_options_has_faults() - of those that befall single units: loss, duplicates, reordering, jitter, stalls */
bool sim_options_has_faults(const struct sim_options *options);

/**
 * sim_options_parse() - the command line
 * @error: OPTIONS_ERROR_LEN, the sentence when it doesn't work out
 *
 * --help and --version print and exit 0. Return: 0; EX_USAGE.
 */
int sim_options_parse(struct sim_options *options, int argc, char **argv, char *error);

#endif
