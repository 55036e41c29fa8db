/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/units.h"
#include "recorder/write_all.h"

#define LOOK_NS (UNITS_NS_PER_S / 20)

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

/* A pipe that nobody has opened for reading yet is tried again until the time is over. */
static int open_in_time(const char *path, int64_t until_ns)
{
	for (;;) {
		int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), code = errno;

		if (fd >= 0)
			return fd;
		if (code != ENXIO && code != EINTR)
			return -code;
		if (units_monotonic_ns() >= until_ns)
			return code == ENXIO ? -ETIMEDOUT : -code;
		poll(NULL, 0, LOOK_NS / 1000000);
	}
}

/* The time counts from the last byte that was taken. */
static int write_in_time(int fd, const char *text, size_t len, int64_t patience_ns)
{
	int64_t until_ns = units_monotonic_ns() + patience_ns;
	struct pollfd place = { .fd = fd, .events = POLLOUT };

	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n > 0) {
			text += n;
			len -= (size_t)n;
			until_ns = units_monotonic_ns() + patience_ns;
			continue;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return n == 0 ? -EIO : -errno;
		if (units_monotonic_ns() >= until_ns)
			return -ETIMEDOUT;
		poll(&place, 1, LOOK_NS / 1000000);
	}
	return 0;
}

static int write_into(const char *path, const char *text, int64_t patience_ns)
{
	int fd = open_in_time(path, units_monotonic_ns() + patience_ns);
	int ret;

	if (fd < 0)
		return fd;
	ret = write_in_time(fd, text, strlen(text), patience_ns);
	if (ret == 0)
		ret = write_in_time(fd, "\n", 1, patience_ns);
	close(fd);
	return ret;
}

int output_file_write(const char *text, const char *path)
{
	return output_file_write_within(text, path, OUTPUT_FILE_PATIENCE_NS);
}

int output_file_write_within(const char *text, const char *path, int64_t patience_ns)
{
	struct stat st;

	if (strcmp(path, "-") == 0)
		return write_line(STDOUT_FILENO, text);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return write_into(path, text, patience_ns);
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

const char *output_file_error(int error)
{
	return error == -ETIMEDOUT ? "nobody has read from it for 10 s" : strerror(-error);
}
