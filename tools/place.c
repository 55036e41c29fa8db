/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/place.h"

#include <blkid/blkid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/array.h"
#include "tools/history.h"

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define FILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

int place_open(struct place *place, const char *path)
{
	struct stat st;
	int ret;

	memset(place, 0, sizeof(*place));
	place->target = -1;
	place->fd = open(path, DIRECTORY_FLAGS);
	if (place->fd < 0)
		return -errno;
	if (fstat(place->fd, &st) < 0) {
		ret = -errno;
		goto fail;
	}
	ret = -ENOMEM;
	place->path = strdup(path);
	if (!place->path)
		goto fail;
	for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		place->path[len - 1] = '\0';
	place->device = st.st_dev;
	place->inode = st.st_ino;
	return 0;
fail:
	place_close(place);
	return ret;
}

void place_close(struct place *place)
{
	if (place->path || place->fd > 0)
		close(place->fd);
	free(place->path);
	memset(place, 0, sizeof(*place));
	place->fd = -1;
}

/* O_DIRECTORY with O_NOFOLLOW says ENOTDIR to a link as well. */
static int explain_folder(int dir_fd, const char *folder, int ret)
{
	struct stat st;

	if (ret == -ENOTDIR && fstatat(dir_fd, folder, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode))
		return -ELOOP;
	return ret;
}

int place_open_parent(const struct place *place, const char *file, const char **base)
{
	const char *slash;
	int fd;

	if (!history_file_is_safe(file))
		return -EINVAL;
	fd = fcntl(place->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	while ((slash = strchr(file, '/'))) {
		char *part = strndup(file, (size_t)(slash - file));
		int next = part ? openat(fd, part, DIRECTORY_FLAGS | O_NOFOLLOW) : -1;
		int ret = next < 0 && part ? explain_folder(fd, part, -errno) : -ENOMEM;

		free(part);
		close(fd);
		if (next < 0)
			return ret;
		fd = next;
		file = slash + 1;
	}
	*base = file;
	return fd;
}

static int check_kind(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return 0;
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	return S_ISDIR(st->st_mode) ? -EISDIR : -ESPIPE;
}

/* Looked at before it is opened: to open a device can already do something to it. */
static int open_regular(int dir_fd, const char *base, struct stat *st)
{
	int fd, ret;

	if (fstatat(dir_fd, base, st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	ret = check_kind(st);
	if (ret < 0)
		return ret;
	fd = openat(dir_fd, base, FILE_FLAGS);
	if (fd < 0)
		return -errno;
	ret = fstat(fd, st) < 0 ? -errno : check_kind(st);
	if (ret < 0) {
		close(fd);
		return ret;
	}
	return fd;
}

int place_open_file(const struct place *place, const char *file, struct stat *st)
{
	const char *base = file;
	int dir_fd, ret;

	dir_fd = place_open_parent(place, file, &base);
	if (dir_fd < 0)
		return dir_fd;
	ret = open_regular(dir_fd, base, st);
	close(dir_fd);
	return ret;
}

const char *place_reason(int ret)
{
	switch (ret) {
	case -ENOENT:
	case -ENOTDIR:
		return "is not there";
	case -ELOOP:
		return "is a symbolic link";
	case -EISDIR:
		return "is a directory";
	case -ESPIPE:
		return "is not a regular file";
	case -EINVAL:
		return "is not a path below the target";
	default:
		return strerror(-ret);
	}
}

int place_scan(const struct place *place, const char *folder,
	       int (*visit)(void *context, const char *name), void *context)
{
	int fd = openat(place->fd, folder[0] ? folder : ".", DIRECTORY_FLAGS | O_NOFOLLOW);
	const struct dirent *entry;
	DIR *dir;
	int ret = 0;

	if (fd < 0) {
		ret = explain_folder(place->fd, folder, -errno);
		return ret == -ENOENT || ret == -ENOTDIR ? 0 : ret;
	}
	dir = fdopendir(fd);
	if (!dir) {
		ret = -errno;
		close(fd);
		return ret;
	}
	while (ret >= 0) {
		errno = 0;
		entry = readdir(dir);
		if (!entry) {
			ret = -errno;
			break;
		}
		ret = visit(context, entry->d_name);
	}
	closedir(dir);
	return ret < 0 ? ret : 0;
}

static bool is_uuid(const char *text)
{
	size_t len = strlen(text);

	return len >= 4 && len < 64 && strspn(text, "0123456789abcdefABCDEF-") == len;
}

/* btrfs has device numbers of its own in mountinfo; there the source tells. */
static bool is_mount_of(struct libmnt_fs *fs, dev_t device)
{
	const char *source = mnt_fs_get_source(fs);
	struct stat st;

	if (mnt_fs_get_devno(fs) == device)
		return true;
	return source && source[0] == '/' && stat(source, &st) == 0 && S_ISBLK(st.st_mode) &&
	       st.st_rdev == device;
}

static int collect_mounts(struct libmnt_table *table, dev_t device, char ***points)
{
	struct libmnt_iter *iterator = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *fs;
	size_t count = 0;

	while (iterator && count < INT_MAX && mnt_table_next_fs(table, iterator, &fs) == 0) {
		const char *point = mnt_fs_get_target(fs);
		char **room;

		if (!point || !is_mount_of(fs, device))
			continue;
		room = array_room(points, count, sizeof(*room));
		if (!room || !(*room = strdup(point)))
			break;
		count++;
	}
	mnt_free_iter(iterator);
	return (int)count;
}

int place_find_mounts(const char *fs_uuid, char ***points)
{
	struct libmnt_table *table;
	struct stat st;
	char *device;
	int count = 0;

	*points = NULL;
	if (!is_uuid(fs_uuid))
		return 0;
	device = blkid_evaluate_tag("UUID", fs_uuid, NULL);
	if (!device)
		return 0;
	table = mnt_new_table_from_file("/proc/self/mountinfo");
	if (table && stat(device, &st) == 0 && S_ISBLK(st.st_mode))
		count = collect_mounts(table, st.st_rdev, points);
	mnt_unref_table(table);
	free(device);
	return count;
}
