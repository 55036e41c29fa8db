/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay_shape.h - in which pieces a stream goes out: blocks, datagrams, lumps
 *
 *   replay_shape_begin() -> destination_open() -> replay_shape_finish() -> use
 *
 * Threads: pure, but for a look at savefiles. Errors: an exit status, and the sentence in shape->error.
 */
#ifndef VSIB_TOOLS_REPLAY_REPLAY_SHAPE_H
#define VSIB_TOOLS_REPLAY_REPLAY_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "drivers/destination.h"
#include "tools/replay/replay_input.h"
#include "tools/replay/replay_options.h"

#define REPLAY_SHAPE_ERROR_LEN 1200
#define REPLAY_SHAPE_TEXT_LEN 600

struct replay_shape {
	bool is_whole;      /* of savefiles, the packets as they are */
	int link_type;      /* of these, DLT_... */
	size_t frame_bytes; /* of datagrams cut from a stream; 0 = it isn't cut */
	size_t block_bytes;
	size_t lump_bytes;
	char text[REPLAY_SHAPE_TEXT_LEN]; /* what is played, for people */
	char error[REPLAY_SHAPE_ERROR_LEN];
};

/** replay_shape_begin() - what the destination has to know. Return: 0; the exit status. */
int replay_shape_begin(struct replay_shape *shape, const struct replay_input *input,
		       const struct replay_options *options);

/** replay_shape_finish() - what depends on it. Return: 0; the exit status. */
int replay_shape_finish(struct replay_shape *shape, const struct replay_input *input,
			const struct replay_options *options, const struct destination *destination);

#endif
