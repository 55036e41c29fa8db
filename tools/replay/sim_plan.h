/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_plan.h - from what vsib-sim was asked for, and where to, to what it does
 *
 *   sim_options_parse() -> sim_plan_check() -> destination_open() -> sim_plan_make() -> a feed, a schedule, a player
 *
 * Threads: pure functions.
 */
#ifndef VSIB_TOOLS_REPLAY_SIM_PLAN_H
#define VSIB_TOOLS_REPLAY_SIM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/destination.h"
#include "tools/replay/made_feed.h"
#include "tools/replay/sim_options.h"

#define SIM_PLAN_TEXT_LEN 256

struct sim_plan {
	struct made_layout layout; /* complete */
	uint64_t stream_bytes;     /* 0 = without end */
	bool is_units;             /* the destination takes datagrams */
	uint32_t unit_bytes;       /* of these */
	size_t lump_bytes;         /* of a stream: at once */
	bool is_paced;
	int64_t start_utc_ns;         /* the first unit goes out then; 0 = at once */
	int64_t limit_ns;             /* -d, where no rate makes bytes of it; 0 = none */
	char text[SIM_PLAN_TEXT_LEN]; /* what it is, for people */
};

/** sim_plan_block_bytes() - of the ring, so that each holds a frame */
size_t sim_plan_block_bytes(const struct sim_options *options);

/**
 * sim_plan_make() - @destination: opened
 * @now_utc_ns: CLOCK_REALTIME
 * @error:      MADE_ERROR_LEN
 *
 * Return: 0; -EINVAL with the sentence.
 */
int sim_plan_make(struct sim_plan *plan, const struct sim_options *options,
		  const struct destination *destination, int64_t now_utc_ns, char *error);

/** sim_plan_check() - before a file is made: would there be a plan for it? Other destinations leave nothing. As above. */
int sim_plan_check(const struct sim_options *options, int64_t now_utc_ns, char *error);

#endif
