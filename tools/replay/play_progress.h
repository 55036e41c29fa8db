/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_progress.h - what the user sees while something is played
 *
 *   play_progress_begin() -> play_progress_events(), play_progress_tick(), play_progress_now() -> play_progress_end()
 *
 * On a terminal one live line, elsewhere one key=value line every interval, both as those of a recorder; events on lines
 * of their own, at most PLAY_PROGRESS_EVENTS a second. All to stderr, which is never waited for. Threads: the main thread.
 */
#ifndef VSIB_TOOLS_REPLAY_PLAY_PROGRESS_H
#define VSIB_TOOLS_REPLAY_PLAY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/replay/playback.h"

#define PLAY_PROGRESS_EVENTS 5

struct play_progress {
	struct playback *playback;
	bool is_line, is_log, is_line_shown;
	int64_t begin_ns, last_ns, last_log_ns;
	uint64_t last_bytes, last_count; /* sent, and paced, at the last tick */
	int64_t last_error_ns;           /* sum of schedule errors then */
	double rate_bps, error_s;        /* of the last second; the mean error */
	int64_t event_second;
	unsigned event_count;
	uint64_t hidden_count;
};

/** play_progress_begin() - and says what is about to be played, to where */
void play_progress_begin(struct play_progress *progress, struct playback *playback);

/** play_progress_events() - shows what has been said since; several times a second */
void play_progress_events(struct play_progress *progress);

/** play_progress_tick() - once a second */
void play_progress_tick(struct play_progress *progress);

/** play_progress_now() - a key=value line: USR1 */
void play_progress_now(struct play_progress *progress);

/** play_progress_end() - the last events, and the live line goes */
void play_progress_end(struct play_progress *progress);

#endif
