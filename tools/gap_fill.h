/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gap_fill.h - bytes in the place of those that are not there, so that time stays true
 *
 *   gap_fill_init() -> { gap_fill_pass() the stream ... at a gap: gap_fill_begin() -> gap_fill_put() all of it } ... ->
 *   gap_fill_end()
 *
 * Threads: the caller's.
 */
#ifndef VSIB_TOOLS_GAP_FILL_H
#define VSIB_TOOLS_GAP_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/gather_vdif.h"

enum gather_fill {
	GATHER_CLOSE_UP, /* gaps are left out */
	GATHER_PATTERN,  /* byte o of the stream is {0x44, 0x33, 0x22, 0x11}[o % 4] */
	GATHER_VDIF, /* the VDIF frames that are missing, marked invalid; the pattern where that can't be */
};

struct recording;

struct gap_fill {
	struct gather_vdif *vdif; /* NULL unless frames are wanted */
	bool has_frames;          /* the gap that was begun gets them */
};

/** gap_fill_init() - Return: 0; -ENOMEM */
int gap_fill_init(struct gap_fill *fill, enum gather_fill kind);

/** gap_fill_end() - a zeroed one is fine */
void gap_fill_end(struct gap_fill *fill);

/** gap_fill_pass() - the next data of the stream, whatever they are */
static inline void gap_fill_pass(struct gap_fill *fill, const void *data, size_t len)
{
	if (fill->vdif)
		gather_vdif_pass(fill->vdif, data, len);
}

/**
 * gap_fill_begin() - a gap of @bytes begins here
 * @recording: asked for what is behind the gap, and goes on there: at @stream_offset + @bytes; NULL: nothing is known
 * @why: GATHER_VDIF_WHY_LEN; the reason against frames
 *
 * Return: 0; 1: frames were wanted, and it gets the pattern all the same; -ENOMEM.
 */
int gap_fill_begin(struct gap_fill *fill, struct recording *recording, uint64_t stream_offset,
		   uint64_t bytes, char *why);

/** gap_fill_put() - the next bytes of the gap that was begun, @stream_offset is theirs */
void gap_fill_put(struct gap_fill *fill, uint64_t stream_offset, void *to, size_t len);

#endif
