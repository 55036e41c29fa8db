/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recorder/journal.h"
#include "recorder/layout.h"
#include "recorder/sink.h"
#include "recorder/write_all.h"

static int write_part(int dir_fd, const char *part, const char *text, size_t len)
{
	int fd = openat(dir_fd, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	int ret;

	if (fd < 0)
		return -errno;
	ret = write_all(fd, text, len);
	if (ret == 0 && fsync(fd) < 0)
		ret = -errno;
	if (close(fd) < 0 && ret == 0)
		ret = -errno;
	if (ret < 0)
		unlinkat(dir_fd, part, 0);
	return ret;
}

static int sync_parent(int dir_fd, const char *path)
{
	char parent[LAYOUT_NAME_LEN];
	char *slash;
	int fd, ret;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	fd = openat(dir_fd, slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

int whole_file_write(int dir_fd, const char *path, const char *text, size_t len)
{
	char part[LAYOUT_NAME_LEN + sizeof(JOURNAL_PART_SUFFIX)];
	int ret;

	if ((size_t)snprintf(part, sizeof(part), "%s" JOURNAL_PART_SUFFIX, path) >= sizeof(part))
		return -ENAMETOOLONG;
	ret = write_part(dir_fd, part, text, len);
	if (ret < 0)
		return ret;
	if (sink_system_io.rename(&sink_system_io, dir_fd, part, path) < 0) {
		ret = -errno;
		unlinkat(dir_fd, part, 0);
		return ret;
	}
	ret = sync_parent(dir_fd, path);
	if (ret < 0)
		unlinkat(dir_fd, path, 0);
	return ret;
}
