/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dry_run.h - how fast can it be read? A destination that only looks at the clock, and what follows from it
 *
 *   dry_run_destination() -> played without pace -> dry_run_judge()
 *
 * Threads: the destination's are the player's; judging when it has ended.
 */
#ifndef VSIB_TOOLS_REPLAY_DRY_RUN_H
#define VSIB_TOOLS_REPLAY_DRY_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/destination.h"
#include "tools/replay/feed.h"

#define DRY_RUN_NS INT64_C(30000000000) /* usual length */
#define DRY_RUN_MARGIN \
	1.25 /* what can be read, to what is to be played: a disk is not always at its best */

struct dry_run {
	uint64_t wanted_bps; /* 0 = nobody said */
	/* of the destination */
	int64_t window_ns; /* when this second began; 0 = not yet */
	uint64_t window_bytes;
	double slowest_bps; /* of whole seconds; 0 = there was none */
	double slowest_at_s;
	int64_t begin_ns;
	/* of dry_run_judge() */
	double read_bps; /* all that was read, by the time it took */
	bool is_enough;
};

/** dry_run_destination() - @dry_run lives until it is closed. Return: as destination_open(). */
int dry_run_destination(struct destination **out, struct dry_run *dry_run);

/**
 * dry_run_judge() - @duration_ns: from the first read on
 *
 * Enough: on average DRY_RUN_MARGIN times the rate, and no second below it by more than the ring's length covers.
 */
void dry_run_judge(struct dry_run *dry_run, const struct feed *feed, int64_t duration_ns,
		   uint64_t ring_bytes);

#endif
