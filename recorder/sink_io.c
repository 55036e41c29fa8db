/* SPDX-License-Identifier: BSD-2-Clause */
/* sink_io.c - the system's calls, as a sink makes them */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/sink.h"

static int system_open(const struct sink_io *io, int dir_fd, const char *name, int flags)
{
	(void)io;
	return openat(dir_fd, name, flags, 0644);
}

static ssize_t system_write(const struct sink_io *io, int fd, const void *data, size_t bytes,
			    off_t offset)
{
	(void)io;
	return pwrite(fd, data, bytes, offset);
}

static int system_sync(const struct sink_io *io, int fd)
{
	(void)io;
	return fdatasync(fd);
}

static int system_sync_directory(const struct sink_io *io, int fd)
{
	(void)io;
	return fsync(fd);
}

static int system_allocate(const struct sink_io *io, int fd, off_t offset, off_t bytes)
{
	(void)io;
	return fallocate(fd, 0, offset, bytes);
}

static int system_cut(const struct sink_io *io, int fd, off_t bytes)
{
	(void)io;
	return ftruncate(fd, bytes);
}

/*
 * The file system may not know RENAME_NOREPLACE; then two steps, which only ourselves could come
 * between.
 */
static int system_rename(const struct sink_io *io, int dir_fd, const char *from, const char *to)
{
	(void)io;
	if (renameat2(dir_fd, from, dir_fd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (faccessat(dir_fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return renameat(dir_fd, from, dir_fd, to);
}

static int system_remove(const struct sink_io *io, int dir_fd, const char *name)
{
	(void)io;
	return unlinkat(dir_fd, name, 0);
}

/* Since Linux 6.1, for some file systems. */
static int system_align(const struct sink_io *io, int fd, struct sink_alignment *alignment)
{
	(void)io;
#ifdef STATX_DIOALIGN
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) < 0)
		return -1;
	if (stx.stx_mask & STATX_DIOALIGN) {
		alignment->memory_bytes = stx.stx_dio_mem_align;
		alignment->offset_bytes = stx.stx_dio_offset_align;
		return 0;
	}
#else
	(void)fd;
	(void)alignment;
#endif
	errno = ENODATA;
	return -1;
}

const struct sink_io sink_system_io = {
	.open = system_open,
	.write = system_write,
	.sync = system_sync,
	.sync_directory = system_sync_directory,
	.allocate = system_allocate,
	.cut = system_cut,
	.rename = system_rename,
	.align = system_align,
	.remove = system_remove,
};
