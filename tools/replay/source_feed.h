/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_feed.h - a source of drivers/source.h as a feed: stdin, a FIFO, the simulator
 *
 * A block is given to the player when it is full, or when its first byte has been waiting for SOURCE_FEED_NS: a slow stream is not kept
 * back. What the source lost is BLOCK_GAP.
 */
#ifndef VSIB_TOOLS_REPLAY_SOURCE_FEED_H
#define VSIB_TOOLS_REPLAY_SOURCE_FEED_H

#include "drivers/source.h"
#include "tools/replay/feed.h"

#define SOURCE_FEED_NS INT64_C(100000000)

struct source_feed_config {
	struct source *source; /* opened, not started; stays the caller's */
	uint64_t start_offset; /* bytes before this are read and thrown away */
	uint64_t stop_offset;  /* UINT64_MAX = to the end */
};

/** source_feed_create() - Return: 0; -ENOMEM. */
int source_feed_create(struct feed **out, const struct feed_config *config,
		       const struct source_feed_config *source);

#endif
