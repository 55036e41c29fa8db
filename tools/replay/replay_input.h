/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_input.h - what is to be played: which kind of thing it is, where its data begin and end, and when they are due
 *
 *   replay_input_open() -> replay_input_look() -> replay_input_plan() -> replay_input_feed() -> ... replay_input_close()
 *
 * Threads: main thread; the recording is the feed's from feed_start() on (tape_feed.h).
 * Errors:  an exit status, and the sentence in input->error.
 */
#ifndef VSIB_TOOLS_REPLAY_REPLAY_INPUT_H
#define VSIB_TOOLS_REPLAY_REPLAY_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/source.h"
#include "tools/format.h"
#include "tools/recording.h"
#include "tools/replay/feed.h"
#include "tools/replay/packet_feed.h"
#include "tools/replay/replay_options.h"
#include "tools/replay/schedule.h"
#include "tools/replay/tape_feed.h"

#define REPLAY_INPUT_ERROR_LEN 1200

enum replay_kind {
	REPLAY_RECORDING,
	REPLAY_FILES,
	REPLAY_SAVEFILES, /* given, or a recording of layout pcap */
	REPLAY_STREAM,    /* standard input, or what else can only be read once */
};

struct replay_input {
	enum replay_kind kind;
	char error[REPLAY_INPUT_ERROR_LEN];
	struct recording *recording; /* REPLAY_RECORDING, and savefiles of one */
	const char **files;          /* REPLAY_FILES, REPLAY_SAVEFILES */
	size_t file_count;
	bool has_own_files; /* their names are ours */
	uint64_t *ends;     /* REPLAY_FILES: where each ends in the stream */
	struct source *source;
	uint64_t stream_bytes;       /* REPLAY_RECORDING, REPLAY_FILES */
	struct format_layout layout; /* FORMAT_UNKNOWN: not a format with frames, or not looked for */
	uint64_t frame_offset;       /* of the first stride in the stream */
	unsigned char *head;         /* room for a frame's begin: layout.need_bytes */
	uint64_t start_offset, stop_offset; /* of replay_input_plan(); UINT64_MAX = to the end */
};

/** replay_input_open() - find it; settles options->arguments where a recording is meant. Return: 0; the exit status. */
int replay_input_open(struct replay_input *input, struct replay_options *options);

/** replay_input_look() - at its begin, for a format: frames and their time codes. Never an error: there may be none */
void replay_input_look(struct replay_input *input);

/**
 * replay_input_plan() - where to begin and to end, and when each byte is due
 * @schedule: set; schedule_free() it in every case
 *
 * Return: 0; the exit status: data that don't tell a time, a place that is not there.
 */
int replay_input_plan(struct replay_input *input, const struct replay_options *options,
		      struct schedule *schedule);

/**
 * replay_input_feed() - the feed for it
 * @is_whole:  of savefiles, whole packets are wanted
 * @memory:    of the ring
 *
 * Return: 0; the exit status.
 */
int replay_input_feed(struct replay_input *input, const struct replay_options *options,
		      const struct feed_config *config, bool is_whole, void *memory,
		      size_t memory_bytes, struct feed **feed);

/** replay_input_close() - after feed_free(); a zeroed one is fine */
void replay_input_close(struct replay_input *input);

/** replay_kind_name() - "recording", "files", "savefiles", "stream" */
const char *replay_kind_name(enum replay_kind kind);

#endif
