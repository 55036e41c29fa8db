/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scratch_io.h - a session's files, made so that nothing of them stays, and kept for a while to be read again
 *
 *   scratch_io_create() -> session_config.io = scratch_io_table(), .settled -> scratch_io_note() ... the
 *   session ends -> scratch_io_count(), scratch_io_file() -> scratch_io_free()
 *
 * Shape:   In a directory a file has no name (scratch.h), in a device it is a stretch of it, one behind the
 *          other and then from the beginning again. All else is as in a recording: preallocated, written by the
 *          system's own call (so by io_uring), synced and cut to its size. A file that is begun lets the oldest
 *          ones go, so that no more than the budget is taken at a time; the recorder's thread for such calls
 *          waits for that, its writer does not. What such a recorder must be told: session_config.is_room_kept.
 *          To give back the space of a large file costs the disk something that a recording does not: with a
 *          budget that is small against its speed a full-speed figure is some 20 % low.
 * Budget:  counts each file as it is preallocated, file_bytes; of files without end there is one only.
 * Threads: the table's calls and scratch_io_note(): the session's; all else whoever made it, when the session
 *          has ended. If session_end() returned false it must not be freed.
 */
#ifndef VSIB_TOOLS_QUALIFY_SCRATCH_IO_H
#define VSIB_TOOLS_QUALIFY_SCRATCH_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/segment.h"
#include "recorder/sink.h"
#include "recorder/target.h"

#define SCRATCH_IO_FILES_LEAST \
	4 /* being written, ending, beginning, and one to spare: the budget must hold so many */

struct scratch_io;

struct scratch_io_config {
	const struct target *target; /* a directory, or a device that may be written over; stays open */
	uint64_t budget_bytes;       /* most of it at a time; 0 = no limit */
	uint64_t file_bytes;         /* of the session's files; 0 = one without end */
	const struct sink_io *lower; /* for tests: writes, syncs, allocates, cuts and tells; NULL = the system */
};

/* A file that is still there. */
struct scratch_file {
	int fd;                         /* the scratch_io's; open it anew by scratch_io_reopen() */
	uint64_t origin;                /* where it begins in what fd names */
	const struct segment *segments; /* what of it is durable, as its journal would have it */
	size_t segment_count;
};

/** scratch_io_create() - Return: 0; -ENOMEM; -EINVAL: the budget doesn't hold SCRATCH_IO_FILES_LEAST files. */
int scratch_io_create(struct scratch_io **out, const struct scratch_io_config *config);

/** scratch_io_free() - all of it goes from the disk; NULL is fine */
void scratch_io_free(struct scratch_io *scratch);

/** scratch_io_table() - for session_config.io */
const struct sink_io *scratch_io_table(const struct scratch_io *scratch);

/** scratch_io_note() - a segment is durable: from session_config.settled */
void scratch_io_note(struct scratch_io *scratch, const char *file, const struct segment *segment);

/** scratch_io_let_go() - all of it, now: the room is wanted for something else */
void scratch_io_let_go(struct scratch_io *scratch);

/** scratch_io_count() - files that are still there, oldest first; scratch_io_file() one of them */
size_t scratch_io_count(const struct scratch_io *scratch);
struct scratch_file scratch_io_file(const struct scratch_io *scratch, size_t index);

/** scratch_io_gone_bytes() - durable bytes of files that were let go */
uint64_t scratch_io_gone_bytes(const struct scratch_io *scratch);

/**
 * scratch_io_reopen() - the same file, for reading
 * @flags: O_DIRECT or 0
 * Return: the descriptor; -errno.
 */
int scratch_io_reopen(const struct scratch_file *file, int flags);

#endif
