/* SPDX-License-Identifier: BSD-2-Clause */
#include "drivers/device_kind.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int device_kind_check_file(const struct device_voice *voice, const char *path,
			   const struct stat *status, const char *instead)
{
	if (S_ISREG(status->st_mode))
		return 0;
	if (S_ISDIR(status->st_mode))
		return device_fail(voice, EISDIR, "%s is a directory; a file is expected", path);
	if (S_ISCHR(status->st_mode) || S_ISFIFO(status->st_mode))
		return device_fail(voice, EINVAL, "%s is a device or FIFO; %s%s", path, instead, path);
	return device_fail(voice, EINVAL, "%s is not a regular file", path);
}

int device_kind_check_node(const struct device_voice *voice, const char *path, const struct stat *status)
{
	if (S_ISCHR(status->st_mode) || S_ISFIFO(status->st_mode))
		return 0;
	if (S_ISREG(status->st_mode))
		return device_fail(voice, EINVAL, "%s is a regular file; use file:%s", path, path);
	if (S_ISBLK(status->st_mode))
		return device_fail(voice, EINVAL,
				   "%s is a block device; use file: for a file on it", path);
	if (S_ISDIR(status->st_mode))
		return device_fail(voice, EISDIR, "%s is a directory; use file: for a file in it",
				   path);
	return device_fail(voice, EINVAL, "%s is no character device or FIFO; use file: for a file",
			   path);
}

/*
 * poll() calls a device without poll support always ready, which would look like a device that is;
 * epoll refuses it.
 */
bool device_kind_can_poll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	bool is_refused;

	if (epoll < 0)
		return true;
	is_refused = epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) && errno == EPERM;
	close(epoll);
	return !is_refused;
}
