/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gather_vdif.h - which VDIF frames are missing in a gap, and frames marked invalid in their place
 *
 *   gather_vdif_create() -> { gather_vdif_pass() the stream ... at a gap: gather_vdif_begin() ->
 *   gather_vdif_fill() all of it } ... -> gather_vdif_free()
 *
 * The first data of the stream begin with a frame, and all its frames have the length of the first: so their
 * headers are where they should be, whatever lies between. Frames of several threads come in turn, each turn in
 * the same order. What is missing goes on in that order from the frames before the gap, each thread with its own
 * second and frame number; how many frames a second has is told by the frame behind the gap, or else by the
 * headers, or by a second's end that was seen.
 *
 * Threads: the caller's.
 */
#ifndef VSIB_TOOLS_GATHER_VDIF_H
#define VSIB_TOOLS_GATHER_VDIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/vdif.h"

#define GATHER_VDIF_WHY_LEN 160

struct gather_vdif;

/* The first data behind a gap. */
struct gather_vdif_ahead {
	bool is_known;
	uint64_t distance_bytes; /* from the gap's begin; more gaps may lie between */
	unsigned char header[VDIF_HEADER_BYTES];
};

/** gather_vdif_create() - Return: 0; -ENOMEM */
int gather_vdif_create(struct gather_vdif **out);

/** gather_vdif_free() - NULL is fine */
void gather_vdif_free(struct gather_vdif *vdif);

/** gather_vdif_pass() - the next data of the stream, whatever they are */
void gather_vdif_pass(struct gather_vdif *vdif, const void *data, size_t len);

/** gather_vdif_pass_pattern() - the next bytes, of a gap that was filled with the pattern */
void gather_vdif_pass_pattern(struct gather_vdif *vdif, const void *data, size_t len);

/**
 * gather_vdif_begin() - a gap of @bytes begins here
 * @why: GATHER_VDIF_WHY_LEN; what is against it
 * Return: 0; -EINVAL it can't be told which frames are missing; -ENOMEM.
 */
int gather_vdif_begin(struct gather_vdif *vdif, uint64_t bytes,
		      const struct gather_vdif_ahead *ahead, char *why);

/** gather_vdif_fill() - the next bytes of the gap that was begun, of @bytes in all */
void gather_vdif_fill(struct gather_vdif *vdif, void *buf, size_t len);

#endif
