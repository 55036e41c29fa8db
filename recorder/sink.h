/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink.h - writes the files of one target
 *
 *   sink_open() -> { sink_begin_file() -> { sink_prepare() -> write -> sink_continue() until 0 ->
 *   sink_written() } ... -> sink_finish_file() } ... -> sink_close()
 *
 * Shape:   One file at a time; who wants to begin the next while one is being finished has two
 *          sinks. The writing itself is the caller's (engine.h): sink_prepare() says what to write
 *          and where. With O_DIRECT from the ring's memory nothing is copied and no page cache is
 *          dirtied; a last piece that is no multiple of the file system's alignment, 4096 bytes
 *          where it doesn't tell, is written padded and the file cut to its true size. Where
 *          O_DIRECT is refused, wants more alignment than ours, or is asked not to be used,
 *          writes are buffered; the caller keeps at most SINK_DIRTY_BYTES of them dirty. A
 *          file that will be finished is "<name>.part" until then; a single endless file has its
 *          name at once. Space is preallocated with the size set, since extending direct writes
 *          are synchronous on ext4: all of a file that will be finished, or where that is more
 *          than there is, like an endless one, in steps.
 * Head:    what is to stand in front of a file's data is written when it is begun, and once more, with its size,
 *          when it is finished; should that fail, the first one stays, and the note says so.
 * Durable: after sink_sync() all that was written to the open file is on the disk; after
 *          sink_finish_file() the file with its true size, final name and directory entry is. A
 *          sync that fails is never repeated into a success.
 * Threads: sink_prepare() to sink_written(), sink_wants_room() and the questions by the disk's writer;
 *          what may block by one other thread, also while writes are in flight for sink_sync(),
 *          sink_make_room() and sink_write_back(), never for the others.
 * Errors:  -errno, and the sentence with path, offset and reason in sink_error(), told by the
 *          thread that got the -errno.
 */
#ifndef VSIB_RECORDER_SINK_H
#define VSIB_RECORDER_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/layout.h"
#include "recorder/target.h"

#define SINK_DIRTY_BYTES (UINT64_C(32) << 20)

struct sink;

/* What direct I/O wants of a file: multiples of so many bytes; 0 = there is none. */
struct sink_alignment {
	uint32_t memory_bytes, offset_bytes;
};

/*
 * What a sink does to its disk. The system's calls, unless a test, or another way of writing,
 * puts its own in their place. Each gets its own table, which may be the head of something
 * larger. Return: as the system calls, with errno.
 */
struct sink_io {
	int (*open)(const struct sink_io *io, int dir_fd, const char *name, int flags);
	ssize_t (*write)(const struct sink_io *io, int fd, const void *data, size_t bytes,
			 off_t offset);
	int (*sync)(const struct sink_io *io, int fd);           /* fdatasync */
	int (*sync_directory)(const struct sink_io *io, int fd); /* fsync */
	int (*allocate)(const struct sink_io *io, int fd, off_t offset, off_t bytes);
	int (*cut)(const struct sink_io *io, int fd, off_t bytes);
	int (*rename)(const struct sink_io *io, int dir_fd, const char *from,
		      const char *to); /* EEXIST, never over a file */
	int (*align)(const struct sink_io *io, int fd,
		     struct sink_alignment *alignment); /* ENODATA: it doesn't tell */
	int (*remove)(const struct sink_io *io, int dir_fd, const char *name);
	/* where the file begins in what fd names, in whole pages; NULL = there, at 0: it is a file */
	uint64_t (*origin)(const struct sink_io *io, int fd);
};

extern const struct sink_io sink_system_io;

/* The file that a head is made for. */
struct sink_file {
	const char *name; /* final one, relative to the target */
	uint64_t number;
	uint64_t stream_offset; /* of its first byte, see sink_set_start() */
	uint64_t bytes;         /* of data; 0 = not known yet */
};

/*
 * What stands in front of each file's data, and is not of them: offsets and sizes of a sink don't count it. Parity
 * and what goes on with another file's data have none. As sink_io, it may be the head of something larger.
 */
struct sink_head {
	size_t bytes; /* whole pages */
	void (*make)(const struct sink_head *head, const struct sink_file *file, char *buf);
};

struct sink_config {
	const struct target *target;
	const char *name_template;  /* relative to the target; see layout_file_name() */
	const char *other_template; /* of the files with LAYOUT_OTHER in their numbers */
	uint64_t file_bytes;        /* expected size, to preallocate; 0 = endless */
	bool is_part_first;         /* write as .part, rename when finished */
	bool use_direct;
	const struct sink_io *io;     /* NULL = the system's calls */
	const struct sink_head *head; /* NULL = the data begin at once */
};

/** sink_open() - nothing is created yet. Return: 0; -ENOMEM. */
int sink_open(struct sink **out, const struct sink_config *config);

/** sink_close() - leaves an open file, see sink_leave_file(), without finishing it; NULL is fine */
void sink_close(struct sink *sink);

/** sink_has_files() - false for null: and stdout: nothing to finish, sync or name */
bool sink_has_files(const struct sink *sink);

bool sink_is_file_open(const struct sink *sink);

