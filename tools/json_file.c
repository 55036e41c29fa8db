/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "recorder/write_all.h"

static int write_line(int fd, const char *text)
{
	int ret = write_all(fd, text, strlen(text));

	return ret < 0 ? ret : write_all(fd, "\n", 1);
}

static int write_beside(const char *path, const char *text)
{
	char temporary[PATH_MAX];
	int fd, ret;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.%ld.tmp", path, (long)getpid()) >=
	    sizeof(temporary))
		return -ENAMETOOLONG;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
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

int json_file_write(const json_t *object, const char *path)
{
	char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	struct stat st;
	int ret;

	if (!text)
		return -ENOMEM;
	if (strcmp(path, "-") == 0)
		ret = write_line(STDOUT_FILENO, text);
	else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		ret = write_into(path, text);
	else
		ret = write_beside(path, text);
	free(text);
	return ret;
}

int json_file_exit_status(int ret)
{
	return ret == -EACCES || ret == -EPERM ? EX_NOPERM :
	       ret == -ENOSPC || ret == -EIO   ? EX_IOERR :
						 EX_CANTCREAT;
}

json_t *json_file_text(const char *text)
{
	json_t *string = text ? json_string(text) : NULL;
	char *copy = string || !text ? NULL : strdup(text);

	if (!copy)
		return string;
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	string = json_string(copy);
	free(copy);
	return string;
}
