/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/recover_apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/busy.h"

/* The file that was looked at, and nobody writes to it. Return: descriptor for reading; -errno. */
static int reopen(int dir_fd, const char *base, const struct recover_item *item)
{
	struct stat st;
	int ret = 0, fd = openat(dir_fd, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		ret = -errno;
	else if (st.st_dev != item->device || st.st_ino != item->inode ||
		 (uint64_t)st.st_size != item->facts.bytes)
		ret = -ESTALE;
	else if (busy_file(fd) == 1)
		ret = -EBUSY;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

static int cut(int dir_fd, const char *base, const struct recover_item *item)
{
	int ret = 0, fd = openat(dir_fd, base, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_dev != item->device || st.st_ino != item->inode)
		ret = -ESTALE;
	else if (ftruncate(fd, (off_t)item->facts.promised_bytes) < 0 || fsync(fd) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Never over another file. */
static int rename_new(int dir_fd, const char *from, const char *to)
{
	if (renameat2(dir_fd, from, dir_fd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (faccessat(dir_fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(dir_fd, from, dir_fd, to) < 0 ? -errno : 0;
}

static int sync_directory(int fd)
{
	/* some file systems can't */
	return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

int recover_apply(const struct recover_item *item, int dir_fd, const char *base, const char **what)
{
	int ret, fd;

	*what = "opened";
	fd = reopen(dir_fd, base, item);
	if (fd < 0)
		return fd;
	close(fd);
	if (item->plan.is_cut) {
		*what = "cut";
		ret = cut(dir_fd, base, item);
		if (ret < 0)
			return ret;
	}
	if (item->plan.is_renamed) {
		const char *slash = strrchr(item->final_file, '/');

		*what = "renamed";
		ret = rename_new(dir_fd, base, slash ? slash + 1 : item->final_file);
		if (ret < 0)
			return ret;
	}
	if (item->plan.is_removed) {
		*what = "removed";
		if (unlinkat(dir_fd, base, 0) < 0)
			return -errno;
	}
	return item->plan.is_renamed || item->plan.is_removed ? sync_directory(dir_fd) : 0;
}