/** sink_file_number(), sink_file_base() - of the file begun last */
uint64_t sink_file_number(const struct sink *sink);
uint64_t sink_file_base(const struct sink *sink);

/** sink_head_bytes() - in front of the data of the file begun last; 0 = nothing */
size_t sink_head_bytes(const struct sink *sink);

/** sink_set_start() - where in the stream the file begins that will be begun next; for its head */
void sink_set_start(struct sink *sink, uint64_t stream_offset);

/** sink_file_bytes() - true bytes written to the open file so far */
uint64_t sink_file_bytes(const struct sink *sink);

/**
 * sink_begin_file() - create and open file @number; must not exist
 * @base: offset in the file from which on it is continued here (see layout_file_name()), usually 0
 * Return: 0 or -errno.
 */
int sink_begin_file(struct sink *sink, uint64_t number, uint64_t base);

/* What is to be written next, and what is left of it. */
struct sink_piece {
	const char *data;
	size_t bytes;
	uint64_t offset; /* in the file */
	bool is_direct;  /* as it goes, or went, out */
};

/**
 * sink_prepare() - how @bytes at @offset of the open file are to be written
 * @data: page aligned, unless writes are buffered
 * @room: bytes of memory from @data on that may be written with it: padding, zeros, behind @bytes
 * @is_alone: no other write to this file is in flight
 *
 * Return: 0; -EAGAIN: only when it is alone.
 */
int sink_prepare(struct sink *sink, void *data, size_t bytes, size_t room, uint64_t offset,
		 bool is_alone, struct sink_piece *piece);

/**
 * sink_continue() - what a write of @piece has come to
 * @result: bytes written or -errno
 *
 * Return: 0: done; 1: write @piece, which is what is left, again (short, EINTR, EAGAIN, direct writes
 *         refused); -errno.
 */
int sink_continue(struct sink *sink, struct sink_piece *piece, ssize_t result);

/** sink_written() - so many more true bytes are in the file, one after the other */
void sink_written(struct sink *sink, size_t bytes);

/** sink_wants_room() - should sink_make_room() be called before writing up to @end? */
bool sink_wants_room(const struct sink *sink, uint64_t end);

/**
 * sink_make_room() - preallocate the next step, to behind @end, where that is wanted
 *
 * No write behind what is preallocated may be in flight: no space for the step means that the file is
 * cut back to that.
 */
void sink_make_room(struct sink *sink, uint64_t end);

/** sink_allocated_bytes() - of the file begun last, what is preallocated */
uint64_t sink_allocated_bytes(const struct sink *sink);

/** sink_step_bytes() - no more than that is preallocated at a time */
uint64_t sink_step_bytes(const struct sink *sink);

/** sink_is_buffered() - writes to the open file go through the page cache */
bool sink_is_buffered(const struct sink *sink);

/** sink_write_back() - wait until these bytes of the open file are on their way to the disk, and drop them */
void sink_write_back(struct sink *sink, uint64_t from, uint64_t end);

/** sink_write_stream() - some bytes to stdout; waits for a reader. Return: bytes; -errno. */
ssize_t sink_write_stream(const void *data, size_t bytes);

/**
 * sink_may_block() - a write that is not to wait (RWF_NOWAIT, io_uring) may wait all the same on this file
 *                     system, or while it goes through the page cache
 */
bool sink_may_block(const struct sink *sink);

/** sink_keeps_promises() - the target's file system is known not to wait in a write that is not to wait */
bool sink_keeps_promises(const struct target *target);

/** sink_fd() - of the open file; -1 = none */
int sink_fd(const struct sink *sink);

/**
 * sink_sync() - what was written to the open file is on the disk. Return: 0 or -errno; once an
 * error, always that error.
 */
int sink_sync(struct sink *sink);

/**
 * sink_finish_file() - true size, sync, final name, directory; then the file is closed
 *
 * On an error it has its true size, as far as the disk allows, and stays open, unfinished: to be
 * cut, left or abandoned. Return: 0 or -errno; with no file open, the error of an earlier sync or
 * finish.
 */
int sink_finish_file(struct sink *sink);

/**
 * sink_cut_file() - forget what was written behind @bytes of the open file. Return: 0 or -errno.
 */
int sink_cut_file(struct sink *sink, uint64_t bytes);

/**
 * sink_abandon_file() - close and remove the unfinished file, under whichever name it has by now;
 * best effort
 *
 * Nothing of it may have been promised to anybody.
 */
void sink_abandon_file(struct sink *sink);

/**
 * sink_take_back_file() - of the file that was finished last others have what lies behind @bytes; best effort
 * @bytes: 0: it is removed
 */
void sink_take_back_file(struct sink *sink, uint64_t bytes);

/**
 * sink_leave_file() - cut the file to its true size and close it under the name it has now,
 * without any promise
 */
void sink_leave_file(struct sink *sink);

/**
 * sink_io_name() - "direct" or "buffered": how it is really done; "none" for null:, "stream" for
 * stdout
 */
const char *sink_io_name(const struct sink *sink);

/** sink_note() - something said once: why direct I/O is not used, or a head has no size; "" = nothing */
const char *sink_note(const struct sink *sink);

const char *sink_error(const struct sink *sink);

#endif
