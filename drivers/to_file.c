/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * to_file.c - `null:`, which only counts; `file:PATH`, a regular file; `-`, the standard output
 *
 * A file is written through the page cache, of which it takes DIRTY_BYTES and no more: what is older is waited for
 * and dropped, so that a long run doesn't push out what others need, nor end in a minute of writing back. The
 * standard output may be a file, pipe, socket, terminal or device; a VSIB board is recognised, and played to as vsib: does.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/board.h"
#include "drivers/destination.h"
#include "drivers/device_kind.h"
#include "drivers/outlet.h"
#include "drivers/to_vsib.h"
#include "drivers/vsi_board.h"

#define WRITE_MAX \
	((size_t)4 << 20) /* one write() to a slow disk must not last for long past the deadline */
#define DIRTY_BYTES (UINT64_C(32) << 20)
#define LUMP_BYTES (DIRTY_BYTES / 4) /* written back at a time */

struct to_file {
	int fd;           /* -1 = none, or the outlet's */
	int dir_fd;       /* where the file's name stands; -1 = not known */
	bool is_ours;     /* opened here, to be closed here */
	uint64_t end;     /* of what has been written */
	uint64_t begun;   /* up to here it is on its way to the disk ... */
	uint64_t cleaned; /* ... and up to here it has arrived */
	int error; /* the first one that was told of what had been written already; 0 = none */
	struct outlet outlet; /* of what is no file */
};

/* ---- null: ----------------------------------------------------------------------------------- */

static int null_open(struct destination *destination, const struct destination_config *config)
{
	destination->takes = config->gives_packets ? DESTINATION_PACKETS : DESTINATION_BYTES;
	return 0;
}

static ssize_t null_write(struct destination *destination, const void *data, size_t bytes,
			  int64_t deadline_ns)
{
	(void)destination;
	(void)data;
	(void)deadline_ns;
	return (ssize_t)bytes;
}

static ssize_t null_send(struct destination *destination, const struct destination_unit *units,
			 size_t count)
{
	(void)destination;
	(void)units;
	return (ssize_t)count;
}

const struct destination_ops destination_null = {
	.prefix = "null:",
	.summary = "null:  nowhere: what would be sent is only counted",
	.open = null_open,
	.write = null_write,
	.send = null_send,
};

/* ---- files ----------------------------------------------------------------------------------- */

static struct to_file *to_file_new(struct destination *destination)
{
	struct to_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->fd = file->dir_fd = file->outlet.fd = -1;
	destination->state = file;
	destination->takes = DESTINATION_BYTES;
	return file;
}

static void file_close(struct destination *destination)
{
	struct to_file *file = destination->state;

	outlet_close(&file->outlet);
	if (file->is_ours && file->fd >= 0)
		close(file->fd);
	if (file->dir_fd >= 0)
		close(file->dir_fd);
	free(file);
}

/* The first error is the one that counts: the kernel tells of a lost page only once. */
static void keep_error(struct to_file *file, int error)
{
	if (!file->error)
		file->error = error;
}

static int fail_kept(struct destination *destination, const struct to_file *file)
{
	return destination_fail(destination, file->error,
				"what was written is not safely on the disk: %s",
				strerror(file->error));
}

/*
 * An error that is told here is not told by fdatasync() any more. What is no error of the disk means that this can't be done
 * here, and nothing else.
 */
static void write_back(struct to_file *file, uint64_t from, unsigned flags)
{
	if (sync_file_range(file->fd, (off_t)from, (off_t)LUMP_BYTES, flags) < 0 &&
	    (errno == EIO || errno == ENOSPC || errno == EDQUOT))
		keep_error(file, errno);
}

/* Starts writing back what is whole, and waits for what is old. */
static void bound_dirty(struct to_file *file)
{
	for (; file->end - file->begun >= LUMP_BYTES; file->begun += LUMP_BYTES)
		write_back(file, file->begun, SYNC_FILE_RANGE_WRITE);
	for (; file->end - file->cleaned >= DIRTY_BYTES; file->cleaned += LUMP_BYTES) {
		write_back(file, file->cleaned,
			   SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				   SYNC_FILE_RANGE_WAIT_AFTER);
		posix_fadvise(file->fd, (off_t)file->cleaned, (off_t)LUMP_BYTES, POSIX_FADV_DONTNEED);
	}
}

static ssize_t write_file(struct destination *destination, struct to_file *file, const void *data,
			  size_t bytes)
{
	ssize_t taken;

	if (bytes > WRITE_MAX)
		bytes = WRITE_MAX;
	do
		taken = write(file->fd, data, bytes);
	while (taken < 0 && errno == EINTR && !destination_is_interrupted(destination));
	if (taken < 0 && errno != EINTR)
		return destination_fail(
			destination, errno, "cannot write: %s%s", strerror(errno),
			errno == ENOSPC || errno == EDQUOT ? "; what was written before stays" : "");
	if (taken <= 0)
		return 0;
	file->end += (uint64_t)taken;
	bound_dirty(file);
	return file->error ? fail_kept(destination, file) : taken;
}

static ssize_t file_write(struct destination *destination, const void *data, size_t bytes,
			  int64_t deadline_ns)
{
	(void)deadline_ns; /* a disk never keeps a writer waiting for a reader */
	return write_file(destination, destination->state, data, bytes);
}

