/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/write_all.h"

static int write_line(int fd, const char *text)
{
	int ret = write_all(fd, text, strlen(text));

	return ret < 0 ? ret : write_all(fd, "\n", 1);
}

/* @temporary: PATH_MAX. Return: the descriptor; -errno. */
static int open_beside(const char *path, char *temporary)
{
	int fd;

	if (snprintf(temporary, PATH_MAX, "%s.%ld.tmp", path, (long)getpid()) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return fd < 0 ? -errno : fd;
}

static int write_beside(const char *path, const char *text)
{
	char temporary[PATH_MAX];
	int fd = open_beside(path, temporary), ret;

	if (fd < 0)
		return fd;
	ret = write_line(fd, text);
	if (ret == 0 && fsync(fd) < 0)
		ret = -errno;
	if (close(fd) < 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(temporary, path) < 0)
		ret = -errno;
	if (ret < 0)
		unlink(temporary);
	return ret;
}

static int write_into(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = write_line(fd, text);
	close(fd);
	return ret;
}

int output_file_write(const char *text, const char *path)
{
	struct stat st;

	if (strcmp(path, "-") == 0)
		return write_line(STDOUT_FILENO, text);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return write_into(path, text);
	return write_beside(path, text);
}

int output_file_check(const char *path)
{
	char temporary[PATH_MAX];
	struct stat st;
	int fd;

	if (strcmp(path, "-") == 0)
		return 0;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return access(path, W_OK) < 0 ? -errno : 0;
	fd = open_beside(path, temporary);
	if (fd < 0)
		return fd;
	close(fd);
	return unlink(temporary) < 0 ? -errno : 0;
}
