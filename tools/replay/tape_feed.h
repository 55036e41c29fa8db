/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tape_feed.h - a recording, or files one behind the other, read from all their disks at once
 *
 *   recording_open() -> tape_feed_create() -> feed_start() ... feed_free() -> recording_free()
 *
 * Shape:   The feed's thread plans: it walks the pieces of the stream (recording_next(), tools/recording.h), gives each of them
 *          blocks, and each block to the reader thread of the disk its bytes lie on. A reader keeps several reads in
 *          flight (recorder/engine.h: io_uring, or threads with pread() where that is refused), straight into the
 *          block, with O_DIRECT where the piece is large and its place allows it. What has been read comes back to the feed's
 *          thread, which compares checksums and puts the blocks into the ring in the order of the stream.
 * Sums:    A piece with a checksum is put only when all of it was read and is right, as long as half the ring can hold
 *          it; else it is played while it is read, and said to be bad afterwards. What is wrong or can't be read comes from
 *          another copy or from the parity, if there is one; else it is a gap, said with its place, file and cause.
 * Gaps:    of the recording and those made so: BLOCK_GAP, or fill.
 * Threads: see feed.h. The recording is the feed's thread's from feed_start() on.
 */
#ifndef VSIB_TOOLS_REPLAY_TAPE_FEED_H
#define VSIB_TOOLS_REPLAY_TAPE_FEED_H

#include "recorder/engine.h"
#include "tools/gather.h"
#include "tools/recording.h"
#include "tools/replay/feed.h"

struct tape_feed_config {
	struct recording *recording; /* opened; or NULL: files */
	const char *const *files; /* regular files and block devices; their bytes follow each other */
	size_t file_count;
	uint64_t start_offset; /* of the stream, see recording_seek() */
	uint64_t stop_offset;  /* no byte from here on; UINT64_MAX = to the end */
	uint64_t loop_count; /* 1 = once; 0 = until it is stopped. Stream offsets go on counting */
	enum gather_fill fill; /* GATHER_CLOSE_UP: gaps are BLOCK_GAP */
	bool is_verified;      /* compare checksums */
	enum engine_kind engine;
	unsigned depth; /* reads in flight a disk; 0 = engine_usual_depth() */
	bool is_direct; /* O_DIRECT where it can be */
	void *memory;   /* of the ring: to be registered, see struct engine_config */
	size_t memory_bytes;
};

/** tape_feed_create() - Return: 0; -ENOENT, -EACCES ... a file; -ENOMEM; the sentence in (*out)->error if *out is set. */
int tape_feed_create(struct feed **out, const struct feed_config *config,
		     const struct tape_feed_config *tape);

#endif
