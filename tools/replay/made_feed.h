/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * made_feed.h - the simulator as a feed: its pattern as it is, or in frames of VDIF or Mark5B with their time codes
 *
 *   made_layout_complete() -> made_feed_create() -> feed_start() ... feed_free()
 *
 * What lies in the frames, in their order, is the simulator's pattern (drivers/sim.h) from its begin on. Frames of several
 * threads take turns. As units (is_units) each frame is a packet of BLOCK_PACKETS and has its own time for a stamp; else
 * blocks hold whole frames, one behind the other.
 *
 * Threads: see feed.h; made_layout_...() are pure.
 */
#ifndef VSIB_TOOLS_REPLAY_MADE_FEED_H
#define VSIB_TOOLS_REPLAY_MADE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/vdif.h"
#include "tools/replay/feed.h"

#define MADE_ERROR_LEN 512
#define MADE_FRAME_BYTES_MAX (UINT32_C(1) << 20)

enum made_format {
	MADE_RAW, /* pieces of frame_bytes without a header */
	MADE_VDIF,
	MADE_MARK5B,
};

/* How frames follow each other. */
struct made_layout {
	enum made_format format;
	uint64_t rate_bps; /* of the samples, without headers; 0 = none: RAW only, and no time is known */
	uint32_t frame_bytes;    /* with its header */
	unsigned thread_count;   /* VDIF: 1 .. 1024 */
	struct vdif_header vdif; /* VDIF: bits, channels_log2, edv, station, version */
	bool is_edv_free; /* VDIF: any edv does: the one that tells the sample rate, where it can be told */
	int64_t start_utc_ns; /* wanted; complete makes it the moment of the frame that begins then or was the last to begin */

	/* of made_layout_complete() */
	uint32_t header_bytes, payload_bytes;
	uint32_t frame_rate;  /* VDIF, Mark5B: frames a second of each thread */
	uint64_t stream_bps;  /* with headers; 0 = no rate */
	uint32_t first_frame; /* in the second of the start */
};

/**
 * made_layout_complete() - is that possible, and what follows from it?
 * @error: MADE_ERROR_LEN
 *
 * Return: 0; -EINVAL with a sentence that says what would do.
 */
int made_layout_complete(struct made_layout *layout, char *error);

/** made_layout_utc_ns() - when a frame, counted over all threads from 0, is due: evenly, also where threads share a time code */
int64_t made_layout_utc_ns(const struct made_layout *layout, uint64_t frame);

/** made_layout_put() - one frame: @data has frame_bytes */
void made_layout_put(const struct made_layout *layout, uint64_t frame, uint64_t seed, void *data);

struct made_feed_config {
	const struct made_layout *layout; /* complete; lives as long as the feed */
	uint64_t stream_bytes; /* whole frames, or any number of RAW as a stream; 0 = until it is stopped */
	uint64_t seed;
	bool is_units; /* BLOCK_PACKETS */
	uint32_t unit_bytes; /* with is_units: a part of frame_bytes, so that several make a frame; 0 = whole frames */
};

/** made_feed_create() - @config->ring has blocks of at least a frame. Return: 0; -EINVAL: it hasn't, or no whole frames; -ENOMEM. */
int made_feed_create(struct feed **out, const struct feed_config *config,
		     const struct made_feed_config *made);

#endif
