/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * out_file.h - a file that is written from its begin to its end, and is safely on the disk then
 *
 *   out_file_create() or out_file_take_stdout() -> out_file_write() ... -> out_file_sync() -> out_file_close()
 *
 * It is written through the page cache, of which it takes OUT_FILE_DIRTY_BYTES and no more: what is older is waited for
 * and dropped, so that a long run doesn't push out what others need, nor end in a minute of writing back.
 * Threads: one at a time.
 * Errors:  -errno, and the sentence in destination->error. The first error of the disk is kept, and told again by each call:
 *          the kernel tells of a lost page only once.
 */
#ifndef VSIB_DRIVERS_OUT_FILE_H
#define VSIB_DRIVERS_OUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OUT_FILE_DIRTY_BYTES (UINT64_C(32) << 20)

struct destination;
struct outlet;

struct out_file {
	int fd;           /* -1 = none */
	int dir_fd;       /* where the file's name stands; -1 = not known */
	bool is_ours;     /* opened here, to be closed here */
	uint64_t end;     /* of what has been written */
	uint64_t begun;   /* up to here it is on its way to the disk ... */
	uint64_t cleaned; /* ... and up to here it has arrived */
	int error; /* the first one that was told of what had been written already; 0 = none */
};

/** out_file_init() - no file yet */
void out_file_init(struct out_file *file);

/**
 * out_file_create() - destination->path, which must not be there yet
 * @is_force: an old file goes; who reads it, us perhaps, keeps what he has
 * @instead:  what to do about a path that is no regular file: "use dev:"
 *
 * Return: 0; -EEXIST; -EINVAL it is no regular file; -ENOENT, -EACCES ...
 */
int out_file_create(struct destination *destination, struct out_file *file, bool is_force,
		    const char *instead);

/**
 * out_file_take_stdout() - the standard output: a file from where others are on, or else what takes bytes at its own rate
 * @outlet: gets what is no file; then file->fd stays -1
 *
 * Return: 0; -EBADF it isn't open for writing; another -errno.
 */
int out_file_take_stdout(struct destination *destination, struct out_file *file, struct outlet *outlet);

/** out_file_write() - one write(). Return: bytes, perhaps fewer; 0: interrupted; -ENOSPC, -EIO and others. */
ssize_t out_file_write(struct destination *destination, struct out_file *file, const void *data,
		       size_t bytes);

/** out_file_cut() - the file ends at @end again, before what was written only in part */
void out_file_cut(struct out_file *file, uint64_t end);

/** out_file_sync() - all of it is on the disk, and its name. Return: 0; -errno: not all is. */
int out_file_sync(struct destination *destination, struct out_file *file);

/** out_file_close() - if it is ours */
void out_file_close(struct out_file *file);

#endif
