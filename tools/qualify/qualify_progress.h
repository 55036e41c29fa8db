/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qualify_progress.h - what the operator sees while a qualification runs
 *
 *   qualify_progress_init() -> { qualify_progress_step() -> qualify_progress_tell() ... } ... -> qualify_progress_end()
 *
 * On a terminal one live line, elsewhere a key=value line for each step and every 10 s; all of it to stderr, which is
 * never waited for. Threads: the main thread.
 */
#ifndef VSIB_TOOLS_QUALIFY_QUALIFY_PROGRESS_H
#define VSIB_TOOLS_QUALIFY_QUALIFY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/options.h"
#include "tools/qualify/plan.h"
#include "tools/qualify/trial_control.h"

struct qualify_progress {
	const struct plan *plan;
	const struct trial *trial; /* for the disks' names */
	bool is_line, is_log;
	bool is_line_shown;
	unsigned step;    /* index; plan->count = over */
	int64_t begin_ns; /* CLOCK_MONOTONIC */
	int64_t shown_ns;
	int64_t worst_ns;         /* of all writes so far */
	uint64_t ring_high_bytes; /* of this step */
};

/** qualify_progress_init() - @mode: LIVE_NONE and nothing is said */
void qualify_progress_init(struct qualify_progress *progress, enum live_mode mode,
			   const struct plan *plan, const struct trial *trial);

/** qualify_progress_step() - this step begins; the count of steps: there is none any more */
void qualify_progress_step(struct qualify_progress *progress, unsigned step);

/** qualify_progress_tell() - a phase has said how far it is */
void qualify_progress_tell(struct qualify_progress *progress, const struct trial_progress *told,
			   bool is_asked);

/** qualify_progress_end() - takes the live line away before other words */
void qualify_progress_end(struct qualify_progress *progress);

#endif
