/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/destination.h"
#include "drivers/device_kind.h"
#include "drivers/outlet.h"

#define WRITE_MAX \
	((size_t)4 << 20) /* one write() to a slow disk must not last for long past the deadline */
#define LUMP_BYTES (OUT_FILE_DIRTY_BYTES / 4) /* written back at a time */

void out_file_init(struct out_file *file)
{
	*file = (struct out_file){ .fd = -1, .dir_fd = -1 };
}

void out_file_close(struct out_file *file)
{
	if (file->is_ours && file->fd >= 0)
		close(file->fd);
	if (file->dir_fd >= 0)
		close(file->dir_fd);
	out_file_init(file);
}

/* ---- opening ------------------------------------------------------------------------------------- */

/* The old file goes: who reads it, us perhaps, keeps what he has. */
static int make_way(struct destination *destination, bool is_force, const char *instead)
{
	struct device_voice voice = destination_voice(destination);
	struct stat status;
	int ret;

	if (stat(destination->path, &status) < 0)
		return 0;
	ret = device_kind_check_file(&voice, destination->path, &status, instead);
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
static int open_directory(struct destination *destination, struct out_file *file)
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

int out_file_create(struct destination *destination, struct out_file *file, bool is_force,
		    const char *instead)
{
	int ret = open_directory(destination, file);

	if (!ret)
		ret = make_way(destination, is_force, instead);
	if (ret < 0)
		return ret;
	file->fd = open(destination->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644);
	if (file->fd < 0)
		return destination_fail(destination, errno, "cannot create: %s", strerror(errno));
	file->is_ours = true;
	return 0;
}

/* Where it goes on writing: behind what somebody else has put there. */
static int find_place(struct destination *destination, struct out_file *file, int flags)
{
	off_t place = lseek(STDOUT_FILENO, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);

	if (place < 0)
		return destination_fail(destination, errno, "the standard output: %s", strerror(errno));
	file->fd = STDOUT_FILENO;
	file->end = file->begun = file->cleaned = (uint64_t)place;
	return 0;
}

int out_file_take_stdout(struct destination *destination, struct out_file *file, struct outlet *outlet)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	struct stat status;

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
	outlet_share(outlet, STDOUT_FILENO);
	return 0;
}

/* ---- writing ------------------------------------------------------------------------------------- */

/* The first error is the one that counts: the kernel tells of a lost page only once. */
static void keep_error(struct out_file *file, int error)
{
	if (!file->error)
		file->error = error;
}

static int fail_kept(struct destination *destination, const struct out_file *file)
{
	return destination_fail(destination, file->error,
				"what was written is not safely on the disk: %s",
				strerror(file->error));
}

/*
 * An error that is told here is not told by fdatasync() any more. What is no error of the disk means that this can't be done
 * here, and nothing else.
 */
static void write_back(struct out_file *file, uint64_t from, unsigned flags)
{
	if (sync_file_range(file->fd, (off_t)from, (off_t)LUMP_BYTES, flags) < 0 &&
	    (errno == EIO || errno == ENOSPC || errno == EDQUOT))
		keep_error(file, errno);
}

/* Starts writing back what is whole, and waits for what is old. */
static void bound_dirty(struct out_file *file)
{
	for (; file->end - file->begun >= LUMP_BYTES; file->begun += LUMP_BYTES)
		write_back(file, file->begun, SYNC_FILE_RANGE_WRITE);
	for (; file->end - file->cleaned >= OUT_FILE_DIRTY_BYTES; file->cleaned += LUMP_BYTES) {
		write_back(file, file->cleaned,
			   SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				   SYNC_FILE_RANGE_WAIT_AFTER);
		posix_fadvise(file->fd, (off_t)file->cleaned, (off_t)LUMP_BYTES, POSIX_FADV_DONTNEED);
	}
}

ssize_t out_file_write(struct destination *destination, struct out_file *file, const void *data,
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

void out_file_cut(struct out_file *file, uint64_t end)
{
	if (end < file->end && ftruncate(file->fd, (off_t)end) == 0)
		file->end = end;
}

/* An error of it is kept: what it was told of is lost, though a second fdatasync() would call all well. */
int out_file_sync(struct destination *destination, struct out_file *file)
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