/* An error of it is kept: what it was told of is lost, though a second fdatasync() would call all well. */
static int sync_file(struct destination *destination, struct to_file *file)
{
	int ret;

	do
		ret = fdatasync(file->fd);
	while (ret < 0 && errno == EINTR);
	if (ret < 0)
		keep_error(file, errno);
	/* the name, too; some file systems can't sync a directory */
	if (!file->error && file->dir_fd >= 0 && fsync(file->dir_fd) < 0 && errno != EINVAL)
		keep_error(file, errno);
	return file->error ? fail_kept(destination, file) : 0;
}

static int file_finish(struct destination *destination, int64_t deadline_ns)
{
	(void)deadline_ns; /* nothing gets us out of an fdatasync() */
	return sync_file(destination, destination->state);
}

/* ---- file: ----------------------------------------------------------------------------------- */

/* The old file goes: who reads it, us perhaps, keeps what he has. */
static int make_way(struct destination *destination, bool is_force)
{
	struct device_voice voice = destination_voice(destination);
	struct stat status;
	int ret;

	if (stat(destination->path, &status) < 0)
		return 0;
	ret = device_kind_check_file(&voice, destination->path, &status, "use dev:");
	if (ret < 0)
		return ret;
	if (!is_force)
		return destination_fail(destination, EEXIST,
					"there is a file of this name; give another name, or --force");
	if (unlink(destination->path) < 0)
		return destination_fail(destination, errno, "cannot remove the old file: %s",
					strerror(errno));
	return 0;
}

/* The directory that the file's name stands in. */
static int open_directory(struct destination *destination, struct to_file *file)
{
	char *path = strdup(destination->path);

	if (!path)
		return destination_fail(destination, ENOMEM, "out of memory");
	file->dir_fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(path);
	if (file->dir_fd < 0)
		return destination_fail(destination, errno, "cannot open its directory: %s",
					strerror(errno));
	return 0;
}

static int file_open(struct destination *destination, const struct destination_config *config)
{
	struct to_file *file = to_file_new(destination);
	int ret;

	if (!file)
		return destination_fail(destination, ENOMEM, "out of memory");
	ret = open_directory(destination, file);
	if (!ret)
		ret = make_way(destination, config->is_force);
	if (ret < 0)
		return ret;
	file->fd = open(destination->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644);
	if (file->fd < 0)
		return destination_fail(destination, errno, "cannot create: %s", strerror(errno));
	file->is_ours = true;
	return 0;
}

const struct destination_ops destination_file = {
	.prefix = "file:",
	.summary = "file:PATH  a file, which must not be there yet (--force: it is replaced)",
	.takes_path = true,
	.open = file_open,
	.write = file_write,
	.finish = file_finish,
	.close = file_close,
};

/* ---- the standard output --------------------------------------------------------------------- */

/* Where it goes on writing: behind what somebody else has put there. */
static int find_place(struct destination *destination, struct to_file *file, int flags)
{
	off_t place = lseek(STDOUT_FILENO, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);

	if (place < 0)
		return destination_fail(destination, errno, "the standard output: %s", strerror(errno));
	file->fd = STDOUT_FILENO;
	file->end = file->begun = file->cleaned = (uint64_t)place;
	return 0;
}

/* From here on the destination is the board's. */
static int become_board(struct destination *destination, const struct destination_config *config)
{
	destination->ops = &destination_vsib;
	return to_vsib_open_board(destination, config, &board_kernel, "-");
}

static int stdout_open(struct destination *destination, const struct destination_config *config)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	struct to_file *file;
	struct stat status;

	if (board_is_behind(STDOUT_FILENO))
		return become_board(destination, config);
	if (destination->details[0])
		return destination_fail(destination, EINVAL,
					"details are for a VSIB board, and the standard output is none");
	file = to_file_new(destination);
	if (!file)
		return destination_fail(destination, ENOMEM, "out of memory");
	if (flags < 0 || fstat(STDOUT_FILENO, &status))
		return destination_fail(destination, errno,
					"the standard output is closed; send it somewhere with > or |");
	if ((flags & O_ACCMODE) == O_RDONLY)
		return destination_fail(destination, EBADF,
					"the standard output is not open for writing");
	if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode))
		return find_place(destination, file, flags);
	if (S_ISCHR(status.st_mode))
		destination->device = status.st_rdev;
	destination->is_paced_by_device = true;
	outlet_share(&file->outlet, STDOUT_FILENO);
	return 0;
}

static ssize_t stdout_write(struct destination *destination, const void *data, size_t bytes,
			    int64_t deadline_ns)
{
	struct to_file *file = destination->state;

	if (file->fd >= 0)
		return write_file(destination, file, data, bytes);
	return outlet_write(destination, &file->outlet, data, bytes, deadline_ns);
}

static int stdout_finish(struct destination *destination, int64_t deadline_ns)
{
	struct to_file *file = destination->state;

	(void)deadline_ns;
	return file->fd >= 0 ? sync_file(destination, file) : 0;
}

const struct destination_ops destination_stdout = {
	.prefix = "-",
	.summary = "-  the standard output: a file, pipe, socket, terminal; or a VSIB board, with its details behind a comma",
	.keys = VSI_BOARD_KEYS,
	.open = stdout_open,
	.write = stdout_write,
	.finish = stdout_finish,
	.close = file_close,
};
