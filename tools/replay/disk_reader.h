/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disk_reader.h - a thread that reads from one disk what others have planned, several at once
 *
 *   disk_reader_open() -> disk_reader_add() ... -> disk_reader_close()
 *
 * Shape:   a share is what one disk has to do with a block: stretches of files, each to a place in the block. Shares are read
 *          in the order in which they were added, and come back in any. Large stretches go to the engine (recorder/engine.h), as
 *          many as its depth at a time; small ones are read by the thread itself, from the page cache as a rule.
 * Threads: add by one, the planner; close by whoever opened. Ordering: disk_reader_add() releases the share to the thread; the
 *          thread releases what was read by decrementing *left, and who finds it 0 by an acquiring load sees all of it.
 * Errors:  a stretch keeps its own: -errno, -ENODATA where the file ends before.
 */
#ifndef VSIB_TOOLS_REPLAY_DISK_READER_H
#define VSIB_TOOLS_REPLAY_DISK_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/engine.h"
#include "ringbuf/ring.h"
#include "tools/replay/feed.h"

#define DISK_READER_SMALL_BYTES \
	((size_t)256 << 10) /* less than that is not worth an operation of its own */

struct disk_reader;

/* A stretch of a file. */
struct disk_stretch {
	int fd;
	char *to;             /* what is wanted begins here */
	size_t bytes;         /* that are wanted */
	uint64_t file_offset; /* of the first of them */
	size_t ahead_bytes; /* read before @to as well, so that it begins where direct reads must */
	size_t behind_bytes; /* the same behind it: there is room, and the file may end in it */
	bool is_direct;
	int error; /* by the reader: 0 = it is there */
	/* the reader's own */
	size_t done;
	int64_t began_ns;
	struct disk_share *share;
	struct engine_op op;
};

/* What a disk has to read for a block. Lies still until *left has been decremented for it. */
struct disk_share {
	struct disk_stretch *stretches;
	unsigned count;
	_Atomic unsigned *left; /* shares of the block that are not read yet */
	unsigned next, open;    /* the reader's: the next stretch, those that are not through */
};

struct disk_reader_config {
	struct ring *ring;      /* its producer is woken when a block is through */
	struct feed_disk *disk; /* figures; engine and io are set by open */
	uint32_t share_count;   /* at most so many are out at a time */
	enum engine_kind engine;
	unsigned depth;
	void *memory;
	size_t memory_bytes, block_bytes;
	const struct disk_reader *other; /* has the same memory registered, to be shared; NULL */
	unsigned number;                 /* for the thread's name */
};

/** disk_reader_open() - Return: 0; -errno. */
int disk_reader_open(struct disk_reader **out, const struct disk_reader_config *config);

/** disk_reader_note() - why its engine is not what was wished for; "" = it is */
const char *disk_reader_note(const struct disk_reader *reader);

/** disk_reader_add() - never blocks */
void disk_reader_add(struct disk_reader *reader, struct disk_share *share);

/** disk_reader_close() - waits for what is in flight; what was not begun is not read. NULL is fine */
void disk_reader_close(struct disk_reader *reader);

#endif
