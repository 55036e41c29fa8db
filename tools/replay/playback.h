/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * playback.h - what the programs that play have in common: ring, feed, player and destination, from set-up to exit status
 *
 *   main(): host_run(work, context, about)                                                  recorder/host.h
 *   work(): fill in "of the program"
 *           playback_open()    places of reports, signals, memory, ring
 *           a feed by its create function with playback_feed_config(), destination_open(), a schedule, player_config
 *           playback_run()     plays, with the live line, signals and limits
 *           play_report_text(), playback_json() and what the program adds to it
 *           playback_close()
 *
 * Each of open and run returns 0, or an exit status when nothing was played: then playback->error is the sentence, and
 * playback_close() with no report is all that is left to do.
 *
 * Signals: the first of INT, TERM, HUP, QUIT stops the player, and what the device has goes out; the second, some time
 *          later, waits for nothing any more. USR1 prints a key=value line.
 * Threads: the program's main thread; the feed's, the player's and the signals' may use playback_say().
 */
#ifndef VSIB_TOOLS_REPLAY_PLAYBACK_H
#define VSIB_TOOLS_REPLAY_PLAYBACK_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/options.h"
#include "ringbuf/memory.h"
#include "tools/end_signals.h"
#include "tools/replay/feed.h"
#include "tools/replay/play_events.h"
#include "tools/replay/player.h"

#define PLAYBACK_ERROR_LEN 1536
#define PLAYBACK_STOPPED_STATUS 2

enum playback_outcome {
	PLAYBACK_COMPLETE,
	PLAYBACK_LOSS, /* gaps, underruns, a rest of less than a frame, an input that is damaged */
	PLAYBACK_STOPPED,
};

enum playback_reason {
	PLAYBACK_END,         /* all was played */
	PLAYBACK_SIGNAL,      /* the first one */
	PLAYBACK_DURATION,    /* limit_ns */
	PLAYBACK_DESTINATION, /* it took nothing more: player->error */
	PLAYBACK_INPUT,       /* it gave nothing more: feed->error */
	PLAYBACK_ABORT,       /* the second signal */
};

struct playback {
	/* of the program, before playback_open() */
	const char *program; /* "vsib-sim": in front of its sentences */
	const char *json;    /* report: file, "-" or NULL */
	uint64_t ring_bytes; /* wanted; open makes it whole blocks */
	bool is_ring_default; /* nobody asked for just this: a smaller one does, where it doesn't fit */
	size_t block_bytes; /* whole pages */
	bool use_lock;      /* keep the ring out of swap */
	enum live_mode live;
	int64_t log_interval_ns; /* of key=value lines */

	/* of the program, before playback_run(); playback_close() frees the feed and closes the destination */
	const char *input; /* for people: "recording x", "VDIF frames" */
	struct feed *feed;
	struct destination *destination;
	struct player_config player_config; /* ring, destination, say and context are filled in by run */
	bool is_endless;  /* there is no end but a signal: that is the normal one */
	int64_t limit_ns; /* the normal end is so long after the start; 0 = none */

	/* of playback_open() */
	struct memory memory;
	struct ring *ring;
	struct end_signals signals;

	/* of playback_run() */
	struct player *player;
	enum playback_outcome outcome;
	enum playback_reason reason;
	int exit_status;
	bool is_held; /* a thread is held by the kernel and still uses all this */
	char error[PLAYBACK_ERROR_LEN];

	/* private */
	struct play_events events;
	_Atomic(struct player *) running; /* for the signals' thread */
	_Atomic bool is_ending, is_aborting;
	bool is_limit_over;
};

/** playback_open() - Return: 0; EX_CANTCREAT, EX_NOPERM, EX_IOERR the JSON report; EX_CONFIG memory; EX_OSERR. */
int playback_open(struct playback *playback);

/** playback_feed_config() - for the feed's create function */
struct feed_config playback_feed_config(struct playback *playback);

/**
 * playback_run() - from the first block to the last unit
 *
 * Return: 0: it has played: outcome, reason and exit_status say how, 0, 1, 2 or EX_NOINPUT (not one byte came); else an
 *         exit status and the sentence in error.
 */
int playback_run(struct playback *playback);

/** playback_refuse() - keep the sentence for the user. Return: @exit_status. */
int playback_refuse(struct playback *playback, int exit_status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** playback_say() - an event: shown at once, at most some a second. Any thread; the say() of feed and player. */
void playback_say(void *playback, const char *sentence);

/**
 * playback_json() - the report that all programs have in common, to be added to
 * @schema: "vsib-sim/1"
 *
 * After playback_run(). Return: for playback_close(); NULL: no memory.
 */
json_t *playback_json(const struct playback *playback, const char *schema);

/**
 * playback_close() - the report goes out, the status to the parent process, and all is freed
 * @report: taken; NULL: none. Written when playback->json says where
 * @status: playback_run()'s exit_status, or of what was refused
 *
 * Does not return while playback->is_held. Return: the exit status, another one if the report could not be written.
 */
int playback_close(struct playback *playback, json_t *report, int status);

/** playback_destination_status() - exit status of a destination that could not be opened or started; @error: -errno */
int playback_destination_status(int error);

/** playback_outcome_name() - "complete", "loss", "stopped"; playback_reason_name() - "end", "signal" ... */
const char *playback_outcome_name(enum playback_outcome outcome);
const char *playback_reason_name(enum playback_reason reason);

/** playback_duration_ns() - from the first unit to the end, or to now */
int64_t playback_duration_ns(const struct playback *playback);

#endif
